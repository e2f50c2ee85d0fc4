"""Trains every recipe of a program and keeps what was found: `make results-programs`.

Eight seeds of each (the calculator: three), none left out, in docs/results/programs.json: seconds,
windows, the certificate, exact match far beyond training.
"""

import time
from collections.abc import Iterable
from functools import partial
from statistics import median
from typing import Any

from curta.config.typed import as_json
from curta.evaluation.results import Evaluation
from docs.evidence import RESULTS, Results, arguments
from docs.shared import markdown, recipe_fields, scratch_runs

SEEDS = {"calculator": 3}
"""Where they are not eight."""

FAR = {"addition": (10_000,), "multiplication": (200,)}
"""Sizes that are too long for the evaluation of a recipe; few problems of each."""

HEADS = ("recipe", "trained on", "windows", "grade", "wrong", "exact at", "seconds a seed")

RECIPES = (
    "addition", "subtraction", "sums", "multiplication", "division", "sorting", "comparison",
    "copying", "gcd", "isqrt", "binary", "luhn", "fractions", "base-2", "base-16",
    "carried", "spaced", "calculator",
)  # fmt: skip


def main() -> None:
    options = arguments(__doc__, RECIPES)
    for recipe in options.names:
        seeds = range(SEEDS.get(recipe, 8))
        measure = partial(measured, recipe, len(seeds))
        RESULTS.keep("programs", recipe, measure, seeds, settings(recipe), options)


def settings(recipe: str) -> dict[str, Any]:
    """The whole recipe, and the sizes that it is asked besides."""
    return {"recipe": recipe_fields(recipe, {}), "far": FAR.get(recipe, ())}


def tables(results: Results) -> dict[str, Iterable[str]]:
    return {"programs": markdown(HEADS, map(_row, results.read("programs").items()))}


def measured(recipe: str, seeds: int) -> dict[str, Any]:
    """One seed is timed alone; then all seeds are trained."""
    from curta.frontends import api

    with scratch_runs():
        seconds = _seconds(recipe)
        run = api.train(recipe, seeds)
        info, found = run.folder.read_info(), run.folder.read_evaluation()
        assert found is not None
        return {
            "parameters": info.parameters,
            "tokens": len(run.layout.characters),
            "training": info.trained_digits,
            "seconds_one_seed": seconds,
            "certificate": _certificate(run),
            "lengths": [*_lengths(found), *_far(run, recipe)],
        }


def _seconds(recipe: str) -> list[float]:
    """From the recipe's name to trained weights: recording, training, saving; one seed.

    Twice, after a first time in which its program is compiled.
    """
    from curta.frontends import api

    found = []
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
    return _lengths(run.evaluate(digits=FAR[recipe], count=5, generated=1, grid=0))


def _lengths(evaluation: Evaluation) -> list[dict[str, Any]]:
    kept = ("operator", "size", "slice", "count", "exact_match", "token_accuracy")
    rows = as_json(evaluation)["lengths"]
    return [{key: row[key] for key in kept} for row in rows]


def _row(entry: tuple[str, dict[str, Any]]) -> list[str]:
    """A recipe: its windows, its certificate, its worst slice at its largest sizes."""
    recipe, one = entry
    low, high = one["training"]
    return [
        f"`{recipe}`",
        f"{low} to {high} digits",
        f"{one['certificate']['windows']:,}",
        _grade(one["certificate"]),
        _wrong([member["wrong"] for member in one["certificate"]["members"]]),
        _reached(one["lengths"]),
        f"{median(one['seconds_one_seed']):.1f}",
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


def _reached(lengths: list[dict[str, Any]]) -> str:
    """Of each operator the largest size, and the least seed in its hardest slice there."""
    shown = []
    for operator in dict.fromkeys(row["operator"] for row in lengths):
        rows = [row for row in lengths if row["operator"] == operator]
        largest = [row for row in rows if row["size"] == rows[-1]["size"]]
        least = min(min(row["exact_match"]) for row in largest)
        shown.append(f"{operator} {rows[-1]['size']}: {least:.3f}")
    return ", ".join(shown)


if __name__ == "__main__":
    main()
