"""The ladder's last rung at four sizes, for equal time: `make results-sizes`.

`sources/announced`, sums up to 99 + 99, with 0.5 to 10 million parameters. Its RoPE turns over
heads, as the source writes it, so the models have no positions in effect. They differ in width
alone: four layers, heads of width 8, as in the recipe. Each has three seeds of as many steps of 64
problems as 20 minutes of one core hold, so the larger a model is, the fewer problems it meets.

The learning rate is found first: those of `RATES`, the range that the source gives, are tried for
a tenth of the steps each, and the one with the least training loss is taken. Search and trainings
are results of their own; runs lie in the runs folder, and an interrupted one continues.
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
BEYOND, COUNT = (100, 999), 1000
"""Operands out of range, and how many sums of them are evaluated."""
HEAD = ("parameters", "steps", "held-out loss", "held out", "{} to {}".format(*BEYOND))


def main() -> None:
    options = arguments(__doc__, WIDTHS)
    on_one_core()
    for name in options.names:
        # The size's steps, and the training loss of every learning rate in a tenth of them.
        settings: dict[str, Any] = {"recipe": recipe_fields(*changed(name, RATES[0], 1))}
        settings |= {"rates": RATES, "budget": BUDGET}
        search = partial(search_rates, NAME, name, partial(changed, name), RATES, BUDGET, chunk=10)
        RESULTS.keep(NAME, f"{name}: rates", search, [0], settings, options)
        rates = RESULTS.read(NAME)[f"{name}: rates"]
        _, changes = changed(name, best_rate(rates["rates"]), rates["steps"])
        settings = {"recipe": recipe_fields(RECIPE, changes)}
        settings |= {"beyond": BEYOND, "count": COUNT, "each": EACH}
        measure = partial(measured, name, changes)
        RESULTS.keep(NAME, name, measure, range(SEEDS), settings, options)


def changed(name: str, rate: float, steps: int) -> tuple[str, dict[str, Any]]:
    """Return the recipe, and what a size changes in it."""
    return RECIPE, design(name) | {
        "optimizer.learning_rate": rate,
        "training.steps": steps,
        "training.batch": BATCH,
        "training.checkpoint_every": max(1, steps // 4),
        "training.checkpoints": 1,
        "training.validate_every": max(1, steps // 10),
        "evaluation.count": 50,
    }


def design(name: str) -> dict[str, Any]:
    """Return a size's width, with heads of width 8."""
    return {"model.width": WIDTHS[name], "model.heads": WIDTHS[name] // 8}


def measured(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    run = finished(slug(NAME, name), RECIPE, SEEDS, changes)
    return scored(run) | {
        "width": WIDTHS[name],
        "rate": run.recipe.optimizer.learning_rate,
        "beyond": beyond(run, BEYOND, COUNT),
        "range": by_range(run, count=EACH),
    }


def figures(results: Results) -> dict[str, Any]:
    """Return the figures of each size that is measured."""
    numbers = results.read(NAME)
    return {name: numbers[name] for name in WIDTHS if name in numbers}


def tables(results: Results) -> dict[str, Iterable[str]]:
    rows = (
        [
            f"{of['parameters']:,}",
            f"{of['steps']:,}",
            cell(of["held-out loss"], "loss"),
            spread(of["exact match"]),
            spread(of["beyond"]["exact match"]),
        ]
        for of in figures(results).values()
    )
    return {NAME: markdown(HEAD, rows)}


if __name__ == "__main__":
    main()
