"""Registries: their names are those of what they name, and others can be added."""

from curta.config.registry import Registry
from curta.export import EXPORTERS
from curta.layouts import LAYOUTS
from curta.probes import PROBES


def test_each_thing_is_called_as_its_registry_says() -> None:
    for registry in (LAYOUTS, PROBES, EXPORTERS):
        assert [thing.name for thing in registry.values()] == list(registry)


def test_a_thing_can_be_added_and_an_unknown_one_looked_for() -> None:
    numbers: Registry[int] = Registry("number", {"one": 1})
    numbers |= {"two": 2}
    assert (list(numbers), numbers.get("three")) == (["one", "two"], None)
