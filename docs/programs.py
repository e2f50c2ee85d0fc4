"""Trains every recipe of a program, certifies and evaluates it: `make results-programs`.

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
from curta.frontends import api
from docs.evidence import EARLIER, RESULTS, Results, arguments
from docs.shared import markdown, recipe_fields, scratch_runs

SEEDS = range(8, 16)

FAR: dict[str, tuple[int, ...]] = {"addition": (10_000,), "multiplication": (200,)}
"""Sizes that are too long for the evaluation of a recipe; few problems of each."""

HEADS = ("recipe", "digits", "windows", "grade", "wrong", "exact at", "seconds")

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
            settings: dict[str, Any] = {"recipe": recipe_fields(timed[name], {})}
            measure = partial(seconds, timed[name])
            RESULTS.keep("seconds", timed[name], measure, [0], settings, options)
        else:
            settings = {"recipe": recipe_fields(name, {}), "far": FAR.get(name, ())}
            RESULTS.keep("programs", name, partial(measured, name), SEEDS, settings, options)


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return a row for each recipe: of `certified`, or as it was before repair if not there.

    It has windows, grade, and the most wrong windows before repair and in how many seeds.
    """
    before, after = results.read("programs"), results.read("certified")
    timed, earlier = results.read("seconds"), results.superseded("certified")
    rows = list[list[str]]()
    for name in RECIPES:
        figures = after[name] if name in after else before[name]
        if name in after:
            members = figures["members"]
            assert not any(member["wrong"] for member in members)
            wrong = [member.get("rounds", [0])[0] for member in members]
            # The page says this of all recipes.
            assert max(len(member.get("rounds", ())) for member in members) <= 8
            verdict, bound = figures, figures["bound"]
        else:
            verdict = figures["certificate"]
            wrong = [member["wrong"] for member in verdict["members"]]
            bound = verdict["listing"]["bound"]
        rows.append([
            f"`{name}`{EARLIER * (name in earlier or name not in after)}",
            str(before[name]["training"][1]),
            f"{verdict['windows']:,}",
            "closed" if verdict["grade"] == "closed" else f"{bound:.2g}",
            f"{max(wrong)} in {sum(map(bool, wrong))}" if any(wrong) else "0",
            reached(figures["lengths"]),
            f"{median(timed[name]):.1f}",
        ])  # fmt: skip
    return {"programs": markdown(HEADS, rows)}


def measured(recipe: str) -> dict[str, Any]:
    """All seeds, trained, certified and evaluated, also at sizes far beyond the recipe's own."""
    with scratch_runs():
        changes: dict[str, Any] = {"evaluation.all_sizes": True}
        run = api.train(recipe, list(SEEDS), **changes)
        info, evaluation = run.folder.read_info(), run.folder.read_evaluation()
        assert evaluation is not None
        lengths = lengths_of(evaluation)
        if sizes := FAR.get(recipe):
            far = run.evaluate(digits=sizes, count=5, generated=1, grid=0, all_sizes=True)
            lengths += lengths_of(far)
        certificate = as_json(run.folder.read_certificate())
        certificate["listing"]["growth"] = certificate["listing"]["growth"][-1:]
        certificate["wrong"] = certificate["wrong"][:3]
        certificate.pop("format")
        return {
            "parameters": info.parameters,
            "tokens": len(run.layout.characters),
            "training": info.trained_digits,
            "certificate": certificate,
            "lengths": lengths,
        }


def seconds(recipe: str) -> list[float]:
    """From the recipe's name to trained weights: recording, training, saving; one seed.

    On all cores, without the seconds of compiling; twice, after a first time.
    """
    times = []
    with scratch_runs():
        for _ in range(3):
            begun = time.perf_counter()
            run = api.begin(recipe, 1, None, {})
            run.train()
            compiling = run.folder.read_info().compile_seconds or 0.0
            times.append(round(time.perf_counter() - begun - compiling, 2))
    print(f"{recipe}: {median(times[1:]):.1f} s a seed", flush=True)
    return times[1:]


def lengths_of(evaluation: Evaluation) -> list[dict[str, Any]]:
    columns = ("operator", "size", "slice", "count", "exact_match", "token_accuracy")
    rows = as_json(evaluation)["lengths"]
    return [{key: row[key] for key in columns} for row in rows]


def reached(lengths: list[dict[str, Any]]) -> str:
    """Return the largest size of each operator, with the worst share there unless it is 1.

    The worst is that of the worst seed in the hardest slice.
    """
    cells = []
    for operator in dict.fromkeys(row["operator"] for row in lengths):
        rows = [row for row in lengths if row["operator"] == operator]
        size = rows[-1]["size"]
        least = min(min(row["exact_match"]) for row in rows if row["size"] == size)
        cells.append(f"{operator} {size}{'' if least == 1 else f': {decimal(least)}'}")
    return ", ".join(cells)


if __name__ == "__main__":
    main()
