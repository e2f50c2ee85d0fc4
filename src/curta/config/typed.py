"""Dataclasses to JSON and back, and pydantic's errors as one line.

Fields with their default are left out of the JSON. A dataclass with a `FORMAT` is the content of a
file: its JSON begins with that number, and a file with another number is refused.
"""

import dataclasses
import json
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from curta.config import files
from curta.config.errors import QUOTED, UserError, shortened, unknown

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Value = TypeVar("Value")

adapter: Callable[[Any], Any] = cache(TypeAdapter)
"""The pydantic adapter of a dataclass, created once."""


def as_json(value: Any) -> Any:
    """Return a dataclass as plain values for `json.dumps`."""
    version = {"format": value.FORMAT} if hasattr(value, "FORMAT") else {}
    plain = adapter(type(value)).dump_python(
        value, mode="json", by_alias=True, exclude_defaults=True
    )
    return version | plain


def text(value: Any, indent: int | None = None) -> str:
    """Return a dataclass as JSON, one line or indented."""
    return json.dumps(as_json(value), indent=indent, ensure_ascii=False) + "\n"


def lines(rows: Iterable[Any]) -> str:
    """Return one line of JSON for each dataclass."""
    return "".join(map(text, rows))


def read(kind: type[Value], path: Path, where: str) -> Value:
    """Read a dataclass from a file of `where`, such as "run 'mine'".

    Raises UserError, which names the file and the field, if the file is missing, damaged or of
    another version.
    """
    return of_table(kind, files.read_json(path, where), where, path.name)


def of_table(kind: type[Value], content: dict[str, Any], where: str, file: str) -> Value:
    """Parse a dataclass from the content of a file; errors as in `read`."""
    current = getattr(kind, "FORMAT", None)
    version = content.pop("format", None) if current else None
    if current is not None and version != current:
        if not isinstance(version, int):
            raise UserError(f"{where} is damaged: {file} lacks 'format'")
        if version > current:
            raise UserError(f"{where} was made by a newer version (format {version}): update curta")
        remedy = getattr(kind, "REMEDY", "")
        raise UserError(f"{where} was made by an earlier version (format {version}): {remedy}")
    return parse(kind, json.dumps(content), where, file)


def parse(kind: type[Value], content: str | bytes, where: str, file: str) -> Value:
    """Parse a dataclass from JSON; errors as in `read`."""
    return _validated(kind, content, f"{where} is damaged: {file}")


MISSPELT = ("unexpected_keyword_argument", "extra_forbidden")
"""Pydantic's errors for an unknown field, of a dataclass and of a table."""

BOUNDS = {
    "less_than_equal": ("le", "at most"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "greater_than": ("gt", "greater than"),
}
"""Pydantic's errors for a number out of bounds: the key of the bound, and words for it."""


def validated(
    kind: type[Value], content: str | bytes, describe: Callable[["ErrorDetails"], UserError]
) -> Value:
    """Parse a dataclass from JSON, strictly; `describe` makes a UserError of pydantic's first."""
    try:
        value: Value = adapter(kind).validate_json(content, strict=True, extra="forbid")
        return value
    except ValidationError as error:
        errors = error.errors(include_url=False)
    # a misspelt field rather than the one that is then missing
    raise describe(next((e for e in errors if e["type"] in MISSPELT), errors[0]))


def field_error(
    error: "ErrorDetails",
    where: str,
    field: str,
    names: Iterable[str] = (),
    lister: str = "",
) -> UserError:
    """Return an error for a user's field: where it is, which one, and what is allowed.

    `names` are the fields that exist there; `lister` is a command that lists them.
    """
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, UserError):
        return UserError(f"{where}: {cause}")
    if error["type"] in MISSPELT:
        return UserError(f"{where}: {unknown('field', field, names, lister)}")
    if error["type"] == "missing":
        return UserError(f"{where}: {field} is missing")
    if error["type"] == "json_invalid":
        return UserError(f"{where} is not valid JSON")
    value = "a table" if isinstance(error["input"], dict) else json.dumps(error["input"])
    value = shortened(value, QUOTED)
    if error["type"] in BOUNDS:
        key, words = BOUNDS[error["type"]]
        limit = error["ctx"][key]
        number = f"{limit:,}" if isinstance(limit, int) else f"{limit:g}".replace("e+", "e")
        return UserError(f"{where}: {field} must be {words} {number} (got {value})")
    if error["type"] == "string_pattern_mismatch":
        return UserError(f"{where}: {field} must be a size, such as 20, 20/5 or 3x20 (got {value})")
    reason = error["msg"].removeprefix("Input ").removeprefix("Value error, ")
    reason = reason.replace("a valid array", "a list, such as [1, 2]")
    return UserError(f"{where}: {field} {reason}, not {value}")


def parse_fields(
    kind: type[Value], fields: Mapping[str, Any], where: str, prefix: str = ""
) -> Value:
    """Parse a dataclass from a user's fields.

    Raises UserError for the first field that is wrong, named with its `prefix`.
    """
    return _validated(kind, json.dumps(fields, default=str), where, prefix)


def _validated(kind: type[Value], content: str | bytes, where: str, prefix: str = "") -> Value:
    def describe(error: "ErrorDetails") -> UserError:
        location, holder = error["loc"], typing.cast(Any, kind)
        if len(location) > 1:  # in an item of a list of dataclasses, such as `kilns.0.heat`
            items = typing.get_args(typing.get_type_hints(kind).get(str(location[0])))
            holder = next(filter(dataclasses.is_dataclass, items), kind)
        names = [prefix + name for name in getattr(holder, "__dataclass_fields__", ())]
        path = ".".join(map(str, location[-1:] if error["type"] in MISSPELT else location))
        return field_error(error, where, prefix + path if path else prefix[:-1] or "it", names)

    return validated(kind, content, describe)
