"""The earlier systems' own questions, asked of Curta's best recipes: `make results-better`.

Three seeds of each recipe, trained anew in seconds; every seed is reported. What structure these
recipes are given beyond the text is said in docs/methods.md.

addition           single digits, both orders, patterns, to 20 and to 30 digits; grids of lengths
multiplication     products up to 20 digits
sorting            lists of up to 20 numbers of up to 20 digits
spaced             sums of four digits with the spaces of training, and with others
ladder             held-out sums up to 99 + 99
range              the fourteen sums with 50, after training below 50
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from docs.components import LIMIT
from docs.encoder import both_orders, right_of_patterns
from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, markdown, recipe_fields, spread

NAME, SEEDS = "better", 3
GRID, COUNT = 100, 100
"""Digits of the longest numbers of the grid, and problems of each of its cells."""
EACH = 3
"""Problems of each pair of lengths."""

Found = dict[str, list[float]]
"""Exact match by question: of every seed."""


def main() -> None:
    options = arguments(__doc__, MEASURED)
    for name in options.names:
        recipe, ask = MEASURED[name]
        asked = {"grid": GRID, "count": COUNT, "each": EACH}
        settings = {"recipe": recipe_fields(recipe, {}), **asked}
        measure = partial(measured, name, recipe, ask)
        RESULTS.keep(NAME, name, measure, range(SEEDS), settings, options)


def measured(name: str, recipe: str, ask: Callable[[Any], Found]) -> Found:
    return ask(finished(f"{NAME}-{name}", recipe, SEEDS))


def addition(run: Any) -> Found:
    """What the encoder's source asks, and the grid of lengths of the looped decoder's."""
    from curta.frontends import api
    from curta.problems.problem import Problem

    models = run.load_models()
    singles = [Problem("+", (a, b)) for a in range(10) for b in range(10)]
    return {
        "single digits": _shares(models, singles),
        "both orders": both_orders(models),
        "patterns": right_of_patterns(api.probe(run, "patterns")),
        "up to 20 digits": _shares(models, list(_drawn("+", range(1, 21), range(1, 21)))),
        "21 to 30 digits": _shares(models, list(_drawn("+", range(21, 31), range(21, 31)))),
        **_grids(models, run.recipe),
    }


def multiplication(run: Any) -> Found:
    asked = list(_drawn("*", range(1, 21), range(1, 21)))
    return {"products up to 20 digits": _shares(run.load_models(), asked)}


def sorting(run: Any) -> Found:
    from curta.problems import tasks

    asked = [
        one
        for numbers in range(2, 21)
        for digits in range(1, 21)
        for one in tasks.problems("sort", tasks.RANDOM, (digits,) * numbers, EACH, 1)
    ]
    return {"lists up to 20 numbers of 20 digits": _shares(run.load_models(), asked)}


def spaced(run: Any) -> Found:
    """Held-out sums of both spacings, as the recipe's evaluation writes them."""
    rows = _held_out(run)
    return {"spaces as in training": rows[0].exact_match, "spaces elsewhere": rows[1].exact_match}


def ladder(run: Any) -> Found:
    return {"held-out sums up to 99 + 99": _held_out(run)[0].exact_match}


def range_probe(run: Any) -> Found:
    from curta.probes.behaviour import at_limit

    (task,) = run.recipe.tasks
    return {"fourteen sums with 50": _shares(run.load_models(), at_limit(task, (LIMIT, LIMIT)))}


MEASURED: dict[str, tuple[str, Callable[[Any], Found]]] = {
    "addition": ("addition", addition),
    "multiplication": ("multiplication", multiplication),
    "sorting": ("sorting", sorting),
    "spaced": ("sources/spaced-addition-window", spaced),
    "ladder": ("sources/ladder-window", ladder),
    "range": ("sources/range-window", range_probe),
}
"""Recipe of each, and what it is asked."""


def _shares(models: Any, problems: Sequence[Any]) -> list[float]:
    from curta.evaluation.scoring import exact_match

    found: list[float] = exact_match(models, problems).mean(axis=1).round(5).tolist()
    return found


def _drawn(operator: str, first: range, second: range) -> Iterator[Any]:
    """Some random problems of every pair of lengths."""
    from curta.problems import tasks

    for digits in ((one, other) for one in first for other in second):
        yield from tasks.problems(operator, tasks.RANDOM, digits, EACH, 1)


def _grids(models: Any, recipe: Any) -> Found:
    """Mean and lowest cell of all pairs of lengths, up to 40 digits as the source asks, and 100."""
    import numpy as np

    from curta.evaluation import exact_match

    asked = replace(recipe.evaluation, grid=GRID, grid_count=COUNT)
    rows = [exact_match.grid_row(models, "+", asked, first) for first in range(1, GRID + 1)]
    cells = np.stack([np.array(row) for row in rows], axis=1)
    parts = {size: cells[:, :size, :size] for size in (40, GRID)}
    means = {f"grid of {n} x {n}": part.mean(axis=(1, 2)).tolist() for n, part in parts.items()}
    return means | {
        f"grid of {n} x {n}, lowest cell": part.min(axis=(1, 2)).tolist()
        for n, part in parts.items()
    }


def _held_out(run: Any) -> list[Any]:
    lengths = run.folder.read_evaluation().lengths
    return [row for row in lengths if row.slice_name.startswith("held out")]


ASKED = (
    ("digit-encoder", "single digits", "share right of all 100 single-digit sums"),
    ("digit-encoder", "both orders", "right of single-digit pairs in both orders"),
    ("digit-encoder", "patterns", "named patterns"),
    ("digit-encoder", "up to 20 digits", None),
    ("digit-encoder", "21 to 30 digits", "exact match, 21 to 30 digits"),
    ("digit-encoder", "products up to 20 digits", None),
    ("digit-encoder", "lists up to 20 numbers of 20 digits", None),
    ("spaced-addition", "spaces as in training", "exact match"),
    ("spaced-addition", "spaces elsewhere", "exact match"),
    ("looped-abacus", "grid of 40 x 40",
     "exact match, mean of the grid of 40 x 40 lengths, by loops"),
    ("looped-abacus", "grid of 40 x 40, lowest cell",
     "exact match of that grid, 16 loops, lowest cell"),
    ("looped-abacus", "grid of 100 x 100", "exact match up to 100 digits, of the paper"),
    ("looped-abacus", "grid of 100 x 100, lowest cell", None),
    ("component-ladder", "held-out sums up to 99 + 99", None),
    ("component-ladder", "fourteen sums with 50", "operand-range probe"),
)  # fmt: skip
"""Source, question, and the figure of docs/results/sources.json that answers it there."""


def tables(results: Results) -> dict[str, Iterable[str]]:
    known, reported = results.read(NAME), results.read("sources")
    answers = {
        question: (f"`{MEASURED[name][0]}`", shares)
        for name, found in known.items()
        for question, shares in found.items()
    }
    if not answers:
        return {}
    head = ("source", "test", "reported", "recipe", "exact match, all seeds")
    rows = [
        [source, question, _reported(reported[source], figure), recipe, spread(shares)]
        for source, question, figure in ASKED
        if question in answers
        for recipe, shares in [answers[question]]
    ]
    return {NAME: markdown(head, rows)}


def _reported(figures: dict[str, Any], name: str | None) -> str:
    from docs.sources import shown

    return "not reported" if name is None else shown(figures[name])


if __name__ == "__main__":
    main()
