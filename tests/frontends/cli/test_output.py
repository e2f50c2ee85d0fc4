"""Commands whose output cannot be written: a full disk, a reader that left, a poor encoding."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FULL = Path("/dev/full")
COMMANDS = ["runs mine", "show", "train --help"]
"""They print by rich, by Python and by click."""


@pytest.fixture
def run(tmp_path: Path) -> dict[str, str]:
    """The environment of a folder with one run, which is not whole: `runs` says 1."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "run.json").write_text("{}", encoding="utf-8")
    return os.environ | {"CURTA_RUNS": str(tmp_path), "PYTHONUNBUFFERED": ""}


def command(words: str) -> list[str]:
    return [sys.executable, "-m", "curta", *words.split()]


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize(
    ("words", "unbuffered"), [("runs mine", "1"), ("show", ""), ("train --help", "1")]
)
def test_a_full_disk_is_one_line(run: dict[str, str], words: str, unbuffered: str) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            command(words), stdout=full, stderr=subprocess.PIPE, text=True,
            env=run | {"PYTHONUNBUFFERED": unbuffered},
        )  # fmt: skip
    line = "curta: cannot write to the output: No space left on device\n"
    assert (done.returncode, done.stderr) == (1, line)


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
@pytest.mark.parametrize("words", COMMANDS)
def test_a_reader_that_left_is_no_verdict(run: dict[str, str], words: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        command(words), stdout=writing, stderr=subprocess.PIPE, text=True, env=run
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_what_an_encoding_lacks_is_escaped(run: dict[str, str]) -> None:
    narrow = run | {"PYTHONIOENCODING": "latin-1", "COLUMNS": "40"}
    done = subprocess.run(command("show addition 123+45"), capture_output=True, env=narrow)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u2026" in done.stdout


@pytest.mark.parametrize(
    ("typed", "completed"),
    [("curta tra", ["plain,train"]), ("curta show addition-f", ["plain,addition-fire"]),
     ("curta certify m", ["plain,mine"])],
)  # fmt: skip
def test_a_shell_can_complete(run: dict[str, str], typed: str, completed: list[str]) -> None:
    words = {"_CURTA_COMPLETE": "bash_complete", "COMP_WORDS": typed}
    words["COMP_CWORD"] = str(typed.count(" "))
    done = subprocess.run(command(""), capture_output=True, text=True, env=run | words)
    assert done.stdout.splitlines() == completed
