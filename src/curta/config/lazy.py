"""Registries whose names are known without importing what they name."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from curta.config.errors import unknown

T = TypeVar("T")


class Family(NamedTuple):
    """Things whose names are a stem and a number, `residues-97`; `listed` stand for the others."""

    place: str
    numbers: Sequence[int]
    listed: tuple[int, ...]


class Registry(Mapping[str, T]):
    """Things by their names; each is imported when it is first asked for.

    `places` says of each name where it is defined, `"package.module:attribute"`; `make` turns
    what is found there into the thing itself. Of a family, by its stem, it is given the number too.
    """

    def __init__(
        self,
        what: str,
        places: Mapping[str, str],
        make: Callable[..., T] = lambda found: found,
        families: Mapping[str, Family] = MappingProxyType({}),
    ) -> None:
        self.what, self._places, self._make, self._families = what, places, make, families
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            place, number = self._place(name)
            module, _, attribute = place.partition(":")
            self._made[name] = self._make(getattr(import_module(module), attribute), *number)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._places
        for stem, family in self._families.items():
            yield from (f"{stem}-{number}" for number in family.listed)

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return name in self._places or self._numbered(str(name)) is not None

    def _place(self, name: str) -> tuple[str, tuple[int, ...]]:
        """Where a name is defined, and the number in it if it is of a family; KeyError for none."""
        found = self._numbered(name)
        return (found[0], found[1:]) if found else (self._places[name], ())

    def _numbered(self, name: str) -> tuple[str, int] | None:
        stem, _, number = name.rpartition("-")
        family = self._families.get(stem)
        if family is None or not re.fullmatch("[1-9][0-9]{0,8}", number):
            return None
        return (family.place, int(number)) if int(number) in family.numbers else None

    def check(self, name: str) -> None:
        """Raises UserError with the nearest name for one that is not here."""
        if name not in self:
            raise unknown(self.what, name, self)
