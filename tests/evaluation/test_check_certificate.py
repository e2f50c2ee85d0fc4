"""The checker for strangers accepts a certificate that holds, and refuses one that was changed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

from curta.frontends import api
from curta.frontends.cli import main
from curta.runs.run import Run
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
    assert last == "the list of windows is closed, as the certificate states"


def change_weight(folder: Path) -> None:
    """Move one weight of the last checkpoint by a tenth."""
    path = max((folder / "checkpoints").glob("*.safetensors"))
    arrays = safetensors.numpy.load_file(path)
    arrays[".model.attention.value"][0, 0, 0, 0] += 0.1
    safetensors.numpy.save_file(arrays, path)


def change_windows(folder: Path, change: Callable[[dict[str, np.ndarray]], None]) -> None:
    path = folder / "windows.safetensors"
    arrays = safetensors.numpy.load_file(path)
    change(arrays)
    safetensors.numpy.save_file(arrays, path)


def change_target(folder: Path) -> None:
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays["targets"][7] = (arrays["targets"][7] + 1) % 10

    change_windows(folder, change)


def drop_window(folder: Path) -> None:
    def change(arrays: dict[str, np.ndarray]) -> None:
        for name, array in arrays.items():
            arrays[name] = np.delete(array, 7, axis=array.ndim - 1 if name != "rows" else 0)

    change_windows(folder, change)


def list_window_twice(folder: Path) -> None:
    def change(arrays: dict[str, np.ndarray]) -> None:
        arrays["rows"][7] = arrays["rows"][8]

    change_windows(folder, change)


def count_wrong_windows(folder: Path) -> None:
    path = folder / "certificate.json"
    content = json.loads(path.read_text())
    content["members"][1]["wrong"] = 3
    path.write_text(json.dumps(content))


def spoil_model(folder: Path) -> None:
    """Negate the head of one member, with the margins and counts that then are right."""
    path = max((folder / "checkpoints").glob("*.safetensors"))
    arrays = safetensors.numpy.load_file(path)
    arrays[".model.head"][0] *= -1
    safetensors.numpy.save_file(arrays, path)
    change_windows(folder, lambda arrays: arrays["bound"].fill(np.inf))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (change_weight, "refused: member 0: the margins are not those of these weights"),
        (change_target, "refused: member 0: the margins are not those of these weights"),
        (drop_window, "refused: 239 windows where certificate.json counts 240"),
        (list_window_twice, "refused: a window is listed twice"),
        (count_wrong_windows, "member 1 is wrong on 0 windows, certificate.json counts 3"),
        (spoil_model, "refused: member 0 is wrong on "),
    ],
)
def test_one_that_was_changed(
    change: Callable[[Path], None], reason: str, certified: Run, tmp_path: Path
) -> None:
    folder = shutil.copytree(certified.folder.path, tmp_path / "run")
    change(folder)
    code, text = checked(folder)
    assert code == 1
    assert reason in text


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
