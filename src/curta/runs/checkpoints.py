"""Checkpoints: all members' state as safetensors, and a JSON file that vouches for it.

The JSON is written last and holds a checksum, so a checkpoint exists whole or not at all, and one
that was altered is noticed. The header of the arrays names the run that they belong to.

Beside them, the history has the vectors of all characters at moments that are closer than
checkpoints: a small file for each, written before the checkpoint of the same step. So a run that is
resumed has every moment up to its checkpoint, and writes those after it again. The loss of a moment
stands in metrics.jsonl, at the same step.

JAX is imported where it is used, since reading arrays needs none.
"""

import hashlib
import json
from bisect import bisect_left
from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import safetensors.numpy
from jaxtyping import Float, Int

from curta.config import files
from curta.config.errors import UserError, notify
from curta.config.recipe import Recipe
from curta.config.sections import EvaluationSettings

if TYPE_CHECKING:
    from curta.model.transformer import Transformer

Vectors = Float[np.ndarray, "members characters width"]

MOMENTS = 200
"""Most points of a path of vectors: a picture has no room for more."""

LARGEST = 1 << 36
"""Most bytes of a checkpoint: of thousands of members, or of a model of billions of weights."""

OWNER = "owner"
"""The one entry of the header's table: several would be written in any order."""


class DamagedError(UserError):
    """A damaged checkpoint."""


