"""The first notebook, as a fresh kernel runs it."""

from pathlib import Path

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError

from .running import outputs, printed, read, run

pytestmark = pytest.mark.slow


def test_it_runs_and_shows_what_it_says(tmp_path: Path) -> None:
    done = run(read("quickstart"), tmp_path)
    assert not any(output.output_type == "error" for output in outputs(done))
    shown = [output.data for output in outputs(done) if output.output_type == "execute_result"]
    pictures = [data["image/svg+xml"] for data in shown if "image/svg+xml" in data]
    assert len(pictures) == 4
    assert all(picture.startswith("<svg") for picture in pictures)
    tables = [data["text/html"] for data in shown if "text/html" in data]
    assert [table.count("<th>") + table.count("<th ") > 0 for table in tables] == [True] * 3
    text = printed(done)
    assert text.count("99999999999999999999+1 = 100000000000000000000, right is 1") == 1
    assert "step 1500 of 1800" in text


def test_without_curta_and_an_address_its_first_cell_says_what_to_do(tmp_path: Path) -> None:
    """A finder that finds no curta stands for a fresh runtime."""
    hide = "import importlib.util as util; util.find_spec = lambda name: None"
    cells = read("quickstart").cells
    first = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(hide), next(c for c in cells if c.cell_type == "code")]
    )
    with pytest.raises(CellExecutionError, match="put its git address into REPOSITORY"):
        run(first, tmp_path)
