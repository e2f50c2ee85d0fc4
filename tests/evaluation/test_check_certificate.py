"""The checker for strangers accepts a certificate that holds, and refuses one that was changed."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import safetensors.numpy

from curta.evaluation.check_certificate import Closure, RefusedError, check
from curta.frontends import api
from curta.frontends.cli import main
from curta.problems.sizes import Sizes
from curta.programs import PROGRAMS
from curta.programs.machine import store
from curta.programs.multiplication import in_base as multiplication_in_base
from curta.programs.proof.closing import prove
from curta.programs.proof.listing import list_windows
from curta.programs.sums import in_base as sums_in_base
from curta.runs.run import Run
from tests.programs.machine import machines
from tests.runs.test_repair import FIELDS


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(tmp_path_factory.mktemp("runs")))
        run = api.begin("luhn", [3, 4], "luhn", FIELDS, evaluate=True)
        run.complete()
    return run


def checked(folder: Path) -> tuple[int, str]:
    """Run the file that lies beside the certificate, without Curta and JAX."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    code = (
        "import runpy, sys; sys.modules['curta'] = sys.modules['jax'] = None;"
        " sys.argv = ['check_certificate.py', sys.argv[1]];"
        " runpy.run_path(sys.argv[1] + '/check_certificate.py', run_name='__main__')"
    )
    command = [sys.executable, "-I", "-c", code, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, done.stdout + done.stderr


def test_a_certificate_that_holds(certified: Run) -> None:
    code, text = checked(certified.folder.path)
    assert code == 0, text
    first, second, last = text.splitlines()
    assert first.startswith("member 0 (seed 3): right on all 240 windows, by ")
    assert second.startswith("member 1 (seed 4): right on all 240 windows, by ")
    assert last == "the list of windows is closed: replayed, 1 sweeps from all prompts"


Arrays = dict[str, np.ndarray]
WEIGHTS, WINDOWS = "checkpoints/*.safetensors", "windows.safetensors"


def change_weight(arrays: Arrays) -> None:
    arrays[".model.attention.value"][0, 0, 0, 0] += 0.1


def spoil_head(arrays: Arrays) -> None:
    arrays[".model.head"][0] *= -1


def change_target(arrays: Arrays) -> None:
    arrays["targets"][7] = (arrays["targets"][7] + 1) % 10


def drop_window(arrays: Arrays) -> None:
    for name in ("rows", "targets", "token", "margin", "shown", "bound"):
        arrays[name] = np.delete(arrays[name], 7, axis=0 if name == "rows" else -1)


def drop_transition(arrays: Arrays) -> None:
    arrays["closure luhn edges"] = np.delete(arrays["closure luhn edges"], 20, axis=0)


def list_window_twice(arrays: Arrays) -> None:
    arrays["rows"][7] = arrays["rows"][8]


def bound_nothing(arrays: Arrays) -> None:
    arrays["bound"].fill(np.inf)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({WEIGHTS: change_weight}, "member 0: the margins are not those of these weights"),
        ({WINDOWS: change_target}, "member 0: the margins are not those of these weights"),
        ({WINDOWS: drop_window}, "239 windows where certificate.json counts 240"),
        ({WINDOWS: drop_transition}, "after '=' (equals): papers that the proof lacks"),
        ({WINDOWS: list_window_twice}, "a window is listed twice"),
        ({WEIGHTS: spoil_head, WINDOWS: bound_nothing}, "member 0 is wrong on "),
    ],
)
def test_one_that_was_changed(
    changes: dict[str, Callable[[Arrays], None]], reason: str, certified: Run, tmp_path: Path
) -> None:
    folder = shutil.copytree(certified.folder.path, tmp_path / "run")
    for pattern, change in changes.items():
        path = max(folder.glob(pattern))
        arrays = safetensors.numpy.load_file(path)
        change(arrays)
        safetensors.numpy.save_file(arrays, path)
    with pytest.raises(RefusedError, match=re.escape(reason)):
        check(folder)


def test_a_certificate_that_counts_wrong_windows(certified: Run, tmp_path: Path) -> None:
    folder = shutil.copytree(certified.folder.path, tmp_path / "run")
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    content["members"][1]["wrong"] = 3
    path.write_text(json.dumps(content))
    code, text = checked(folder)
    assert code == 1
    assert "refused: member 1 is wrong on 0 windows, certificate.json counts 3" in text


CLOSED = {
    "subtraction": PROGRAMS["subtraction"],
    "back": machines.back,
    "double": machines.double,
    "binary": PROGRAMS["binary"],
    "multiplication": multiplication_in_base(3),
    "sums": sums_in_base(2),
    "greatest": machines.greatest,
}
Table = dict[tuple[int, ...], int]


