"""Curta's best recipes on the tests of the earlier systems: `make results-better`.

Three seeds of each recipe, trained anew in seconds; every seed is reported. docs/methods.md lists
the structure that these recipes are given beyond the text.

addition           single digits, both orders, patterns, to 20 and to 30 digits; grids of lengths
multiplication     products up to 20 digits
sorting            lists of up to 20 numbers of up to 20 digits
spaced             sums of four digits with the spaces of training, and with others
ladder             held-out sums up to 99 + 99
range              the fourteen sums with 50, after training below 50
"""

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

from curta.probes.behaviour import at_limit
from docs.components import LIMIT
from docs.encoder import both_orders, patterns, right_of_patterns
from docs.evidence import Results, study
from docs.shared import (
    finished,
    grid_of,
    held_out,
    markdown,
    random_problems,
    recipe_fields,
    shares_right,
    sums_of,
)

NAME, SEEDS = "better", 3
GRID, COUNT = 100, 100
"""Digits of the longest numbers of the grid, and problems of each of its cells."""
EACH = 3
"""Problems of each pair of lengths."""

Shares = dict[str, list[float]]
"""Exact match of every seed by test."""


def main() -> None:
    sizes = {"grid": GRID, "count": COUNT, "each": EACH}
    settings = lambda name: {"recipe": recipe_fields(MEASURED[name][0], {}), **sizes}
    study(__doc__, NAME, MEASURED, range(SEEDS), settings, measured)


def measured(name: str) -> Shares:
    recipe, test = MEASURED[name]
    return test(finished(f"{NAME}-{name}", recipe, SEEDS))


def addition(run: Any) -> Shares:
    """Return the shares on the tests of the encoder, and the looped decoder's grid of lengths."""
    models = run.load_models()
    shares = {
        "single digits": shares_right(models, sums_of(product(range(10), repeat=2)), 5),
        "both orders": both_orders(models),
        "patterns": right_of_patterns(patterns(run)),
        "up to 20 digits": on_random(run, "+", product(range(1, 21), repeat=2)),
        "21 to 30 digits": on_random(run, "+", product(range(21, 31), repeat=2)),
    }
    cells = grid_of(models, run.recipe, GRID, COUNT)
    for size in (40, GRID):
        grid = cells[:, :size, :size]
        shares[f"grid of {size} x {size}"] = grid.mean(axis=(1, 2)).tolist()
        shares[f"grid of {size} x {size}, lowest cell"] = grid.min(axis=(1, 2)).tolist()
    return shares


def multiplication(run: Any) -> Shares:
    return {"products up to 20 digits": on_random(run, "*", product(range(1, 21), repeat=2))}


def sorting(run: Any) -> Shares:
    sizes = ((digits,) * count for count in range(2, 21) for digits in range(1, 21))
    return {"lists up to 20 numbers of 20 digits": on_random(run, "sort", sizes)}


def on_random(run: Any, operator: str, sizes: Iterable[tuple[int, ...]]) -> list[float]:
    """Return the shares on some random problems of every size."""
    by_size = (random_problems(operator, digits, EACH) for digits in sizes)
    return shares_right(run.load_models(), (p for problems in by_size for p in problems), 5)


def spaced(run: Any) -> Shares:
    """Return the shares of both spacings, as the recipe's evaluation writes them."""
    names = ("spaces as in training", "spaces elsewhere")
    return {name: row.exact_match for name, row in zip(names, held_out(run), strict=True)}


def ladder(run: Any) -> Shares:
    return {"held-out sums up to 99 + 99": held_out(run)[0].exact_match}


def range_probe(run: Any) -> Shares:
    sums = at_limit(run.recipe.tasks[0], (LIMIT, LIMIT))
    return {"fourteen sums with 50": shares_right(run.load_models(), sums, 5)}


MEASURED: dict[str, tuple[str, Callable[[Any], Shares]]] = {
    "addition": ("addition", addition),
    "multiplication": ("multiplication", multiplication),
    "sorting": ("sorting", sorting),
    "spaced": ("sources/spaced-addition-window", spaced),
    "ladder": ("sources/ladder-window", ladder),
    "range": ("sources/range-window", range_probe),
}
"""The recipe of each, and its tests."""


REPORTED: dict[str, tuple[str, ...]] = {
    "single digits": ("digit-encoder", "share right of all 100 single-digit sums"),
    "both orders": ("digit-encoder", "right of single-digit pairs in both orders", "share"),
    "patterns": ("digit-encoder", "named patterns", "right"),
    "21 to 30 digits": ("digit-encoder", "exact match, 21 to 30 digits"),
    "grid of 40 x 40": (
        "looped-abacus", "exact match, mean of the grid of 40 x 40 lengths, by loops", "16",
    ),
    "grid of 40 x 40, lowest cell": (
        "looped-abacus", "exact match of that grid, 16 loops, lowest cell",
    ),
    "grid of 100 x 100": ("looped-abacus", "exact match up to 100 digits, of the paper"),
    "fourteen sums with 50": ("component-ladder", "operand-range probe", "right"),
}  # fmt: skip
"""Where docs/results/sources.json has what a source reports of a test."""


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return a row for each test that a source reports, with its figure."""
    rows, sources = list[list[str]](), results.read("sources")
    for tests in results.read(NAME).values():
        for test, shares in tests.items():
            if test in REPORTED:
                figure: Any = sources
                for key in REPORTED[test]:
                    figure = figure[key]
                assert min(shares) == 1  # the page says this of all tests
                rows.append([test, f"{figure:g}"])
    return {NAME: markdown(("test", "reported"), rows)}


if __name__ == "__main__":
    main()
