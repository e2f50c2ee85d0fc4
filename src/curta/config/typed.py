"""Dataclasses as JSON and back, and pydantic's errors as one line.

A field that has its default is left out of the JSON. A dataclass with a `FORMAT` is the content of
a file: its JSON begins with that number, and a file of another number is refused.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from curta.config import files
from curta.config.errors import QUOTED, UserError, shortened, unknown

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Value = TypeVar("Value")
Location = tuple[int | str, ...]

adapter: Callable[[Any], Any] = cache(TypeAdapter)
"""What reads and writes a dataclass; created once."""


def as_json(value: Any) -> Any:
    """Return a dataclass as tables and lists of plain values, as `json.dumps` takes them."""
    version = {"format": value.FORMAT} if hasattr(value, "FORMAT") else {}
    plain = adapter(type(value)).dump_python(
        value, mode="json", by_alias=True, exclude_defaults=True
    )
    return version | plain


def text(value: Any, indent: int | None = None) -> str:
    """Return a dataclass as JSON, one line or indented."""
    return json.dumps(as_json(value), indent=indent, ensure_ascii=False) + "\n"


def lines(rows: Iterable[Any]) -> str:
    """Return a line of JSON for each dataclass."""
    return "".join(map(text, rows))


def read(kind: type[Value], path: Path, where: str) -> Value:
    """Read the dataclass in a file that belongs to `where`, such as "run 'mine'".

    Raises UserError, in one line that names the file and the field, if it is missing, damaged
    or of another version.
    """
    return of_table(kind, files.read_json(path, where), where, path.name)


def of_table(kind: type[Value], content: dict[str, Any], where: str, file: str) -> Value:
    """Return the dataclass in the content of a file; errors as in `read`."""
    current = getattr(kind, "FORMAT", None)
    if current is not None:
        if "format" not in content:
            raise UserError(f"{where} is damaged: {file} lacks 'format'")
        version = content.pop("format")
        if not isinstance(version, int):
            raise UserError(f"{where} is damaged: {file} is wrong at 'format'")
        if version > current:
            raise UserError(f"{where} was made by a newer version (format {version}): update curta")
        if version < current:
            remedy = getattr(kind, "REMEDY", "")
            raise UserError(f"{where} was made by an earlier version (format {version}): {remedy}")
    try:
        return parse(kind, json.dumps(content), where, file)
    except RecursionError:
        raise UserError(f"{where} is damaged: {file} is nested too deeply") from None


def parse(kind: type[Value], content: str | bytes, where: str, file: str) -> Value:
    """Return the dataclass that some JSON holds; errors as in `read`."""
    try:
        value: Value = adapter(kind).validate_json(content, strict=True, extra="forbid")
        return value
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    field = repr(".".join(map(str, first["loc"])))
    reasons = {
        "missing": f"lacks {field}",
        "unexpected_keyword_argument": f"has no field {field} in this version",
        "json_invalid": "is no valid JSON",
    }
    reason = reasons.get(first["type"], f"is wrong at {field}: {first['msg'].lower()}")
    raise UserError(f"{where} is damaged: {file} {reason}")


MISSPELT = ("unexpected_keyword_argument", "extra_forbidden")
"""Pydantic's names for a field that does not exist, of a dataclass and of a table."""

BOUNDS = {
    "less_than_equal": ("le", "at most"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "greater_than": ("gt", "greater than"),
}
"""Pydantic's names for a number out of bounds, the key of the bound, and words for it."""


def first_error(error: ValidationError) -> "ErrorDetails":
    """Return the error to report: a misspelt field before the one that is missing for it."""
    errors = error.errors(include_url=False)
    return next((one for one in errors if one["type"] in MISSPELT), errors[0])


def field_error(
    error: "ErrorDetails",
    where: str,
    field: str,
    names: Iterable[str] = (),
    unknown_field: Callable[[str, Iterable[str]], UserError] = lambda field, names: unknown(
        "field", field, names
    ),
) -> UserError:
    """Return one line on a field that a user wrote: where, which field, what is right.

    `names` are those that a field may have there.
    """
    cause = error.get("ctx", {}).get("error")
    if isinstance(cause, UserError):
        return UserError(f"{where}: {cause}")
    if error["type"] in MISSPELT:
        return UserError(f"{where}: {unknown_field(field, names)}")
    if error["type"] == "json_invalid":
        return UserError(f"{where}: it is nested too deeply, or its texts are no Unicode")
    if error["type"] == "missing":
        return UserError(f"{where}: {field} is missing")
    value = "a table" if isinstance(error["input"], dict) else json.dumps(error["input"])
    value = shortened(value, QUOTED)
    if error["type"] in BOUNDS:
        key, words = BOUNDS[error["type"]]
        limit = error["ctx"][key]
        number = f"{limit:,}" if isinstance(limit, int) else f"{limit:g}".replace("e+", "e")
        return UserError(f"{where}: {field} must be {words} {number} (got {value})")
    reason = error["msg"].removeprefix("Input ").removeprefix("Value error, ")
    reason = reason.replace("a valid array", "a list, such as [1, 2]")
    return UserError(f"{where}: {field} {reason}, not {value}")


def parse_fields(
    kind: type[Value],
    content: str,
    where: str,
    prefix: str = "",
    nested: Mapping[str, type[Any]] = MappingProxyType({}),
) -> Value:
    """Return the dataclass in JSON that a user's fields were turned into.

    Raises UserError with the first field that is wrong, called `prefix` and its name. `nested`
    are the dataclasses in lists of fields, by the names of these.
    """
    try:
        value: Value = adapter(kind).validate_json(content, strict=True, extra="forbid")
        return value
    except ValidationError as error:
        first = first_error(error)
    location = first["loc"]
    holder = nested.get(str(location[0]), kind) if len(location) > 1 else kind
    names = [prefix + name for name in getattr(holder, "__dataclass_fields__", ())]
    path = location[-1:] if first["type"] in MISSPELT else location
    field = prefix + ".".join(map(str, path)) if path else prefix.rstrip(".") or "it"
    raise field_error(first, where, field, names)
