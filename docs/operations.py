"""Five operations of three digits, as their source has them: `make results-operations`.

small, seed 0 to 2   `sources/five-operations-small`, trained to its end
small, seed 2, on    the same run, trained on to 60,000 steps, and then to 100,000; any other too
full                 `sources/five-operations`, as far as one core comes in an hour: with the small
                     one's batch, and a learning rate that falls to its end within these steps

pairs shared, seed 0 to 2, and pairs separate   quotients and remainders of numbers up to 99 alone,
                     in two layers: what it is worth whether the pairs held out of `%` are held out
                     of `//` as well, or others, as the source has it

The tables have the full design trained to its end, too, which docs/gpu.py does on a GPU.

Held-out problems are marked twice: the whole text to the letter, and the result's digits in what
was written token by token, as the source marks them. Of both designs the curve is kept. Each is a
result of its own; runs lie in the runs folder, where a training that was broken off goes on.
"""

import argparse
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np

from docs.evidence import RESULTS, Results, arguments
from docs.shared import (
    Spent,
    affordable,
    ended,
    markdown,
    on_one_core,
    own_run,
    recipe_fields,
    spread,
)

NAME = "operations"
SMALL, FULL = "sources/five-operations-small", "sources/five-operations"
SEEDS = range(3)
OPERATORS = ("+", "-", "*", "//", "%")
HOUR = 3600.0
PART: dict[str, Any] = {"training.batch": 128, "training.stop_at": None, "training.stop_after": 0}
"""What of the full design is changed for an hour."""
ASKED: dict[str, Any] = {"training.validate_every": 100}
"""Of the small one: its curve has to begin where that of the full one ends."""
ENDS = (40_000, 60_000, 100_000)
"""Steps at which the small one ends, first and when it is trained on."""


def course(end: int) -> dict[str, Any]:
    """What is changed of the small one that was trained to that end, over those before it."""
    earlier = [one for one in ENDS if one < end]
    return ASKED | {"training.steps": end, "training.extended_at": earlier}


ON = course(ENDS[-1])

PAIRS = {"shared": (45, 45), "separate": (45, 46)}
"""Seeds of the random orders of quotients and remainders: one seed holds the same pairs out."""


def pairs_changes(kind: str) -> dict[str, Any]:
    """What is changed of the small one: few problems, a fifth of them held out, seen often."""
    tasks = [
        {"operator": operator, "values": [0, 99], "held_out": 2000, "split": split, "special": 0.0}
        for operator, split in zip(("//", "%"), PAIRS[kind], strict=True)
    ]
    return {
        "task": tasks, "model.num_layers": 2, "model.num_attention_layers": 2,
        "training.steps": 2000, "training.validate_every": 500, "evaluation.named": [],
        "evaluation.held_out": 1800, "evaluation.generated": 1, "evaluation.digits": [2],
    }  # fmt: skip


def main() -> None:
    small = {f"small, seed {seed}": seed for seed in SEEDS}
    longer = {f"{name}, on": seed for name, seed in small.items()}
    pairs = {f"pairs {kind}, seed {seed}": (kind, seed) for kind in PAIRS for seed in SEEDS}
    options = arguments(__doc__, [*small, *longer, "full", *pairs])
    on_one_core()
    for name in options.names:
        if name in pairs:
            kind, seed = pairs[name]
            _keep(name, SMALL, pairs_changes(kind), seed, partial(of_pairs, kind, seed), options)
        elif name == "full":
            _keep(name, FULL, PART, 0, full, options)
        elif name in longer:
            _keep(name, SMALL, ON, longer[name], partial(on, longer[name]), options)
        else:
            measure = partial(measured, _run(small[name]), SMALL, ASKED, small[name])
            _keep(name, SMALL, ASKED, small[name], measure, options)


def _keep(
    name: str,
    recipe: str,
    changes: dict[str, Any],
    seed: int,
    measure: Callable[[], Any],
    options: argparse.Namespace,
) -> None:
    settings = {"recipe": recipe_fields(recipe, changes)}
    RESULTS.keep(NAME, name, measure, [seed], settings, options)


def _run(seed: int) -> str:
    return f"{NAME}-small-{seed}"


def on(seed: int) -> dict[str, Any]:
    """The run of that seed, trained on; to its earlier ends before that, as far as it is not.

    Afterwards it is no run of 40,000 steps any more: to measure that `--again`, remove it.
    """
    from curta.frontends import api

    name = _run(seed)
    for end, later in pairwise(ENDS):
        if _steps(name) <= end:
            trained(name, SMALL, course(end), seed)
            api.extend(name, later)
    return measured(name, SMALL, ON, seed)


