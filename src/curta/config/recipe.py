"""Recipes: one TOML file holds everything that a run is made of.

A recipe is read strictly: an unknown field, a wrong type or a bad value is one
line that names the field. `with_overrides` lays `section.field = value` pairs on
top, which is what the command line does.
"""

import copy
import dataclasses
import json
import tomllib
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import tomli_w
from annotated_types import MinLen
from pydantic import (
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
)

from curta.config import files
from curta.config.errors import UserError, unknown
from curta.config.model import Model
from curta.config.sections import FORMS, LIST, OTHER, TEXT, Evaluation, Training, form
from curta.layouts import Layout, Room, layout_named
from curta.model.positions import Encoding, Positions, Shape, own
from curta.model.positions.own import Own
from curta.model.positions.window import Window
from curta.problems.problem import parse as read_problem
from curta.problems.tasks import Task, shares
from curta.programs.user import generic, registry, userfiles
from curta.training.optimizers import Optimizer

Tasks = Annotated[
    Annotated[Task, Tag(OTHER)] | Annotated[tuple[Task, ...], MinLen(1), Tag(LIST)],
    Discriminator(form),
]

Names = Annotated[
    Annotated[str, Tag(TEXT)] | Annotated[tuple[str, ...], Tag(LIST)], Discriminator(form)
]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Everything that a run is made of.

    Problems are written by a `program` (or by several, one for each operator), or in a
    published `layout`.
    """

    summary: str = ""
    layout: str | None = None
    program: Names = ()
    task: Tasks = Task()
    positions: Annotated[Positions, Field(discriminator="name")] = Window()
    model: Model = Model()
    optimizer: Optimizer = Optimizer()
    training: Training = Training()
    evaluation: Evaluation = Evaluation()

    def __post_init__(self) -> None:
        if (self.layout is None) == (not self.programs):
            raise UserError("a recipe has either a program or a layout")
        operators = [task.operator for task in self.tasks]
        if len(set(operators)) < len(operators):
            raise UserError(f"task: one of the operators {' '.join(operators)} comes twice")
        if self.training.batch < len(self.tasks):
            raise UserError(f"training.batch must be at least {len(self.tasks)}, one a task")
        self._check_validation()
        if isinstance(self.positions, Window):
            self._check_window()
        if not self.model.causal:
            self._check_at_once()
        loss = self.training.loop_loss
        if loss != "last" and self.model.loops == 1:
            raise UserError(f"training.loop_loss {loss!r} needs model.loops of at least 2, not 1")
        if self.layout is not None:
            self._check_layout(layout_named(self.layout))
        for text in self.evaluation.named:
            self._check_named(text)

    def _check_layout(self, layout: Layout) -> None:
        """Raises UserError if the layout has no such problems, or the model no such positions."""
        if isinstance(self.positions, Window):
            raise UserError(f"positions 'window' need a program; {layout.name!r} is a layout")
        if isinstance(self.positions, Own) and not self.positions.known:
            return
        encoding = self.encoding(layout)
        for task in self.tasks:
            layout.accept(task.operator, task.counts[1])
            encoding.check(layout.room(task.operator, task.widest), training=True)
        self._check_layouts(layout)

    def _check_window(self) -> None:
        """Raises UserError unless the next token is a function of one window."""
        wanted = {"attending": 1, "loops": 1, "inject": "none", "causal": True, "dropout": 0.0}
        for field, value in wanted.items():
            if getattr(self.model, field) != value:
                raise UserError(
                    f"positions 'window' need model.{field} {value},"
                    f" not {getattr(self.model, field)}"
                )

    def _check_validation(self) -> None:
        plan = self.training
        if not plan.validate_every and (plan.keep == "best" or plan.stop_at is not None):
            raise UserError("training.keep best and training.stop_at need training.validate_every")
        for task in self.tasks:
            if plan.validate_every and 0 < task.held_out <= plan.validation:
                raise UserError(
                    f"task.held_out {task.held_out:,}: training.validation takes"
                    f" {plan.validation:,} of them and the exam needs others"
                )

    def _check_layouts(self, own: Layout) -> None:
        """Raises UserError if another layout of the exam has other characters."""
        for name in self.evaluation.layouts:
            if layout_named(name).characters != own.characters:
                raise UserError(
                    f"evaluation.layouts: {name!r} has other characters than {own.name!r}"
                )

    def _check_named(self, text: str) -> None:
        """Raises UserError for a problem that models of this recipe cannot be asked."""
        operators = [task.operator for task in self.tasks]
        try:
            problem = read_problem(text)
            if problem.operator not in operators:
                raise unknown("operator of this recipe", problem.operator, operators)
            unknown_code = isinstance(self.positions, Own) and not self.positions.known
            if self.layout is not None and not unknown_code:
                room = layout_named(self.layout).room_of([problem])
                self.encoding(layout_named(self.layout)).check(room)
                if not self.model.causal:
                    self._check_prompt(room)
        except UserError as error:
            told = str(error).removeprefix(f"cannot read {text!r}: ")
            raise UserError(f"evaluation.named {text!r}: {told}") from None

    def _check_at_once(self) -> None:
        """Raises UserError if an answer cannot be written over its prompt."""
        if self.layout is None:
            raise UserError("without model.causal no program can be run: it needs a layout")
        layout = layout_named(self.layout)
        if self.training.loss == "all":
            raise UserError("training.loss 'all' has no meaning if model.causal is false")
        for task in self.tasks:
            self._check_prompt(layout.room(task.operator, task.widest))

    def _check_prompt(self, room: Room) -> None:
        """Raises UserError if a prompt is shorter than what is to be written over it."""
        if room.completion > room.prompt:
            raise UserError(
                f"without model.causal an answer is written over its prompt, which is too"
                f" short in layout {self.layout!r}: {room.prompt} for {room.completion} tokens"
            )

    @property
    def programs(self) -> tuple[str, ...]:
        """Names of all programs, also where there is only one."""
        return (self.program,) if isinstance(self.program, str) else self.program

    def encoding(self, layout: Layout) -> Encoding:
        """The position encoding, its weights described but not drawn."""
        model = self.model
        return self.positions.build(Shape(layout, model.width, model.heads, model.attending))

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks, also where there is only one."""
        return (self.task,) if isinstance(self.task, Task) else self.task

    @property
    def shares(self) -> tuple[int, ...]:
        """How many problems of each batch every task contributes."""
        return shares(self.tasks, self.training.batch)


