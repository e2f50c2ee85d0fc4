"""Several processes that run the same program (SPMD), and arrays spread over their devices.

With one process, `put` and `fetch` are JAX's `device_put` and `np.asarray`. With several, all must
call these functions at the same points. Only process 0 writes files and prints.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh
from jaxtyping import PyTree

from curta.config.errors import UserError

MESSAGE = 8192
"""Bytes of a message of `from_first`, a value as JSON; a path has at most 4,096."""


class PeerError(RuntimeError):
    """Raised when another process has ended, so that this one cannot continue."""


@contextmanager
def peers() -> Iterator[None]:
    """Raise PeerError if the connection between processes breaks within the block."""
    try:
        yield
    except (ValueError, RuntimeError) as error:  # JAX raises either
        is_network = re.match("[A-Z_]+: .*(gloo|nccl|coordination)", str(error), re.IGNORECASE)
        if jax.process_count() == 1 or not is_network:
            raise
        line = "another process has ended: `curta train --resume` goes on from the last checkpoint"
        raise PeerError(line) from error


def is_first() -> bool:
    """Return whether this is process 0."""
    return jax.process_index() == 0


def from_first(value: Any) -> Any:
    """Return the plain value that process 0 passes, in every process, once all have called this."""
    if jax.process_count() == 1:
        return value
    text = json.dumps(value if is_first() else None).encode().ljust(MESSAGE)
    sent = multihost_utils.broadcast_one_to_all(np.frombuffer(text, np.uint8))
    return json.loads(bytes(np.asarray(sent)))


def put(tree: PyTree, sharding: Any) -> PyTree:
    """Place arrays that every process has whole; each keeps the part on its own devices."""
    if sharding.is_fully_addressable:
        return jax.device_put(tree, sharding)

    def place(leaf: Any) -> jax.Array:
        whole = np.asarray(leaf)
        return jax.make_array_from_callback(whole.shape, sharding, whole.__getitem__)

    return jax.tree.map(place, tree)


def fetch(tree: PyTree) -> PyTree:
    """Return the whole arrays as NumPy arrays, in every process."""

    def gather(leaf: Any) -> np.ndarray:
        if getattr(leaf, "is_fully_addressable", True):
            return np.asarray(leaf)
        return np.asarray(multihost_utils.process_allgather(leaf, tiled=True))

    return jax.tree.map(gather, tree)


def local(tree: PyTree) -> PyTree:
    """Return arrays with which this process can compute alone; unchanged if it already can."""
    leaves = jax.tree.leaves(tree)
    is_local = all(getattr(leaf, "is_fully_addressable", True) for leaf in leaves)
    return tree if is_local else fetch(tree)


def highest(here: int) -> int:
    """Return the largest number that any process passes."""
    if jax.process_count() == 1:
        return here
    return int(multihost_utils.process_allgather(np.array(here, np.int32)).max())


def processes_of(mesh: Mesh) -> int:
    """Return the number of processes that have devices of the mesh."""
    return len({device.process_index for device in mesh.devices.flat})


def check(mesh: Mesh, members: int) -> None:
    """Raise UserError if a process would have nothing to train."""
    count = jax.process_count()
    if processes_of(mesh) < count:
        raise UserError(
            f"{members} member{'s'[: members > 1]} cannot be shared by {count} processes: train"
            f" --seeds {count}, or a multiple of it, or take fewer processes"
        )
