"""Mistakes of the user, told apart from mistakes of ours.

A `UserError` is shown as one line and ends the command with exit code 2.
Any other exception is a defect of the program and keeps its full traceback.
"""

import difflib
import warnings
from collections.abc import Iterable


class UserError(ValueError):
    """Says in one line what is wrong, where, and what would be right."""


class Notice(UserWarning):
    """Something that the user should know, and that does not keep the program from going on."""


def notify(line: str) -> None:
    """Says a line by way of Python's warnings; the command line prints it as it is."""
    warnings.warn(line, Notice, stacklevel=3)


def unknown(what: str, name: object, options: Iterable[str]) -> UserError:
    """An error for a name that is none of `options`, with the nearest of them."""
    options = sorted(options)
    near = difflib.get_close_matches(str(name), options, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"choose from {', '.join(options)}"
    return UserError(f"unknown {what} {name!r}: {hint}")
