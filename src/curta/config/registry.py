"""Registries of things by name, imported on first use; optional libraries."""

from collections import UserDict
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from curta.config.errors import UserError, unknown

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
