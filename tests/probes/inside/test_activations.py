"""Activations of whole runs: their texts, what they agree with, files, and mistakes."""

from pathlib import Path

import numpy as np
import pytest

from curta.config.errors import UserError
from curta.evaluation.scoring import scores
from curta.probes.inside import activations
from curta.probes.inside.activations import Activations
from curta.probes.inside.interventions import Intervention
from curta.problems.problem import parse
from curta.runs.run import Run
from tests import tiny

from ..helpers import alone

SUMS = ["12+34", "957+68", "1+2", "999+1"]


@pytest.mark.parametrize("name", ["windowed", "dense"])
def test_of_several_members_and_texts_of_several_lengths(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    run: Run = request.getfixturevalue(name)
    recorded = run.activations(SUMS)
    lengths = [len(run.layout.tokens_of(parse(problem))[0]) - 1 for problem in SUMS]
    assert [len(text) for text in recorded.about.positions] == lengths
    assert recorded["embedding"].shape == (2, 4, max(lengths), run.recipe.model.width)
    for row, length in enumerate(lengths):
        assert np.isfinite(recorded["logits"][:, row, :length]).all()
        assert np.isnan(recorded["logits"][:, row, length:]).all()
        weights = recorded["layer.0.attention.weights"][:, row, :, :length]
        assert (weights.sum(-1) <= 1 + 1e-5).all()
    monkeypatch.setattr(activations, "MOST", 1000)
    with pytest.raises(UserError, match="name fewer sites"):
        run.activations(SUMS)


def test_tokens_and_windows_say_what_stands_where(windowed: Run) -> None:
    """While the 2 of 57+68=125 is written, the pen is on the square of the 5."""
    recorded = windowed.activations(["57+68"], "*.weights")
    positions = recorded.about.positions[0]
    assert "".join(position.token for position in positions) == "75+86=521"
    assert [position.after for position in positions] == [None] * 5 + ["5", "2", "1", "$"]
    assert [p.role for p in positions][:6] == [*"aa", "operator", *"bb", "equals"]
    assert [position.at for position in positions][:2] == [[0], [1]]
    assert recorded.neighbours is not None
    seen = dict(zip(recorded.about.neighbours, recorded.neighbours[0, 6].tolist(), strict=True))
    assert [seen[name] for name in ("itself", "a place+1", "b place+1")] == [6, 1, 4]
    weights = recorded["layer.0.attention.weights"][:, 0, :, 6]
    assert ((weights > 0) == np.isin(range(9), [*seen.values()])).all()


def test_an_encoder_is_asked_over_its_prompt() -> None:
    recipe = tiny.recipe(
        layout="framed", model__causal=False, positions__name="learned", positions__length=64
    )
    models = alone(tiny.drawn(recipe, tiny.layout_of(recipe)))
    recorded = activations.find(models, [parse("57+68")], ["final", "*.weights"])
    positions = recorded.about.positions[0]
    assert "".join(position.token for position in positions).startswith("=86+75")
    assert [position.after for position in positions[:5]] == [*"521$", None]
    weights = recorded["layer.0.attention.weights"][0, 0]
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    assert (weights[:, 0, -1] > 0).all()  # it looks ahead
    expected = scores(models, [parse("57+68")])
    assert recorded.exact_match.tolist() == expected.exact_match.tolist()


def test_a_file_holds_all_of_it(dense: Run, tmp_path: Path) -> None:
    site = "layer.0.attention.heads"
    zero = Intervention(site, where={"head": 1})
    made = dense.activations(SUMS, ["layer.0.*", "logits"], [zero], members=[1])
    path = made.save(tmp_path / "found")
    assert path.name == "found.npz"
    read = Activations.load(path)
    assert read.about == made.about
    assert list(read) == list(made)
    for name in made:
        np.testing.assert_array_equal(read[name], made[name])
    np.testing.assert_array_equal(read.exact_match, made.exact_match)
    assert read.about.interventions == [f"zero {site}:head=1"]
    assert read.about.members == [1]
    assert read.neighbours is None
    with np.load(path, allow_pickle=False) as plain:
        assert plain[site].shape == made[site].shape


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x03\x04"])
def test_another_file_is_refused_in_a_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    path.write_bytes(content)
    with pytest.raises(UserError, match="holds no activations"):
        Activations.load(path)