class Proved(NamedTuple):
    """A closed list, and what shows it."""

    machine: dict[str, Any]
    table: Table
    evidence: Arrays

    def replay(self, table: Table | None = None, evidence: Arrays | None = None) -> int:
        (form,) = self.machine["formats"].values()
        machine = json.loads(json.dumps(self.machine))
        closure = Closure(machine, form, table or self.table, self.evidence | (evidence or {}))
        return closure.check()


@pytest.fixture(scope="module", params=CLOSED)
def proved(request: pytest.FixtureRequest) -> Proved:
    of = CLOSED[request.param]
    count = len(of.format.givens)
    sizes = Sizes((1, 5), (1, 5), (count, of.format.most or 4))
    found = machines.made(of, sizes, problems=600)
    lister = machines.lister(of, found)
    list_windows(lister, sizes, budget=60_000)
    closure = prove(lister, 60)
    assert closure.closed, closure.obstacle
    rows = map(tuple, lister.table.rows.tolist())
    table = dict(zip(rows, lister.table.targets.tolist(), strict=True))
    return Proved(store.dump(found.machine, found.windows), table, closure.evidence)


def test_a_proof_is_replayed(proved: Proved) -> None:
    keys = json.loads(proved.evidence["keys"].tobytes())["keys"]
    assert proved.replay() == len(keys) > 0


def test_a_list_that_lacks_a_window_is_refused(proved: Proved) -> None:
    for row in [*proved.table][:: 1 + len(proved.table) // 7]:
        lacking = {other: target for other, target in proved.table.items() if other != row}
        with pytest.raises(RefusedError):
            proved.replay(table=lacking)


def test_a_proof_that_lacks_a_sweep_is_refused(proved: Proved) -> None:
    content = json.loads(proved.evidence["keys"].tobytes())
    for number in range(len(content["keys"])):
        keys = content["keys"][:number] + content["keys"][number + 1 :]
        text = json.dumps(content | {"keys": keys}).encode()
        with pytest.raises(RefusedError):
            proved.replay(evidence={"keys": np.frombuffer(text, np.uint8)})


def test_a_proof_that_lacks_a_state_is_refused(proved: Proved) -> None:
    """Of the prompts, whose language has no state that it could do without."""
    edges, ends = proved.evidence["edges"], proved.evidence["ends"]
    for state in np.unique(edges[edges[:, 0] == 0, :2], axis=0):
        lacking = {
            "edges": edges[
                ~((edges[:, [0, 1]] == state) | (edges[:, [0, 3]] == state)).all(axis=1)
            ],
            "ends": ends[~(ends[:, :2] == state).all(axis=1)],
        }
        with pytest.raises(RefusedError):
            proved.replay(evidence=lacking)


def test_a_proof_whose_lines_end_nowhere_is_refused(proved: Proved) -> None:
    """Prompts end in a state that nothing leaves: no sweep would come to its end there."""
    content = json.loads(proved.evidence["keys"].tobytes())
    edges, ends, letters = (proved.evidence[name] for name in ("edges", "ends", "letters"))
    blank = int(np.flatnonzero((letters == -1).all(axis=1))[0])
    of_prompts = (ends[:, 0] == 0) & (ends[:, 2] == 1)
    exits = [[0, state, blank, 1000] for state in ends[of_prompts, 1].tolist()]
    changed = {
        "edges": np.concatenate([edges, np.array(exits, np.int32)]),
        "ends": np.concatenate([ends[~of_prompts], np.array([[0, 1000, 1]], np.int32)]),
    }
    assert proved.replay(evidence=changed) == len(content["keys"])
    begins = [key for key in content["keys"] if key["language"] == 0]
    text = json.dumps(content | {"keys": begins}).encode()
    with pytest.raises(RefusedError):
        proved.replay(evidence=changed | {"keys": np.frombuffer(text, np.uint8)})


def test_a_proof_without_a_cell_that_windows_see_is_refused(proved: Proved) -> None:
    content = json.loads(proved.evidence["keys"].tobytes())
    for number in range(len(content["cells"])):
        cells = content["cells"][:number] + content["cells"][number + 1 :]
        text = json.dumps(content | {"cells": cells}).encode()
        letters = np.delete(proved.evidence["letters"], 2 + number, axis=1)
        changed = {"keys": np.frombuffer(text, np.uint8), "letters": letters}
        with pytest.raises(RefusedError):
            proved.replay(evidence=changed)


def test_on_the_command_line(
    certified: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CURTA_RUNS", str(certified.folder.path.parent))
    assert main(["certify", "luhn", "--check"]) == 0
    assert capsys.readouterr().out.startswith("member 0 (seed 3): right on all 240 windows, by ")
    assert main(["show", "luhn", "--table", "--member", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "# Member 1 of run 'luhn', right on all of 240 windows"
    assert (
        "    return write('sum', 'place+1', (2 * number_1 + (number_1 > 4)) % 10, carry=1)" in lines
    )
    assert main(["show", "luhn", "--table", "--member", "2"]) == 2
    assert "no member 2: run 'luhn' has 0 to 1" in capsys.readouterr().err
