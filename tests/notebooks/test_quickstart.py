"""The notebook as it is committed, and as a fresh kernel runs it."""

import base64
import importlib.util
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "notebooks" / "quickstart.ipynb"


@pytest.fixture
def cells() -> list[Any]:
    return list(nbformat.read(NOTEBOOK, as_version=4).cells)


def run(notebook: Any, folder: Path) -> Any:
    """The notebook after a kernel of its own has run it in that folder."""
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=600, resources=resources).execute()
    return notebook


def test_it_is_committed_without_outputs(cells: list[Any]) -> None:
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


def test_it_is_what_its_source_says() -> None:
    found = importlib.util.spec_from_file_location("write", ROOT / "notebooks" / "write.py")
    assert found
    assert found.loader
    write = importlib.util.module_from_spec(found)
    found.loader.exec_module(write)
    made = write.notebook(write.SOURCE.read_text("utf-8"))
    assert json.loads(nbformat.writes(made)) == json.loads(NOTEBOOK.read_text("utf-8"))


def test_it_runs_and_shows_what_it_says(tmp_path: Path) -> None:
    done = run(nbformat.read(NOTEBOOK, as_version=4), tmp_path)
    outputs = [output for cell in done.cells for output in cell.get("outputs", [])]
    assert not any(output.output_type == "error" for output in outputs)
    shown = [output.data for output in outputs if output.output_type == "execute_result"]
    pictures = [base64.b64decode(data["image/png"]) for data in shown if "image/png" in data]
    assert len(pictures) == 4
    assert all(picture.startswith(b"\x89PNG") for picture in pictures)
    tables = [data["text/html"] for data in shown if "text/html" in data]
    assert [table.count("<th>") + table.count("<th ") > 0 for table in tables] == [True] * 3
    text = "".join(output.text for output in outputs if output.output_type == "stream")
    assert text.count("99999999999999999999+1 = 100000000000000000000, right is 1") == 1
    assert "step 1500 of 1800" in text


def test_without_curta_and_an_address_its_first_cell_says_what_to_do(
    cells: list[Any], tmp_path: Path
) -> None:
    """A finder that finds no curta stands for a fresh runtime."""
    hide = "import importlib.util as util; util.find_spec = lambda name: None"
    first = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(hide), next(c for c in cells if c.cell_type == "code")]
    )
    with pytest.raises(CellExecutionError, match="put its git address into REPOSITORY"):
        run(first, tmp_path)
