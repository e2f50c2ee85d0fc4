"""Recipes: one TOML file holds everything that a run is made of.

A recipe is read strictly: an unknown field, a wrong type or a bad value is one
line that names the field. Whether its parts fit together is for `model.recipes` to say, which
knows operations, programs, layouts and encodings. `with_overrides` lays `section.field = value`
pairs on top, which is what the command line does.
"""

import copy
import dataclasses
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from annotated_types import MaxLen, MinLen
from pydantic import Discriminator, Field, Tag, TypeAdapter, ValidationError

from curta.config import consistency
from curta.config.complaints import STRANGE, bound
from curta.config.errors import QUOTED, UserError, quoted, unknown
from curta.config.limits import FILE, ITEMS, LETTERS, VALUE, Name, PathName
from curta.config.model import ModelConfig
from curta.config.optimizer import OPTIMIZERS, AdamW, Optimizer
from curta.config.positions import Positions, UserEncoding, Window
from curta.config.printable import shortened
from curta.config.sections import FORMS, LIST, OTHER, TEXT, Evaluation, Training, form
from curta.config.task import Task, shares

Tasks = Annotated[
    Annotated[Task, Tag(OTHER)] | Annotated[tuple[Task, ...], MinLen(1), MaxLen(ITEMS), Tag(LIST)],
    Discriminator(form),
]

