"""Trains every recipe of a program and keeps what was found: `make results-programs`.

NAME             eight seeds of a recipe, none left out: windows, the certificate, exact match far
                 beyond training; docs/results/programs.json
NAME, seconds    how long one seed takes; docs/results/seconds.json

Recipes were made while seeds 0 to 7 were looked at, and some were changed since one of these had
failed. So those measured here are others, which no recipe was trained with before it was done.
"""

import time
from collections.abc import Iterable
from functools import partial
from statistics import median
from typing import Any

from curta.config.table import decimal
from curta.config.typed import as_json
from curta.evaluation.results import Evaluation
from docs.evidence import RESULTS, Results, arguments
from docs.shared import markdown, recipe_fields, scratch_runs

SEEDS = range(8, 16)

FAR = {"addition": (10_000,), "multiplication": (200,)}
"""Sizes that are too long for the evaluation of a recipe; few problems of each."""

HEADS = (
    "recipe", "trained on", "windows", "grade", "wrong", "exact at", "seconds a seed, compiled",
)  # fmt: skip

RECIPES = (
    "addition", "comparison", "copying", "luhn", "binary", "subtraction", "multiplication", "sums",
    "division", "sorting", "fractions", "carried", "spaced", "base-2", "gcd", "isqrt", "base-16",
    "calculator",
)  # fmt: skip


def main() -> None:
    timed = {f"{recipe}, seconds": recipe for recipe in RECIPES}
    options = arguments(__doc__, [*RECIPES, *timed])
    for name in options.names:
        if name in timed:
            asked = {"recipe": recipe_fields(timed[name], {})}
            measure = partial(seconds, timed[name])
            RESULTS.keep("seconds", timed[name], measure, [0], asked, options)
        else:
            RESULTS.keep("programs", name, partial(measured, name), SEEDS, settings(name), options)


def settings(recipe: str) -> dict[str, Any]:
    """The whole recipe, and the sizes that it is asked besides."""
    return {"recipe": recipe_fields(recipe, {}), "far": FAR.get(recipe, ())}


def tables(results: Results) -> dict[str, Iterable[str]]:
    found, timed = results.read("programs"), results.read("seconds")
    rows = (_row(name, found[name], timed.get(name)) for name in RECIPES if name in found)
    return {"programs": markdown(HEADS, rows)}


def measured(recipe: str) -> dict[str, Any]:
    """All seeds, trained, certified and evaluated."""
    from curta.frontends import api

    with scratch_runs():
        changes: dict[str, Any] = {"evaluation.all_sizes": True}
        run = api.train(recipe, list(SEEDS), **changes)
        info, found = run.folder.read_info(), run.folder.read_evaluation()
        assert found is not None
        return {
            "parameters": info.parameters,
            "tokens": len(run.layout.characters),
            "training": info.trained_digits,
            "certificate": _certificate(run),
            "lengths": [*lengths_of(found), *_far(run, recipe)],
        }


def seconds(recipe: str) -> list[float]:
    """From the recipe's name to trained weights: recording, training, saving; one seed.

    On all cores, without the seconds of compiling; twice, after a first time.
    """
    from curta.frontends import api

    found = []
    with scratch_runs():
        for _ in range(3):
            begun = time.perf_counter()
            run = api.begin(recipe, 1, None, {})
            run.train()
            compiling = run.folder.read_info().compile_seconds or 0.0
            found.append(round(time.perf_counter() - begun - compiling, 2))
    print(f"{recipe}: {median(found[1:]):.1f} s a seed", flush=True)
    return found[1:]


def _certificate(run: Any) -> dict[str, Any]:
    content = as_json(run.folder.read_certificate())
    content["listing"]["growth"] = content["listing"]["growth"][-1:]
    content["wrong"] = content["wrong"][:3]
    content.pop("format")
    return content


def _far(run: Any, recipe: str) -> list[dict[str, Any]]:
    """The same at sizes far beyond those of the recipe's evaluation."""
    if recipe not in FAR:
        return []
    return lengths_of(
        run.evaluate(digits=FAR[recipe], count=5, generated=1, grid=0, all_sizes=True)
    )


def lengths_of(evaluation: Evaluation) -> list[dict[str, Any]]:
    kept = ("operator", "size", "slice", "count", "exact_match", "token_accuracy")
    rows = as_json(evaluation)["lengths"]
    return [{key: row[key] for key in kept} for row in rows]


def _row(recipe: str, one: dict[str, Any], timed: list[float] | None) -> list[str]:
    """A recipe: its windows, its certificate, its worst slice at its largest sizes."""
    low, high = one["training"]
    return [
        f"`{recipe}`",
        f"{low} to {high} digits",
        f"{one['certificate']['windows']:,}",
        _grade(one["certificate"]),
        _wrong([member["wrong"] for member in one["certificate"]["members"]]),
        reached(one["lengths"]),
        f"{median(timed):.1f}" if timed else "",
    ]


def _grade(certificate: dict[str, Any]) -> str:
    """The grade; where the list is not proved complete, the bound on what it lacks."""
    bound = certificate["listing"]["bound"]
    closed = certificate["grade"] == "closed"
    return "closed" if closed else f"{certificate['grade']}, {bound:.2g}"


def _wrong(wrong: list[int]) -> str:
    """The most wrong windows of a seed, and how many seeds have any."""
    bad = sum(map(bool, wrong))
    return f"up to {max(wrong):,}, in {bad} of {len(wrong)} seeds" if bad else f"0 in {len(wrong)}"


def reached(lengths: list[dict[str, Any]]) -> str:
    """Of each operator the largest size, the least seed in its hardest slice there, and of how
    many problems."""
    shown = []
    for operator in dict.fromkeys(row["operator"] for row in lengths):
        rows = [row for row in lengths if row["operator"] == operator]
        largest = [row for row in rows if row["size"] == rows[-1]["size"]]
        least, of = min((min(row["exact_match"]), row["count"]) for row in largest)
        shown.append(f"{operator} {rows[-1]['size']}: {decimal(least)} of {of}")
    return ", ".join(shown)


if __name__ == "__main__":
    main()
