"""Registries: their names are those of what they name, and others can be added."""

from curta.export import EXPORTERS
from curta.layouts import LAYOUTS
from curta.probes import PROBES


def test_each_thing_is_called_as_its_registry_says() -> None:
    for registry in (LAYOUTS, PROBES, EXPORTERS):
        assert [thing.name for thing in registry.values()] == list(registry)
