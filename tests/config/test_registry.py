"""Registries: their names are those of what they name, and unknown ones are refused by name."""

import pytest

from curta.config.errors import UserError
from curta.config.registry import Registry
from curta.export import EXPORTERS
from curta.layouts import LAYOUTS
from curta.probes import PROBES


def test_each_thing_is_called_as_its_registry_says() -> None:
    for registry in (LAYOUTS, PROBES, EXPORTERS):
        assert [thing.name for thing in registry.values()] == list(registry)


def test_names_with_a_number_are_resolved_and_unknown_ones_are_refused() -> None:
    square = lambda name: int(name) ** 2 if name.isdecimal() else None
    squares = Registry("square", {"one": 1}, numbered=square)
    squares |= {"two": 4}
    assert (squares["one"], squares["7"], squares.get("x"), "7" in squares) == (1, 49, None, True)
    assert list(squares) == ["one", "two"]
    with pytest.raises(UserError, match="unknown square 'x': choose from one, two"):
        squares.check("x")
    with pytest.raises(UserError, match="unknown layout 'plane': did you mean 'plain'"):
        LAYOUTS.check("plane")
    with pytest.raises(KeyError):
        LAYOUTS["plane"]
