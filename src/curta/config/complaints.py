"""What pydantic says of a table's fields, in one line: where, which field, what is right."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from curta.config.errors import UserError, unknown

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

STRANGE = ("unexpected_keyword_argument", "extra_forbidden")
"""How pydantic calls a field that there is not, of a dataclass and of a table."""

BOUNDS = {
    "less_than_equal": ("le", "at most"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "greater_than": ("gt", "greater than"),
}
"""How pydantic calls a number out of bounds, and its bound."""

Location = tuple[int | str, ...]


def bound(error: "ErrorDetails") -> str | None:
    """What is said of a number out of bounds: `must be at most 1e20`; None for other mistakes."""
    if error["type"] not in BOUNDS:
        return None
    key, words = BOUNDS[error["type"]]
    limit = error["ctx"][key]
    number = f"{limit:,}" if isinstance(limit, int) else f"{limit:g}".replace("e+", "e")
    return f"must be {words} {number}"


def complaint(
    error: "ValidationError",
    where: str,
    known: Callable[[Location], Iterable[str]],
    section: str = "",
) -> UserError:
    """Of the first field that is wrong; a misspelt name comes before the field that it leaves out.

    `known` gives the names that a field at some location may have, and `section` is what the
    fields stand in, as in `cluster.time`.
    """
    errors = error.errors(include_url=False)
    strange = [one for one in errors if one["type"] in STRANGE]
    first = [*strange, *errors][0]
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, UserError):
        return UserError(f"{where}: {cause}")
    if strange:
        *_, given = first["loc"]
        names = [_path(section, name) for name in known(first["loc"])]
        return UserError(f"{where}: {unknown('field', _path(section, given), names)}")
    field, what = _path(section, *first["loc"]), first["msg"]
    if (limit := bound(first)) is not None:
        return UserError(f"{where}: {field} {limit} (got {first['input']!r})")
    return UserError(f"{where}: {field}: {what[:1].lower()}{what[1:]}")


def _path(section: str, *parts: int | str) -> str:
    return ".".join(str(part) for part in (section, *parts) if part != "")
