"""Trains every recipe of a program and keeps what was found: `make results`.

Eight seeds of each (the calculator: three), none left out, in docs/results/programs.json: seconds,
windows, the certificate, exact match far beyond training. The tables of README.md and of the
pages in docs are made from that file alone, between their marks.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results" / "programs.json"
PAGES = (FOLDER.parent / "README.md", FOLDER / "results.md", FOLDER / "methods.md")

Tables = dict[str, Callable[[dict[str, Any]], Iterator[str]]]

SEEDS = {"calculator": 3}
"""Where they are not eight."""

FAR = {"addition": (10_000,), "multiplication": (200,)}
"""Sizes that are too long for the evaluation of a recipe; few problems of each."""

RECIPES = (
    "addition", "subtraction", "sums", "multiplication", "division", "sorting", "comparison",
    "copying", "gcd", "isqrt", "binary", "luhn", "fractions", "base-2", "base-16",
    "carried", "spaced", "calculator",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recipes", nargs="*", help="which recipes (all)")
    parser.add_argument("--tables", action="store_true", help="only write the tables anew")
    parser.add_argument("--seconds", action="store_true", help="only time one seed anew")
    options = parser.parse_args()
    for recipe in () if options.tables else options.recipes or RECIPES:
        keep(recipe, timed(recipe) if options.seconds else measured(recipe))
    for page in PAGES:
        write_tables(page, json.loads(RESULTS.read_text("utf-8")))


def keep(recipe: str, found: dict[str, Any]) -> None:
    """Enters a recipe's results, the others left as they are."""
    known = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(known | {recipe: found}, indent=1) + "\n", "utf-8")


def timed(recipe: str) -> dict[str, Any]:
    """What is known of a recipe, with its seconds measured anew."""
    known = json.loads(RESULTS.read_text("utf-8"))[recipe]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CURTA_RUNS"] = folder
        return known | {"seconds_one_seed": _seconds(recipe)}


def measured(recipe: str) -> dict[str, Any]:
    """One seed is timed alone; then all seeds are trained."""
    from curta.frontends import api

    seeds = SEEDS.get(recipe, 8)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CURTA_RUNS"] = folder
        seconds = _seconds(recipe)
        run = api.train(recipe, seeds)
        return {
            "command": f"curta train {recipe} --seeds {seeds}",
            "commit": _commit(),
            "versions": run.folder.info["versions"],
            "device": run.folder.info["device"],
            "seeds": run.seeds,
            "parameters": run.folder.info["parameters"],
            "tokens": len(run.layout.characters),
            "training": run.folder.info["trained_digits"],
            "seconds_one_seed": seconds,
            "certificate": _certificate(run),
            "lengths": [*_lengths(run.folder.evaluation), *_far(run, recipe)],
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
        found.append(round(time.perf_counter() - begun - run.folder.info["compile_seconds"], 2))
    print(f"{recipe}: {median(found[1:]):.1f} s a seed", flush=True)
    return found[1:]


def _certificate(run: Any) -> dict[str, Any]:
    content = json.loads((run.folder.path / "certificate.json").read_text("utf-8"))
    content["listing"]["growth"] = content["listing"]["growth"][-1:]
    content["wrong"] = content["wrong"][:3]
    content.pop("format")
    return content


def _far(run: Any, recipe: str) -> list[dict[str, Any]]:
    """The same at sizes far beyond those of the recipe's evaluation."""
    if recipe not in FAR:
        return []
    return _lengths(run.evaluate(digits=FAR[recipe], count=5, generated=1, grid=0))


def _lengths(evaluation: dict[str, Any]) -> list[dict[str, Any]]:
    kept = ("operator", "size", "category", "count", "exact", "token_accuracy")
    return [{key: row[key] for key in kept} for row in evaluation["lengths"]]


def _commit() -> str:
    call = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()


def write_tables(page: Path, found: dict[str, Any], tables: Tables | None = None) -> None:
    """Fills everything between `<!-- table: NAME -->` and `<!-- /table -->`."""
    text = page.read_text("utf-8") if page.exists() else ""
    for name, rows in (tables or TABLES).items():
        begin, end = f"<!-- table: {name} -->", "<!-- /table -->"
        head, mark, rest = text.partition(begin)
        if mark:
            text = f"{head}{begin}\n" + "\n".join(rows(found)) + f"\n{end}{rest.partition(end)[2]}"
    if text:
        page.write_text(text, "utf-8")


def _programs(found: dict[str, Any]) -> Iterator[str]:
    """Every recipe: its windows, its certificate, its worst category at its largest sizes."""
    heads = ("recipe", "trained on", "windows", "grade", "wrong", "exact at", "seconds a seed")
    yield "| " + " | ".join(heads) + " |"
    yield "|---|---|---|---|---|---|---|"
    for recipe, one in found.items():
        wrong = [member["wrong"] for member in one["certificate"]["members"]]
        low, high = one["training"]
        yield "| " + " | ".join([
            f"`{recipe}`",
            f"{low} to {high} digits",
            f"{one['certificate']['windows']:,}",
            _grade(one["certificate"]),
            _wrong(wrong),
            _reached(one["lengths"]),
            f"{median(one['seconds_one_seed']):.1f}",
        ]) + " |"  # fmt: skip


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
    """Of each operator the largest size, and the least seed in its hardest category there."""
    shown = []
    for operator in dict.fromkeys(row["operator"] for row in lengths):
        rows = [row for row in lengths if row["operator"] == operator]
        largest = [row for row in rows if row["size"] == rows[-1]["size"]]
        least = min(min(row["exact"]) for row in largest)
        shown.append(f"{operator} {rows[-1]['size']}: {least:.3f}")
    return ", ".join(shown)


TABLES: Tables = {"programs": _programs}

if __name__ == "__main__":
    main()
