"""Signals end work where it is safe, the second one at once, and never with a traceback."""

import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from curta.runs import interrupts

BEGIN = """
import signal, sys, time
from curta.runs import interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
"""Wherever the tests run: a shell's background jobs ignore Ctrl-C."""


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def ended(code: str) -> Ended:
    """How a process ends that does this."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + textwrap.dedent(code)], capture_output=True, text=True
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.fixture(autouse=True)
def _not_ignored() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_is_noted_where_it_is_deferred_and_raised_elsewhere(number: int) -> None:
    with interrupts.handled():
        with interrupts.deferred() as noted:
            assert not noted.is_set()
            interrupts.check()
            signal.raise_signal(number)
            assert noted.is_set()
            with pytest.raises(interrupts.Interrupted) as caught:
                interrupts.check()
        assert caught.value.code == 128 + number
    with interrupts.handled(), pytest.raises(interrupts.Interrupted) as caught:
        signal.raise_signal(number)
    assert caught.value.code == 128 + number


def test_a_second_signal_ends_the_process_at_once_with_a_line() -> None:
    found = ended(
        """
        with interrupts.handled(), interrupts.deferred():
            signal.raise_signal(signal.SIGINT)
            print("noted", flush=True)
            signal.raise_signal(signal.SIGTERM)
            print("never")
        """
    )
    assert found == (143, "noted\n", "\ncurta: ended at once\n")


def test_a_signal_in_a_callback_that_nobody_can_catch_ends_it_with_a_line() -> None:
    found = ended(
        """
        class Dies:
            def __del__(self):
                signal.raise_signal(signal.SIGINT)

        with interrupts.handled():
            dies = Dies()
            del dies
            print("never")
        """
    )
    assert found == (130, "", "\ncurta: ended at once\n")


@pytest.mark.parametrize(
    ("block", "ended_as"),
    [
        ("handled", (143, "before\n", "\ncurta: interrupted\n")),
        ("deferred", (143, "before\nimported\n", "")),
    ],
)
def test_an_exception_never_goes_through_a_module_that_is_imported(
    block: str, ended_as: tuple[int, str, str], tmp_path: Path
) -> None:
    """It may be written in C++. Work with safe points goes on to the next of them."""
    sends = "import signal\nsignal.raise_signal(signal.SIGTERM)\n"
    (tmp_path / "signals_itself.py").write_text(sends)
    found = ended(
        f"""
        sys.path.insert(0, {str(tmp_path)!r})
        print("before")
        with interrupts.{block}():
            import signals_itself

            print("imported", flush=True)
        """
    )
    assert found == ended_as


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    found = ended(
        """
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with interrupts.handled(), interrupts.deferred() as noted:
            signal.raise_signal(signal.SIGINT)
            print(noted.is_set(), flush=True)
            signal.raise_signal(signal.SIGTERM)
            print(noted.is_set())
        """
    )
    assert found == (0, "False\nTrue\n", "")


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 0), ("SIGTERM", 143)])
def test_in_a_program_of_the_users_work_ends_as_in_a_command(name: str, code: int) -> None:
    """Ctrl-C is the work's own affair, and the program goes on; SIGTERM ends it."""
    found = ended(
        f"""
        with interrupts.deferred() as noted:
            signal.raise_signal(signal.{name})
            print("saved", noted.is_set(), flush=True)
        print("goes on")
        """
    )
    assert (found.code, found.err) == (code, "")
    assert found.out == ("saved True\ngoes on\n" if code == 0 else "saved True\n")
