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

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from typing import Any

from docs.components import LIMIT
from docs.encoder import both_orders, right_of_patterns
from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, grid_of, markdown, recipe_fields, spread

NAME, SEEDS = "better", 3
GRID, COUNT = 100, 100
"""Digits of the longest numbers of the grid, and problems of each of its cells."""
EACH = 3
"""Problems of each pair of lengths."""

Shares = dict[str, list[float]]
"""Exact match of every seed by test."""


def main() -> None:
    options = arguments(__doc__, MEASURED)
    for name in options.names:
        recipe, test = MEASURED[name]
        settings: dict[str, Any] = {"recipe": recipe_fields(recipe, {})}
        settings |= {"grid": GRID, "count": COUNT, "each": EACH}
        measure = partial(measured, name, recipe, test)
        RESULTS.keep(NAME, name, measure, range(SEEDS), settings, options)


def measured(name: str, recipe: str, test: Callable[[Any], Shares]) -> Shares:
    return test(finished(f"{NAME}-{name}", recipe, SEEDS))


def addition(run: Any) -> Shares:
    """Return the shares on the tests of the encoder, and the looped decoder's grid of lengths."""
    from curta.frontends import api
    from curta.problems.problem import Problem

    models = run.load_models()
    singles = [Problem("+", pair) for pair in product(range(10), repeat=2)]
    return {
        "single digits": _shares(models, singles),
        "both orders": both_orders(models),
        "patterns": right_of_patterns(api.probe(run, "patterns")),
        "up to 20 digits": _shares(models, _drawn("+", product(range(1, 21), repeat=2))),
        "21 to 30 digits": _shares(models, _drawn("+", product(range(21, 31), repeat=2))),
        **_grids(models, run.recipe),
    }


def multiplication(run: Any) -> Shares:
    problems = _drawn("*", product(range(1, 21), repeat=2))
    return {"products up to 20 digits": _shares(run.load_models(), problems)}


def sorting(run: Any) -> Shares:
    sizes = ((digits,) * count for count in range(2, 21) for digits in range(1, 21))
    problems = _drawn("sort", sizes)
    return {"lists up to 20 numbers of 20 digits": _shares(run.load_models(), problems)}


def spaced(run: Any) -> Shares:
    """Return the shares of both spacings, as the recipe's evaluation writes them."""
    rows = _held_out(run)
    return {"spaces as in training": rows[0].exact_match, "spaces elsewhere": rows[1].exact_match}


def ladder(run: Any) -> Shares:
    return {"held-out sums up to 99 + 99": _held_out(run)[0].exact_match}


def range_probe(run: Any) -> Shares:
    from curta.probes.behaviour import at_limit

    (task,) = run.recipe.tasks
    return {"fourteen sums with 50": _shares(run.load_models(), at_limit(task, (LIMIT, LIMIT)))}


MEASURED: dict[str, tuple[str, Callable[[Any], Shares]]] = {
    "addition": ("addition", addition),
    "multiplication": ("multiplication", multiplication),
    "sorting": ("sorting", sorting),
    "spaced": ("sources/spaced-addition-window", spaced),
    "ladder": ("sources/ladder-window", ladder),
    "range": ("sources/range-window", range_probe),
}
"""The recipe of each, and its tests."""


def _shares(models: Any, problems: Sequence[Any]) -> list[float]:
    from curta.evaluation.scoring import exact_match

    shares: list[float] = exact_match(models, problems).mean(axis=1).round(5).tolist()
    return shares


def _drawn(operator: str, sizes: Iterable[tuple[int, ...]]) -> list[Any]:
    """Return some random problems of every size."""
    from curta.problems import tasks

    drawn = (tasks.problems(operator, tasks.RANDOM, digits, EACH, 1) for digits in sizes)
    return [problem for problems in drawn for problem in problems]


def _grids(models: Any, recipe: Any) -> Shares:
    """Return mean and lowest cell of all pairs of lengths, up to 40 digits and up to 100."""
    cells = grid_of(models, recipe, GRID, COUNT)
    grids = {f"grid of {size} x {size}": cells[:, :size, :size] for size in (40, GRID)}
    means = {name: grid.mean(axis=(1, 2)).tolist() for name, grid in grids.items()}
    return means | {
        f"{name}, lowest cell": grid.min(axis=(1, 2)).tolist() for name, grid in grids.items()
    }


def _held_out(run: Any) -> list[Any]:
    lengths = run.folder.read_evaluation().lengths
    return [row for row in lengths if row.slice_name.startswith("held out")]


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
    """Return a row for each test that a source reports: its figure, and Curta's."""
    rows = [
        [test, _reported(results.read("sources"), test), spread(shares)]
        for tests in results.read(NAME).values()
        for test, shares in tests.items()
        if test in REPORTED
    ]
    return {NAME: markdown(("test", "reported", "exact match"), rows)}


def _reported(sources: dict[str, Any], test: str) -> str:
    figure: Any = sources
    for key in REPORTED[test]:
        figure = figure[key]
    return f"{figure:g}"


if __name__ == "__main__":
    main()
