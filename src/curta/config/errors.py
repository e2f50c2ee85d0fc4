"""Errors that a user can correct, quoting of foreign text in messages, and registries by name.

A `UserError` is printed as one line and ends the command with exit code 2. Any other exception is a
bug and keeps its traceback.
"""

import difflib
import re
import warnings
from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, TypeVar

LONGEST_LINE = 290
"""Most characters of an error message: about four lines of a terminal."""

QUOTED = 60
"""Most characters of the user's input in a message."""

PRINTABLE = 300
"""Most characters that `printable` leaves of a text."""

LISTED = 12
"""Most names that a message lists, if a command lists them too."""


class UserError(ValueError):
    """An error that the user can correct; its message says what is wrong, where, and what to do.

    The command line prints the message as one line and exits with code 2. Unprintable characters in
    it are escaped, since it may quote any file or name.
    """

    def __init__(self, line: str) -> None:
        super().__init__(escape_unprintable(line, "\n"))


class Notice(UserWarning):
    """A warning to the user that does not stop the program."""


def notify(line: str) -> None:
    """Issue a line as a Python warning, which the command line prints."""
    warnings.warn(line, Notice, stacklevel=3)


def refuse_if(condition: object, line: str) -> None:
    """Raise a UserError with this line if the condition holds."""
    if condition:
        raise UserError(line)


def refuse_first(faults: Iterable[str]) -> None:
    """Raise a UserError with the first of these lines, if there is one."""
    for line in faults:
        raise UserError(line)


@contextmanager
def error_prefix(where: str) -> Iterator[None]:
    """Begin the line of a UserError with `where` and a colon."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def unknown(kind: str, name: object, options: Iterable[str], lister: str = "") -> UserError:
    """Return an error for a name that is not an option, with the nearest option, or with all.

    If there are many, the message names the command `lister` that lists them.
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
    """Return the user's input in quotes, shortened for a message.

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
    """Return foreign text as one line that is safe to print.

    Control characters are escaped, so a name cannot move the cursor, change colours or break a
    line: `\\x1b[2J` is shown as these six characters.
    """
    return escape_unprintable(shortened(str(text), most))


def shortened(text: str, most: int) -> str:
    """Shorten a text to `most` characters: its beginning and its end.

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
    """Return the option that a name is a misspelling of; None if there is none.

    Either the name is a prefix of at least a third of the option; or each word differs in a
    character or two; or one of the two has all words of the other.

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


# Registries of things by name, imported on first use; optional libraries.


T = TypeVar("T")


class Registry(UserDict[str, T]):
    """Things by name.

    An entry is the thing itself, or where it is defined, `"package.module:attribute"`, which is
    imported on first use and passed to `load`. `numbered` resolves names with a number, such as
    `residues-113`, which are not listed; it returns None for other names.

    >>> squares = Registry(
    ...     "square", {"one": 1}, numbered=lambda name: int(name) ** 2 if name.isdecimal() else None
    ... )
    >>> squares["one"], squares["12"], "12" in squares, "no" in squares, list(squares)
    (1, 144, True, False, ['one'])
    """

    def __init__(
        self,
        kind: str,
        entries: Mapping[str, T | str],
        load: Callable[[Any], T] = lambda attribute: attribute,
        numbered: Callable[[str], T | None] = lambda name: None,
    ) -> None:
        self.data: dict[str, Any] = dict(entries)
        self.kind, self._load, self._numbered = kind, load, numbered

    def __getitem__(self, name: str) -> T:
        if name not in self.data:
            thing = self._numbered(name)
            if thing is None:
                raise KeyError(name)
            return thing
        if isinstance(self.data[name], str):
            module, _, attribute = self.data[name].partition(":")
            self.data[name] = self._load(getattr(import_module(module), attribute))
        return self.data[name]

    def __contains__(self, name: object) -> bool:
        return name in self.data or (isinstance(name, str) and self._numbered(name) is not None)

    def check(self, name: str) -> None:
        """Raise UserError, with the nearest name, if there is no such name."""
        if name not in self:
            raise unknown(self.kind, name, self)


def optional_module(name: str, extra: str) -> Any:
    """Import an optional library; if it is missing, a UserError names the extra that has it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        library = name.partition(".")[0]
        if (error.name or "").partition(".")[0] != library:
            raise  # the library is installed, but broken
        raise UserError(f"{library} is not installed: pip install 'curta[{extra}]'") from None
