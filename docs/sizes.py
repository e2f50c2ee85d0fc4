"""The ladder's last rung at four sizes, for equal time and on equal data: `make results-sizes`.

`sources/announced`, sums up to 99 + 99, with 0.5 to 10 million parameters. Its RoPE turns over
heads, as the source writes it, so the models have no positions in effect. They differ in width
alone: four layers, heads of width 8, as in the recipe. Each has three seeds of as many steps of 64
problems as 20 minutes of one core hold, so the larger a model is, the fewer problems it meets.

The learning rate is found first: those of `RATES`, the range that the source gives, are tried for
a tenth of the steps each, and the one with the least training loss is taken.

`0.5M: equal data` and so on train the smaller sizes on as many problems as the largest meets in its
20 minutes, at the rates found. Search and trainings are results of their own; runs lie in the runs
folder, and an interrupted one continues.
"""

import argparse
from collections.abc import Iterable, Iterator
from functools import partial
from statistics import median
from typing import Any

from curta.config.table import decimal
from docs.announced import EACH, beyond, by_range, cell, final_losses, of_each_seed, scored
from docs.evidence import RESULTS, Results, arguments
from docs.shared import (
    affordable,
    ended,
    finished,
    markdown,
    on_one_core,
    own_run,
    recipe_fields,
    spread,
)

NAME, RECIPE, SEEDS = "sizes", "sources/announced", 3
WIDTHS = {"0.5M": 104, "2M": 208, "5M": 320, "10M": 456}
"""Width of each size, by about how many parameters it has."""
LARGEST = "10M"
RATES = (0.0003, 0.001, 0.003)
BUDGET, BATCH, SEARCH = 20 * 60.0, 64, 10
"""Seconds of one core for a seed, problems of a step, and the part of the steps to try a rate."""
BEYOND, COUNT = (100, 999), 1000
"""Operands out of range, and how many sums of them are asked."""
BESIDES: dict[str, Any] = {"beyond": BEYOND, "count": COUNT, "each": EACH}
EQUAL_DATA = {f"{name}: equal data": name for name in ("0.5M", "2M", "5M")}
"""Results after as many steps as the largest size has, with the sizes that they are of."""
FEWER = {"5M: equal data": 1}
"""How many seeds there are of results that have not `SEEDS`."""


def main() -> None:
    options = arguments(__doc__, [*WIDTHS, *EQUAL_DATA])
    if {*options.names} & {*WIDTHS}:
        on_one_core()
    for name in options.names:
        size = EQUAL_DATA.get(name, name)
        if name in WIDTHS:
            search(name, options)
        known = RESULTS.read(NAME)
        most = known[f"{size if name in WIDTHS else LARGEST}: rates"]["steps"]
        changed = changes(size, best_rate(known[f"{size}: rates"]["rates"]), most)
        settings = {"recipe": recipe_fields(RECIPE, changed), **BESIDES}
        measure, count = partial(measured, size, changed), FEWER.get(name, SEEDS)
        if name in EQUAL_DATA:
            measure = partial(
                of_each_seed, f"{NAME}-{slug(size)}-equal-data", RECIPE, count, changed,
                partial(figures, size),
            )  # fmt: skip
        RESULTS.keep(NAME, name, measure, range(count), settings, options)


