"""What the fields of a recipe are: the text that stands below each in its source.

The source is read when a help or a page asks for it, never as a command begins.
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


class Described(NamedTuple):
    """A field of a recipe by its path, such as `model.width`, with its text and its default.

    `names` are the encodings, or optimisers, that have it; empty where all have.
    """

    path: str
    text: str
    default: object
    names: tuple[str, ...]


@cache
def lines(encodings: tuple[type[Any], ...] = ()) -> dict[str, str]:
    """A line for each field of a recipe by its path: the first sentences of its texts, and whose.

    `encodings` are settings of users' encodings, besides those of Curta's own.
    """
    by_path: dict[str, list[str]] = {}
    for path, text, _, names in described(encodings):
        whose = f"({', '.join(names)})" if names else ""
        by_path.setdefault(path, []).append(f"{first_sentence(text)} {whose}".strip())
    return {path: " ".join(texts) for path, texts in by_path.items()}


def described(encodings: Sequence[type[Any]] = ()) -> list[Described]:
    """Return all fields of a recipe in order; those with the same path and text are one."""
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
        if name:  # that of the default recipe, or else of the settings that have it
            default = getattr(default, name, kinds[0].__dataclass_fields__[name].default)
        in_all = name != "name" and len(kinds) == max(1, len(by_section[section]))
        names = () if in_all else tuple(getattr(kind, "name", kind.__name__) for kind in kinds)
        fields.append(Described(path, text, default, names))
    return fields


def stated(value: object) -> str:
    """A value as a help or a page states it: texts as they are, all else as in TOML.

    >>> stated(None), stated("rope"), stated(False), stated((1, 10))
    ('not set', 'rope', 'false', '[1, 10]')
    """
    if value is None:
        return "not set"
    return value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)


def first_sentence(text: str) -> str:
    """What stands before the first full stop that ends a sentence, with it.

    >>> first_sentence("Kingma and Ba, arXiv 1412.6980. More of it.")
    'Kingma and Ba, arXiv 1412.6980.'
    """
    return re.split(r"(?<=\.)\s", text, maxsplit=1)[0]


def texts(kind: type[Any]) -> dict[str, str]:
    """The text below each field of a dataclass that has one, inherited fields included.

    A field that is stated anew without a text keeps its former one.
    """
    by_field: dict[str, str] = {}
    for base in kind.__mro__[-2::-1]:
        file = getattr(sys.modules[base.__module__], "__file__", None)
        by_field |= _in_file(file).get(base.__name__, {}) if file else {}
    return by_field


@cache
def _in_file(file: str) -> dict[str, dict[str, str]]:
    """The texts of all classes in a file by their fields; none where it cannot be read."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    return {node.name: _below(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _below(node: ast.ClassDef) -> dict[str, str]:
    by_field = {}
    for pair in pairwise(node.body):
        match pair:
            case (
                ast.AnnAssign(target=ast.Name(id=field)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                by_field[field] = " ".join(text.split())
    return by_field
