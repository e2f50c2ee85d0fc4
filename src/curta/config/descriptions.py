"""Descriptions of a recipe's fields: the string below each field in the source.

The source is parsed only when a help or a page needs it.
"""

import ast
import dataclasses
import inspect
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from curta.config.recipe import Recipe, sections


class FieldDescription(NamedTuple):
    """A field of a recipe: its path, such as `model.width`, its description and its default.

    `names` are the encodings or optimisers that have it; empty if all have it.
    """

    path: str
    text: str
    default: object
    names: tuple[str, ...]


@cache
def help_lines(encodings: tuple[type[Any], ...] = ()) -> dict[str, str]:
    """Return by path one line on each field of a recipe: first sentences, and who has it.

    `encodings` are the settings of users' encodings, in addition to Curta's.
    """
    by_path: dict[str, list[str]] = {}
    for path, text, _, names in field_descriptions(encodings):
        owners = f"({', '.join(names)})" if names else ""
        by_path.setdefault(path, []).append(f"{first_sentence(text)} {owners}".strip())
    return {path: " ".join(texts) for path, texts in by_path.items()}


def field_descriptions(encodings: Sequence[type[Any]] = ()) -> list[FieldDescription]:
    """Return all fields of a recipe in order; those with the same path and text are merged."""
    by_section = sections(encodings)
    holders: dict[tuple[str, str], list[type[Any]]] = {}
    of_sections = texts(Recipe)
    for section, kinds in by_section.items():
        if not kinds:
            holders[section, of_sections[section]] = [Recipe]
        for kind in kinds:
            described = texts(kind)
            for field in dataclasses.fields(kind):
                path, text = f"{section}.{field.name}", described.get(field.name, "")
                holders.setdefault((path, text), []).append(kind)
    fields = []
    for (path, text), kinds in holders.items():
        section, _, name = path.partition(".")
        default = Recipe.__dataclass_fields__[section].default
        if name:  # of the default recipe, or else of the settings that have it
            default = getattr(default, name, kinds[0].__dataclass_fields__[name].default)
        in_all = name != "name" and len(kinds) == max(1, len(by_section[section]))
        names = () if in_all else tuple(getattr(kind, "name", kind.__name__) for kind in kinds)
        fields.append(FieldDescription(path, text, default, names))
    return fields


def format_value(value: object) -> str:
    """Format a value for a help or a page: texts unquoted, all else as in TOML.

    >>> format_value(None), format_value("rope"), format_value(False), format_value((1, 10))
    ('not set', 'rope', 'false', '[1, 10]')
    """
    if value is None:
        return "not set"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def first_sentence(text: str) -> str:
    """Return the first sentence of a text.

    >>> first_sentence("Kingma and Ba, arXiv 1412.6980. More of it.")
    'Kingma and Ba, arXiv 1412.6980.'
    """
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def texts(kind: type[Any]) -> dict[str, str]:
    """Return the description of each field of a dataclass, including inherited fields.

    A field that is redefined without a description keeps the inherited one. There are none for a
    class whose source cannot be read.
    """
    by_field: dict[str, str] = {}
    for base in kind.__mro__[-2::-1]:
        with suppress(OSError, TypeError, SyntaxError):
            definition = ast.parse(inspect.getsource(base)).body[0]
            assert isinstance(definition, ast.ClassDef)
            for pair in pairwise(definition.body):
                match pair:
                    case (
                        ast.AnnAssign(target=ast.Name(id=field)),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        by_field[field] = " ".join(text.split())
    return by_field
