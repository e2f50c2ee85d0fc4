"""Mistakes of the user, told apart from mistakes of ours, and how lines quote foreign text.

A `UserError` is shown as one line and ends the command with exit code 2.
Any other exception is a defect of the program and keeps its full traceback.
"""

import difflib
import re
import warnings
from collections.abc import Iterable

LONGEST_LINE = 290
"""Characters of the one line of an error: about four lines of a terminal."""

QUOTED = 60
"""Characters of the user's input that a line quotes."""

PRINTABLE = 300
"""Characters that `printable` leaves of a text."""

LISTED = 12
"""Names that a line lists, where a command lists them too."""


class UserError(ValueError):
    """A line that says what is wrong, where, and what would be right.

    Unprintable characters are escaped, since the line may quote any file or name: it may be
    printed, and stand in a page.
    """

    def __init__(self, line: str) -> None:
        super().__init__(escape_unprintable(line, "\n"))


class Notice(UserWarning):
    """Something that the user should know, and that does not stop the program."""


def notify(line: str) -> None:
    """Issue a line as a Python warning; the command line prints it as it is."""
    warnings.warn(line, Notice, stacklevel=3)


def refuse_if(condition: object, line: str) -> None:
    """Raise a UserError with that line if the condition holds."""
    if condition:
        raise UserError(line)


def unknown(kind: str, name: object, options: Iterable[str], lister: str = "") -> UserError:
    """Return an error for a name that is not among `options`: with the nearest one, or with all.

    Where there are many, the line names the command, `lister`, that lists them.
    """
    options = sorted(options)
    near = nearest(str(name)[:QUOTED], options)
    if near:
        hint = f"did you mean {near!r}?"
    elif not options:
        hint = "there is none yet"
    elif lister and len(options) > LISTED:
        hint = f"`{lister}` lists all"
    else:
        hint = f"choose from {', '.join(options)}"
    return UserError(f"unknown {kind} {quoted(name)}: {hint}")


def quoted(value: object) -> str:
    """Return the user's input in quotes, as one short piece of a line.

    >>> quoted("mine"), quoted("a" + chr(0)), len(quoted("n" * 9_000))
    ("'mine'", "'a\\\\x00'", 60)
    """
    return shortened(repr(value[: 2 * QUOTED] if isinstance(value, str) else value), QUOTED)


def as_line(text: str) -> str:
    """Return a text as one short, printable line.

    >>> as_line("two" + chr(10) + "lines" + chr(27))
    'two lines\\\\x1b'
    """
    line = " ".join(text[: 100 * LONGEST_LINE].split())
    return shortened(printable(line, LONGEST_LINE), LONGEST_LINE)


def printable(text: object, most: int = PRINTABLE) -> str:
    """Return foreign text, such as the name of a run that was sent, as one line to print.

    So a name cannot move the cursor, change colours or the window's title, reverse the order of
    characters, or break a line: `\\x1b[2J` is shown as these six characters.
    """
    return escape_unprintable(shortened(str(text), most))


def shortened(text: str, most: int) -> str:
    """Return at most so many characters: the beginning and the end of a longer text.

    >>> shortened("a hundred thousand", 13)
    'a hu ... sand'
    """
    if len(text) <= most:
        return text
    end = (most - 5) // 2
    return f"{text[: most - 5 - end]} ... {text[-end:]}"


def escape_unprintable(text: str, exempt: str = "") -> str:
    """Return the text with unprintable characters escaped, except those in `exempt`."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in exempt else c.encode("unicode_escape").decode() for c in text
    )


def nearest(name: str, options: Iterable[str]) -> str | None:
    """Return the option that a name is a slip of; None if there is none.

    Either the option goes on from the name, which is at least a third of it; or each word is
    spelt with a character or two more, fewer, changed or out of order; or one of the two names
    has all words of the other.

    >>> nearest("modl.width", ["model.heads", "model.width"]), nearest("steps", ["training.steps"])
    ('model.width', 'training.steps')
    >>> nearest("delete", ["evaluate"]), nearest("model.depth", ["model.width"])
    (None, None)
    """

    def similarity(first: str, second: str) -> float:
        return difflib.SequenceMatcher(None, first, second).ratio()

    def is_near(option: str) -> bool:
        if option.startswith(name.lower()) and 3 * len(name) >= len(option):
            return True
        words = [re.findall(r"[^\s._/-]+", text) for text in (name.lower(), option)]
        fewer, more = sorted(words, key=len)
        if len(fewer) == len(more) > 0:
            pairs = zip(fewer, more, strict=True)
            return all(sorted(a) == sorted(b) or similarity(a, b) >= 0.75 for a, b in pairs)
        return bool(fewer) and (set(fewer) <= set(more) or "".join(fewer) == "".join(more))

    near = [option for option in options if is_near(option.lower())]
    return max(near, key=lambda option: similarity(name, option), default=None)
