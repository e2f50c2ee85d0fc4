"""The vectors of all characters at moments of training that are closer than checkpoints.

One small file a moment, written whole, and before the checkpoint of the same step: a run
that is resumed has every moment up to its checkpoint, and writes those after it again.
The loss of the moment stands in metrics.jsonl, at the same step.
"""

from pathlib import Path

import jax
import numpy as np
import safetensors.numpy
from jaxtyping import Float, Int

from curta.config import files
from curta.config.errors import UserError
from curta.model.transformer import Transformer
from curta.runs import checkpoints
from curta.runs.checkpoints import file_of
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
    files.write(file_of(folder, step, "safetensors"), data)


def load(folder: Path, step: int) -> Vectors:
    """Return the moment at `step`; UserError if its file is missing or damaged."""
    path = file_of(folder, step, "safetensors")
    try:
        return safetensors.numpy.load(files.read_bytes(path))["characters"]
    except (OSError, KeyError, safetensors.SafetensorError):
        raise UserError(f"{str(path)!r} is missing or damaged") from None


def steps(folder: Path) -> list[int]:
    """Return the steps of all moments, in order."""
    return checkpoints.steps(folder, "safetensors")


def moments(
    folder: Path, rows: Int[np.ndarray, " chosen"]
) -> tuple[list[int], Float[np.ndarray, "moments members chosen width"]] | None:
    """Return steps and vectors of some characters, at most `MOMENTS`, evenly spaced."""
    chosen = steps(folder)
    if not chosen:
        return None
    if len(chosen) > MOMENTS:
        chosen = [chosen[round(n)] for n in np.linspace(0, len(chosen) - 1, MOMENTS).tolist()]
    return chosen, np.stack([load(folder, step)[:, rows] for step in chosen])


def cut(folder: Path, last: int) -> None:
    """Drop the moments after step `last`, which a resumed run writes again."""
    for step in steps(folder):
        if step > last:
            file_of(folder, step, "safetensors").unlink()
