"""What training takes of memory and time, before it begins."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from curta.frontends.cli import main
from curta.training import estimate

PEAK = """
import sys
from pathlib import Path
from curta.frontends import api
from curta.model import recipes
from curta.training import estimate

changes = {**eval(sys.argv[2]), "training.steps": 2, "training.checkpoint_every": 2}
api._configure()
print(estimate.estimate(recipes.resolve(sys.argv[1], changes, "it"), 1).memory)
api.begin(sys.argv[1], 1, None, changes).train()
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
print(1024 * int(peak.split()[1]))
"""
"""Its own peak: `getrusage` would begin with that of the process that has started it."""

WIDE = {"model.width": 256, "training.batch": 512, "task.digits": [1, 20]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "changes"),
    [
        ("addition", {}),
        ("addition-reversed", WIDE),
        ("sources/looped-abacus-small", {"model.width": 128, "training.batch": 512}),
    ],
)
def test_it_is_near_the_peak_of_a_process(recipe: str, changes: dict[str, Any]) -> None:
    command = [sys.executable, "-c", PEAK, recipe, repr(changes)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told, peak = map(int, done.stdout.split())
    assert peak / 4 < told < 4 * peak


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
