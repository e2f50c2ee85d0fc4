"""The whole idea in one file: its algorithm is the package's, and a training of it is certified."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.programs.addition import addition
from curta.programs.machine.paper import Vocabulary
from examples import one_file

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
    assert len(Path(one_file.__file__).read_text("utf-8").splitlines()) <= 200


@pytest.mark.slow
def test_a_training_is_certified_and_adds() -> None:
    command = [sys.executable, one_file.__file__, "99999", str(7**60)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    assert "certified: margins of" in done.stdout
    assert done.stdout.endswith(f"1000 digits: right\n99999 + {7**60} = {99999 + 7**60}: right\n")
