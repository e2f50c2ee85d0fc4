"""Three recipes from training to report, certificate and exports, held against one kept file.

What a run leaves behind is compared by structure and value: files, JSON, shapes of weights. What
depends on the arithmetic of a processor has a tolerance (`LEARNT`), and what is of the day or the
machine is not compared (`MASKED`). `UPDATE=1` in the environment writes tests/golden.json anew.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

import curta
from curta.export import write
from curta.programs.proof import closing

KEPT = Path(__file__).with_name("golden.json")

SMALL: dict[str, Any] = {
    "training.steps": 100,
    "training.checkpoint_every": 50,
    "evaluation.digits": (3, 6),
    "evaluation.count": 16,
    "evaluation.generated": 4,
    "model.width": 16,
    "model.heads": 2,
}
PROGRAM = SMALL | {
    "training.problems": 400, "training.batch": 64, "training.repair": 0,
    "evaluation.certificate": 3_000,
}  # fmt: skip
RECIPES: dict[str, tuple[str, dict[str, Any], str, tuple[str, ...]]] = {
    "addition": (
        "addition",
        PROGRAM | {"task.digits": (1, 4)},
        "carry-chains", ("adderboard", "huggingface"),
    ),
    "multiplication": (
        "multiplication",
        PROGRAM | {"task.digits": (1, 2), "evaluation.digits": (2,), "evaluation.held_out": 20},
        "tokens", ("huggingface",),
    ),
    "rope": (
        "addition-reversed",
        SMALL | {"task.digits": (1, 3), "model.num_layers": 1, "model.num_attention_layers": 1}
        | {"training.batch": 32, "evaluation.grid": 0},
        "linear", ("huggingface",),
    ),
}  # fmt: skip
"""A recipe, what is smaller in it, a probe, and what two members are exported as."""

MASKED = re.compile(
    r"(created|versions|device|platform|command|code|sha256|bytes|seconds|\w+_seconds"
    r"|tokens_per_second|pid|host|started|finished|memory)$"
)
"""Keys whose values are of the day or the machine."""

LEARNT: dict[str, tuple[float, float]] = {
    r"(norm|loss|losses|perplexity|gradient_norm)$": (0.1, 1e-4),
    r"(exact_match|token_accuracy|accuracy|share|median|min|max|least|greatest)$": (0.0, 0.25),
    r"(members|control|selectivity)$": (0.0, 0.25),
    r"(correct|held_out_correct|below_bound)$": (0.1, 20),
    r"(margin|bound)$": (0.2, 0.5),
}
"""Keys whose numbers are learnt, and how far they may be off, relatively and absolutely."""

UNTOLD = re.compile(r"(errors|wrong|first_errors|written|examples)$")
"""Keys of lists that depend on what members do wrong."""


def record(run: "curta.Run", folder: Path) -> dict[str, Any]:
    """Return what a run has left behind, by file."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or path.name == ".lock":
            continue
        if path.suffix == ".json":
            found[name] = json.loads(path.read_text("utf-8"))
        elif path.suffix == ".jsonl":
            found[name] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        elif path.suffix == ".safetensors":
            found[name] = dict(tensors(path))
        elif path.suffix == ".html":
            found[name] = re.findall(r"<h[123][^>]*>(.*?)</h[123]>", path.read_text("utf-8"))
        else:
            found[name] = "file"
    if machine := found.get("machine.json"):
        tokens = json.dumps(machine["tokens"]).encode()
        machine["tokens"] = [len(machine["tokens"]), hashlib.sha256(tokens).hexdigest()]
    return json.loads(json.dumps(found))


def tensors(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield shape and type of every array of a file; of a checkpoint's, their norm, too."""
    for name, array in safetensors.numpy.load_file(path).items():
        learnt = array.dtype == np.float32 and "key" not in name
        norm = {"norm": float(np.linalg.norm(array))} if learnt else {}
        yield name, {"shape": list(array.shape), "type": str(array.dtype)} | norm


def differences(kept: Any, now: Any, path: str = "") -> Iterator[str]:
    """Yield where two records differ, a line each."""
    if isinstance(kept, dict) and isinstance(now, dict):
        for name in kept.keys() | now.keys():
            yield from differences(kept.get(name, "—"), now.get(name, "—"), f"{path}/{name}")
    elif isinstance(kept, list) and isinstance(now, list) and len(kept) == len(now):
        for number, pair in enumerate(zip(kept, now, strict=True)):
            yield from differences(*pair, f"{path}/{number}")
    elif not alike(kept, now, re.sub(r"(/\d+)+$", "", path)):
        yield f"{path}: {kept!r:.80} is {now!r:.80} now"


def alike(kept: Any, now: Any, key: str) -> bool:
    """Whether two values are the same, or numbers that are near enough for their key."""
    if isinstance(kept, bool) or not {type(kept), type(now)} <= {int, float}:
        return type(kept) is type(now) and kept == now
    far = (1e-5, 1e-5) if isinstance(kept, float) else (0, 0)
    relative, absolute = next((LEARNT[p] for p in LEARNT if re.search(p, key)), far)
    return abs(kept - now) <= relative * abs(kept) + absolute


def masked(value: Any, path: str = "") -> Any:
    """Return a record without what is not compared."""
    if MASKED.search(path) or UNTOLD.search(path):
        return None
    if isinstance(value, dict):
        return {name: masked(each, f"{path}/{name}") for name, each in value.items()}
    if isinstance(value, list):
        return [masked(each, path) for each in value]
    return float(f"{value:.7g}") if isinstance(value, float) else value


@pytest.mark.usefixtures("brief", "empty_pictures")
@pytest.mark.parametrize("name", RECIPES)
def test_a_run_leaves_behind_what_it_did(
    name: str, runs_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = json.loads(KEPT.read_text("utf-8")) if KEPT.exists() else {}
    if name not in kept and not os.environ.get("UPDATE"):
        pytest.skip("not kept yet: make kept")
    monkeypatch.setattr(closing, "SECONDS", 0.0)  # how far a proof gets depends on the machine
    recipe, overrides, probe, exports = RECIPES[name]
    run = curta.train(recipe, seeds=2, run="run", **overrides)
    curta.probe(run, probe)
    run.write_page(member=1)
    for to in exports:
        write(run, to, member=1)
    found = masked(record(run, run.folder.path))
    if os.environ.get("UPDATE"):
        kept[name] = found
        lines = [
            f'"{recipe}": {{\n'
            + ",\n".join(f" {json.dumps(file)}: {json.dumps(content, ensure_ascii=False)}"
                         for file, content in sorted(files.items()))
            + "\n}"
            for recipe, files in sorted(kept.items())
        ]  # fmt: skip
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    wrong = list(differences(kept.get(name, {}), found))
    assert not wrong, "\n".join(wrong)
