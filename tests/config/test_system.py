"""What differs between systems; on this one, with what Windows lacks taken away."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FILES = """
from pathlib import Path
from tests.config import windows
windows.begin()
from curta.config import files, system
place = Path({place!r})
with files.new_folder(place / "run") as folder:
    files.write(folder / "one", "1")
    files.append(folder / "lines", "a\\n")
    files.append(folder / "lines", "b\\n")
    files.sync(folder / "lines")
assert files.read_bytes(place / "run" / "lines") == b"a\\nb\\n"
held = system.claim_lock(place / "run" / "one")
assert held is not None and not system.lock_is_free(place / "run" / "one")
assert files.read_bytes(place / "run" / "one") == b"1"
system.release_lock(held)
assert system.lock_is_free(place / "run" / "one")
assert system.claim_lock(place / "run") is None and not system.lock_is_free(place / "run")
(place / "link").symlink_to(place / "run" / "one")
try:
    files.read_bytes(place / "link")
except OSError as error:
    print(error.strerror)
"""


def _python(*words: str, runs: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | {"CURTA_RUNS": str(runs)},
    )  # fmt: skip


def test_files_and_locks_do_without_what_posix_has(tmp_path: Path) -> None:
    done = _python("-c", FILES.format(place=str(tmp_path)), runs=tmp_path)
    assert (done.stderr, done.stdout) == ("", "it is a link\n")


@pytest.mark.slow
def test_a_run_goes_all_its_way_without_what_posix_has(tmp_path: Path) -> None:
    def curta(*words: str) -> str:
        done = _python("-m", "tests.config.windows", *words, runs=tmp_path)
        assert not done.returncode, done.stderr
        return done.stdout

    steps = ("training.steps=20", "evaluation.digits=[3]", "evaluation.certificate=0")
    assert "Report: " in curta("train", "copying", *steps)
    assert "copying" in curta("runs")
    assert "whole" in curta("runs", "copying")
    assert "Removed" in curta("runs", "--remove", "copying", "--yes")
    assert list(tmp_path.iterdir()) == []
