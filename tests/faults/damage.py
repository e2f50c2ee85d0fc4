"""Damaged files of finished runs: what is asked of them then is answered, or refused in a line."""

import hashlib
import json
import random
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

from curta.frontends import api
from curta.runs import interrupts
from tests.faults import asking, places

NEWEST = 40
"""Step of the newest checkpoint."""


def run(count: int, seed: int) -> places.Outcome:
    """`count` damaged runs, each asked all that can be."""
    with places.workplace() as folder:
        weights = asking.Weights()
        bases = finished_runs(folder, weights)
        outcome = places.Outcome()
        for case, draw in places.chosen(count, seed):
            outcome.cases += 1
            base = draw.choice(bases)
            with places.runs_at(folder / f"case-{case}") as runs, weights.noted():
                run_folder = places.copy(base, runs, "run")
                did = damage(run_folder, draw, folder / "bases" / "other")
                _check(outcome, f"{case} ({base.name}: {did})", seed, draw, weights)
                shutil.rmtree(runs)
        return outcome


def finished_runs(folder: Path, weights: asking.Weights) -> list[Path]:
    """A finished run, and one whose evaluation was interrupted; beside them another one."""
    recipe = places.recipe(folder)
    with places.runs_at(folder / "bases") as runs:
        with weights.learned():
            for name in ("whole", "half"):
                api.train(recipe, 2, name)
        api.train(recipe, [7, 8], "other")
        for name in ("whole", "other"):
            api.examine(api.load(name), "tokens")
        _interrupt(api.load("half"))
    return [runs / name for name in ("whole", "whole", "half")]


def _interrupt(run: Any) -> None:
    """Leaves a part of an evaluation behind."""
    calls = iter(range(3))

    def stop(progress: str) -> None:
        if next(calls, None) is None:
            raise interrupts.Interrupted(2)

    try:
        run.evaluate(stop)
    except KeyboardInterrupt:
        assert (run.folder.path / "evaluating.jsonl").exists()


def _check(
    outcome: places.Outcome, case: str, seed: int, draw: random.Random, weights: asking.Weights
) -> None:
    for words, reply in asking.ask("run", draw):
        outcome.ended[{0: "answered", 1: "answered", 2: "refused"}.get(reply.code, "failed")] += 1
        if wrong := reply.complaint or weights.complaint(NEWEST, reply):
            outcome.failed(case, seed, f"{' '.join(words)}: {wrong}")


def damage(run: Path, draw: random.Random, other: Path) -> str:
    """Damages one file, or all of a folder; what was done."""
    files = sorted(path for path in run.rglob("*") if path.suffix not in (".png", ".svg", ".html"))
    path = draw.choice(files)
    kinds = [*FOLDERS] if path.is_dir() else [*ANY, *SPECIAL.get(path.suffix, ())]
    kinds += ["other_seeds"] if path.name == "run.json" else []
    kind = draw.choice(kinds)
    globals()[kind](path, draw, other / path.relative_to(run))
    return f"{kind} {path.relative_to(run)}"


def truncate(path: Path, draw: random.Random, other: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: draw.randrange(len(data) + 1)])


def flip(path: Path, draw: random.Random, other: Path) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(draw.randint(1, 4) if data else 0):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def noise(path: Path, draw: random.Random, other: Path) -> None:
    path.write_bytes(draw.randbytes(draw.choice([0, draw.randrange(2_000)])))


def missing(path: Path, draw: random.Random, other: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def swapped(path: Path, draw: random.Random, other: Path) -> None:
    if other.is_file():
        shutil.copy(other, path)
    elif other.is_dir():
        shutil.rmtree(path)
        shutil.copytree(other, path)


STRANGE: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 1.5, 1e308, float("nan"), float("inf"), 10**30, -(10**30), 2**31, "",
    "x" * 300, "\0", "\ud800", "<b>", [], {}, [[]], {"": 1}, "2", "nan", [1, 2, 3], "../../x",
)  # fmt: skip


def another_type(path: Path, draw: random.Random, other: Path) -> None:
    """Another value at a random field, of one line where there are several."""
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    at = draw.randrange(len(lines)) if lines else 0
    content = json.loads(lines[at])
    lines[at] = json.dumps(changed(content, draw))
    path.write_text("\n".join(lines) + "\n")


def another_field(path: Path, draw: random.Random, other: Path) -> None:
    """A recipe with another value somewhere; an evaluation of a billion problems is none."""
    table = changed(tomllib.loads(path.read_text()), draw)
    large = json.dumps(table.get("evaluation", 0), default=str) if isinstance(table, dict) else ""
    if large and not any(text in large for text in ("e+308", "00000", "2147483648")):
        path.write_text(places.toml(table))


def changed(content: Any, draw: random.Random) -> Any:
    """The same but for one value, or one entry less or more."""
    if not isinstance(content, dict | list) or not content or draw.random() < 0.1:
        return draw.choice(STRANGE)
    if draw.random() < 0.05:
        return {**content, "strange": 1} if isinstance(content, dict) else [*content, *content]
    keys = [*content] if isinstance(content, dict) else [*range(len(content))]
    key = draw.choice(keys)
    if draw.random() < 0.1:
        del content[key]
    else:
        content[key] = changed(content[key], draw)
    return content


def other_arrays(path: Path, draw: random.Random, other: Path) -> None:
    """Arrays of another type or shape; where a JSON vouches for them, that of the new ones."""
    data = path.read_bytes()
    length = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:length]).get("__metadata__", {})
    arrays = safetensors.numpy.load(data)
    name = draw.choice(sorted(arrays))
    arrays[name] = draw.choice(CHANGES)(arrays[name])
    data = safetensors.numpy.save(arrays, metadata=header)
    path.write_bytes(data)
    record = path.with_suffix(".json")
    if record.exists():
        content = json.loads(record.read_text())
        content |= {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        record.write_text(json.dumps(content))


CHANGES: tuple[Callable[[Any], Any], ...] = (
    lambda array: array.astype(np.float16), lambda array: array.astype(np.int8),
    lambda array: array.astype(np.float64), lambda array: array[None].copy(),
    lambda array: array[:0].copy() if array.ndim else array[None].copy(),
)  # fmt: skip


def other_seeds(path: Path, draw: random.Random, other: Path) -> None:
    content = json.loads(path.read_text())
    content["seeds"] = draw.choice([[5, 6], [1, 0], [0], [0, 1, 2], [0, 0], [], [-1, 2**31]])
    path.write_text(json.dumps(content))


ANY = ("truncate", "flip", "flip", "noise", "missing", "swapped")
FOLDERS = ("missing", "swapped")
SPECIAL = {
    ".json": ("another_type",) * 5,
    ".jsonl": ("another_type",) * 5,
    ".toml": ("another_field",) * 5,
    ".safetensors": ("other_arrays",) * 3,
}