_RECIPE = TypeAdapter(Recipe)


def names() -> list[str]:
    """Names of the recipes that come with the program, `folder/name` inside of a folder."""
    return sorted(_shipped(_folder(), ""))


def load(name: str) -> Recipe:
    """A shipped recipe by name, any recipe by its file, or that of a program, by name or file."""
    return parse(read(name), where=f"recipe {name!r}")


def read(name: str) -> dict[str, Any]:
    """The fields of a recipe as its file has them; of a program's, those of `generic`.

    Files that a recipe names lie beside its own.
    """
    path = Path(name)
    if path.suffix == ".py":
        return generic.fields(userfiles.load(path).programs, [name])
    if path.suffix == ".toml":
        text = files.read_text(path, f"recipe {str(path)!r}")
        return _beside(_tables(text, f"recipe {name!r}"), path.parent)
    if name not in names():
        if programs := registry.known(name):
            return generic.fields(programs, [name])
        raise unknown("recipe", name, names())
    return _tables((_folder() / f"{name}.toml").read_text("utf-8"), f"recipe {name!r}")


def parse(fields: Mapping[str, Any], where: str) -> Recipe:
    """Checks every field; a UserError names the first that is wrong.

    Files of the user's that it names are executed.
    """
    fields = own.taken(_loaded(fields), where)
    try:
        return _RECIPE.validate_json(json.dumps(fields, default=str), strict=True, extra="forbid")
    except ValidationError as error:
        raise _complaint(error, where) from None


def dump(recipe: Recipe) -> str:
    """The resolved recipe as TOML, defaults included."""
    return tomli_w.dumps(as_table(recipe))


