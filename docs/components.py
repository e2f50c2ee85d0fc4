"""One component after the other, as their source prints it: `make results-components`.

The rungs are those of the comparison `ladder`, 300 epochs each; where there is RoPE, as the source
writes it (over heads, nearly without effect) and as it is meant. Losses are of what a rung trains
on: every position of the 12, padding included, or in the last rung the answers. Then the last rung
is trained on operands up to 50, as the source does, or below 50, and evaluated on larger ones and
the source's fourteen sums with 50; those that it was trained on are counted apart.
`python -m docs.components SGD` measures one rung.

Every rung and training is a result of its own in docs/results/components.json. Each seed has a run
of its own in the runs folder, where an interrupted training continues.
"""

import math
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

import numpy as np

from docs.announced import best_beyond, cell, problems_of
from docs.evidence import EARLIER, RESULTS, Results, arguments
from docs.shared import (
    evaluated,
    final_losses,
    markdown,
    of_each_seed,
    recipe_fields,
    slug,
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
"""The number of the source's fourteen sums."""


def main() -> None:
    options = arguments(__doc__, [*rungs(), *RANGES])
    for name in options.names:
        recipe, changes = (LAST, RANGES[name]) if name in RANGES else rungs()[name]
        settings = {"recipe": recipe_fields(recipe, changes)}
        measure = partial(measured, name, recipe, changes)
        RESULTS.keep(NAME, name, measure, range(SEEDS), settings, options)


def measured(name: str, recipe: str, changes: dict[str, Any]) -> dict[str, Any]:
    measure = of_range if name in RANGES else of_rung
    figures: dict[str, Any] = of_each_seed(slug(NAME, name), recipe, range(SEEDS), changes, measure)
    return figures


@cache
def rungs() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return recipe and changes of every entry of the comparison."""
    from curta.runs import comparison_spec

    spec = comparison_spec.plan(["ladder"])
    return {row.name: (row.source, dict(row.changes)) for row in spec.rows}


def tables(results: Results) -> dict[str, Iterable[str]]:
    numbers, earlier = results.read(NAME), results.superseded(NAME)
    labels = {name: f"{name}{EARLIER * (name in earlier)}" for name in numbers}
    ladder = [_rung(labels[name], numbers[name]) for name in rungs() if name in numbers]
    ranges = [_range(labels[name], numbers[name]) for name in RANGES if name in numbers]
    return {NAME: markdown(HEAD, ladder), "range": markdown(RANGE_HEAD, ranges)}


HEAD = ("rung", "loss on held-out answers", "exact match, held out")
RANGE_HEAD = (
    "trained on", "of 14 sums trained on", "correct of these", "of the others", "best range beyond",
)  # fmt: skip


def _rung(label: str, figures: dict[str, Any]) -> list[str]:
    loss = cell(figures["held-out loss of answers"], "loss")
    return [label, loss, spread(figures["exact match"])]


def _range(label: str, figures: dict[str, Any]) -> list[str]:
    names = ("trained on", "right of these", "of the others")
    fourteen = (cell(figures[name], name) for name in names)
    return [label, *fourteen, best_beyond(figures["shares"])]


def floor(high: int, trained: int) -> tuple[float, float, float, float]:
    """Return the nats that nobody can predict of two even operands 0..high, and position means.

    The first digit is no prediction. The first operand has its other digits and where the operator
    comes, the second everything. Then the mean of 12 positions, and the same for a model that knows
    which pairs it is trained on, and their first digits alone.

    >>> [round(value, 4) for value in floor(99, 7168)[:3]]
    [2.3739, 4.6052, 0.5816]
    """
    numbers = high + 1
    starts = [sum(str(value)[0] == digit for value in range(numbers)) for digit in "0123456789"]
    of_start = sum(-count / numbers * math.log(count / numbers) for count in starts if count)
    first, second = math.log(numbers) - of_start, math.log(numbers)
    return first, second, (first + second) / 12, (math.log(trained) - of_start) / 12


def of_rung(run: Any) -> dict[str, Any]:
    """Return losses at the end and exact match on held-out sums, by member."""
    from curta.evaluation.scoring import scores

    models, problems = run.load_models(), problems_of(run)
    bounds = run.layout.bounds_of(problems)
    texts = scores(models, problems, bounds, run.recipe.training.loss)
    answers = scores(models, problems, bounds)
    return {
        "parameters": run.folder.read_info().parameters,
        "training loss": final_losses(run),
        "held-out loss": [float(f"{loss:.3g}") for loss in texts.loss],
        "held-out loss of answers": [float(f"{loss:.3g}") for loss in answers.loss],
        "exact match": texts.exact_match.mean(axis=1).round(5).tolist(),
        "problems": len(problems),
        "seconds of training": [run.folder.read_info().training_seconds],
    }


def of_range(run: Any) -> dict[str, Any]:
    """Return exact match held out, on the fourteen sums with 50, and beyond, by member."""
    from curta.evaluation.scoring import scores
    from curta.frontends import api
    from curta.probes.behaviour import at_limit
    from curta.problems import tasks

    rows = api.probe(run, "operand-range", limit=LIMIT)
    shares = {f"{row['range']}, {row['beyond']} beyond": row["members"] for row in rows}
    (held_out,) = (
        row.exact_match for row in evaluated(run).lengths if row.slice_name == "held out"
    )
    (task,), models = run.recipe.tasks, run.load_models()
    sums = at_limit(task, (LIMIT, LIMIT))
    pairs = [p.operands for p in tasks.trained_problems(task, tasks.trained_count(task))]
    either = {*pairs, *(pair[::-1] for pair in pairs)}
    trained = np.array([problem.operands in either for problem in sums])
    right = scores(models, sums, run.layout.bounds_of(sums)).exact_match

    def share(chosen: np.ndarray) -> list[Any]:
        return right[:, chosen].mean(axis=1).tolist() if chosen.any() else [None] * len(right)

    return {
        "trained on": int(trained.sum()),
        "right of these": share(trained),
        "of the others": share(~trained),
        "shares": {"held out": held_out, **shares},
    }


if __name__ == "__main__":
    main()
