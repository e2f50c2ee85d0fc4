"""The text of every field: it stands below the field, says something, and is one line."""

import typing
from dataclasses import fields
from typing import Any, Literal

import pytest

from curta.config.descriptions import first_sentence, help_lines, texts
from curta.config.positions import UserEncoding
from curta.config.recipe import Recipe, field_paths, sections

LONGEST = 100
"""Letters of a help's line."""

SETTINGS = [Recipe, UserEncoding, *(kind for kinds in sections().values() for kind in kinds)]
FIELDS = [(kind, field.name) for kind in SETTINGS for field in fields(kind)]
each_field = pytest.mark.parametrize(
    ("kind", "field"), FIELDS, ids=[f"{kind.__name__}.{field}" for kind, field in FIELDS]
)


@each_field
def test_every_field_has_a_line(kind: type[Any], field: str) -> None:
    line = first_sentence(texts(kind)[field])
    assert line.endswith(".")
    assert len(line) <= LONGEST


@each_field
def test_a_line_says_what_special_values_mean(kind: type[Any], field: str) -> None:
    if kind is Recipe or field == "name":
        return
    text, hint = texts(kind)[field], typing.get_type_hints(kind)[field]
    for choice in typing.get_args(hint) if typing.get_origin(hint) is Literal else ():
        assert str(choice) in text
    assert ("not set" in text) == (type(None) in typing.get_args(hint))


def test_there_is_a_line_for_every_path() -> None:
    assert set(help_lines()) == set(field_paths())
