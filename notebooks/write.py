"""Writes the notebooks, without outputs, from files of Python: `python notebooks/write.py`."""

import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat import v4

HERE = Path(__file__).parent
NAMES = (
    "quickstart", "patching",
    "five_operations", "digit_encoder", "spaced_addition", "looped_abacus", "component_ladder",
)  # fmt: skip


def notebook(source: str) -> Any:
    """Cells of text that parts them by `# %%`; what only a notebook runs is a comment in it."""
    parts = re.split(r"^# %%", source, flags=re.MULTILINE)[1:]
    made = v4.new_notebook(cells=[_cell(number, part) for number, part in enumerate(parts)])
    made.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return made


def _cell(number: int, part: str) -> Any:
    kind, _, body = part.partition("\n")
    if kind.strip() == "[markdown]":
        text = re.sub(r"^# ?", "", body, flags=re.MULTILINE)
        return v4.new_markdown_cell(text.strip(), id=f"cell-{number}")
    text = re.sub(r"^( *)# %", r"\1%", body, flags=re.MULTILINE)
    return v4.new_code_cell(text.strip(), id=f"cell-{number}")


if __name__ == "__main__":
    for name in NAMES:
        text = (HERE / f"{name}.py").read_text("utf-8")
        nbformat.write(notebook(text), HERE / f"{name}.ipynb")