Names = Annotated[
    Annotated[PathName, Tag(TEXT)] | Annotated[tuple[PathName, ...], MaxLen(ITEMS), Tag(LIST)],
    Discriminator(form),
]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Everything that a run is made of.

    Problems are written by a `program`, or in a published `layout`.
    """

    summary: Annotated[str, MaxLen(LETTERS)] = ""
    """One line on what is trained, as lists and reports show it."""
    layout: Name | None = None
    """Published way of writing problems, such as reversed; takes the place of a program."""
    program: Names = ()
    """Algorithm whose steps are learned, its file, or a list, one for each operator."""
    task: Tasks = Task()
    """Which problems are drawn; a list of tables where there are several operators."""
    positions: Annotated[Positions, Field(discriminator="name")] = Window()
    """How the model knows where tokens stand."""
    model: ModelConfig = ModelConfig()
    """Size and design of the transformer."""
    optimizer: Optimizer = AdamW()
    """What updates the weights, and how fast."""
    training: Training = Training()
    """How long, on what, and what is kept of it."""
    evaluation: Evaluation = Evaluation()
    """What is asked when training has ended."""

    def __post_init__(self) -> None:
        consistency.check(self)

    @property
    def programs(self) -> tuple[str, ...]:
        """Names of all programs, also where there is only one."""
        return (self.program,) if isinstance(self.program, str) else self.program

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks, also where there is only one."""
        return (self.task,) if isinstance(self.task, Task) else self.task

    @property
    def shares(self) -> tuple[int, ...]:
        """How many problems of each batch every task contributes."""
        return shares(self.tasks, self.training.batch)

    @property
    def covers(self) -> bool:
        """Whether training shows listed windows; a table's problems are held out instead."""
        tables = any(task.values for task in self.tasks)
        windowed = isinstance(self.positions, Window) and bool(self.programs)
        return windowed and bool(self.evaluation.certificate) and not tables

    @property
    def round_steps(self) -> int:
        """Steps per round of repair; 0 if there is no repair.

        Only the last weights are repaired: not the best ones, nor those of a training that
        ends once it is good enough.
        """
        training = self.training
        last = training.keep == "last" and training.stop_at is None
        repairs = bool(training.repair) and self.covers and last
        return min(REPAIR_STEPS, -(-training.steps // 5)) if repairs else 0


REPAIR_STEPS = 300
"""Steps of a round of repair, at most; a fifth of those of a short training."""

RENAMED = {
    "model.attending": "model.num_attention_layers",
    "model.blocks": "model.num_layers",
    "model.inject": "model.input_injection",
    "model.key_value_heads": "model.num_kv_heads",
    "model.kinds": "model.role_embeddings",
    "model.loops": "model.num_recurrences",
    "model.mlp_factor": "model.mlp_ratio",
    "model.spelled": "model.compositional_embeddings",
    "model.tied": "model.tie_embeddings",
    "optimizer.momentum": "optimizer.beta1",
    "training.loop_loss": "training.recurrence_loss",
}
"""Fields that had other names, with those that they have."""

_RECIPE = TypeAdapter(Recipe)

_SHIPPED = Path(__file__).parent / "recipes"


def shipped_names() -> list[str]:
    """Names of the recipes that come with the program, `folder/name` inside of a folder."""
    paths = (path.relative_to(_SHIPPED) for path in _SHIPPED.rglob("*.toml"))
    return sorted(path.with_suffix("").as_posix() for path in paths)


def shipped(name: str) -> dict[str, Any]:
    """The fields of a recipe that comes with the program, as its file has them."""
    return tables((_SHIPPED / f"{name}.toml").read_text("utf-8"), f"recipe {name!r}")


def parse(fields: Mapping[str, Any], where: str) -> Recipe:
    """Checks every field by itself; a UserError names the first that is wrong."""
    try:
        return _RECIPE.validate_json(as_json(fields, where), strict=True, extra="forbid")
    except ValidationError as error:
        raise _complaint(error, where) from None


def changed_evaluation(of: Evaluation, changes: Mapping[str, Any]) -> Evaluation:
    """The section with fields changed, every one checked as in a recipe; UserError likewise."""
    for name in changes:
        if name not in vars(of):
            raise unknown("field of the evaluation", name, vars(of))
    try:
        fields = as_json(vars(of) | dict(changes), "evaluation")
        return TypeAdapter(Evaluation).validate_json(fields, strict=True, extra="forbid")
    except ValidationError as error:
        raise _complaint(error, "evaluation") from None


def as_json(fields: Mapping[str, Any], where: str) -> str:
    """The fields as JSON; UserError for tables that are nested too deeply, or huge numbers."""
    try:
        return json.dumps(fields, default=str)
    except RecursionError:
        raise UserError(f"{where}: its tables, or lists, are nested too deeply") from None
    except ValueError:
        raise UserError(f"{where}: one of its numbers has thousands of digits") from None


def dump(recipe: Recipe) -> str:
    """The resolved recipe as TOML, defaults included."""
    return tomli_w.dumps(as_table(recipe))


SIZES = ("digits", "second", "operands")
"""Fields of a task without a table."""


def with_overrides(fields: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` with `{"section.field": value}` laid on top.

    A new `positions.name` begins that section anew: each encoding has its own fields; with a new
    `optimizer.name` the fields stay that both have. A `layout` takes the place of a `program`, and
    the other way round, and `task.values` that of the sizes of operands.
    """
    result = copy.deepcopy(dict(fields))
    for field, other in (("layout", "program"), ("program", "layout")):
        if field in overrides:
            result.pop(other, None)
    if "task.values" in overrides and isinstance(result.get("task"), dict):
        result["task"] = {k: v for k, v in result["task"].items() if k not in SIZES}
    name = overrides.get("positions.name")
    positions = result.get("positions", {})
    if name is not None and isinstance(positions, dict) and name != positions.get("name"):
        result["positions"] = {}
    if "optimizer.name" in overrides:
        result["optimizer"] = _kept(result.get("optimizer", {}), overrides["optimizer.name"])
    for path, value in overrides.items():
        *sections, field = path.split(".")
        table = result
        for section in sections:
            table = table.setdefault(section, {})
            if isinstance(table, list):
                raise UserError(f"{path}: there are several; change them in the recipe's file")
            if not isinstance(table, dict):
                raise UserError(f"{path}: {section!r} is a single value, not a section")
        table[field] = value
    return result


def _kept(fields: Mapping[str, Any], name: object) -> dict[str, Any]:
    """Those of an optimiser's fields that the one of this name has too."""
    settings = OPTIMIZERS.get(str(name))
    known = {one.name for one in dataclasses.fields(settings)} if settings else set(fields)
    return {field: value for field, value in fields.items() if field in known}


def parse_value(text: str) -> Any:
    """What a command-line value means: a TOML value, or else the text itself.

    Raises UserError for one that is too long, or nested too deeply.
    """
    if len(text) > VALUE:
        raise UserError(f"{quoted(text)} is too long: a value has at most {VALUE:,} letters")
    try:
        return flat(tomllib.loads(f"x = {text}")["x"])
    except RecursionError:
        raise UserError(f"{quoted(text)} is nested too deeply") from None
    except ValueError:  # no TOML, or a number of thousands of digits
        return text


def tables(text: str, where: str) -> dict[str, Any]:
    """A TOML text as tables; UserError if it is none, or none that could be meant."""
    if len(text) > FILE:
        raise UserError(f"{where} is too long: it has {len(text):,} letters, at most {FILE:,}")
    try:
        found: dict[str, Any] = flat(tomllib.loads(text))
        return found
    except RecursionError:
        raise UserError(f"{where}: its tables, or lists, are nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{where} is no valid TOML: {error}") from None
    except ValueError:
        raise UserError(f"{where}: one of its numbers has thousands of digits") from None


NESTED = 20
"""Tables and lists within each other: a recipe has four."""


def flat(value: Any, most: int = NESTED) -> Any:
    """The value itself; RecursionError if tables or lists are nested more deeply than `most`."""
    if most == 0:
        raise RecursionError
    inner = value.values() if isinstance(value, dict) else value
    for one in inner if isinstance(value, dict | list) else ():
        flat(one, most - 1)
    return value


def _complaint(error: ValidationError, where: str) -> UserError:
    """One line for the first thing that is wrong."""
    first = error.errors()[0]
    path = _path(first["loc"])
    field, named = ".".join(path), _NAMED.get(path[0] if path else "", {})
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, UserError):
        return UserError(f"{where}: {cause}")
    if first["type"] in STRANGE:
        return UserError(f"{where}: {unknown_field(field, _near(first['loc']))}")
    if first["type"] == "union_tag_not_found":
        choices = ", ".join(sorted(named))
        return UserError(f"{where}: positions.name is missing: choose from {choices}")
    if first["type"] == "union_tag_invalid" and not named:
        given, meant = quoted(first["input"]), _MEANT.get(field, "a list, such as [1, 2]")
        return UserError(f"{where}: {field} should be {meant}, not {given}")
    if first["type"] == "union_tag_invalid":
        what = "optimiser" if path[0] == "optimizer" else "position encoding"
        return UserError(f"{where}: {unknown(what, first['ctx']['tag'], named)}")
    if first["type"] == "json_invalid":
        return UserError(f"{where}: it is nested too deeply, or its texts are no Unicode")
    given = json.dumps(first["input"]) if not isinstance(first["input"], dict) else "a table"
    given = shortened(given, QUOTED)
    if (limit := bound(first)) is not None:
        return UserError(f"{where}: {field} {limit} (got {given})")
    return UserError(f"{where}: {field} {_lower(first['msg'])}, not {given}")


def _path(location: tuple[int | str, ...]) -> list[str]:
    """Where a value stands, without what tells the alternatives of a field apart."""
    path = [str(part) for part in location if part not in FORMS]
    if len(path) > 1 and path[1] in _NAMED.get(path[0], {}):
        del path[1]
    return path


def unknown_field(path: str, known: Iterable[str]) -> UserError:
    """What is said of a field that there is not: its new name, or the nearest of the known."""
    if path in RENAMED:
        return UserError(f"{path} is called {RENAMED[path]} now")
    return unknown("field", path, known, "curta show RECIPE --fields")


def _near(location: tuple[int | str, ...]) -> list[str]:
    """The fields among which one that is not known may be meant, as `section.field`.

    Of an encoding, or an optimiser, its own.
    """
    section, name = str(location[0]), str(location[1]) if len(location) > 1 else ""
    if name in _NAMED.get(section, {}):
        return [f"{section}.{one.name}" for one in dataclasses.fields(_NAMED[section][name])]
    paths = field_paths()
    return paths if name else list(dict.fromkeys(path.partition(".")[0] for path in paths))


def _lower(message: str) -> str:
    """Pydantic's sentence as the rest of ours: 'Input should be ...' -> 'should be ...'."""
    message = message.removeprefix("Input ").removeprefix("Value error, ")
    return message.replace("a valid array", "a list, such as [1, 2]")


_MEANT = {
    "task": 'a table, such as [task] operator = "+"',
    "program": 'a name, such as "addition", or a list of names',
}
"""What a field should be that may have several forms, where that is no list of numbers."""

_NAMED: dict[str, dict[str, Any]] = {
    "positions": {one().name: one for one in Positions.__args__ if one is not UserEncoding},
    "optimizer": OPTIMIZERS,
}
"""Sections whose fields depend on a name: settings of Curta's own, by that name."""


def as_table(recipe: Recipe) -> dict[str, Any]:
    """The recipe's fields as nested tables."""
    table: dict[str, Any] = _RECIPE.dump_python(recipe, mode="json", exclude_none=True)
    if isinstance(recipe.positions, UserEncoding):
        table["positions"] = {"name": recipe.positions.file} | recipe.positions.settings
    return table


def lookup(table: Mapping[str, Any], path: str) -> Any:
    """The value at `section.field`, None if there is none."""
    for part in path.split("."):
        table = table.get(part, {}) if isinstance(table, Mapping) else {}
    return None if table == {} else table


def sections(encodings: Sequence[type[Any]] = ()) -> dict[str, list[type[Any]]]:
    """The dataclasses of which each section of a recipe is one; a single field has none.

    `encodings` are settings of users' encodings, besides those of Curta's own.
    """
    found: dict[str, list[type[Any]]] = {}
    for section in dataclasses.fields(Recipe):
        whole = type(section.default)
        single = {"": whole} if dataclasses.is_dataclass(whole) else {}
        found[section.name] = list(_NAMED.get(section.name, single).values())
    found["positions"] += encodings
    return found


def field_paths(
    table: Mapping[str, Any] | None = None, encodings: Sequence[type] = ()
) -> list[str]:
    """Every field's path, as the command line spells it; those inside of `table`'s tables too.

    What is called by an operator, as sizes by `//`, has no path: it is given as a whole table.
    `encodings` are settings of users' encodings, besides those of Curta's own.
    """
    paths = []
    for section, held in sections(encodings).items():
        paths += [f"{section}.{field.name}" for one in held for field in dataclasses.fields(one)]
        paths += [] if held else [section]
    deeper = {path: lookup(table or {}, path) for path in paths}
    paths += [
        f"{path}.{key}"
        for path, value in deeper.items()
        if isinstance(value, dict) and all(map(str.isidentifier, value))
        for key in value
    ]
    return list(dict.fromkeys(paths))
