"""Dataclasses as JSON and back: what a file holds is what its dataclass says, and nothing else.

A field that has its default is left out of the JSON. A dataclass with a `FORMAT` is the content of
a file: its JSON begins with that number, and a file of another number is refused.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from curta.config import files
from curta.config.errors import UserError

Value = TypeVar("Value")

_adapter: Callable[[Any], Any] = cache(TypeAdapter)
"""What reads and writes a dataclass; made once."""


def as_json(value: Any) -> Any:
    """A dataclass as tables and lists of plain values, as `json.dumps` takes them."""
    version = {"format": value.FORMAT} if hasattr(value, "FORMAT") else {}
    adapter = _adapter(type(value))
    found = adapter.dump_python(value, mode="json", by_alias=True, exclude_defaults=True)
    return version | found


def text(value: Any, indent: int | None = None) -> str:
    """A dataclass as JSON, one line or indented."""
    return json.dumps(as_json(value), indent=indent, ensure_ascii=False) + "\n"


def lines(rows: Iterable[Any]) -> str:
    """A line of JSON for each dataclass."""
    return "".join(map(text, rows))


def read(kind: type[Value], path: Path, where: str) -> Value:
    """The dataclass in a file that belongs to `where`, such as "run 'mine'".

    Raises UserError, in one line that names the file and the field, if it is missing, damaged
    or of another version.
    """
    return of_table(kind, files.read_json(path, where), where, path.name)


def of_table(kind: type[Value], content: dict[str, Any], where: str, file: str) -> Value:
    """The dataclass in the content of a file; errors as in `read`."""
    _check_version(kind, content, where, file)
    try:
        text = json.dumps(content)
    except RecursionError:
        raise UserError(f"{where} is damaged: {file} is nested too deeply") from None
    return parse(kind, text, where, file)


def parse(kind: type[Value], content: str | bytes, where: str, file: str) -> Value:
    """The dataclass that some JSON holds; errors as in `read`."""
    try:
        return _adapter(kind).validate_json(content, strict=True, extra="forbid")
    except ValidationError as error:
        raise UserError(f"{where} is damaged: {file} {_complaint(error)}") from None


def _check_version(kind: type[Any], content: dict[str, Any], where: str, file: str) -> None:
    """Takes the number of the form out of a file's content."""
    known = getattr(kind, "FORMAT", None)
    if known is None:
        return
    if "format" not in content:
        raise UserError(f"{where} is damaged: {file} lacks 'format'")
    made = content.pop("format")
    if not isinstance(made, int):
        raise UserError(f"{where} is damaged: {file} is wrong at 'format'")
    if made > known:
        raise UserError(f"{where} was made by a newer version (format {made}): update curta")
    if made < known:
        raise UserError(f"{where} was made by an earlier version (format {made}): {kind.REMEDY}")


def _complaint(error: ValidationError) -> str:
    """`lacks 'seeds'`, `has no field 'x'`, or what is wrong with a field."""
    first = error.errors(include_url=False)[0]
    field = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        return f"lacks {field!r}"
    if first["type"] == "unexpected_keyword_argument":
        return f"has no field {field!r} in this version"
    if first["type"] == "json_invalid":
        return "is no valid JSON"
    return f"is wrong at {field!r}: {first['msg'].lower()}"
