"""Checkpoints: all members' state as safetensors, and a JSON file that vouches for it.

The JSON is written last and holds a checksum, so a checkpoint exists whole or
not at all, and one that was altered is noticed.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import safetensors.numpy
from jaxtyping import PyTree

from curta.config import files
from curta.config.errors import UserError


def save(folder: Path, step: int, state: PyTree, most: int = 0) -> None:
    """Writes a checkpoint, then removes all but the newest `most`, unless that is 0."""
    arrays = jax.tree.map(lambda leaf: np.asarray(leaf, order="C"), jax.device_get(state))
    data = safetensors.numpy.save(_named(arrays))
    record = {"step": step, "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    files.write(file_of(folder, step, "safetensors"), data)
    files.write(file_of(folder, step, "json"), json.dumps(record))
    for old in steps(folder)[:-most] if most else ():
        for kind in ("json", "safetensors"):
            file_of(folder, old, kind).unlink(missing_ok=True)


def latest(folder: Path) -> int | None:
    """Step of the newest checkpoint, None if there is none."""
    kept = steps(folder)
    return kept[-1] if kept else None


def load(folder: Path, step: int, like: PyTree) -> PyTree:
    """The state that was saved at `step`, in the structure of `like`.

    Raises UserError if the file is missing, damaged, or of another model.
    """
    path = file_of(folder, step, "safetensors")
    arrays = safetensors.numpy.load(_vouched(path, file_of(folder, step, "json")))
    wanted = _named(like)
    for name, leaf in wanted.items():
        if name not in arrays or arrays[name].shape != leaf.shape:
            raise UserError(f"checkpoint {str(path)!r} does not fit the run's recipe at {name!r}")
    leaves = [arrays[name] for name in wanted]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def _vouched(path: Path, record: Path) -> bytes:
    try:
        data, expected = path.read_bytes(), json.loads(record.read_text("utf-8"))["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"checkpoint {str(path)!r} is missing or unreadable") from None
    if hashlib.sha256(data).hexdigest() != expected:
        raise UserError(
            f"checkpoint {str(path)!r} is damaged: its content is not what was written;"
            " delete it and its .json to go on from the one before"
        )
    return data


def _named(tree: PyTree) -> dict[str, Any]:
    """Leaves by their path, such as `.model.blocks[0].query`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def steps(folder: Path) -> list[int]:
    """Steps of all checkpoints, the newest last."""
    return sorted(int(path.stem) for path in folder.glob("*.json") if path.stem.isdecimal())


def file_of(folder: Path, step: int, kind: str) -> Path:
    """The file of one kind, `safetensors` or `json`, of the checkpoint at `step`."""
    return folder / f"{step:08d}.{kind}"
