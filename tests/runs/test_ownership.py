"""One owner of a run at a time, known by a lock that ends with its process."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from curta.config.errors import UserError
from curta.runs import ownership

OWNS = """
import sys, time
from collections.abc import Iterator
from pathlib import Path
from curta.runs import ownership
with ownership.owned(Path(sys.argv[1])):
    print("owns", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    return folder


@pytest.fixture
def other(run: Path) -> "Iterator[subprocess.Popen[str]]":
    """Another process that owns the run."""
    command = [sys.executable, "-c", OWNS, str(run)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "owns\n"
        yield process
        process.kill()


def test_another_owner_is_refused_by_its_name_until_it_is_killed(
    run: Path, other: "subprocess.Popen[str]"
) -> None:
    assert ownership.is_owned(run)
    with pytest.raises(UserError, match=f"'mine' is in use by process {other.pid} on") as caught:
        ownership.owned(run).__enter__()
    assert "\n" not in str(caught.value)
    other.kill()
    other.wait()
    assert not ownership.is_owned(run)
    with ownership.owned(run):
        with ownership.owned(run.parent / "." / "mine"):
            assert ownership.is_owned(run)
        assert ownership.is_owned(run)
    assert not ownership.is_owned(run)


def test_what_killed_writers_left_is_swept_and_nothing_else(run: Path) -> None:
    (run / "checkpoints").mkdir()
    leftovers = [run / ".run.json.abc.part", run / "checkpoints" / ".1.json.abc.part"]
    elsewhere = run.parent / "elsewhere" / ".mine.part"
    others = [run / "run.json", run / ".hidden", run / "checkpoints" / "00000001.json", elsewhere]
    elsewhere.parent.mkdir()
    (run / "linked").symlink_to(elsewhere.parent)
    for path in (*leftovers, *others):
        path.write_text("x")
    with ownership.owned(run):
        assert not any(path.exists() for path in leftovers)
    assert all(path.exists() for path in others)