def owner(recipe: Recipe, seeds: list[int], step: int) -> str:
    """Return what a checkpoint of that step belongs to: a hash of all that its training depends on.

    A field at its default is left out: one that Curta gets later does not part a run from its
    checkpoints. Nor do ends beyond the next one count: to its end, a training that was extended is
    that of the shorter recipe.
    """
    ends = recipe.training.ends
    count = bisect_left(ends, step, hi=len(ends) - 1)
    training = replace(recipe.training, steps=ends[count], extended_at=ends[:count])
    trained = replace(recipe, summary="", evaluation=EvaluationSettings(), training=training)
    content = json.dumps([_without_defaults(trained), seeds], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()


def _without_defaults(section: Any) -> Any:
    """Return the fields of a section, and of sections inside it, that differ from their defaults.

    Task(base=7) becomes {"": "Task", "base": 7}.
    """
    if isinstance(section, tuple):
        return [_without_defaults(item) for item in section]
    if not is_dataclass(section):
        return section
    chosen: dict[str, Any] = {"": type(section).__name__}
    for field in fields(section):
        if (value := getattr(section, field.name)) != field.default:
            chosen[field.name] = _without_defaults(value)
    return chosen


def save(
    folder: Path,
    step: int,
    state: Any,
    of: str,
    most: int = 0,
    spared: Collection[int] = (),
    stopped: Mapping[int, int] | None = None,
) -> None:
    """Write a checkpoint of the owner `of`, then remove all but the newest `most`, or none for 0.

    Those of steps that are `spared` stay as well. Later checkpoints, which are damaged, and arrays
    without their JSON are removed. `stopped` are members that train no more, with the step at which
    that was.
    """
    import jax

    host_arrays = jax.tree.map(lambda leaf: np.asarray(leaf, order="C"), jax.device_get(state))
    data = safetensors.numpy.save(_by_path(host_arrays), metadata={OWNER: of})
    record = {
        "step": step,
        "sha256": hashlib.sha256(data).hexdigest(),
        "bytes": len(data),
        "stopped": dict(stopped or {}),
    }
    files.write(file_of(folder, step, "safetensors"), data)
    files.write(file_of(folder, step, "json"), json.dumps(record))
    earlier = [other for other in steps(folder) if other <= step]
    staying = {*(earlier[-most:] if most else earlier), *(set(earlier) & set(spared))}
    for kind in ("json", "safetensors"):
        for other in set(steps(folder, kind)) - staying:
            file_of(folder, other, kind).unlink(missing_ok=True)


def newest_whole(folder: Path) -> int | None:
    """Return the step of the newest checkpoint that is whole; a line tells of later ones.

    Raises `DamagedError` if there are some, and none is whole.
    """
    damages: list[DamagedError] = []
    for step in reversed(steps(folder)):
        try:
            read(folder, step)
        except DamagedError as error:
            damages.append(error)
            continue
        for damage in damages:
            notify(f"{damage}; the one of step {step} is taken")
        return step
    if damages:
        raise damages[0]
    return None


def arrays(folder: Path, step: int, of: str) -> dict[str, np.ndarray]:
    """Return the arrays that were saved at `step`, by their path, such as `.model.tokens`.

    Raises `DamagedError` if the file is missing or altered, and UserError if it belongs to other
    seeds or another recipe.
    """
    path, data = file_of(folder, step, "safetensors"), read(folder, step)
    if owner_in(data) != of:
        raise UserError(
            f"checkpoint {str(path)!r} is of another recipe or of other seeds than the run says:"
            " put recipe.toml and run.json back as they were, or train again"
        )
    return safetensors.numpy.load(data)


def load(folder: Path, step: int, like: Any, of: str) -> Any:
    """Return the state that was saved at `step`, in the structure of `like`; raises as `arrays`.

    Raises UserError also where it holds other arrays than `like`.
    """
    import jax

    saved, expected = arrays(folder, step, of), _by_path(like)
    for name, leaf in expected.items():
        array = saved.get(name)
        if array is None or (array.shape, array.dtype) != (leaf.shape, leaf.dtype):
            path = file_of(folder, step, "safetensors")
            raise UserError(f"checkpoint {str(path)!r} does not fit the run's recipe at {name!r}")
    return jax.tree.unflatten(jax.tree.structure(like), [saved[name] for name in expected])


def record(folder: Path, step: int) -> str:
    """Return what vouches for a checkpoint; equal for two of the same content."""
    return files.read_own(file_of(folder, step, "json"), f"run {folder.parent.name!r}")


def read(folder: Path, step: int) -> bytes:
    """Return the file of arrays, as it was written; `DamagedError` if it is not."""
    path = file_of(folder, step, "safetensors")
    where = f"checkpoint {str(path)!r}"
    try:
        record = json.loads(files.read_bytes(file_of(folder, step, "json"), 1 << 16))
        expected, data = record["sha256"], files.read_bytes(path, LARGEST)
    except OSError as error:
        raise DamagedError(f"{where} is missing or unreadable: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DamagedError(f"{where} is damaged: its .json is not what was written") from None
    if hashlib.sha256(data).hexdigest() != expected:
        raise DamagedError(f"{where} is damaged: its content is not what was written")
    return data


def owner_in(data: bytes) -> str | None:
    """Return whom a file's header names: after 8 bytes with its length, it is JSON."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    return dict(header.get("__metadata__", {})).get(OWNER)


def _by_path(tree: Any) -> dict[str, Any]:
    """Return leaves by path, such as `.model.attention.query`."""
    import jax

    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return {jax.tree_util.keystr(path): leaf for path, leaf in leaves}


def steps(folder: Path, kind: str = "json") -> list[int]:
    """Return the steps of all checkpoints, the newest last."""
    return sorted(int(p.stem) for p in folder.glob(f"*.{kind}") if p.stem.isdecimal())


def file_of(folder: Path, step: int, kind: str) -> Path:
    """Return the file of one kind, `safetensors` or `json`, of the checkpoint at `step`."""
    return folder / f"{step:08d}.{kind}"


# The history of vectors.


def vectors(stacked: "Transformer") -> Vectors:
    """Return the vector of each character in each of the stacked members, as models use it."""
    import jax

    from curta.training import processes

    characters: Vectors = processes.fetch(jax.vmap(lambda model: model.characters())(stacked))
    return characters


def save_vectors(folder: Path, step: int, moment: Vectors) -> None:
    """Write one moment."""
    data = safetensors.numpy.save({"characters": np.ascontiguousarray(moment)})
    files.write(file_of(folder, step, "safetensors"), data)


def load_vectors(folder: Path, step: int) -> Vectors:
    """Return the moment at `step`; UserError if its file is missing or damaged."""
    path = file_of(folder, step, "safetensors")
    try:
        return safetensors.numpy.load(files.read_bytes(path))["characters"]
    except (OSError, KeyError, safetensors.SafetensorError):
        raise UserError(f"{str(path)!r} is missing or damaged") from None


def moments(
    folder: Path, rows: Int[np.ndarray, " chosen"]
) -> tuple[list[int], Float[np.ndarray, "moments members chosen width"]] | None:
    """Return steps and vectors of some characters, at most `MOMENTS`, evenly spaced."""
    chosen = steps(folder, "safetensors")
    if not chosen:
        return None
    if len(chosen) > MOMENTS:
        chosen = [chosen[round(n)] for n in np.linspace(0, len(chosen) - 1, MOMENTS).tolist()]
    return chosen, np.stack([load_vectors(folder, step)[:, rows] for step in chosen])
