"""A run folder with plausible files, made without training anything."""

import json
import math
import random
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from curta.config import typed
from curta.evaluation.results import Evaluation, SliceResult
from curta.runs.info import ComparisonResults, Metric, RunInfo

Value = TypeVar("Value")

INFO: dict[str, Any] = {
    "format": RunInfo.FORMAT, "name": "both", "recipe": "addition-and-division",
    "seeds": [0, 1, 2], "status": "finished", "created": "2025-06-01T12:00:00+00:00",
    "versions": {"curta": "0.1.0", "jax": "0.10.2", "python": "3.11.7"},
    "device": "2 \N{MULTIPLICATION SIGN} cpu", "platform": "Linux", "parameters": 21672,
    "steps": 200, "trained_digits": [1, 10], "training_seconds": 200.4, "compile_seconds": 3.1,
    "operators": ["+", "//"], "stopped": {},
    "structure": "Every token carries the place of its digit; attention sees 3 places.",
}  # fmt: skip

RECIPE = """\
summary = "Sums and quotients"

[[task]]
operator = "+"
digits = [1, 10]

[[task]]
operator = "//"
digits = [1, 6]
second = [1, 3]
"""


def write_run(folder: Path, members: int = 3, size: int = 12, **changes: Any) -> Path:
    """Writes a finished and evaluated run; `changes` go into its run.json."""
    write_young_run(folder, members, **changes)
    write_json(folder / "evaluation.json", evaluation(members, size))
    return folder


def write_young_run(folder: Path, members: int = 3, **changes: Any) -> Path:
    """Writes a run that has been trained but not evaluated."""
    folder.mkdir(parents=True, exist_ok=True)
    info = INFO | {"seeds": list(range(members))} | changes
    stopped = {int(member): step for member, step in info["stopped"].items()}
    write_json(folder / "run.json", info)
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    write_metrics(folder, metrics(members, info["steps"], stopped))
    return folder


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def write_metrics(folder: Path, lines: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "metrics.jsonl").write_text(text, encoding="utf-8")


def metrics(members: int, steps: int, stopped: dict[int, int] | None = None) -> list[Any]:
    """Losses that fall, each member at its own pace; null once a member stopped."""
    lines = list[Any]()
    for step, member in product(range(10, steps + 1, 10), range(members)):
        noise = random.Random(f"{step} {member}").gauss(0, 0.12)
        loss = 2.3 * math.exp(-step / (90 + 25 * member) + noise) + 3e-4 * math.exp(noise)
        exact = 1 / (1 + math.exp((0.08 - loss) * -60))
        if step >= (stopped or {}).get(member, math.inf):
            loss, exact = None, 0.0
        line = {"step": step, "member": member, "loss": loss, "exact_match": exact}
        lines.append(line | {"seconds": 0.0024 * step})
    return lines


SIZES: dict[str, tuple[str, ...]] = {"+": ("10", "20", "100"), "//": ("6/3", "50/25")}
SLICES = {"+": ("random", "unequal", "carry"), "//": ("random", "exact")}


def evaluation(members: int, size: int, sizes: dict[str, tuple[str, ...]] = SIZES) -> Any:
    """Exact match that is full nearly everywhere, with a few misses far out."""
    lengths = [
        length(operator, digits, name, members)
        for operator, all_digits in sizes.items()
        for digits in all_digits
        for name in SLICES[operator]
    ]
    content = {"format": 3, "seed": 1, "lengths": lengths, "grids": [grid(members, size)]}
    return content | {"examples": EXAMPLES}


def grid(members: int, size: int) -> dict[str, Any]:
    """Exact match of a sum: full, except where one operand is much longer than the other."""

    def cell(member: int, first: int, second: int) -> float:
        return round(1 - 0.05 * min(max(abs(first - second) - 10 + member, 0), 8), 2)

    digits = range(1, size + 1)
    exact = [[[cell(m, a, b) for b in digits] for a in digits] for m in range(members)]
    named = {"operator": "+", "max_digits": size, "digits": list(digits), "count": 20}
    return named | {"exact_match": exact}


def length(operator: str, size: str, name: str, members: int) -> dict[str, Any]:
    """Misses grow with the length, most of all on long chains of carries."""
    digits = int(size.split("/")[0].split("x")[-1])
    weight = {"random": 0.2, "unequal": 0.1, "carry": 1.0, "exact": 0.5}[name]
    weight *= math.log10(digits) / 3
    misses = {2: 0.3, 5: 0.015}
    exact = [round(1 - weight * misses.get(member, 0), 3) for member in range(members)]
    generated = {"count": 8, "exact_match": [round(value * 8) / 8 for value in exact]}
    generated |= {"agrees": True, "tokens_per_second": 123_456}
    row = {"operator": operator, "size": size, "digits": digits, "slice": name, "count": 200}
    row |= {"exact_match": exact, "token_accuracy": exact, "errors": []}
    return row | {"perplexity": [2 - value for value in exact], "generated": generated}


