"""Trains members on a machine of eight devices: `python -m tests.training.eight FILE`.

Writes to FILE, as NumPy arrays, the losses and weights of each case by its name and mesh.
"""

import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from curta.config.recipe import Recipe
from curta.layouts.texts import layout_of
from curta.training import devices, records, trainer
from tests import tiny

STEPS = 10
WINDOW = tiny.recipe(training__batch=16)
TEXT = tiny.dense(training__batch=16)


class Case(NamedTuple):
    """Members of a recipe, trained on the first so many devices in turn."""

    name: str
    recipe: Recipe
    members: int
    devices: tuple[int, ...]
    vectorised: bool


CASES = (
    Case("in turn", WINDOW, 16, (1, 2, 4, 8), False),
    Case("vectorised", WINDOW, 16, (1, 8), True),
    Case("vectorised texts", TEXT, 16, (1, 8), True),
    Case("divided batch", TEXT, 1, (1, 8), True),
    Case("both", TEXT, 2, (1, 8), True),
)


def main(path: str) -> None:
    devices.configure()
    jax.config.update("jax_num_cpu_devices", 8)
    found: dict[str, Any] = {}
    for case in CASES:
        for count in case.devices:
            for name, array in trained(case, jax.devices()[:count]).items():
                found[f"{case.name}/{count}/{name}"] = array
    np.savez(path, **found)


def trained(case: Case, on: list[jax.Device]) -> dict[str, np.ndarray]:
    """Mesh, losses and weights after some steps of one compiled chunk."""
    layout, seeds = layout_of(case.recipe), list(range(case.members))
    data, bounds = records.training_data(case.recipe, layout, seeds)
    mesh = trainer.mesh_for(case.members, case.recipe.training.batch, on)
    state = trainer.shard(trainer.init(case.recipe, layout, jnp.asarray(seeds)), mesh)
    written = trainer.TaskLayout(layout, bounds)
    call = trainer.compile_steps(case.recipe, written, mesh, case.vectorised)
    state, metrics = call(state, trainer.place_data(data, mesh), jnp.int32(0), jnp.int32(STEPS))
    leaves = [np.asarray(leaf).reshape(case.members, -1) for leaf in jax.tree.leaves(state.model)]
    return {
        "mesh": np.array(mesh.devices.shape),
        "loss": np.asarray(metrics.loss)[:, :STEPS],
        "weights": np.concatenate(leaves, axis=1),
    }


if __name__ == "__main__":
    main(sys.argv[1])
