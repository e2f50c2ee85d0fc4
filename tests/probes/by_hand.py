"""An adder's insides set by hand: what its states and neurons hold is known without looking.

It sees the window of sums: the digit s just written, and of the operands the digits a, b on its
square and A, B on the next, whose sum is to be written. Its state has eight features, of which
these are used:

    0   the digit of the token, that of a sum with a minus
    1   (a + b - s) / 3, from the first head: about 3 if there is a carry out of the square, else 0
    2   (A + B) / 2, from the second head
    3   1
    4   what the MLP writes

and the MLP eight neurons, of which all but three are silent: relu(A + B - 9), which writes
nothing; relu(a + b - s - 8), which writes into feature 4; and A + B + 1, which writes nothing.
"""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np

from curta.evaluation.scoring import Models
from curta.layouts.program import ProgramLayout
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer
from tests import tiny

from .helpers import alone

RECIPE = tiny.recipe(
    model__width=8, model__heads=2, model__num_layers=1, model__norm="none", model__mlp_ratio=1,
    model__activation="relu", model__role_embeddings=False,
    model__compositional_embeddings=False, model__tie_embeddings=False,
)  # fmt: skip

NEURONS = ((2, 0, 2.0), (3, 0, -9.0), (1, 1, 3.0), (3, 1, -8.0), (2, 2, 2.0), (3, 2, 1.0))
"""Feature, neuron, weight."""

UNSEEN = -60.0
"""A score bias with which a cell has no share."""


def adder() -> Models:
    """One member."""
    layout = tiny.layout_of(RECIPE)
    assert isinstance(layout, ProgramLayout)
    model = tiny.drawn(RECIPE, layout)
    attention = replace(
        model.attention,
        query=jnp.zeros((1, 8, 8)),
        value=jnp.asarray(entries((0, 0), (0, 4))),
        out=jnp.asarray(entries((0, 1), (4, 2))),
    )
    mlp = replace(model.mlp, up=jnp.asarray(entries(*NEURONS)), down=jnp.asarray(entries((1, 4))))
    return alone(replace(
        model, tokens=jnp.asarray(digits(layout)), attention=attention, mlp=mlp,
        positions=replace(model.positions, biases=jnp.asarray(seen(model, layout))),
    ))  # fmt: skip


def entries(*cells: tuple[float, ...]) -> np.ndarray:
    """A matrix of one layer that is 0, but for these entries: row, column, and 1 or what it is."""
    matrix = np.zeros((1, 8, 8), np.float32)
    for row, column, *value in cells:
        matrix[0, int(row), int(column)] = value[0] if value else 1.0
    return matrix


def digits(layout: ProgramLayout) -> np.ndarray:
    """Each token's digit in feature 0, that of a sum with a minus; 1 in feature 3."""
    vectors = np.zeros((len(layout.machine.tokens), 8), np.float32)
    vectors[:, 3] = 1.0
    for number, token in enumerate(layout.machine.tokens):
        vectors[number, 0] = (token.value or 0) * (-1 if token.role == "sum" else 1)
    return vectors


def seen(model: Transformer, layout: ProgramLayout) -> np.ndarray:
    """Score biases: the first head sees s, a and b alike, the second A and B, and nothing else."""
    assert isinstance(model.positions, WindowEncoding)
    names = [role.name for role in layout.roles]
    heads = np.full((2, len(names), model.positions.cells), UNSEEN, np.float32)
    for role, near in layout.windows.items():
        for cell, (_, (moved,)) in enumerate((("itself", (0,)), *near)):
            heads[moved, names.index(role), cell] = 0.0
    return heads.reshape(1, 2, -1)