EXAMPLES: list[dict[str, Any]] = [
    {"problem": problem, "truth": truth, "answer": answer, "text": text, "member": member,
     "first_error": None}
    for problem, truth, answer, text, member in (
        ("12+34", "46", "46", "a", 0),
        ("9" * 60 + "+1", "1" + "0" * 60, "1" + "0" * 58 + "10", "b", 2),
        ("95+17", "112", "102", "21a=201$", 2),
        ("5+5", "10", None, "01==$", 1),
    )
]  # fmt: skip


def write_comparison(folder: Path, members: int = 3, swept: tuple[str, ...] = ()) -> list[Any]:
    """Writes a comparison of three finished entries; the first has no positions at 100 digits.

    Without `swept`, each has a structure of its own; with it, each its own values: of a single
    field three, of two fields two each.
    """
    rows = [comparison_row(number, name, members) for number, name in enumerate(ENTRIES)]
    for number, row in enumerate(rows):
        write_young_run(folder / row["run"], members, name=row["run"], steps=400)
        powers = [number] if len(swept) == 1 else [number > place for place in range(len(swept))]
        row["changes"] = {path: 2**power for path, power in zip(swept, powers, strict=True)}
        row["structure"] = SAME if swept else f"layout {row['name']}: <as it is>."
    content = {"format": ComparisonResults.FORMAT, "name": "three", "title": "Three <entries>"}
    content |= {"summary": "On one budget", "seeds": list(range(members))}
    content |= {"swept": list(swept), "rows": rows}
    write_json(folder / "comparison.json", content)
    return rows


ENTRIES = ("plain", "reversed & padded", "window")
SAME = "layout coupled: all digits by their place."


def comparison_row(number: int, name: str, members: int) -> dict[str, Any]:
    """Exact match falls with the length, less in later entries and members."""
    sizes = [digits for digits in (5, 20, 100) if (number, digits) != (0, 100)]
    lengths = [
        slice_of(digits, name, number, members) for digits in sizes for name in ("random", "carry")
    ]
    missing = [{"operator": "+", "size": "100", "digits": 100, "reason": "it has 64 positions"}]
    row = {"name": name, "run": name.replace(" & ", "-"), "recipe": "addition", "changes": {}}
    row |= {"structure": "", "settings": {}, "status": "finished", "steps": 400, "stopped": {}}
    row |= {"parameters": 1000 * 3**number, "training_seconds": 61.0, "lengths": lengths}
    row |= {"loss": statistics([0.5 / (1 + number + member) for member in range(members)])}
    return row | {
        "exact_match": statistics([0.5] * members), "unplaced": [] if number else missing
    }  # fmt: skip


def slice_of(digits: int, name: str, number: int, members: int) -> dict[str, Any]:
    slopes = [digits / (40 * 4**number * (1 + member)) for member in range(members)]
    values = [max(0.0, 1 - slope) / (1 + (name == "carry")) for slope in slopes]
    named = {"operator": "+", "size": str(digits), "digits": digits, "slice": name, "count": 50}
    figures = statistics([round(value, 6) for value in values])
    return named | dict.fromkeys(("exact_match", "token_accuracy", "perplexity"), figures)


def hardest(slices: list[dict[str, Any]], size: str) -> list[float]:
    """Every member's exact match in its hardest slice of that size."""
    mine = [row["exact_match"]["members"] for row in slices if row["size"] == size]
    return [min(member) for member in zip(*mine, strict=True)]


def statistics(values: list[float]) -> dict[str, Any]:
    ends = {"median": median(values), "min": min(values), "max": max(values)}
    return {"members": values} | ends


def of(kind: type[Value], data: Any) -> Value:
    """What a report reads where a file holds `data`."""
    content = {key: value for key, value in data.items() if key != "format"}
    return typed.parse(kind, json.dumps(content), "the sample", "data")


def read_metrics(lines: list[dict[str, Any]]) -> list[Metric]:
    return [of(Metric, line) for line in lines]


def rows_of(data: Any) -> list[SliceResult]:
    """The lengths of an evaluation."""
    return of(Evaluation, data).lengths
