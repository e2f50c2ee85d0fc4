"""The checker for strangers accepts a certificate that holds, and refuses one that was changed."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import safetensors.numpy

from curta.evaluation.check_certificate import CheckFailedError, ClosureProof, Language, check
from curta.frontends.cli import main
from curta.programs.machine import store
from curta.runs.run import Run
from tests.programs.machine import machines


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


def test_a_certificate_that_holds(repaired: Run) -> None:
    code, text = checked(repaired.folder.path)
    assert code == 0, text
    first, second, last = text.splitlines()
    assert first.startswith("member 0 (seed 3): right on all 240 windows, by ")
    assert second.startswith("member 1 (seed 4): right on all 240 windows, by ")
    assert last == "the list of windows is closed: replayed, 1 sweep from all prompts"


Arrays = dict[str, np.ndarray]
Change = Callable[[np.ndarray], np.ndarray]
WEIGHTS, WINDOWS = "checkpoints/*.safetensors", "windows.safetensors"
OF_MEMBERS = ("targets", "token", "margin", "shown", "bound")

PLANTED: list[tuple[str, dict[tuple[str, str], Change]]] = [
    ("member 0: the margins are not those of these weights",
     {(WEIGHTS, ".model.attention.value"): lambda a: a + np.float32(0.1)}),
    ("member 0: the margins are not those of these weights",
     {(WINDOWS, "targets"): lambda a: np.where(np.arange(len(a)) == 7, (a + 1) % 10, a)}),
    ("239 windows where certificate.json counts 240",
     {(WINDOWS, "rows"): lambda a: np.delete(a, 7, axis=0)}
     | {(WINDOWS, name): lambda a: np.delete(a, 7, axis=-1) for name in OF_MEMBERS}),
    ("after '=' (equals): papers that the proof lacks",
     {(WINDOWS, "closure luhn edges"): lambda a: np.delete(a, 20, axis=0)}),
    ("a window is listed twice",
     {(WINDOWS, "rows"): lambda a: np.concatenate([a[:7], a[8:9], a[8:]])}),
    ("member 0 is wrong on ",
     {(WEIGHTS, ".model.head"): np.negative, (WINDOWS, "bound"): lambda a: a + np.inf}),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "changes"), PLANTED)
def test_one_that_was_changed(
    changes: dict[tuple[str, str], Change], reason: str, repaired: Run, tmp_path: Path
) -> None:
    folder = shutil.copytree(repaired.folder.path, tmp_path / "run")
    for (pattern, name), change in changes.items():
        path = max(folder.glob(pattern))
        arrays = safetensors.numpy.load_file(path)
        arrays[name] = np.ascontiguousarray(change(arrays[name]))
        safetensors.numpy.save_file(arrays, path)
    with pytest.raises(CheckFailedError, match=re.escape(reason)):
        check(folder)


def test_a_certificate_that_counts_wrong_windows(repaired: Run, tmp_path: Path) -> None:
    folder = shutil.copytree(repaired.folder.path, tmp_path / "run")
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    content["members"][1]["wrong"] = 3
    path.write_text(json.dumps(content))
    code, text = checked(folder)
    assert code == 1
    assert "refused: member 1 is wrong on 0 windows, certificate.json counts 3" in text


CLOSED = (
    "subtraction", "back", "double", "binary", "multiplication in base 3", "sums in base 2",
    "division in base 2", "greatest", "sorting in base 2",
)  # fmt: skip
Table = dict[tuple[int, ...], int]


class Proved(NamedTuple):
    """A closed list, and what shows it."""

    machine: dict[str, Any]
    table: Table
    evidence: Arrays

    def replay(self, table: Table | None = None, evidence: Arrays | None = None) -> int:
        (form,) = self.machine["formats"].values()
        machine = json.loads(json.dumps(self.machine))
        closure = ClosureProof(machine, form, table or self.table, self.evidence | (evidence or {}))
        return closure.check()

    def keys(self, **changes: Any) -> Arrays:
        """Return the evidence's keys with parts changed."""
        content = json.loads(self.evidence["keys"].tobytes()) | changes
        return {"keys": np.frombuffer(json.dumps(content).encode(), np.uint8)}

    def lacking(self) -> Iterator[tuple[Table, Arrays]]:
        """Yield no proofs: without a window, a sweep, a cell, or a state of the prompts."""
        for row in [*self.table][:: 1 + len(self.table) // 7]:
            yield {other: to for other, to in self.table.items() if other != row}, {}
        content = json.loads(self.evidence["keys"].tobytes())
        for name in ("keys", "cells"):
            for number in range(len(content[name])):
                fewer = content[name][:number] + content[name][number + 1 :]
                changed = self.keys(**{name: fewer})
                if name == "cells":
                    changed["letters"] = np.delete(self.evidence["letters"], 2 + number, axis=1)
                yield self.table, changed
        # the language of prompts has no state that it could do without
        edges, ends = self.evidence["edges"], self.evidence["ends"]
        for state in np.unique(edges[edges[:, 0] == 0, :2], axis=0):
            touching = ((edges[:, [0, 1]] == state) | (edges[:, [0, 3]] == state)).all(axis=1)
            left = ends[~(ends[:, :2] == state).all(axis=1)]
            yield self.table, {"edges": edges[~touching], "ends": left}


@pytest.fixture(scope="module", params=CLOSED)
def proved(request: pytest.FixtureRequest) -> Proved:
    return proved_list(request.param)


def proved_list(name: str) -> Proved:
    lister, closure = machines.closed(name)
    rows = map(tuple, lister.table.rows.tolist())
    table = dict(zip(rows, lister.table.targets.tolist(), strict=True))
    return Proved(store.dump(lister.machine, lister.windows), table, closure.evidence)


def test_a_proof_is_replayed_and_refused_where_anything_is_missing(proved: Proved) -> None:
    keys = json.loads(proved.evidence["keys"].tobytes())["keys"]
    assert proved.replay() == len(keys) > 0
    for table, evidence in proved.lacking():
        with pytest.raises(CheckFailedError):
            proved.replay(table, evidence)


def test_sorting_needs_that_copies_are_as_long_as_operands() -> None:
    proof = proved_list("sorting in base 2")
    content = json.loads(proof.evidence["keys"].tobytes())
    keys = [key | {"in_step": []} for key in content["keys"]]
    with pytest.raises(CheckFailedError):
        proof.replay(evidence=proof.keys(keys=keys))


@pytest.mark.parametrize(
    ("columns", "alike"),
    [([(1, 1), (2, 5)], True), ([(1, 1), (-1, -1)], True), ([(-1, 1), (-1, 5)], True),
     ([(1, 1), (2, -1)], False), ([(1, 1), (-1, 5)], False)],
)  # fmt: skip
def test_a_number_is_as_long_as_another_one(columns: list[tuple[int, int]], alike: bool) -> None:
    """Or is not there. Columns have a mark, the pen, a digit of the number and one of the other."""
    edges = [(n, (-1, -1, *column), n + 1) for n, column in enumerate(columns)]
    papers = Language(edges, [0], [len(columns)])
    assert ClosureProof.is_in_step(papers, 2, frozenset([3])) is alike


def test_a_proof_whose_lines_end_nowhere_is_refused(proved: Proved) -> None:
    """Prompts end in a state that nothing leaves: no sweep would come to its end there."""
    keys = json.loads(proved.evidence["keys"].tobytes())["keys"]
    edges, ends, letters = (proved.evidence[name] for name in ("edges", "ends", "letters"))
    blank = int(np.flatnonzero((letters == -1).all(axis=1))[0])
    of_prompts = (ends[:, 0] == 0) & (ends[:, 2] == 1)
    exits = [[0, state, blank, 1000] for state in ends[of_prompts, 1].tolist()]
    changed = {
        "edges": np.concatenate([edges, np.array(exits, np.int32)]),
        "ends": np.concatenate([ends[~of_prompts], np.array([[0, 1000, 1]], np.int32)]),
    }
    assert proved.replay(evidence=changed) == len(keys)
    begins = proved.keys(keys=[key for key in keys if key["language"] == 0])
    with pytest.raises(CheckFailedError):
        proved.replay(evidence=changed | begins)


def test_on_the_command_line(
    repaired: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CURTA_RUNS", str(repaired.folder.path.parent))
    assert main(["certify", "repaired", "--check"]) == 0
    assert capsys.readouterr().out.startswith("member 0 (seed 3): right on all 240 windows, by ")
    assert main(["show", "repaired", "--table", "--member", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "# Member 1, right on all of 240 windows"
    assert (
        "    return write('sum', 'place+1', (2 * number_1 + (number_1 > 4)) % 10, carry=1)" in lines
    )
    assert main(["show", "repaired", "--table", "--member", "2"]) == 2
    assert "no member 2: run 'repaired' has 0 to 1" in capsys.readouterr().err
