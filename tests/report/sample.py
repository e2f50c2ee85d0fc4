"""A run folder with plausible files, made without training anything."""

import json
import math
from collections.abc import Mapping, Sequence
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
    """Write a finished and evaluated run; `changes` go into its run.json."""
    write_young_run(folder, members, **changes)
    write_json(folder / "evaluation.json", evaluation(members, size))
    return folder


def write_young_run(folder: Path, members: int = 3, **changes: Any) -> Path:
    """Write a run that has been trained but not evaluated."""
    folder.mkdir(parents=True, exist_ok=True)
    info = INFO | {"seeds": list(range(members))} | changes
    stopped = {int(member): step for member, step in info["stopped"].items()}
    write_json(folder / "run.json", info)
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    lines = map(json.dumps, metrics(members, info["steps"], stopped))
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def metrics(members: int, steps: int, stopped: dict[int, int] | None = None) -> list[Any]:
    """Losses that fall, each member at its own pace; null once a member stopped."""
    lines = list[Any]()
    for step, member in product(range(10, steps + 1, 10), range(members)):
        loss = 2.3 * math.exp(-step / (20 + 5 * member))
        line = {"step": step, "member": member, "loss": loss, "exact_match": 1 - loss / 3}
        if step >= (stopped or {}).get(member, math.inf):
            line |= {"loss": None, "exact_match": 0.0}
        lines.append(line | {"seconds": 0.0024 * step})
    return lines


SIZES = {"+": ("10", "20", "100"), "//": ("6/3", "50/25")}
SLICES = {"+": ("random", "unequal", "carry"), "//": ("random", "exact")}
"""Of each operation the last one is the hardest."""


def evaluation(members: int, size: int, sizes: Mapping[str, Sequence[str]] = SIZES) -> Any:
    """Exact match that falls with the length, and from slice to slice, except for two members."""
    lengths = [
        length(operator, digits, name, members)
        for operator, all_digits in sizes.items()
        for digits in all_digits
        for name in SLICES[operator]
    ]
    digits = range(1, size + 1)
    cells = [
        [[1 - 0.05 * (abs(a - b) > 9 + member) for b in digits] for a in digits]
        for member in range(members)
    ]
    grid = {"operator": "+", "max_digits": size, "digits": list(digits), "count": 20}
    content = {"format": 3, "seed": 1, "lengths": lengths, "examples": EXAMPLES}
    return content | {"grids": [grid | {"exact_match": cells}]}


def length(operator: str, size: str, name: str, members: int) -> dict[str, Any]:
    digits = int(size.split("/")[0])
    missed = digits * (1 + SLICES[operator].index(name)) / 1000
    exact = [round(1 - missed * (member % 3 == 2), 3) for member in range(members)]
    generated = {"count": 8, "exact_match": exact, "agrees": True, "tokens_per_second": 123_456}
    row = {"operator": operator, "size": size, "digits": digits, "slice": name, "count": 200}
    row |= {"exact_match": exact, "token_accuracy": exact, "errors": []}
    return row | {"perplexity": [2 - value for value in exact], "generated": generated}


EXAMPLES: list[dict[str, Any]] = [
    {"problem": problem, "truth": truth, "answer": answer, "text": text, "member": member,
     "first_error": None}
    for problem, truth, answer, text, member in (
        ("12+34", "46", "46", "a", 0),
        ("9" * 60 + "+1", "1" + "0" * 60, "1" + "0" * 58 + "10", "b", 2),
        ("5+5", "10", None, "01==$", 1),
    )
]  # fmt: skip

ENTRIES = ("plain", "reversed & padded", "window")


def write_comparison(folder: Path, members: int = 3) -> list[Any]:
    """Write a comparison of finished entries; the first has no positions at 100 digits."""
    rows = [comparison_row(number, name, members) for number, name in enumerate(ENTRIES)]
    for row in rows:
        write_young_run(folder / row["run"], members, name=row["run"], steps=400)
    content = {"format": ComparisonResults.FORMAT, "name": "three", "title": "Three <entries>"}
    content |= {"summary": "On one budget", "seeds": list(range(members)), "swept": []}
    write_json(folder / "comparison.json", content | {"rows": rows})
    return rows


def comparison_row(number: int, name: str, members: int) -> dict[str, Any]:
    """Exact match falls with the length and the member, and is half of it for carries."""
    lengths = []
    for digits, slice_name in product((5, 20, 100), ("random", "carry")):
        values = [
            round((1 - digits / (200 + member)) / (1 + (slice_name == "carry")), 6)
            for member in range(members)
        ]
        row = {"operator": "+", "size": str(digits), "digits": digits, "slice": slice_name}
        named = ("exact_match", "token_accuracy", "perplexity")
        lengths.append(row | {"count": 50} | dict.fromkeys(named, statistics(values)))
    missing = [{"operator": "+", "size": "100", "digits": 100, "reason": "it has 64 positions"}]
    return {
        "name": name, "run": name.replace(" & ", "-"), "recipe": "addition", "changes": {},
        "structure": f"layout {name}: <as it is>.", "settings": {}, "status": "finished",
        "steps": 400, "stopped": {}, "parameters": 1000 * 3**number, "training_seconds": 61.0,
        "lengths": lengths if number else lengths[:4], "unplaced": [] if number else missing,
        "loss": statistics([0.5] * members), "exact_match": statistics([0.5] * members),
    }  # fmt: skip


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
