"""A user's code while it runs: its mistakes are one line with its own line number.

Code that never ends is stopped after `SECONDS`, by a timer of the main thread; on other threads
there is no such timer, and only what is written is limited.
"""

import functools
import inspect
import signal
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from curta.config.errors import UserError

SECONDS = 10.0
"""How long one call of a user's code may take."""


class OutOfTime(BaseException):
    """Raised inside of a user's code that takes too long; no `except Exception` catches it."""


def guarded(function: Callable[..., Any], path: Path) -> Callable[..., Any]:
    """The same function; what goes wrong in it is reported with the line of the file."""

    code = getattr(inspect.unwrap(function), "__code__", None)

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        with watched(path, declared_at=code.co_firstlineno if code else None):
            return function(*arguments, **named)

    return call


@contextmanager
def watched(
    path: Path, seconds: float | None = None, declared_at: int | None = None
) -> Iterator[None]:
    """Turn an exception from a user's file into a UserError with file name and line.

    Where none of its lines was run, as in a call with too many arguments, it is the line on which
    the function is declared.
    """
    seconds = seconds or SECONDS
    try:
        with _limited(seconds):
            yield
    except (Exception, SystemExit, OutOfTime) as error:
        line = _line(error, path)
        if isinstance(error, UserError) and line is None:
            raise
        line = line or declared_at
        where = f"{path.name} line {line}" if line else path.name
        kind = type(error) if isinstance(error, UserError) else UserError
        raise kind(f"{where}: {_said(error, seconds)}") from error


def _said(error: BaseException, seconds: float) -> str:
    """What is wrong, in one line."""
    if isinstance(error, OutOfTime):
        return f"stopped after {seconds:g} seconds of one call: does it ever end?"
    if isinstance(error, SyntaxError):
        return f"{type(error).__name__}: {error.msg}"
    text = " ".join(str(error).split())
    return text if isinstance(error, UserError) else f"{type(error).__name__}: {text}"


def _line(error: BaseException, path: Path) -> int | None:
    """The line of the file on which it happened, the innermost of several."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    steps = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in steps if frame.f_code.co_filename == str(path)]
    return lines[-1] if lines else None


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """Raises OutOfTime inside after so many seconds, and each second from then on."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer") or any(signal.getitimer(signal.ITIMER_REAL)):
        yield
        return
    before = signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise OutOfTime