def changes(name: str, rate: float, steps: int) -> dict[str, Any]:
    """What is changed in the recipe."""
    return design(name) | {
        "optimizer.learning_rate": rate,
        "training.steps": steps,
        "training.batch": BATCH,
        "training.checkpoint_every": max(1, steps // 4),
        "training.checkpoints": 1,
        "training.validate_every": max(1, steps // 10),
        "evaluation.count": 50,
    }


def design(name: str) -> dict[str, Any]:
    """A size, with heads of width 8."""
    return {"model.width": WIDTHS[name], "model.heads": WIDTHS[name] // 8}


def search(name: str, options: argparse.Namespace) -> None:
    """Keeps the size's steps, and the training loss of every learning rate in a tenth of them."""
    asked = {"recipe": recipe_fields(RECIPE, changes(name, RATES[0], 1))}
    besides = {"rates": RATES, "budget": BUDGET}
    RESULTS.keep(NAME, f"{name}: rates", partial(searched, name), [0], asked | besides, options)


def searched(name: str) -> dict[str, Any]:
    steps, losses = affordable(RECIPE, changes(name, RATES[0], 1000), BUDGET, chunk=10), {}
    for rate in RATES:
        own = slug(f"{NAME}-{name}-{rate}")
        run = own_run(own, RECIPE, 1, changes(name, rate, steps // SEARCH))
        run.train()
        ended(run)
        (losses[str(rate)],) = final_losses(run)
    return {"steps": steps, "rates": losses}


def best_rate(losses: dict[str, float | None]) -> float:
    """The rate with the least training loss, of those that did not diverge."""
    known = {rate: loss for rate, loss in losses.items() if loss is not None}
    return float(min(known, key=lambda rate: known[rate]))


def measured(name: str, changed: dict[str, Any]) -> dict[str, Any]:
    run = finished(f"{NAME}-{slug(name)}", RECIPE, SEEDS, changed)
    return figures(name, run)


def figures(name: str, run: Any) -> dict[str, Any]:
    return scored(run) | {
        "width": WIDTHS[name],
        "rate": run.recipe.optimizer.learning_rate,
        "beyond": beyond(run, BEYOND, COUNT),
        "range": by_range(run),
    }


def slug(name: str) -> str:
    return name.replace(".", "_")


def trained(results: Results) -> dict[str, Any]:
    """The figures of each size that has them, after equal time."""
    known = results.read(NAME)
    return {name: known[name] for name in WIDTHS if name in known}


def on_equal_data(results: Results) -> dict[str, Any]:
    """Those of each size on as much data as the largest has in its time, and of that itself."""
    known = results.read(NAME)
    names = {size: name for name, size in EQUAL_DATA.items()} | {LARGEST: LARGEST}
    found = {size: known[name] for size, name in names.items() if name in known}
    return found if len(found) > 1 else {}


def tables(results: Results) -> dict[str, Iterable[str]]:
    known, equal = trained(results), on_equal_data(results)
    if not known:
        return {}
    ranges = {name: one["range"] for name, one in known.items()}
    head = ["", *next(iter(ranges.values()))]
    found: dict[str, Iterable[str]] = {
        NAME: markdown(HEAD, (_row(name, one) for name, one in known.items())),
        f"{NAME}, range": markdown(head, _ranges(ranges)),
        f"{NAME}, rates": markdown(
            ["", "steps tried", *map(str, RATES)], _rates(results.read(NAME))
        ),
    }
    if equal:
        found[f"{NAME}, equal data"] = markdown(HEAD, (_row(*one) for one in equal.items()))
    return found


HEAD = (
    "",
    "seeds",
    "width",
    "parameters",
    "steps",
    "learning rate",
    "training loss",
    "loss on held-out answers",
    "exact match, held out",
    "exact match, mirrored pair not in training",
    "exact match, {} to {}".format(*BEYOND),
    "token accuracy there",
    "seconds a seed",
)


def _row(name: str, of: dict[str, Any]) -> list[str]:
    return [
        name,
        str(len(of["held-out loss"])),
        str(of["width"]),
        f"{of['parameters']:,}",
        f"{of['steps']:,}",
        str(of["rate"]),
        *(cell(of[loss], loss) for loss in ("training loss", "held-out loss")),
        *(spread(of[measure]) for measure in ("exact match", "exact match without twin")),
        *(spread(of["beyond"][measure]) for measure in ("exact match", "token accuracy")),
        f"{of['seconds'] / len(of['held-out loss']):,.0f}",
    ]


def _ranges(known: dict[str, dict[str, list[float]]]) -> Iterator[list[str]]:
    """The median of the seeds: most are alike."""
    for name, shares in known.items():
        yield [name, *(decimal(median(values)) for values in shares.values())]


def _rates(known: dict[str, Any]) -> Iterator[list[str]]:
    for name in WIDTHS:
        if found := known.get(f"{name}: rates"):
            losses = found["rates"].values()
            told = ["diverged" if one is None else f"{one:.4f}" for one in losses]
            yield [name, f"{found['steps'] // SEARCH:,}", *told]


if __name__ == "__main__":
    main()
