"""The text of every field: it stands below the field, says something, and is one line."""

import typing
from dataclasses import fields
from typing import Any, Literal

import pytest

from curta.config.descriptions import first_sentence, help_lines, texts
from curta.config.positions import UserEncoding
from curta.config.recipe import Recipe, field_paths, sections
from curta.runs.cluster import Cluster

LONGEST = 100
"""Letters of a help's line."""

SECTIONS = [kind for kinds in sections().values() for kind in kinds]
SETTINGS = [Recipe, UserEncoding, *SECTIONS]


@pytest.mark.parametrize("kind", SETTINGS)
def test_every_field_has_a_line_that_says_what_special_values_mean(kind: type[Any]) -> None:
    descriptions, hints = texts(kind), typing.get_type_hints(kind)
    for field in fields(kind):
        text, hint = descriptions[field.name], hints[field.name]
        line = first_sentence(text)
        assert line.endswith(".")
        assert len(line) <= LONGEST
        if kind is not Recipe and field.name != "name":
            choices = typing.get_args(hint) if typing.get_origin(hint) is Literal else ()
            assert [choice for choice in choices if str(choice) not in text] == []
            assert ("not set" in text) == (type(None) in typing.get_args(hint))


def test_there_is_a_line_for_every_path() -> None:
    assert set(help_lines()) == set(field_paths())
    assert set(texts(Cluster)) == {field.name for field in fields(Cluster)}