def with_overrides(fields: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` with `{"section.field": value}` laid on top.

    A new `positions.name` begins that section anew: each encoding has its own fields. A `layout`
    takes the place of a `program`, and the other way round.
    """
    result = copy.deepcopy(dict(fields))
    for field, other in (("layout", "program"), ("program", "layout")):
        if field in overrides:
            result.pop(other, None)
    name = overrides.get("positions.name")
    positions = result.get("positions", {})
    if name is not None and isinstance(positions, dict) and name != positions.get("name"):
        result["positions"] = {}
    for path, value in overrides.items():
        *sections, field = path.split(".")
        table = result
        for section in sections:
            table = table.setdefault(section, {})
            if isinstance(table, list):
                raise UserError(f"--{path}: there are several; change them in the recipe's file")
            if not isinstance(table, dict):
                raise UserError(f"--{path}: {section!r} is a single value, not a section")
        table[field] = value
    return result


def value(text: str) -> Any:
    """What a command-line value means: a TOML value, or else the text itself."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        return text


def _loaded(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, with the tags of programs' files, which are executed."""

    def tag(name: Any) -> Any:
        named = isinstance(name, str) and name.endswith(".py")
        return userfiles.load(name).tag if named else name

    return _with_programs(fields, tag)


def _beside(fields: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The fields of a recipe's file; files named in it are looked for in its folder."""

    def place(name: Any) -> Any:
        return str(folder / name) if isinstance(name, str) and name.endswith(".py") else name

    found, positions = _with_programs(fields, place), fields.get("positions")
    if isinstance(positions, dict) and "name" in positions:
        found["positions"] = positions | {"name": place(positions["name"])}
    return found


def _with_programs(fields: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """The fields, each program's name changed."""
    named = fields.get("program")
    if named is None:
        return dict(fields)
    changed = [change(name) for name in named] if isinstance(named, list | tuple) else change(named)
    return dict(fields) | {"program": changed}


def _folder() -> resources.abc.Traversable:
    return resources.files("curta.config") / "recipes"


def _shipped(folder: resources.abc.Traversable, before: str) -> list[str]:
    found = []
    for path in folder.iterdir():
        if path.is_dir():
            found += _shipped(path, f"{before}{path.name}/")
        elif path.name.endswith(".toml"):
            found.append(before + path.name.removesuffix(".toml"))
    return found


def _tables(text: str, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{where} is no valid TOML: {error}") from None


def _complaint(error: ValidationError, where: str) -> UserError:
    """One line for the first thing that is wrong."""
    first = error.errors()[0]
    known = {"positions": {option.name for option in _options()}}
    path = [str(part) for part in first["loc"] if part not in {*known["positions"], *FORMS}]
    field = ".".join(path)
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, UserError):
        return UserError(f"{where}: {cause}")
    if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        paths = field_paths()
        sections = {path.partition(".")[0] for path in paths}
        return UserError(f"{where}: {unknown('field', field, paths if '.' in field else sections)}")
    if first["type"] == "union_tag_not_found":
        choices = ", ".join(sorted(known["positions"]))
        return UserError(f"{where}: positions.name is missing: choose from {choices}")
    if first["type"] == "union_tag_invalid":
        tag = first["ctx"]["tag"]
        return UserError(f"{where}: {unknown('position encoding', tag, known['positions'])}")
    given = json.dumps(first["input"]) if not isinstance(first["input"], dict) else "a table"
    return UserError(f"{where}: {field} {_lower(first['msg'])}, not {given}")


def _lower(message: str) -> str:
    """Pydantic's sentence as the rest of ours: 'Input should be ...' -> 'should be ...'."""
    return message.removeprefix("Input ").removeprefix("Value error, ")


def _options() -> list[Any]:
    return [option() for option in Positions.__args__ if option is not Own]


def _positions() -> list[Any]:
    """Settings of every encoding, those of the user's files too."""
    files = [file for file in userfiles.KNOWN.values() if own.is_encoding(file)]
    return _options() + [own.settings_class(file) for file in files]


def as_table(recipe: Recipe) -> dict[str, Any]:
    """The recipe's fields as nested tables."""
    table: dict[str, Any] = _RECIPE.dump_python(recipe, mode="json", exclude_none=True)
    if isinstance(recipe.positions, Own):
        table["positions"] = own.table_of(recipe.positions)
    return table


def lookup(table: Mapping[str, Any], path: str) -> Any:
    """The value at `section.field`, None if there is none."""
    for part in path.split("."):
        table = table.get(part, {}) if isinstance(table, Mapping) else {}
    return None if table == {} else table


def field_paths(table: Mapping[str, Any] | None = None) -> list[str]:
    """Every field's path, as the command line spells it; those inside of `table`'s tables too."""
    paths = []
    for section in dataclasses.fields(Recipe):
        holders = _positions() if section.name == "positions" else [section.default]
        inner = [h for h in holders if dataclasses.is_dataclass(h)]
        paths += [f"{section.name}.{field.name}" for h in inner for field in dataclasses.fields(h)]
        paths += [] if inner else [section.name]
    deeper = {path: lookup(table or {}, path) for path in paths}
    paths += [
        f"{path}.{key}"
        for path, value in deeper.items()
        if isinstance(value, dict)
        for key in value
    ]
    return list(dict.fromkeys(paths))
