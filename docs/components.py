"""One component after the other, as their source prints it: `make results-components`.

The rungs are those of the comparison `ladder`, 300 epochs each; where there is RoPE, as the source
writes it (over heads, nearly without effect) and as it is meant. Losses are of what a rung trains
on: every position of the 12, padding included, or in the last rung the answers. After each rung the
source's seven sums are decoded. Then the last rung is trained on operands up to 50, as the source
does, or below 50, and asked larger ones and the source's fourteen sums with 50, those that it was
trained on apart. `python -m docs.components SGD` measures one rung.

Every rung and training is a result of its own in docs/results/components.json. Each seed has a run
of its own in the runs folder, where a training that was broken off goes on.
"""

import math
import re
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

import numpy as np

from docs.announced import asked, cell, final_losses
from docs.evidence import RESULTS, Results, arguments
from docs.shared import (
    evaluated,
    finished_seeds,
    markdown,
    recipe_fields,
    side_by_side,
    spread,
)

NAME, SEEDS, LAST = "components", 3, "sources/range"
BELOW = {
    "task.values": [0, 49], "task.held_out": 700, "training.validation": 350,
    "evaluation.held_out": 350,
}  # fmt: skip
RANGES: dict[str, dict[str, Any]] = {
    "up to 50, RoPE as written": {},
    "up to 50, RoPE as meant": {"positions.over": "tokens"},
    "below 50, RoPE as written": BELOW,
}
LIMIT = 50
"""The number that the source asks."""

HEAD = (
    "rung", "seeds", "training loss", "loss on held-out texts", "loss on their answers",
    "exact match", "seven named sums",
)  # fmt: skip


def main() -> None:
    options = arguments(__doc__, [*rungs(), *RANGES])
    for name in options.names:
        recipe, changes = (rungs() | _ranges())[name]
        settings = {"recipe": recipe_fields(recipe, changes)}
        measure = partial(measured, name, recipe, changes)
        RESULTS.keep(NAME, name, measure, range(SEEDS), settings, options)


def measured(name: str, recipe: str, changes: dict[str, Any]) -> dict[str, Any]:
    slug = "-".join([NAME, *re.findall("[a-z0-9]+", name.lower())])
    runs = finished_seeds(slug, recipe, range(SEEDS), changes)
    of_run = of_range if name in RANGES else of_rung
    found: dict[str, Any] = side_by_side([of_run(run) for run in runs])
    return found


@cache
def rungs() -> dict[str, tuple[str, dict[str, Any]]]:
    """Recipe and changes of every entry of the comparison."""
    from curta.runs import comparison_spec

    draft = comparison_spec.draft(["ladder"])
    spec = comparison_spec.resolve(draft, {}, None)
    return {row.name: (row.source, dict(row.changes)) for row in spec.rows}


def _ranges() -> dict[str, tuple[str, dict[str, Any]]]:
    return {name: (LAST, changes) for name, changes in RANGES.items()}


def tables(results: Results) -> dict[str, Iterable[str]]:
    known, earlier = results.read(NAME), results.superseded(NAME)
    ladder = {_told(name, earlier): known[name] for name in rungs() if name in known}
    ranges = {_told(name, earlier): known[name] for name in RANGES if name in known}
    found: dict[str, Iterable[str]] = {}
    if ladder:
        found["components"] = markdown(HEAD, [_rung(name, ladder[name]) for name in ladder])
        found["components, floor"] = markdown(FLOOR_HEAD, floor_rows())
        found["components, decodings"] = markdown(*_decodings(ladder))
    if ranges:
        head = ["trained on", *FOURTEEN, *next(iter(ranges.values()))["shares"]]
        found["range"] = markdown(head, (_range(name, of) for name, of in ranges.items()))
    return found


def _told(name: str, earlier: set[str]) -> str:
    return f"{name} (earlier recipe)" if name in earlier else name


FOURTEEN = (
    "fourteen sums: trained on in either order", "correct of these", "correct of the others",
)  # fmt: skip


def _range(name: str, of: dict[str, Any]) -> list[str]:
    fourteen = [cell(of[part], part) for part in ("trained on", "right of these", "of the others")]
    return [name, *fourteen, *map(spread, of["shares"].values())]


SEVEN = ("72+90", "3+50", "90+68", "5+51", "52+5", "36+24", "46+11")

FLOOR_HEAD = (
    "operands", "nats of the first", "nats of the second", "loss floor of 12 positions",
    "loss floor of a memorised training set",
)  # fmt: skip


def floor_rows() -> list[list[str]]:
    return [
        [f"0 to {high}", *(f"{value:.4f}" for value in floor(high, trained))]
        for high, trained in ((99, 28 * 256), (50, 7 * 256))
    ]


