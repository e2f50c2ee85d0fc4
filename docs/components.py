"""One component after the other, as their source prints it: `make results-components`.

The rungs are those of the comparison `ladder`, 300 epochs each; where there is RoPE, as the source
writes it (over heads, nearly without effect) and as it is meant. Then the last rung is trained on
operands up to 50, as the source does, or below 50, and evaluated on larger ones and the source's
fourteen sums with 50; those that it was trained on are counted apart.
`python -m docs.components SGD` measures one rung.

Every rung and training is a result of its own in docs/results/components.json. Each seed has a run
of its own in the runs folder, where an interrupted training continues.
"""

import math
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from curta.evaluation.scoring import scores
from curta.probes.behaviour import at_limit
from curta.problems import tasks
from curta.runs import comparison_spec
from docs.announced import best_beyond, by_range, cell, problems_of
from docs.evidence import EARLIER, Results, study
from docs.shared import held_out, markdown, of_each_seed, recipe_fields, slug, spread

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
    names = [*rungs(), *RANGES]
    settings = lambda name: {"recipe": recipe_fields(*contender(name))}
    study(__doc__, NAME, names, range(SEEDS), settings, measured)


def contender(name: str) -> tuple[str, dict[str, Any]]:
    """Return recipe and changes of a rung of the comparison, or of the last one on a range."""
    return (LAST, RANGES[name]) if name in RANGES else rungs()[name]


def measured(name: str) -> dict[str, Any]:
    recipe, changes = contender(name)
    measure = of_range if name in RANGES else of_rung
    figures: dict[str, Any] = of_each_seed(slug(NAME, name), recipe, range(SEEDS), changes, measure)
    return figures


@cache
def rungs() -> dict[str, tuple[str, dict[str, Any]]]:
    """Return recipe and changes of every entry of the comparison."""
    spec = comparison_spec.plan(["ladder"])
    return {row.name: (row.source, dict(row.changes)) for row in spec.rows}


def tables(results: Results) -> dict[str, Iterable[str]]:
    numbers, earlier = results.read(NAME), results.superseded(NAME)
    ladder, ranges = list[list[str]](), list[list[str]]()
    for name in (*rungs(), *RANGES):
        if name not in numbers:
            continue
        label, figures = f"{name}{EARLIER * (name in earlier)}", numbers[name]
        if name in RANGES:
            fourteen = ("trained on", "right of these", "of the others")
            cells = (cell(figures[figure], figure) for figure in fourteen)
            ranges.append([label, *cells, best_beyond(figures["shares"])])
        else:
            loss = cell(figures["held-out loss of answers"], "loss")
            ladder.append([label, loss, spread(figures["exact match"])])
    return {NAME: markdown(HEAD, ladder), "range": markdown(RANGE_HEAD, ranges)}


HEAD = ("rung", "loss on held-out answers", "exact match, held out")
RANGE_HEAD = (
    "trained on", "of 14 sums trained on", "correct of these", "of the others", "best range beyond",
)  # fmt: skip


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
    problems, info = problems_of(run), run.folder.read_info()
    answers = scores(run.load_models(), problems, run.layout.bounds_of(problems))
    return {
        "parameters": info.parameters,
        "held-out loss of answers": [float(f"{loss:.3g}") for loss in answers.loss],
        "exact match": answers.exact_match.mean(axis=1).round(5).tolist(),
        "seconds of training": [info.training_seconds],
    }


def of_range(run: Any) -> dict[str, Any]:
    """Return exact match held out, on the fourteen sums with 50, and beyond, by member."""
    shares, (row,) = by_range(run, limit=LIMIT), held_out(run)
    (task,) = run.recipe.tasks
    sums = at_limit(task, (LIMIT, LIMIT))
    pairs = [p.operands for p in tasks.trained_problems(task, tasks.trained_count(task))]
    either = {*pairs, *(pair[::-1] for pair in pairs)}
    trained = np.array([problem.operands in either for problem in sums])
    right = scores(run.load_models(), sums, run.layout.bounds_of(sums)).exact_match

    def share(chosen: np.ndarray) -> list[Any]:
        return right[:, chosen].mean(axis=1).tolist() if chosen.any() else [None] * len(right)

    return {
        "trained on": int(trained.sum()),
        "right of these": share(trained),
        "of the others": share(~trained),
        "shares": {"held out": row.exact_match, **shares},
    }


if __name__ == "__main__":
    main()
