"""The history of a run: the characters' vectors at their steps, as the model uses them."""

from typing import Any

import numpy as np
import pytest

from curta.config.errors import UserError
from curta.frontends import api
from curta.runs import embedding_history
from curta.runs.run import Run
from tests import tiny


def begin(name: str = "run", **changes: Any) -> Run:
    return api.begin("addition", 2, name, tiny.overrides(**changes))


def trained(name: str = "run", **changes: Any) -> Run:
    run = begin(name, **changes)
    run.train()
    return run


@pytest.mark.parametrize("spelled", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_vectors_of_all_characters_are_kept_at_their_steps_and_at_the_end(
    spelled: bool,
) -> None:
    run = trained(model__compositional_embeddings=spelled, training__history_every=8)
    kept = run.folder.history
    assert embedding_history.steps(kept) == [0, 8, 16, 20]
    parts = run.layout.composition() if spelled else np.eye(len(run.layout.characters))
    for step in (0, 20):
        expected = parts @ np.asarray(run.at(step).stacked.tokens)
        np.testing.assert_allclose(embedding_history.load(kept, step), expected, atol=1e-5)
    assert {8, 16} <= {row.step for row in run.folder.read_metrics()}


def test_a_damaged_moment_is_told() -> None:
    folder = begin().folder.history
    embedding_history.save(folder, 20, np.zeros((2, 3, 4), np.float32))
    path = folder / "00000020.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    for step in (20, 30):
        with pytest.raises(UserError, match=rf"000000{step}.*missing or damaged"):
            embedding_history.load(folder, step)
