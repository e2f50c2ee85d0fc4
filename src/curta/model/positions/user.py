"""A position encoding from a user's file: `positions.name=./decay.py`.

The file defines one frozen dataclass of settings with `name` and `build(shape)`; its other fields
are fields of the recipe's section `[positions]`. A recipe says `name = "decay.py"`; once parsed,
that is a `UserEncoding` with the file's tag and a table of settings.
"""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from curta.config import typed
from curta.config.errors import UserError
from curta.config.positions import UserEncoding
from curta.programs.user import userfiles

if TYPE_CHECKING:
    from curta.model.positions.base import Encoding, Shape


def user_settings(positions: UserEncoding) -> Any:
    """Return the user's dataclass of settings; UserError if the file was not executed."""
    file = userfiles.executed(positions.file)
    if file is None:
        raise UserError(
            f"the code of position encoding {userfiles.display_name(positions.file)} was not run:"
            " add --trust to run the copy that came with the run"
        )
    return settings_class(file)(**positions.settings)


def build_user(positions: UserEncoding, shape: "Shape") -> "Encoding":
    from curta.model.positions.base import Encoding

    encoding = user_settings(positions).build(shape)
    if not isinstance(encoding, Encoding):
        raise UserError(f"{userfiles.display_name(positions.file)}: build(shape) gives no Encoding")
    return encoding


def is_known(positions: object) -> bool:
    """Return whether the settings can be built: they are Curta's, or their file was executed."""
    return not isinstance(positions, UserEncoding) or userfiles.executed(positions.file) is not None


def settings_class(file: userfiles.UserFile) -> type[Any]:
    """Return the dataclass of settings in a file; UserError if there is not exactly one."""
    classes = _settings(file)
    if len(classes) != 1:
        raise UserError(
            f"{file.name}: a position encoding is one frozen dataclass with `name` and"
            f" `build(shape)`; there are {len(classes)}"
        )
    return classes[0]


def all_settings() -> list[type[Any]]:
    """Return the settings of each file that was executed in this process and has an encoding."""
    candidates = map(_settings, userfiles.EXECUTED.values())
    return [classes[0] for classes in candidates if len(classes) == 1]


def _settings(file: userfiles.UserFile) -> list[type[Any]]:
    dataclass_types = [kind for kind in file.classes() if dataclasses.is_dataclass(kind)]
    return [
        kind
        for kind in dataclass_types
        if hasattr(kind, "build") and "name" in {field.name for field in dataclasses.fields(kind)}
    ]


def with_user_encoding(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return a recipe's fields with a file's tag in `positions.name` turned into `UserEncoding`.

    Raises UserError for the first of the user's settings that is wrong.
    """
    table = fields.get("positions")
    if not isinstance(table, Mapping) or not userfiles.is_file(str(table.get("name", ""))):
        return dict(fields)
    tag, settings = str(table["name"]), {k: v for k, v in table.items() if k != "name"}
    file = userfiles.executed(tag)
    if file is not None:
        kind = settings_class(file)
        parsed = typed.parse_fields(kind, settings, where, "positions.")
        settings = typed.adapter(kind).dump_python(parsed, mode="json")
        settings.pop("name")
    return dict(fields) | {"positions": {"name": "(file)", "file": tag, "settings": settings}}
