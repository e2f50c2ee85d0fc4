"""Names with a number in them: things that are made when they are asked for by name."""

from collections import UserDict
from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")


class Families(UserDict[str, T]):
    """Things by their names, and whatever `made` makes of a name that is not written down.

    It gives None for a name of no family. What it makes is no entry: a listing has the others
    alone. Where `made` is cached, a name always means one thing.

    >>> known = Families({"one": 1}, lambda name: int(name) if name.isdecimal() else None)
    >>> known["one"], known["12"], "12" in known, "no" in known, list(known)
    (1, 12, True, False, ['one'])
    """

    def __init__(self, named: Mapping[str, T], made: Callable[[str], T | None]) -> None:
        super().__init__(named)
        self._made = made

    def __missing__(self, name: str) -> T:
        found = self._made(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self.data or (isinstance(name, str) and self._made(name) is not None)
