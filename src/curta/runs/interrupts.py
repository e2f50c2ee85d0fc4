"""SIGINT (Ctrl-C) and SIGTERM (what Slurm and Kubernetes send): work ends where it is safe to.

Within `deferred` a signal is only noted, and the work ends at its next safe point. Elsewhere in a
command it raises `Interrupted`. A second one ends the process at once, as does one that comes while
a module is imported: files are replaced whole, so nothing is lost by that but what was not saved
yet.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from types import FrameType
from typing import Any, NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """Raised for a signal; `code` is the exit code that says so: 130 or 143."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.code = 128 + number


_noted = 0
"""The number of the first signal; 0 before."""
_depth = 0
"""Blocks of `deferred` that are entered."""


@contextmanager
def handled(last: bool = False) -> Iterator[None]:
    """Handle signals for the whole of a command: one line for each, never a traceback.

    A signal that the shell has told the process to ignore stays ignored. With `last` nothing
    follows but the end of the process, which a signal does not change.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [number for number in SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    hook, sys.unraisablehook = sys.unraisablehook, _unraisable
    try:
        with handled_by(numbers, _handle):
            yield
    finally:
        sys.unraisablehook = hook
        for number in numbers if last else ():
            signal.signal(number, signal.SIG_IGN)
        note(0)


@contextmanager
def handled_by(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Let `handler` have these signals within the block."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


@contextmanager
def deferred() -> Iterator[None]:
    """Let a signal only be noted, for the work to end where it is safe.

    Outside of a command SIGTERM, once the work has ended, ends the process with code 143.
    """
    global _depth
    is_command = any(signal.getsignal(number) is _handle for number in SIGNALS)
    with nullcontext() if is_command else handled():
        _depth += 1
        try:
            yield
            if not is_command and _noted == signal.SIGTERM:
                raise Interrupted(_noted)
        except Interrupted as error:
            if is_command or error.code != 128 + signal.SIGTERM:
                raise
            raise SystemExit(error.code) from None
        finally:
            _depth -= 1


def noted() -> int:
    """Return the number of the signal that was noted; 0 if there was none."""
    return _noted


def note(number: int) -> None:
    """Note a signal, as another process of the training got it."""
    global _noted
    _noted = number


def check() -> None:
    """Mark a safe point: raise `Interrupted` if a signal was noted."""
    if _noted:
        raise Interrupted(_noted)


def checked(say: Callable[[str], None]) -> Callable[[str], None]:
    """Return `say` with a safe point in each call."""

    def checked_say(progress: str) -> None:
        check()
        say(progress)

    return checked_say


def _handle(number: int, frame: FrameType | None) -> None:
    if _noted:
        leave("ended at once", 128 + number)
    note(number)
    if _depth:
        return
    # An exception that ends an import crashes modules written in C++, such as jaxlib's.
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    if frame is None:
        raise Interrupted(number)
    with suppress(Exception):  # what was printed by now is on its way to a pipe
        sys.stdout.flush()
    leave("interrupted", 128 + number)


def leave(line: str, code: int) -> NoReturn:
    """End the process at once, as if killed, but with a line; show the terminal's cursor again."""
    cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
    os.write(2, f"{cursor}\ncurta: {line}\n".encode())
    os._exit(code)


def _unraisable(raised: Any) -> None:
    """Handle what nobody can catch, such as an exception in a callback of another library."""
    if isinstance(raised.exc_value, Interrupted):
        leave("ended at once", 128 + _noted)
    sys.__unraisablehook__(raised)
