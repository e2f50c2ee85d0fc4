"""Notebooks: committed without outputs, written from their sources, and run by fresh kernels."""

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from notebooks import write

pytestmark = pytest.mark.slow

FOLDER = Path(write.__file__).parent


def read(name: str) -> Any:
    return nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)


def run(notebook: Any, folder: Path) -> None:
    """Run a notebook by a kernel of its own in that folder; an error in a cell is raised."""
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()


def test_all_of_them_are_written() -> None:
    assert sorted(write.NAMES) == sorted(path.stem for path in FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("name", write.NAMES)
def test_it_is_committed_without_outputs_and_is_what_its_source_says(name: str) -> None:
    committed, source = read(name), (FOLDER / f"{name}.py").read_text("utf-8")
    code = [cell for cell in committed.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    text = (FOLDER / f"{name}.ipynb").read_text("utf-8")
    assert json.loads(nbformat.writes(write.notebook(source))) == json.loads(text)


@pytest.mark.parametrize(
    ("name", "pictures", "tables", "says"),
    [
        ("quickstart", 4, 3, ["step 1500 of 1800",
                              "99999999999999999999+1 = 100000000000000000000, right is 1"]),
        ("patching", 2, 0, ["104 effects, largest difference 0.000", "753+862=526"]),
        ("five_operations", 2, 0, ["reported", "999*999 = "]),
        ("digit_encoder", 4, 0, ["reported", "here, 1 digits: exact match"]),
        ("spaced_addition", 3, 0, ["1000+1000 = "]),  # its source kept no figures
        ("looped_abacus", 3, 0, ["reported", "here, grid of 3 by the same"]),
        ("component_ladder", 2, 0, ["reported", "answers  72+90="]),
    ],
)  # fmt: skip
def test_it_runs_and_shows_what_it_says(
    name: str,
    pictures: int,
    tables: int,
    says: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of the five sources run at their smallest size."""
    if name == "patching":
        pytest.importorskip("transformer_lens", reason="needs curta[lens]")
    monkeypatch.setenv("SIZE", "tiny")
    run(notebook := read(name), tmp_path)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = [output.get("data", {}) for output in outputs]
    assert sum(bool(data.keys() & {"image/png", "image/svg+xml"}) for data in shown) == pictures
    assert sum("<th" in data.get("text/html", "") for data in shown) >= tables
    text = "".join(each.get("text", "") for each in outputs)
    text += "".join(data.get("text/plain", "") for data in shown)
    assert all(text.count(part) for part in says), text


def test_without_curta_and_an_address_its_first_cell_says_what_to_do(tmp_path: Path) -> None:
    """A finder that finds no curta stands for a fresh runtime."""
    hide = "import importlib.util as util; util.find_spec = lambda name: None"
    first = next(cell for cell in read("quickstart").cells if cell.cell_type == "code")
    fresh = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(hide), first])
    with pytest.raises(CellExecutionError, match="put its git address into REPOSITORY"):
        run(fresh, tmp_path)