def floor(high: int, trained: int) -> tuple[float, float, float, float]:
    """Nats that nobody can predict of two even operands 0..high, and the mean of 12 positions.

    The first digit is given: it is no prediction. What is left of the first operand are its other
    digits and whether the operator comes; of the second everything. The last number is of a model
    that knows which pairs it is trained on, and of their first digits nothing else.

    >>> [round(value, 4) for value in floor(99, 7168)[:3]]
    [2.3739, 4.6052, 0.5816]
    """
    numbers = high + 1
    starts = [sum(str(value)[0] == digit for value in range(numbers)) for digit in "0123456789"]
    given = sum(-count / numbers * math.log(count / numbers) for count in starts if count)
    first, second = math.log(numbers) - given, math.log(numbers)
    return first, second, (first + second) / 12, (math.log(trained) - given) / 12


def _decodings(ladder: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    """What the first seed of each rung writes for the source's seven sums; wrong ones marked."""
    rows = [
        [name, *(f"{one['text'][0]}{'' if one['right'][0] else ' (wrong)'}" for one in told)]
        for name, told in ((name, of["decodings"]) for name, of in ladder.items())
        if told
    ]
    return ["rung", *SEVEN], rows


def of_rung(run: Any) -> dict[str, Any]:
    """By member: losses at the end, exact match of held-out sums, and the seven decodings."""
    from curta.evaluation.scoring import scores
    from curta.problems import problem

    models, problems = run.load_models(), asked(run)
    bounds, loss = run.layout.bounds_of(problems), run.recipe.training.loss
    found = scores(models, problems, bounds, loss)
    answers = scores(models, problems, bounds)
    sums = [problem.parse(text) for text in run.recipe.evaluation.named]
    texts = run.write(sums, 0)
    return {
        "parameters": run.folder.read_info().parameters,
        "training loss": final_losses(run),
        "held-out loss": _short(found.loss),
        "held-out loss of answers": _short(answers.loss),
        "exact match": found.exact_match.mean(axis=1).round(5).tolist(),
        "problems": len(problems),
        "decodings": [
            {
                "problem": str(one),
                "text": [run.layout.decode(text).removesuffix(run.layout.end_sign)],
                "right": [run.layout.answer(one, text) == one.truth],
            }
            for one, text in zip(sums, texts, strict=True)
        ],
        "seconds of training": [run.folder.read_info().training_seconds],
        "curve": [
            {"step": line.step, "training": [line.loss], "held out": [line.validation_loss]}
            for line in run.folder.read_metrics()
            if line.validation_loss is not None
        ],
    }


def _short(losses: Iterable[float]) -> list[float]:
    return [float(f"{loss:.3g}") for loss in losses]


def of_range(run: Any) -> dict[str, Any]:
    """Exact match by member: held out, at 50, and beyond."""
    from curta.frontends import api

    rows = api.probe(run, "operand-range", limit=LIMIT)
    shares = {f"{row['range']}, {row['beyond']} beyond": row["members"] for row in rows}
    (held_out,) = (
        one.exact_match for one in evaluated(run).lengths if one.slice_name == "held out"
    )
    return fourteen(run) | {"shares": {"held out": held_out, **shares}}


def fourteen(run: Any) -> dict[str, Any]:
    """How many of the sums with 50 are trained on, either way round, and what is right of both."""
    from curta.evaluation.scoring import scores
    from curta.probes.behaviour import at_limit
    from curta.problems import tasks

    (task,), models = run.recipe.tasks, run.load_models()
    sums = at_limit(task, (LIMIT, LIMIT))
    trained = tasks.trained_problems(task, tasks.trained_count(task))
    known = {either for one in trained for either in (one.operands, one.operands[::-1])}
    right = scores(models, sums, run.layout.bounds_of(sums)).exact_match
    met = np.array([one.operands in known for one in sums])
    parts = (right[:, of] for of in (met, ~met))
    shares = [part.mean(axis=1).tolist() if part.size else [None] * len(right) for part in parts]
    return {"trained on": int(met.sum()), "right of these": shares[0], "of the others": shares[1]}


def _rung(name: str, of: dict[str, Any]) -> list[str]:
    measures = ("training loss", "held-out loss", "held-out loss of answers")
    right = [sum(one["right"][seed] for one in of["decodings"]) for seed in range(_seeds(of))]
    return [
        name,
        str(_seeds(of)),
        *(cell(of[measure], "loss") for measure in measures),
        spread(of["exact match"]),
        ", ".join(map(str, right)) if of["decodings"] else "",
    ]


def _seeds(of: dict[str, Any]) -> int:
    return len(of["exact match"])


if __name__ == "__main__":
    main()
