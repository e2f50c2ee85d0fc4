"""A position encoding from a user's file: `positions.name=./decay.py`.

The file defines one frozen dataclass of settings with `name` and `build(shape)`, as every
encoding here does; its other fields are fields of the recipe. A recipe says
`name = "decay.py"`; here that is kept as the file's tag and a table of settings.
"""

import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from curta.config import typed
from curta.config.errors import UserError
from curta.config.positions import UserEncoding
from curta.programs.user import userfiles

if TYPE_CHECKING:
    from curta.model.positions.base import Encoding, Shape


def made(positions: UserEncoding) -> Any:
    """The user's own settings; UserError where the file was not executed."""
    file = userfiles.known(positions.file)
    if file is None:
        raise UserError(
            f"the code of position encoding {userfiles.shown(positions.file)} was not run:"
            " add --trust to run the copy that came with the run"
        )
    return settings_class(file)(**positions.settings)


def build_user(positions: UserEncoding, shape: "Shape") -> "Encoding":
    from curta.model.positions.base import Encoding

    built = made(positions).build(shape)
    if not isinstance(built, Encoding):
        raise UserError(f"{userfiles.shown(positions.file)}: build(shape) gives no Encoding")
    return built


def is_known(positions: object) -> bool:
    """Whether these are settings of Curta's own, or of a file executed in this process."""
    return not isinstance(positions, UserEncoding) or userfiles.known(positions.file) is not None


def settings_class(file: userfiles.UserFile) -> type[Any]:
    """The dataclass of settings in a file; UserError if there is not just one."""
    classes = _settings(file)
    if len(classes) != 1:
        raise UserError(
            f"{file.name}: a position encoding is one frozen dataclass with `name` and"
            f" `build(shape)`; there are {len(classes)}"
        )
    return classes[0]


def every() -> list[type[Any]]:
    """The settings in all files that were executed in this process and define an encoding."""
    candidates = map(_settings, userfiles.KNOWN.values())
    return [
        settings_type for settings in candidates if len(settings) == 1 for settings_type in settings
    ]


def _settings(file: userfiles.UserFile) -> list[type[Any]]:
    dataclass_types = [kind for kind in file.classes() if dataclasses.is_dataclass(kind)]
    return [
        kind
        for kind in dataclass_types
        if hasattr(kind, "build") and "name" in {field.name for field in dataclasses.fields(kind)}
    ]


def taken(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A recipe's fields; `positions.name` of a file becomes its tag, the rest its settings."""
    table = fields.get("positions")
    if not isinstance(table, Mapping) or not userfiles.is_file(str(table.get("name", ""))):
        return dict(fields)
    name, settings = str(table["name"]), {k: v for k, v in table.items() if k != "name"}
    tag = name if userfiles.is_tag(name) else userfiles.load(name).tag
    file = userfiles.known(tag)
    if file is not None:
        settings = _checked(settings_class(file), settings, where)
    return dict(fields) | {"positions": {"name": "(file)", "file": tag, "settings": settings}}


def _checked(settings: type[Any], given: dict[str, Any], where: str) -> dict[str, Any]:
    """All fields of the user's settings; UserError for the first that is wrong."""
    parsed = typed.parse_fields(settings, json.dumps(given), where, "positions.")
    values: dict[str, Any] = typed.adapter(settings).dump_python(parsed, mode="json")
    return {key: value for key, value in values.items() if key != "name"}
