"""The study of loops: what a grid says, averaged over displacements, and its table."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docs import looped
from docs.evidence import Results
from tests.docs.handmade import kept

TINY = {
    "model.width": 16, "model.heads": 2, "model.num_recurrences": 2, "training.steps": 20,
    "training.batch": 16, "evaluation.grid": 2, "evaluation.count": 10, "evaluation.digits": [2],
}  # fmt: skip


@pytest.mark.slow
def test_models_are_asked_with_what_is_said_and_the_mean_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny = looped.finished("tiny", looped.RECIPE, 2, TINY)
    monkeypatch.setattr(looped, "finished", lambda *asked: tiny)
    monkeypatch.setattr(looped, "OFFSETS", (0, 3))
    real = looped._grid

    def grid(models: Any, recipe: Any) -> Any:
        model = models.stacked
        assert real(models, recipe).shape == (2, 2, 2)
        asked = model.config.num_recurrences / 10 + model.positions.evaluation_offset / 100
        return np.array([[[asked, 0.0], [0.0, asked]], [[0.0, 0.0], [0.0, 0.5]]])

    monkeypatch.setattr(looped, "SIZES", (1, 2))
    monkeypatch.setattr(looped, "COUNT", 5)
    monkeypatch.setattr(looped, "_grid", grid)
    found = looped.measured(5)
    assert found["offsets"] == {0: [0.25, 0.125], 3: [0.265, 0.125]}
    assert found["mean"] == [0.2575, 0.125]
    assert found["equal"] == {"1": [0.515, 0.0], "2": [0.515, 0.5]}
    assert np.array(found["grid"])[1].tolist() == [[0.0, 0.0], [0.0, 0.5]]


def test_the_table_has_a_line_for_each_number_in_order(tmp_path: Path) -> None:
    of: dict[str, Any] = {"mean": [0.5, 0.25, 0.75], "equal": dict.fromkeys("48", [1.0] * 3)}
    of["equal"] |= {"12": [0.0, 0.5, 1.0], "16": [0.0] * 3}
    lines = [*looped.tables(kept(tmp_path, "looped", {"16": of, "2": of}))["looped"]]
    assert lines[2].startswith("| 2 | 0.500 (0.250 to 0.750) | 1.000 (all) | 1.000 (all) |")
    assert lines[3].startswith("| 16 |")
    assert len(lines) == 4
    assert looped.tables(Results(tmp_path / "none")) == {}
