"""Commands of Curta, called as a user calls them."""

from collections.abc import Callable
from typing import Any

import pytest

from curta.frontends.cli import main

Curta = Callable[..., Any]


@pytest.fixture
def curta(capsys: pytest.CaptureFixture[str]) -> Curta:
    """Call a command, require its exit code, and return what it printed: `out` and `err`.

    A mistake (code 2) prints one line and nothing else.
    """

    def call(*words: str, code: int = 0) -> Any:
        assert main(words) == code
        printed = capsys.readouterr()
        assert code != 2 or (printed.out, printed.err.count("\n")) == ("", 1)
        return printed

    return call
