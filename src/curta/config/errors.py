"""Mistakes of the user, told apart from mistakes of ours.

A `UserError` is shown as one line and ends the command with exit code 2.
Any other exception is a defect of the program and keeps its full traceback.
"""

import warnings
from collections.abc import Iterable, Sequence

from curta.config.nearest import nearest
from curta.config.printable import letters, printable, shortened

LONGEST = 290
"""Letters of the one line of an error: about four lines of a terminal."""

QUOTED = 60
"""Letters of what the user gave, where a line quotes it."""

LISTED = 12
"""Names that a line lists, where a command lists them too."""


class UserError(ValueError):
    """Says in one line what is wrong, where, and what would be right.

    What no letter is drawn for is escaped, whatever a file or a name in it holds: the line may be
    printed, and stand in a page.
    """

    def __init__(self, line: str) -> None:
        super().__init__(letters(line, "\n"))


class Notice(UserWarning):
    """Something that the user should know, and that does not keep the program from going on."""


def notify(line: str) -> None:
    """Says a line by way of Python's warnings; the command line prints it as it is."""
    warnings.warn(line, Notice, stacklevel=3)


def unknown(what: str, name: object, options: Iterable[str], lister: str = "") -> UserError:
    """An error for a name that is none of `options`: with the one that was meant, or with all.

    Where there are many the line names the command, `lister`, that lists them.
    """
    options = sorted(options)
    near = nearest(str(name)[:QUOTED], options)
    hint = f"did you mean {near!r}?" if near else _listed(options, lister)
    return UserError(f"unknown {what} {quoted(name)}: {hint}")


def _listed(options: Sequence[str], lister: str) -> str:
    if not options:
        return "there is none yet"
    if lister and len(options) > LISTED:
        return f"`{lister}` lists all"
    return f"choose from {', '.join(options)}"


def quoted(given: object) -> str:
    """What the user gave, in quotes, as one short piece of a line.

    >>> quoted("mine"), quoted("a" + chr(0)), len(quoted("n" * 9_000))
    ("'mine'", "'a\\\\x00'", 60)
    """
    return shortened(repr(given[: 2 * QUOTED] if isinstance(given, str) else given), QUOTED)


def as_line(text: str) -> str:
    """A text as one line that a terminal shows just so: short, and printable.

    >>> as_line("two" + chr(10) + "lines" + chr(27))
    'two lines\\\\x1b'
    """
    return shortened(printable(" ".join(text[: 100 * LONGEST].split()), LONGEST), LONGEST)
