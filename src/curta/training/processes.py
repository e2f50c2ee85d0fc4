"""Arrays that are spread over the devices of several processes: how they get there, and back.

With one process `put` and `fetch` are JAX's own `device_put` and `np.asarray`. With several, all of
them call these functions at the same points, with the same values.
"""

from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh
from jaxtyping import PyTree

from curta.config.errors import UserError


def put(tree: PyTree, sharding: Any) -> PyTree:
    """Places arrays that every process has whole; each keeps what is on its own devices."""
    if sharding.is_fully_addressable:
        return jax.device_put(tree, sharding)

    def place(leaf: Any) -> jax.Array:
        whole = np.asarray(leaf)
        return jax.make_array_from_callback(whole.shape, sharding, whole.__getitem__)

    return jax.tree.map(place, tree)


def fetch(tree: PyTree) -> PyTree:
    """The whole of each array, as NumPy has it, in every process."""

    def gather(leaf: Any) -> np.ndarray:
        if getattr(leaf, "is_fully_addressable", True):
            return np.asarray(leaf)
        return np.asarray(multihost_utils.process_allgather(leaf, tiled=True))

    return jax.tree.map(gather, tree)


def local(tree: PyTree) -> PyTree:
    """Arrays with which this process can calculate on its own; as they are if it can already."""
    leaves = jax.tree.leaves(tree)
    alone = all(getattr(leaf, "is_fully_addressable", True) for leaf in leaves)
    return tree if alone else fetch(tree)


def highest(here: int) -> int:
    """The greatest number that any of the processes gives."""
    if jax.process_count() == 1:
        return here
    return int(multihost_utils.process_allgather(np.array(here, np.int32)).max())


def processes_of(mesh: Mesh) -> int:
    """How many processes have devices of the mesh."""
    return len({device.process_index for device in mesh.devices.flat})


def check(mesh: Mesh, members: int) -> None:
    """Raises UserError if a process would have nothing to train."""
    count = jax.process_count()
    if processes_of(mesh) < count:
        raise UserError(
            f"{members} member{'s'[: members > 1]} cannot be shared by {count} processes: train"
            f" --seeds {count}, or a multiple of it, or take fewer processes"
        )
