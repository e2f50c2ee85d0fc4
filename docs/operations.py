"""Five operations of three digits, as their source has them: `make results-operations`.

small, seed 0 to 2   `sources/five-operations-small`, trained to its end
small, seed 2, on    the same run, trained on to 60,000 steps, and then to 100,000; any other too

The table also has the full design trained to its end, which docs/gpu.py does on a GPU. (`full` in
docs/results/operations.json is its first hour on one core, from an earlier commit.)

Held-out problems are marked twice: the whole text to the letter, and the result's digits in what
was written token by token, as the source marks them. Runs lie in the runs folder, where an
interrupted training continues.
"""

from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import Any

from docs.evidence import RESULTS, Results, arguments
from docs.shared import (
    evaluated,
    markdown,
    on_one_core,
    recipe_fields,
    spread,
    spread_of_counts,
    trained,
)

NAME, SMALL = "operations", "sources/five-operations-small"
SEEDS = range(3)
OPERATORS = ("+", "-", "*", "//", "%")
ENDS = (40_000, 60_000, 100_000)
"""Steps at which the small one ends, first and when it is trained on."""
DESIGNS = {
    "small": (NAME, "small, seed {}"),
    "full": ("gpu", "five operations, seed {}"),
}
"""Columns of the table: file and title of their results."""


def course(end: int) -> dict[str, Any]:
    """Return what changes in the small one when it was trained to that end over earlier ones."""
    earlier = [step for step in ENDS if step < end]
    changes = {"training.validate_every": 100, "training.steps": end}
    return changes | ({"training.extended_at": earlier} if earlier else {})


def main() -> None:
    names = {f"small, seed {seed}{on}": (seed, on) for on in ("", ", on") for seed in SEEDS}
    options = arguments(__doc__, names)
    on_one_core()
    for name in options.names:
        seed, on = names[name]
        end = ENDS[-1] if on else ENDS[0]
        settings = {"recipe": recipe_fields(SMALL, course(end))}
        RESULTS.keep(NAME, name, partial(measured, seed, end), [seed], settings, options)


def measured(seed: int, end: int) -> dict[str, Any]:
    """Train a seed to that end, over the earlier ones, and score what is held out.

    A run that was trained on is no run of 40,000 steps any more: remove it to measure that again.
    """
    from curta.frontends import api
    from curta.runs import folders

    name = f"{NAME}-small-{seed}"
    for step, later in pairwise(ENDS):
        exists = name in folders.existing()
        if later <= end and (not exists or api.load(name).recipe.training.steps <= step):
            trained(name, SMALL, [seed], course(step))
            api.extend(name, later)
    run, seconds = trained(name, SMALL, [seed], course(end))
    return {"seconds": seconds} | scored(run)


def scored(run: Any) -> dict[str, Any]:
    """Return how a run of one member does on held-out problems, and what it was trained on."""
    rows = {row.operator: row for row in evaluated(run).lengths if row.slice_name == "held out"}
    return {
        "parameters": run.folder.read_info().parameters,
        "steps": run.step,
        "problems trained on": run.step * run.recipe.training.batch,
        "whole text": {o: rows[o].exact_match[0] for o in OPERATORS},
        "result": {o: rows[o].generated.exact_match[0] for o in OPERATORS},
        "problems": {o: rows[o].count for o in OPERATORS},
        "curve": [
            [line.step * run.recipe.training.batch, line.loss, line.validation_exact_match]
            for line in run.folder.read_metrics()
            if line.validation_exact_match is not None
        ],
    }


def tables(results: Results) -> dict[str, Iterable[str]]:
    designs = {
        name: [numbers[title] for title in map(form.format, SEEDS) if title in numbers]
        for name, (file, form) in DESIGNS.items()
        for numbers in [results.read(file)]
    }
    rows = [
        *_counts(designs, "parameters", "problems trained on"),
        ["seconds", *map(_seconds, designs.values())],
    ]
    shares = [_exact(designs, operator) for operator in (*OPERATORS, "mean")]
    return {NAME: markdown(["", *designs], [*shares, *rows])}


def _exact(designs: dict[str, list[dict[str, Any]]], operator: str) -> list[str]:
    """Return exact match of an operation's results, or the mean of all."""

    def share(shares: dict[str, float]) -> float:
        return sum(shares.values()) / len(shares) if operator == "mean" else shares[operator]

    cells = (spread((share(x["result"]) for x in seeds), 4) for seeds in designs.values())
    return [operator, *cells]


def _counts(designs: dict[str, list[dict[str, Any]]], *names: str) -> Iterable[list[str]]:
    for name in names:
        yield [name, *(spread_of_counts(x[name] for x in seeds) for seeds in designs.values())]


def _seconds(seeds: list[dict[str, Any]]) -> str:
    return spread_of_counts(x["seconds"] for x in seeds) + " (GPU)" * ("device" in seeds[0])


if __name__ == "__main__":
    main()
