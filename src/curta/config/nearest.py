"""Which of several names another one is a slip of."""

import difflib
import re
from collections.abc import Iterable

ALIKE = 0.75
"""How alike a word and its slip are at least, by `SequenceMatcher.ratio`."""

PREFIX = 1 / 3
"""How much of a name its beginning is at least that stands for it."""


def nearest(name: str, options: Iterable[str]) -> str | None:
    """The option that was meant, None if there is none.

    Each of its words is written with a letter or two more, fewer, changed, or out of order; or
    one of the two names has all words of the other; or the option goes on from the name.

    >>> nearest("modl.width", ["model.heads", "model.width"]), nearest("steps", ["training.steps"])
    ('model.width', 'training.steps')
    >>> nearest("delete", ["evaluate"]), nearest("model.depth", ["model.width"])
    (None, None)
    """
    near = [one for one in options if _is_near(name.lower(), one.lower())]
    return max(near, key=lambda one: _alike(name, one), default=None)


def _is_near(name: str, option: str) -> bool:
    if option.startswith(name) and len(name) >= PREFIX * len(option):
        return True
    fewer, more = sorted((_words(name), _words(option)), key=len)
    if not fewer:
        return False
    if len(fewer) == len(more):
        return all(map(_is_slip, fewer, more))
    return set(fewer) <= set(more) or "".join(fewer) == "".join(more)


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\s._/-]", name) if word]


def _is_slip(one: str, other: str) -> bool:
    return sorted(one) == sorted(other) or _alike(one, other) >= ALIKE


def _alike(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()