def _steps(name: str) -> int:
    """How many a run is to have; 0 if there is none of that name."""
    from curta.frontends import api
    from curta.runs import folders

    return int(api.load(name).recipe.training.steps) if name in folders.existing() else 0


def full() -> dict[str, Any]:
    """As many steps as an hour of a core holds, asked ten times on the way."""
    steps = _steps(f"{NAME}-full") or affordable(FULL, PART, HOUR, 5)
    parts = {"training.validate_every": steps // 10, "training.checkpoint_every": steps // 10}
    return measured(f"{NAME}-full", FULL, PART | parts | {"training.steps": steps}, 0)


def trained(name: str, recipe: str, changes: dict[str, Any], seed: int) -> tuple[Any, float]:
    """The run of that name, trained as far as it is not, and the seconds that all of that took."""
    run = own_run(name, recipe, [seed], changes)
    spent = Spent(run)
    run.train(spent.keep)
    ended(run)
    return run, spent.keep()


def measured(name: str, recipe: str, changes: dict[str, Any], seed: int) -> dict[str, Any]:
    """The run of that name, trained as far as it is not, and how it answers what is held out."""
    run, seconds = trained(name, recipe, changes, seed)
    return {"seconds": seconds} | answered(run)


def answered(run: Any) -> dict[str, Any]:
    """How a run of one member answers what is held out, and what it was trained on."""
    asked = "evaluating" in run.folder.read_info().done
    found = run.folder.read_evaluation() if asked else run.evaluate()
    held_out = {row.operator: row for row in found.lengths if row.slice_name == "held out"}
    return {
        "parameters": run.folder.read_info().parameters,
        "steps": run.step,
        "problems trained on": run.step * run.recipe.training.batch,
        "whole text": {o: held_out[o].exact_match[0] for o in OPERATORS},
        "result": {o: held_out[o].generated.exact_match[0] for o in OPERATORS},
        "problems": {o: held_out[o].count for o in OPERATORS},
        "curve": [
            [line.step * run.recipe.training.batch, line.loss, line.validation_exact_match]
            for line in run.folder.read_metrics()
            if line.validation_exact_match is not None
        ],
    }


def of_pairs(kind: str, seed: int) -> dict[str, Any]:
    """How the held-out quotients and remainders of one training are answered.

    Remainders are told apart by whether the quotient of the same pair was trained on.
    """
    from curta.evaluation.scoring import scores
    from curta.problems import tasks

    run, seconds = trained(f"{NAME}-pairs-{kind}-{seed}", SMALL, pairs_changes(kind), seed)
    quotients, remainders = run.recipe.tasks
    known = {p.operands for p in tasks.held_out(quotients, range(quotients.held_out))}
    models = run.load_models()
    found: dict[str, Any] = {"seconds": seconds, "parameters": run.folder.read_info().parameters}
    for task in (quotients, remainders):
        asked = tasks.held_out(task, range(task.held_out))
        again = tasks.trained_problems(task, task.held_out)
        right = scores(models, asked).exact_match[0]
        found[task.operator] = {
            "held out": float(right.mean()),
            "trained on": float(scores(models, again).exact_match[0].mean()),
        }
    met = np.array([problem.operands not in known for problem in asked])
    found["quotient trained on"] = {
        "problems": int(met.sum()), "right": float(right[met].mean()) if met.any() else None,
    }  # fmt: skip
    found["quotient held out"] = {
        "problems": int((~met).sum()), "right": float(right[~met].mean()),
    }  # fmt: skip
    return found


def _pairs_rows(known: dict[str, Any]) -> Iterator[list[str]]:
    """A row for each kind of split, over its seeds."""
    for kind in PAIRS:
        found = [*_of(known, f"pairs {kind}")]
        if not found:
            continue
        met = [one["quotient trained on"]["right"] for one in found]
        yield [
            kind,
            str(len(found)),
            *(spread(one[o][of] for one in found) for o in ("//", "%") for of in PAIRS_OF),
            spread(met) if None not in met else "none",
            spread(one["quotient held out"]["right"] for one in found),
        ]


PAIRS_OF = ("trained on", "held out")
PAIRS_HEAD = (
    "held-out pairs of `//` and `%`", "seeds",
    *(f"`{operator}` {of}" for operator in ("//", "%") for of in PAIRS_OF),
    "`%` held out, `//` of the pair trained on", "`%` held out, `//` of the pair held out",
)  # fmt: skip


def tables(results: Results) -> dict[str, Iterable[str]]:
    known = results.read(NAME) | _on_a_gpu(results)
    told = {design: [*_of(known, design)] for design in DESIGNS}
    told = {design: found for design, found in told.items() if found}
    if not told:
        return {}
    head = ["", *(f"{name}: {measure}" for name in told for measure in ("whole text", "result"))]
    rows = [[operator, *_cells(told, operator)] for operator in (*OPERATORS, "mean")]
    made = [
        ["seeds", *_each(told, lambda found: str(len(found)))],
        ["parameters", *_each(told, lambda found: f"{found[0]['parameters']:,}")],
        ["problems in training", *_each(told, lambda found: _count(found, "problems trained on"))],
        ["seconds of a core", *_each(told, _seconds)],
    ]
    return {
        "operations": markdown(head, [*rows, *made]),
        "operations, pairs": markdown(PAIRS_HEAD, _pairs_rows(known)),
        "operations, curve": _curve(told, "full"),
        "operations, whole curve": _curve(told, WHOLE),
    }


WHOLE = "full, to its end"
DESIGNS = ("small", "small, on", "full", WHOLE)


def _on_a_gpu(results: Results) -> dict[str, dict[str, Any]]:
    """The full design, trained to its end, by the seed."""
    known = results.read("gpu")
    return {
        name.replace("five operations", WHOLE): found
        for name, found in known.items()
        if name.startswith("five operations")
    }


def _seconds(found: list[dict[str, Any]]) -> str:
    where = " of a GPU" if "device" in found[0] else ""
    return _count(found, "seconds") + where


def _of(known: dict[str, dict[str, Any]], design: str) -> Iterator[dict[str, Any]]:
    """What is known of all seeds of a design."""
    return (found for name, found in known.items() if re.sub(r", seed \d+", "", name) == design)


def _cells(told: dict[str, list[dict[str, Any]]], operator: str) -> Iterator[str]:
    for found in told.values():
        for measure in ("whole text", "result"):
            yield spread([_share(one[measure], operator) for one in found], 4)


def _share(shares: dict[str, float], operator: str) -> float:
    """One operation's, or the mean of all."""
    return sum(shares.values()) / len(shares) if operator == "mean" else shares[operator]


def _each(
    told: dict[str, list[dict[str, Any]]], say: Callable[[list[dict[str, Any]]], str]
) -> Iterator[str]:
    """What is said of each design, under the first of its two columns."""
    for found in told.values():
        yield from (say(found), "")


def _count(found: list[dict[str, Any]], of: str) -> str:
    values = sorted(one[of] for one in found)
    least, middle, most = (f"{value:,.0f}" for value in (values[0], median(values), values[-1]))
    return middle if least == most else f"{middle} ({least} to {most})"


def _curve(told: dict[str, list[dict[str, Any]]], asked: str) -> Iterator[str]:
    """Exact match of validation problems, after as many as a design was shown, and small's."""
    told = {design: told[design] for design in ("small", asked) if design in told}
    if not told:
        return iter(())
    rows = [
        [f"{shown:,}", *(_known([_at(one["curve"], shown) for one in f]) for f in told.values())]
        for shown in _points([*told.values()][-1][0]["curve"])
    ]
    return markdown(["problems shown", *told], rows)


def _points(curve: list[list[float]]) -> list[float]:
    """Ten of a longer curve's numbers of problems, evenly apart: of 1 to 20 they are 2, 4 to 20."""
    each = max(1, len(curve) // 10)
    return [shown for shown, _, _ in curve[each - 1 :: each]]


def _known(values: list[float | None]) -> str:
    """Of those that had been asked by then."""
    found = [value for value in values if value is not None]
    return spread(found) if found else ""


def _at(curve: list[list[float]], shown: float) -> float | None:
    """What stood last after so many problems; None if nothing was asked by then, or all was over.

    >>> _at([[10, 1.5, 0.25], [20, 1.0, 0.5]], 15), _at([[10, 1.5, 0.25]], 15)
    (0.25, None)
    """
    before = [line for line in curve if line[0] <= shown]
    over = max(curve)[0] < shown
    return max(before)[2] if before and not over else None


if __name__ == "__main__":
    main()
