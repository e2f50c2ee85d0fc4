"""Descriptions of a recipe's fields: the string below each field in the source.

The source is parsed only when a help or a page needs it.
"""

import ast
import dataclasses
import json
import re
import sys
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
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
    for section, kinds in by_section.items():
        if not kinds:
            holders[section, texts(Recipe)[section]] = [Recipe]
        for kind in kinds:
            for field in dataclasses.fields(kind):
                path, text = f"{section}.{field.name}", texts(kind).get(field.name, "")
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

    A field that is redefined without a description keeps the inherited one.
    """
    by_field: dict[str, str] = {}
    for base in kind.__mro__[-2::-1]:
        file = getattr(sys.modules[base.__module__], "__file__", None)
        by_field |= _in_file(file).get(base.__name__, {}) if file else {}
    return by_field


@cache
def _in_file(file: str) -> dict[str, dict[str, str]]:
    """Return the descriptions in a file by class and field; none if it cannot be read."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    by_class: dict[str, dict[str, str]] = {}
    for node in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        by_field = by_class.setdefault(node.name, {})
        for pair in pairwise(node.body):
            match pair:
                case (
                    ast.AnnAssign(target=ast.Name(id=field)),
                    ast.Expr(value=ast.Constant(value=str(text))),
                ):
                    by_field[field] = " ".join(text.split())
    return by_class
