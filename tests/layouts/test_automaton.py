"""Kinds and coordinates as tables: the same as ever, and the same step by step."""

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.layouts import LAYOUTS, layout_named

KNOWN = json.loads((Path(__file__).parent / "coordinates.json").read_text("utf-8"))
"""By layout: texts, the role of each token in hexadecimal, and its coordinate."""


@pytest.mark.parametrize("name", LAYOUTS)
def test_coordinates_of_texts_stay_what_they_are(name: str) -> None:
    layout = layout_named(name)
    written = [layout.encode(text) for text, _, _ in KNOWN[name]]
    tokens = np.zeros((len(written), max(map(len, written))), np.int32)
    for row, line in zip(tokens, written, strict=True):
        row[: len(line)] = line
    lengths = jnp.array(list(map(len, written)))
    where = jax.jit(layout.follow)(jnp.asarray(tokens), lengths)[1]
    for number, (line, (_, roles, coordinates)) in enumerate(
        zip(written, KNOWN[name], strict=True)
    ):
        found = np.asarray(where.role)[number, : len(line)]
        assert found.tolist() == [int(role, 16) for role in roles]
        assert np.asarray(where.coordinates)[number, : len(line), 0].tolist() == coordinates
