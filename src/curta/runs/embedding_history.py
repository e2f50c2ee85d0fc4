"""The vectors of all characters at moments of training that are closer than checkpoints.

One small file a moment, written whole, and before the checkpoint of the same step: a run
that is resumed has every moment up to its checkpoint, and writes those after it again.
The loss of the moment stands in metrics.jsonl, at the same step.
"""

from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np
import safetensors.numpy
from jaxtyping import Float, Int

from curta.config import files
from curta.config.errors import UserError
from curta.model.transformer import Transformer
from curta.training import processes

Vectors = Float[np.ndarray, "members characters width"]

MOMENTS = 200
"""Most points of a path: a picture has no room for more."""


def vectors(stacked: Transformer) -> Vectors:
    """Return the vector of each character in each of the stacked members, as models use it."""
    characters: Vectors = processes.fetch(jax.vmap(lambda model: model.characters())(stacked))
    return characters


def save(folder: Path, step: int, moment: Vectors) -> None:
    """Write one moment."""
    data = safetensors.numpy.save({"characters": np.ascontiguousarray(moment)})
    files.write(folder / f"{step:08d}.safetensors", data)


def load(folder: Path, step: int) -> Vectors:
    """Return the moment at `step`; UserError if its file is missing or damaged."""
    path = folder / f"{step:08d}.safetensors"
    try:
        return safetensors.numpy.load(files.read_bytes(path))["characters"]
    except (OSError, KeyError, safetensors.SafetensorError):
        raise UserError(f"{str(path)!r} is missing or damaged") from None


def steps(folder: Path) -> list[int]:
    """Return the steps of all moments, in order."""
    return sorted(int(path.stem) for path in folder.glob("*.safetensors") if path.stem.isdecimal())


def moments(
    folder: Path, rows: Int[np.ndarray, " chosen"]
) -> tuple[list[int], Float[np.ndarray, "moments members chosen width"]] | None:
    """Return steps and vectors of some characters, at most `MOMENTS` of them; None without any."""
    thin_steps = thinned(steps(folder), MOMENTS)
    if not thin_steps:
        return None
    return thin_steps, np.stack([load(folder, step)[:, rows] for step in thin_steps])


def thinned(values: Sequence[int], most: int) -> list[int]:
    """Return at most so many of the values, evenly spaced, the first and the last among them."""
    if len(values) <= most:
        return list(values)
    places = (round(i * (len(values) - 1) / (most - 1)) for i in range(most))
    return [values[place] for place in places]


def cut(folder: Path, last: int) -> None:
    """Drop the moments after step `last`, which a resumed run writes again."""
    for step in steps(folder):
        if step > last:
            (folder / f"{step:08d}.safetensors").unlink()
