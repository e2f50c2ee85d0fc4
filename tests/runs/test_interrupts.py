"""Signals end work where it is safe, the second one at once, and never with a traceback."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from curta.runs import interrupts

BEGIN = """
import signal, sys, time
from curta.runs import interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
"""Wherever the tests run: a shell's background jobs ignore Ctrl-C."""


def test_a_signal_is_noted_where_it_is_deferred_and_raised_elsewhere() -> None:
    with interrupts.handled():
        with interrupts.deferred():
            interrupts.check()
            signal.raise_signal(signal.SIGTERM)
            with pytest.raises(interrupts.Interrupted) as caught:
                interrupts.check()
        assert caught.value.code == 143
    with interrupts.handled(), pytest.raises(interrupts.Interrupted) as caught:
        signal.raise_signal(signal.SIGTERM)
    assert caught.value.code == 143


SECOND = """
with interrupts.handled(), interrupts.deferred():
    signal.raise_signal(signal.SIGINT)
    print("noted", flush=True)
    signal.raise_signal(signal.SIGTERM)
    print("never")
"""
UNCATCHABLE = """
class Dies:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

with interrupts.handled():
    dies = Dies()
    del dies
    print("never")
"""
IGNORED = """
signal.signal(signal.SIGINT, signal.SIG_IGN)
with interrupts.handled(), interrupts.deferred():
    signal.raise_signal(signal.SIGINT)
    print(interrupts.noted(), flush=True)
    signal.raise_signal(signal.SIGTERM)
    print(interrupts.noted())
"""
# In a user's program Ctrl-C ends the work, and the program goes on; SIGTERM ends both.
OF_THE_USER = """
with interrupts.deferred():
    signal.raise_signal(signal.{name})
    print("saved", interrupts.noted() > 0, flush=True)
print("goes on")
"""


# An exception never goes through a module that is imported: it may be written in C++. Work with
# safe points goes on to the next of them.
IMPORTING = """
print("before")
with interrupts.{block}():
    import signals_itself
    print("imported", flush=True)
"""


@pytest.mark.parametrize(
    ("code", "end"),
    [
        (SECOND, (143, "noted\n", "\ncurta: ended at once\n")),
        (UNCATCHABLE, (130, "", "\ncurta: ended at once\n")),
        (IGNORED, (0, "0\n15\n", "")),
        (OF_THE_USER.format(name="SIGINT"), (0, "saved True\ngoes on\n", "")),
        (OF_THE_USER.format(name="SIGTERM"), (143, "saved True\n", "")),
        (IMPORTING.format(block="handled"), (143, "before\n", "\ncurta: interrupted\n")),
        (IMPORTING.format(block="deferred"), (143, "before\nimported\n", "")),
    ],
    ids=[
        "second", "uncatchable", "ignored", "user's SIGINT", "user's SIGTERM", "in an import",
        "deferred in an import",
    ],
)  # fmt: skip
def test_how_a_process_ends(code: str, end: tuple[int, str, str], tmp_path: Path) -> None:
    sends = "import signal\nsignal.raise_signal(signal.SIGTERM)\n"
    (tmp_path / "signals_itself.py").write_text(sends)
    command = [sys.executable, "-c", BEGIN + code]
    process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (process.returncode, process.stdout, process.stderr) == end
