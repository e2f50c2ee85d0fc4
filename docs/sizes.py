"""The ladder's last rung at four sizes, for equal time: `make results-sizes`.

`sources/announced`, sums up to 99 + 99, with 0.5 to 10 million parameters. Its RoPE turns over
heads, as the source writes it, so the models have no positions in effect. They differ in width
alone: four layers, heads of width 8, as in the recipe. Each has three seeds of as many steps of 64
problems as 20 minutes of one core hold, so the larger a model is, the fewer problems it meets.

The learning rate is found first: those of `RATES`, the range that the source gives, are tried for
a tenth of the steps each, and the one with the least training loss is taken. Search and trainings
are results of their own; runs lie in the runs folder, and an interrupted one continues.

`0.5M, equal data` and the like are trained for as many steps as the largest model, on the same
problems in the same order, at the rate that was best for their own number of steps.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from docs.announced import EACH, beyond, by_range, cell, scored
from docs.evidence import RESULTS, Results, arguments
from docs.shared import (
    best_rate,
    finished,
    markdown,
    on_one_core,
    recipe_fields,
    search_rates,
    slug,
    spread,
)

NAME, RECIPE, SEEDS = "sizes", "sources/announced", 3
WIDTHS = {"0.5M": 104, "2M": 208, "5M": 320, "10M": 456}
"""Width of each size, by about how many parameters it has."""
RATES = (0.0003, 0.001, 0.003)
BUDGET, BATCH = 20 * 60.0, 64
"""Seconds of one core for a seed, and problems of a step."""
LARGEST, EQUAL = "10M", ", equal data"
BEYOND, COUNT = (100, 999), 1000
"""Operands out of range, and how many sums of them are evaluated."""
HEAD = ("parameters", "steps", "held-out loss", "held out", "{} to {}".format(*BEYOND))


def main() -> None:
    options = arguments(__doc__, names())
    on_one_core()
    for name in options.names:
        size = name.removesuffix(EQUAL)
        if name == size:
            # The size's steps, and the training loss of every learning rate in a tenth of them.
            settings: dict[str, Any] = {"recipe": recipe_fields(*changed(size, RATES[0], 1))}
            settings |= {"rates": RATES, "budget": BUDGET}
            search = partial(
                search_rates, NAME, size, partial(changed, size), RATES, BUDGET, chunk=10
            )
            RESULTS.keep(NAME, f"{size}: rates", search, [0], settings, options)
        numbers = RESULTS.read(NAME)
        rates = numbers[f"{size}: rates"]
        steps = numbers[f"{size if name == size else LARGEST}: rates"]["steps"]
        _, changes = changed(size, best_rate(rates["rates"]), steps)
        settings = {"recipe": recipe_fields(RECIPE, changes)}
        settings |= {"beyond": BEYOND, "count": COUNT, "each": EACH}
        measure = partial(measured, name, changes)
        RESULTS.keep(NAME, name, measure, range(SEEDS), settings, options)


def names() -> list[str]:
    """Return the results: every size for equal time, and all but the largest on equal data."""
    return [*WIDTHS, *(f"{size}{EQUAL}" for size in WIDTHS if size != LARGEST)]


def changed(size: str, rate: float, steps: int) -> tuple[str, dict[str, Any]]:
    """Return the recipe, and what a size changes in it."""
    return RECIPE, design(size) | {
        "optimizer.learning_rate": rate,
        "training.steps": steps,
        "training.batch": BATCH,
        "training.checkpoint_every": max(1, steps // 4),
        "training.checkpoints": 1,
        "training.validate_every": max(1, steps // 10),
        "evaluation.count": 50,
    }


def design(size: str) -> dict[str, Any]:
    """Return a size's width, with heads of width 8."""
    return {"model.width": WIDTHS[size], "model.heads": WIDTHS[size] // 8}


def measured(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    run = finished(slug(NAME, name), RECIPE, SEEDS, changes)
    return scored(run) | {
        "width": WIDTHS[name.removesuffix(EQUAL)],
        "rate": run.recipe.optimizer.learning_rate,
        "beyond": beyond(run, BEYOND, COUNT),
        "range": by_range(run, count=EACH),
    }


def figures(results: Results) -> dict[str, Any]:
    """Return the figures of each size that is measured, for equal time."""
    numbers = results.read(NAME)
    return {size: numbers[size] for size in WIDTHS if size in numbers}


def tables(results: Results) -> dict[str, Iterable[str]]:
    numbers = results.read(NAME)
    rows = (
        [
            f"{of['parameters']:,}",
            f"{of['steps']:,}",
            cell(of["held-out loss"], "loss"),
            spread(of["exact match"]),
            spread(of["beyond"]["exact match"]),
        ]
        for of in (numbers[name] for name in names() if name in numbers)
    )
    return {NAME: markdown(HEAD, rows)}


if __name__ == "__main__":
    main()
