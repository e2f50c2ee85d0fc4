"""Recipes: one TOML file with everything that a run depends on.

A recipe is parsed strictly: an unknown field, a wrong type, a bad value, or contradicting sections
raise a UserError that names the field. `model.recipes` checks whether operations, programs, layouts
and encodings fit. `with_overrides` applies `section.field = value` pairs, as the command line does.
"""

import copy
import dataclasses
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tomli_w
from annotated_types import MaxLen, MinLen
from pydantic import Discriminator, Field, Tag

from curta.config.errors import UserError, quoted, refuse_first, shortened, unknown
from curta.config.limits import LETTERS
from curta.config.positions import T5, Abacus, Positions, RoPE, UserEncoding, Window
from curta.config.sections import (
    FORMS,
    LIST,
    OPTIMIZERS,
    OTHER,
    TEXT,
    AdamW,
    EvaluationSettings,
    ModelConfig,
    Optimizer,
    Training,
    form,
)
from curta.config.task import Task, shares
from curta.config.typed import MISSPELT, adapter, field_error, validated

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Tasks = Annotated[
    Annotated[Task, Tag(OTHER)] | Annotated[tuple[Task, ...], MinLen(1), Tag(LIST)],
    Discriminator(form),
]
Names = Annotated[
    Annotated[str, Tag(TEXT)] | Annotated[tuple[str, ...], Tag(LIST)], Discriminator(form)
]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Everything that a run depends on.

    Problems are written by a `program`, or in a published `layout`.
    """

    summary: Annotated[str, MaxLen(LETTERS)] = ""
    """One line on what is trained, for lists and reports."""
    layout: str | None = None
    """Published way of writing problems, such as reversed; replaces a program."""
    program: Names = ()
    """Algorithm whose steps are learned, by name or file; a list has one for each operator."""
    task: Tasks = Task()
    """Which problems are drawn; a list of tables for several operators."""
    positions: Annotated[Positions, Field(discriminator="name")] = Window()
    """How positions are encoded."""
    model: ModelConfig = ModelConfig()
    """Size and design of the transformer."""
    optimizer: Optimizer = AdamW()
    """The optimiser and its learning rate."""
    training: Training = Training()
    """How long to train, on what, and how often to save and validate."""
    evaluation: EvaluationSettings = EvaluationSettings()
    """What is evaluated after training."""

    def __post_init__(self) -> None:
        refuse_first(contradictions(self))

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of all programs, as a tuple."""
        return (self.program,) if isinstance(self.program, str) else self.program

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks, as a tuple."""
        return (self.task,) if isinstance(self.task, Task) else self.task

    @property
    def shares(self) -> tuple[int, ...]:
        """How many problems of a batch each task has."""
        return shares(self.tasks, self.training.batch)

    @property
    def covers(self) -> bool:
        """Whether members train on the certificate's windows; tables hold out problems instead."""
        tables = any(task.values for task in self.tasks)
        windowed = isinstance(self.positions, Window) and bool(self.programs)
        return windowed and bool(self.evaluation.certificate) and not tables

    @property
    def round_steps(self) -> int:
        """Steps per round of repair; 0 if there is no repair.

        Only the weights of the last step are repaired, and only if training runs to its end.
        """
        training = self.training
        runs_to_end = training.keep == "last" and training.stop_at is None
        repairs = bool(training.repair) and self.covers and runs_to_end
        return min(REPAIR_STEPS, -(-training.steps // 5)) if repairs else 0


WINDOW_NEEDS = {
    "num_attention_layers": (1,),
    "num_recurrences": (1,),
    "input_injection": ("none",),
    "causal": (True,),
    "dropout": (0.0,),
    "biases": ((),),
    "norm_placement": ("pre", "post_residual"),
    "norm_epsilon": (1e-6,),
    "final_norm": (True,),
    "tied_scale": (True,),
}
"""Values of model fields for which the next token is provably a function of one window."""

MOST_IN_EPOCHS = 2**32 - 1
"""Most problems of a training in epochs, which are counted in 32 bits."""


def contradictions(recipe: Recipe) -> Iterator[str]:
    """Yield a line for each pair of sections that contradict each other."""
    model, training, positions = recipe.model, recipe.training, recipe.positions
    operators = [task.operator for task in recipe.tasks]
    if not recipe.summary.isprintable():
        yield f"summary {quoted(recipe.summary)}: one line, of printable characters"
    if (recipe.layout is None) == (not recipe.programs):
        yield "a recipe has either a program or a layout"
    if len(set(operators)) < len(operators):
        yield f"task: one of the operators {' '.join(operators)} comes twice"
    if training.batch < len(operators):
        yield f"training.batch must be at least {len(operators)}, one a task"
    if not training.validate_every and (training.keep != "last" or training.stop_at is not None):
        yield "training.keep best and training.stop_at need training.validate_every"
    watched = training.validation if training.validate_every else 0
    held_out_sets = 1 + len(recipe.evaluation.layouts)  # each layout has its own problems
    for held_out in (task.held_out for task in recipe.tasks if task.held_out):
        if held_out <= watched:
            yield (
                f"task.held_out {held_out:,}: training.validation takes {watched:,} of them and the"
                " evaluation needs others"
            )
        if held_out - watched < held_out_sets:
            yield (
                f"task.held_out {held_out:,}: evaluation.layouts makes it {held_out_sets} sets of"
                f" problems, and {held_out - watched:,} are left for them"
            )
    for field, allowed in WINDOW_NEEDS.items() if isinstance(positions, Window) else ():
        if (value := getattr(model, field)) not in allowed:
            needed = " or ".join(map(str, allowed))
            yield f"positions 'window' needs model.{field} {needed}, not {value}"
    if model.kv_heads < model.heads:
        equal = f"so model.num_kv_heads must be {model.heads}, as model.heads, not {model.kv_heads}"
        if isinstance(positions, Abacus) and positions.inject == "queries_keys":
            yield f"positions.inject 'queries_keys' gives each head a part of the vectors, {equal}"
        if isinstance(positions, RoPE) and positions.over == "heads":
            yield f"positions.over 'heads' turns queries and keys alike, {equal}"
    if not model.causal:
        if recipe.layout is None:
            yield "without model.causal no program can be run: it needs a layout"
        if training.loss in ("all", "padded"):
            yield f"training.loss {training.loss!r} has no meaning if model.causal is false"
        if isinstance(positions, T5):
            yield (
                "positions 't5' has no buckets for tokens to the right, which a model without"
                " model.causal sees: take alibi, fire or another of them"
            )
    if recipe.programs and training.loss == "numeric":
        yield "training.loss 'numeric' needs a layout: a program's digits carry more"
    if model.qk_input == "positions" and model.input_injection == "normed":
        yield (
            "model.qk_input 'positions' leaves tokens out of queries and keys, and"
            " model.input_injection 'normed' adds them: take another of the two"
        )
    if training.order == "epochs" and training.steps * training.batch > MOST_IN_EPOCHS:
        yield f"training.order 'epochs' counts {MOST_IN_EPOCHS:,} problems: steps x batch is more"
    if training.recurrence_loss != "last" and model.num_recurrences == 1:
        yield (
            f"training.recurrence_loss {training.recurrence_loss!r} needs model.num_recurrences of"
            " at least 2, not 1"
        )


REPAIR_STEPS = 300
"""Steps of a round of repair; a fifth of the steps of a training if that is less."""

_SHIPPED = Path(__file__).parent / "recipes"


def shipped_names() -> list[str]:
    """Return the names of Curta's recipes, as `folder/name` if they are in a folder."""
    paths = (path.relative_to(_SHIPPED) for path in _SHIPPED.rglob("*.toml"))
    return sorted(path.with_suffix("").as_posix() for path in paths)


START = ("addition", "multiplication", "sorting", "addition-reversed", "grokking-97")
"""Recipes to begin with: three that are exact at any length, and two for contrast."""


def grouped() -> dict[str, list[tuple[str, str]]]:
    """Shipped recipes by group, each as its name and summary; those of START stand twice."""
    groups: dict[str, list[tuple[str, str]]] = {
        "Start here": [],
        "Programs, exact at any length": [],
        "Published ways of writing, for contrast": [],
        "Settings of published sources": [],
    }
    titles = list(groups)
    for name in shipped_names():
        recipe = shipped(name)
        group = 3 if "/" in name else 2 if "layout" in recipe else 1
        groups[titles[group]].append((name, recipe.get("summary", "")))
    every = dict(row for rows in groups.values() for row in rows)
    groups[titles[0]] = [(name, every[name]) for name in START]
    return groups


def shipped(name: str) -> dict[str, Any]:
    """Return the fields of one of Curta's recipes, as its file has them."""
    return tables((_SHIPPED / f"{name}.toml").read_text("utf-8"), f"recipe {name!r}")


def parse(fields: Mapping[str, Any], where: str) -> Recipe:
    """Check each field by itself; UserError names the first that is wrong."""
    return _validated(Recipe, fields, where)


def changed_evaluation(
    settings: EvaluationSettings, changes: Mapping[str, Any]
) -> EvaluationSettings:
    """Return the section with fields changed, checked as in a recipe."""
    for name in changes:
        if name not in vars(settings):
            raise UserError(f"evaluation: {unknown('field', name, vars(settings))}")
    return _validated(EvaluationSettings, vars(settings) | dict(changes), "evaluation")


def _validated(kind: type[Any], fields: Mapping[str, Any], where: str) -> Any:
    return validated(kind, json.dumps(fields, default=str), partial(_fault, where))


def _fault(where: str, error: "ErrorDetails") -> UserError:
    """Return the line for pydantic's first error, which names a field, or what its name may be."""
    # Pydantic's path without the tags of a field's alternatives, such as "(list)" or "rope".
    path = [str(step) for step in error["loc"] if step not in FORMS]
    by_name = _NAMED.get(path[0] if path else "", {})
    has_name = len(path) > 1 and path[1] in by_name
    holder = by_name[path.pop(1)] if has_name else None
    field = ".".join(path)
    if error["type"] == "union_tag_not_found":
        choices = ", ".join(sorted(by_name))
        return UserError(f"{where}: positions.name is missing: choose from {choices}")
    if error["type"] == "union_tag_invalid" and by_name:
        name_of = "optimiser" if path[0] == "optimizer" else "position encoding"
        return UserError(f"{where}: {unknown(name_of, error['ctx']['tag'], by_name)}")
    if error["type"] == "union_tag_invalid":
        form_of = _FORMS.get(field, "a list, such as [1, 2]")
        return UserError(f"{where}: {field} should be {form_of}, not {quoted(error['input'])}")
    names: Iterable[str] = ()
    if error["type"] in MISSPELT:
        names = field_paths()
        if holder is not None:
            names = [f"{path[0]}.{field.name}" for field in dataclasses.fields(holder)]
        elif len(path) == 1:  # a section, or a field without its section: steps
            inner = [name for name in names if name.rpartition(".")[2] == field]
            names = inner or dict.fromkeys(name.partition(".")[0] for name in names)
    return field_error(error, where, field, names, "curta show RECIPE --fields")


def dump(recipe: Recipe) -> str:
    """Return the recipe as TOML, including defaults."""
    return tomli_w.dumps(as_table(recipe))


SIZES = ("digits", "second", "operands")
"""The sizes of a task's operands, which a table replaces."""


def with_overrides(fields: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return `fields` with `{"section.field": value}` applied.

    A new `positions.name` resets that section, since each encoding has its own fields; a new
    `optimizer.name` keeps the fields that both have. A `layout` replaces a `program` and vice
    versa, and `task.values` replaces the sizes of operands.
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
        settings = OPTIMIZERS.get(str(overrides["optimizer.name"]))
        before = result.get("optimizer", {})
        shared = {f.name for f in dataclasses.fields(settings)} if settings else set(before)
        result["optimizer"] = {field: v for field, v in before.items() if field in shared}
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


def parse_value(text: str) -> Any:
    """Parse a value of the command line: a TOML value, or else the text itself."""
    try:
        return tomllib.loads(f"x = {text}")["x"]
    except RecursionError:
        raise UserError(f"{quoted(text)} is nested too deeply") from None
    except ValueError:  # no TOML, or a number of thousands of digits
        return text


def tables(text: str, where: str) -> dict[str, Any]:
    """Parse TOML into tables; UserError if it is invalid."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UserError(f"{where} is not valid TOML: {error}") from None
    except RecursionError:
        raise UserError(f"{where}: its tables, or lists, are nested too deeply") from None
    except ValueError:
        raise UserError(f"{where}: one of its numbers has thousands of digits") from None


_FORMS = {
    "task": 'a table, such as [task] operator = "+"',
    "program": 'a name, such as "addition", or a list of names',
}
"""What fields of several forms should be, if not a list of numbers."""

_NAMED: dict[str, dict[str, Any]] = {
    "positions": {kind().name: kind for kind in Positions.__args__ if kind is not UserEncoding},
    "optimizer": OPTIMIZERS,
}
"""Sections whose fields depend on their `name`: classes of settings by that name."""


def as_table(recipe: Recipe) -> dict[str, Any]:
    """Return the fields of a recipe as nested tables."""
    table: dict[str, Any] = adapter(Recipe).dump_python(recipe, mode="json", exclude_none=True)
    if isinstance(recipe.positions, UserEncoding):
        table["positions"] = {"name": recipe.positions.file} | recipe.positions.settings
    return table


def lookup(table: Mapping[str, Any], path: str) -> Any:
    """Return the value at `section.field`; None if there is none."""
    for key in path.split("."):
        table = table.get(key, {}) if isinstance(table, Mapping) else {}
    return None if table == {} else table


def sections(encodings: Sequence[type[Any]] = ()) -> dict[str, list[type[Any]]]:
    """Return for each section of a recipe the dataclasses it may be; none for a single field.

    `encodings` are the settings of users' encodings, in addition to Curta's.
    """
    by_section: dict[str, list[type[Any]]] = {}
    for section in dataclasses.fields(Recipe):
        kind = type(section.default)
        single = {"": kind} if dataclasses.is_dataclass(kind) else {}
        by_section[section.name] = list(_NAMED.get(section.name, single).values())
    by_section["positions"] += encodings
    return by_section


def field_paths(
    table: Mapping[str, Any] | None = None, encodings: Sequence[type] = ()
) -> list[str]:
    """Return the path of every field, as on the command line; also those inside `table`'s tables.

    Keys that are no identifiers, such as the operator `//`, have no path: set the whole table.
    `encodings` are the settings of users' encodings, in addition to Curta's.
    """
    paths = []
    for section, kinds in sections(encodings).items():
        paths += [f"{section}.{field.name}" for kind in kinds for field in dataclasses.fields(kind)]
        paths += [] if kinds else [section]
    values = {path: lookup(table or {}, path) for path in paths}
    paths += [
        f"{path}.{key}"
        for path, value in values.items()
        if isinstance(value, dict) and all(map(str.isidentifier, value))
        for key in value
    ]
    return list(dict.fromkeys(paths))


WATCHING = (
    "training.validate_every", "training.checkpoint_every", "training.named_at_checkpoints",
)  # fmt: skip
"""Fields for watching a training, which do not change its weights."""


def with_summary(
    recipe: Recipe, source: Recipe | None, name: str, overrides: Mapping[str, Any]
) -> Recipe:
    """Return a recipe with a summary that is true after the overrides.

    `source` is the recipe `name` without `overrides`, if that is valid. Its summary stays if they
    do not change what is trained. Otherwise it is such as `addition with model.width=32`.
    """
    before, after = as_table(source) if source else {}, as_table(recipe)
    changes = []
    for path in overrides:
        value = lookup(after, path)
        is_trained = not path.startswith(("summary", "evaluation.")) and path not in WATCHING
        if is_trained and value != lookup(before, path):
            text = short(value) if isinstance(value, str) else json.dumps(value)
            changes.append(f"{path}={text}")
    if not changes or "summary" in overrides:
        return recipe
    summary = f"{short(name)} with {', '.join(changes)}"
    return dataclasses.replace(recipe, summary=shortened(summary, LETTERS))


def short(name: str) -> str:
    """Shorten a path, or the tag of a user's file, to the file's name.

    >>> short("addition"), short("/home/me/gcd.py"), short("gcd.py@52e2092998dd")
    ('addition', 'gcd.py', 'gcd.py')
    """
    file = re.fullmatch(r"(?:.*[/\\])?([^/\\]+\.(?:py|toml))(?:@[0-9a-f]+)?", name)
    return file[1] if file else name
