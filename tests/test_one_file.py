"""The whole idea in one file: its algorithm is the package's, and a training of it is certified."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.programs.addition import addition
from curta.programs.machine.paper import Vocabulary

PATH = Path(__file__).parents[1] / "examples" / "one_file.py"


def loaded() -> Any:
    spec = importlib.util.spec_from_file_location("one_file", PATH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


one_file = loaded()
WINDOWS = set(one_file.list_windows())
NUMBERS = st.integers(0, 10**30)


@given(NUMBERS, NUMBERS)
def test_it_writes_what_the_packages_program_writes_and_lists_every_window(a: int, b: int) -> None:
    written, windows = one_file.write(a, b, one_file.next_token)
    assert set(windows) <= WINDOWS
    assert "".join(map(str, reversed(written[:-1]))) == str(a + b)
    vocabulary = Vocabulary()
    tokens, start = addition.record((a, b), vocabulary)
    symbols = [vocabulary.tokens[token].symbol for token in tokens[start:]]
    assert ["$" if token == one_file.END else str(token) for token in written] == symbols


def test_four_screens_are_enough() -> None:
    assert len(PATH.read_text("utf-8").splitlines()) <= 200


@pytest.mark.slow
def test_a_training_is_certified_and_adds() -> None:
    command = [sys.executable, str(PATH), "99999", str(7**60)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert "certified: margins of" in done.stdout
    assert done.stdout.endswith(f"1000 digits: right\n99999 + {7**60} = {99999 + 7**60}: right\n")
