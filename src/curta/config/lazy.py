"""Registries whose names are known without importing what they name."""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

from curta.config.errors import unknown

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Things by their names; each is imported when it is first asked for.

    `places` says of each name where it is defined, `"package.module:attribute"`; `make` turns
    what is found there into the thing itself.
    """

    def __init__(
        self, what: str, places: Mapping[str, str], make: Callable[[Any], T] = lambda found: found
    ) -> None:
        self.what, self._places, self._make = what, places, make
        self._made: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._made:
            module, _, attribute = self._places[name].partition(":")
            self._made[name] = self._make(getattr(import_module(module), attribute))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def check(self, name: str) -> None:
        """Raises UserError with the nearest name for one that is not here."""
        if name not in self:
            raise unknown(self.what, name, self)
