"""Registries: their names are those of what they name, and unknown ones are refused by name."""

import pytest

from curta.config.errors import UserError
from curta.config.lazy import Family, Registry
from curta.export import EXPORTERS, IMPORTERS
from curta.export.base import Exporter, Importer
from curta.layouts import LAYOUTS
from curta.layouts.base import Layout
from curta.probes import PROBES


def test_each_thing_is_called_as_its_registry_says() -> None:
    for registry in (LAYOUTS, PROBES, EXPORTERS, IMPORTERS):
        assert [thing.name for thing in registry.values()] == list(registry)


def test_things_are_made_once() -> None:
    assert isinstance(LAYOUTS["plain"], Layout)
    assert LAYOUTS["plain"] is LAYOUTS["plain"]


def test_every_exporter_that_reads_is_an_importer() -> None:
    assert all(isinstance(form, Exporter) for form in EXPORTERS.values())
    reading = [name for name, form in EXPORTERS.items() if isinstance(form, Importer)]
    assert reading == list(IMPORTERS)


def test_a_family_has_a_thing_for_each_of_its_numbers() -> None:
    families = {"list": Family("builtins:list", range(2, 9), listed=(3,))}
    known = Registry(
        "list", {"none": "builtins:dict"}, lambda kind, *n: kind(map(range, n)), families
    )
    assert list(known) == ["none", "list-3"]
    assert len(known) == 2
    assert known["none"] == {}
    assert known["list-8"] == [range(8)]
    assert known["list-8"] is known["list-8"]
    for name in ("list-1", "list-9", "list-03", "list-+3", "list-", "list", "none-3"):
        assert name not in known
        with pytest.raises(KeyError):
            known[name]
    with pytest.raises(UserError, match="unknown list 'list-1': choose from list-3, none"):
        known.check("list-1")


def test_a_name_that_is_not_there_is_refused_with_the_nearest() -> None:
    assert "plane" not in LAYOUTS
    with pytest.raises(UserError, match="unknown layout 'plane': did you mean 'plain'"):
        LAYOUTS.check("plane")
    with pytest.raises(KeyError):
        LAYOUTS["plane"]
