"""A position encoding from a user's file: `--positions.name ./decay.py`.

The file defines one frozen dataclass of settings with `name` and `build(shape)`, as every
encoding here does; its other fields are fields of the recipe. A recipe says
`name = "decay.py"`; here that is kept as the file's tag and a table of settings.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from curta.config.errors import UserError
from curta.model.positions.base import Encoding, Shape
from curta.programs.user import userfiles

NAME = "(file)"


@dataclass(frozen=True)
class Own:
    """A position encoding from a file of the user's."""

    name: Literal["(file)"] = "(file)"
    file: str = ""
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether the file was executed in this process."""
        return userfiles.known(self.file) is not None

    @property
    def made(self) -> Any:
        """The user's own settings; UserError where the file was not executed."""
        file = userfiles.known(self.file)
        if file is None:
            raise UserError(
                f"the code of position encoding {userfiles.shown(self.file)} was not run:"
                " add --trust to run the copy that came with the run"
            )
        return settings_class(file)(**self.settings)

    def build(self, shape: Shape) -> Encoding:
        built = self.made.build(shape)
        if not isinstance(built, Encoding):
            raise UserError(f"{userfiles.shown(self.file)}: build(shape) gives no Encoding")
        return built


def settings_class(file: userfiles.UserFile) -> type[Any]:
    """The dataclass of settings in a file; UserError if there is not just one."""
    found = _settings(file)
    if len(found) != 1:
        raise UserError(
            f"{file.name}: a position encoding is one frozen dataclass with `name` and"
            f" `build(shape)`; there are {len(found)}"
        )
    return found[0]


def is_encoding(file: userfiles.UserFile) -> bool:
    """Whether a file defines one."""
    return len(_settings(file)) == 1


def _settings(file: userfiles.UserFile) -> list[type[Any]]:
    made = [one for one in file.classes() if dataclasses.is_dataclass(one)]
    return [
        one
        for one in made
        if hasattr(one, "build") and "name" in {field.name for field in dataclasses.fields(one)}
    ]


def taken(fields: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A recipe's fields; `positions.name` of a file becomes its tag, the rest its settings."""
    table = fields.get("positions")
    if not isinstance(table, Mapping) or not userfiles.is_file(str(table.get("name", ""))):
        return dict(fields)
    name, rest = str(table["name"]), {k: v for k, v in table.items() if k != "name"}
    tag = name if userfiles.is_tag(name) else userfiles.load(name).tag
    file = userfiles.known(tag)
    if file is not None:
        rest = _checked(settings_class(file), rest, where)
    return dict(fields) | {"positions": {"name": NAME, "file": tag, "settings": rest}}


def table_of(positions: Own) -> dict[str, Any]:
    """The section of a recipe, as `taken` reads it."""
    return {"name": positions.file} | positions.settings


def _checked(settings: type[Any], given: dict[str, Any], where: str) -> dict[str, Any]:
    """All fields of the user's settings; UserError for the first that is wrong."""
    adapter: TypeAdapter[Any] = TypeAdapter(settings)
    try:
        made = adapter.validate_json(json.dumps(given), strict=True, extra="forbid")
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise UserError(f"{where}: positions.{field}: {first['msg']}") from None
    found: dict[str, Any] = adapter.dump_python(made, mode="json")
    return {key: value for key, value in found.items() if key != "name"}
