"""What training takes of memory and time, before it begins."""

from pathlib import Path
from typing import Any

import pytest

from curta.frontends.cli import main
from curta.training import estimate


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"training.batch": 1_000_000, "model.width": 4_096}, "GB of memory"),
        ({"model.width": 65_536, "model.num_layers": 1_000}, "GB of memory"),
        ({"task.digits": [1, 100_000], "layout": "reversed", "positions.name": "rope"}, "GB"),
        ({"task.digits": [1, 100_000]}, "GB of memory"),
        ({"training.steps": 10**9, "model.width": 1_024}, "years"),
    ],
)
def test_what_cannot_be_trained_is_one_line_and_no_folder(
    runs_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changes: dict[str, Any],
    says: str,
) -> None:
    """As on a machine with 16 GB."""
    monkeypatch.setattr(estimate, "memory", lambda: 16_000_000_000)
    given = [f"{path}={value}" for path, value in changes.items()]
    assert main(["train", "addition", *given]) == 2
    assert main(["compare", "addition", "again: addition", *given]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(says in line and len(line) < 300 for line in lines), lines
    assert not runs_folder.exists()
