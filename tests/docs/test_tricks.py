"""The programs of the page of tricks can be learned, and see what the page says they see."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tricks.md").read_text("utf-8")
CHECKED = re.findall(r"\$ curta check (\S+)\n\.\.\.\n(.*?)```", PAGE, re.DOTALL)


def test_each_example_is_on_the_page() -> None:
    folder = Path("docs/examples/tricks")
    assert {name for name, _ in CHECKED} == {
        str(folder / path.name) for path in (ROOT / folder).glob("*.py")
    }


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shown"), CHECKED)
def test_check_prints_what_the_page_shows(name: str, shown: str) -> None:
    """Runs in a separate process, because the suite shortens surveys and proofs."""
    command = [sys.executable, "-m", "curta", "check", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.endswith(shown)


@pytest.mark.parametrize(("name", "shown"), CHECKED)
def test_the_code_on_the_page_is_the_examples(name: str, shown: str) -> None:
    """Every line of the block before the command, in the example's order."""
    before = PAGE[: PAGE.index(f"$ curta check {name}")]
    block = re.findall(r"```python\n(.*?)```", before, re.DOTALL)[-1]
    lines = [line for line in block.splitlines() if line != "..."]
    example = iter((ROOT / name).read_text("utf-8").splitlines())
    assert [line for line in lines if line not in example] == []
