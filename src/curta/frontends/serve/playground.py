"""A new run in a form: the fields of a recipe, what is wrong with them, and the command line.

A form sends texts as the command line takes them, and they are checked as there: by the recipe's
own resolution. Files of code are refused, since a page is no place to name one.
"""

import random
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import cycle, islice

import pydantic

from curta.config.descriptions import field_descriptions, first_sentence, format_value
from curta.config.errors import UserError, quoted, unknown
from curta.config.positions import Window
from curta.config.recipe import (
    WATCHING,
    Recipe,
    as_table,
    lookup,
    sections,
    shipped_names,
    with_overrides,
)
from curta.frontends.cli import arguments
from curta.model import recipes
from curta.problems.operations import operation_named
from curta.problems.problem import Problem
from curta.runs import folders

FIRST = (
    "task.digits", "task.values", "training.steps", "model.width", "model.heads",
    "model.num_layers", "positions.name", "optimizer.learning_rate", "training.batch",
    "training.problems", "training.held_out_windows",
)  # fmt: skip
"""Fields that a form shows at once; the others stand in their sections."""

HIDDEN = (
    "summary", "layout", "program", "training.extended_at", "evaluation.named", *WATCHING,
)  # fmt: skip
"""Fields of a recipe that a form leaves alone, or shows at another place."""

MOMENTS = 40
"""How many times a training is looked at, from its beginning to its end."""

PROBLEMS = 8
"""How many fixed problems are answered again and again."""

DIGITS = 8
"""Digits of such a problem's operands, at most, where training has longer ones."""


@dataclass(frozen=True)
class FieldView:
    """A field in the form: its text as the command line takes it, and the choices there are."""

    path: str
    text: str
    about: str
    choices: tuple[str, ...] = ()


class Order(pydantic.BaseModel, extra="forbid"):
    """What a form sends: a recipe, the fields that differ from it, the run's name, its seeds."""

    recipe: str = pydantic.Field(max_length=200)
    settings: dict[str, str] = pydantic.Field(default_factory=dict, max_length=200)
    run: str = pydantic.Field(default="", max_length=200)
    seeds: str = pydantic.Field(default="1", max_length=20)

    @property
    def words(self) -> list[str]:
        """The command line that trains it, from the word `train` on, but for the run's name."""
        settings = [f"{path}={text}" for path, text in self.settings.items()]
        return ["train", self.recipe, *settings, *["--seeds", self.seeds] * (self.seeds != "1")]


@dataclass(frozen=True)
class Form:
    """The fields of a recipe with changes: those shown first, those watched, all by section."""

    recipe: str
    summary: str
    first: list[FieldView]
    watched: list[FieldView]
    sections: dict[str, list[FieldView]] = field(default_factory=dict)


def form(name: str, settings: Mapping[str, str]) -> Form:
    """Return the form of a shipped recipe with changes, which need not fit together yet."""
    if name not in shipped_names():
        raise unknown("recipe", name, shipped_names())
    changes = arguments.values(dict(settings))
    try:
        fields = with_overrides(recipes.read(name), changes)
        recipe = recipes.parse_fields(fields, f"recipe {name!r}")
    except UserError:  # the check says which field it is
        recipe = recipes.load(name)
    table, choices = as_table(recipe), _choices()
    views = {}
    for path, description, _, names in field_descriptions():
        section, _, leaf = path.partition(".")
        value = lookup(table, path)
        of_other = names and leaf != "name" and table[section].get("name") not in names
        if of_other or isinstance(value, dict) or (section == "task" and len(recipe.tasks) > 1):
            continue
        text = settings.get(path, "" if value is None else format_value(value))
        about = first_sentence(description).replace("`", "")
        views[path] = FieldView(path, text, about, choices.get(path, ()))
    watched = [replace(views[path], text=text) for path, text in watching(recipe).items()]
    by_section: dict[str, list[FieldView]] = {}
    for path, view in views.items():
        if path not in (*FIRST, *HIDDEN):
            by_section.setdefault(path.partition(".")[0], []).append(view)
    useless = {path for path, need in recipes.NEEDS.items() if not need.met(recipe)}
    sizes = views.get("task.values")
    useless |= {"task.digits" if sizes and sizes.text else "task.values"}
    first = [views[path] for path in FIRST if path in views and path not in useless]
    return Form(name, recipe.summary, first, watched, by_section)


def _choices() -> dict[str, tuple[str, ...]]:
    """Return the values of fields that have only a few, by path: names, literals, true, false."""
    choices = {}
    for section, kinds in sections().items():
        if len(kinds) > 1:
            choices[f"{section}.name"] = tuple(kind.name for kind in kinds)
        for kind in kinds:
            for leaf, hint in typing.get_type_hints(kind).items():
                values = ("true", "false") if hint is bool else typing.get_args(hint)
                is_literal = typing.get_origin(hint) is typing.Literal
                if leaf != "name" and (is_literal or hint is bool):
                    choices[f"{section}.{leaf}"] = tuple(map(str, values))
    return choices


def watching(recipe: Recipe) -> dict[str, str]:
    """Return the settings by which a training of the recipe can be watched as it learns."""
    training = recipe.training
    every = max(10, training.steps // MOMENTS // 10 * 10)
    named = recipe.evaluation.named
    watched = list(dict.fromkeys([*named, *problems(recipe)]))[: max(PROBLEMS, len(named))]
    return {
        "training.validate_every": str(training.validate_every or every),
        "training.checkpoint_every": str(min(training.checkpoint_every, every)),
        "training.named_at_checkpoints": "true",
        "evaluation.named": format_value(watched),
    }


def problems(recipe: Recipe) -> list[str]:
    """Return PROBLEMS of the recipe's tasks; the last two are longer than those of training."""
    chance, texts = random.Random(PROBLEMS), dict[str, None]()
    for task in islice(cycle(recipe.tasks), 20 * PROBLEMS):
        longer = isinstance(recipe.positions, Window) and len(texts) >= PROBLEMS - 2
        count = task.operands[1] if task.operands else operation_named(task.operator).least
        operands = []
        for place in range(min(count, 4)):
            low, high = task.second if task.second and place else task.digits
            digits = 3 * high // 2 if longer else chance.randint(low, min(high, max(low, DIGITS)))
            span = (task.base ** (digits - 1) if digits > 1 else 0, task.base**digits - 1)
            operands.append(chance.randint(*(task.values or span)))
        with suppress(UserError):  # such as a division by zero, or one that is too long
            text = str(Problem(task.operator, tuple(operands), task.base))
            recipes.check(replace(recipe, evaluation=replace(recipe.evaluation, named=(text,))))
            texts[text] = None
        if len(texts) == PROBLEMS:
            break
    return list(texts)


def errors(order: Order) -> dict[str, str]:
    """Return what is wrong with an order, by field; what belongs to none of them by ""."""
    if order.recipe not in shipped_names():
        return {"": f"no recipe is named {quoted(order.recipe)}"}
    wrong: dict[str, str] = {}
    if order.run:
        try:
            folders.checked(order.run)
        except UserError as error:
            wrong["run"] = str(error)
        if (folders.root() / order.run).exists():
            wrong["run"] = f"run {order.run!r} exists already: choose another name"
    if not order.seeds.isdecimal() or not 1 <= int(order.seeds) <= arguments.UNASKED:
        wrong["seeds"] = f"seeds must be 1 to {arguments.UNASKED} (got {quoted(order.seeds)})"
    settings = dict(order.settings)
    for path, text in order.settings.items():
        if path in ("program", "positions.name") and text.endswith((".py", ".toml")):
            wrong[path] = "a file of code is for the command line"
        elif not text.strip():
            wrong[path] = f"{path} needs a value"
        if path in wrong:
            del settings[path]
    # One mistake hides the next: what is wrong is left out, until the others fit together.
    while True:
        try:
            recipes.resolve(order.recipe, arguments.values(settings), "")
            return wrong
        except UserError as error:
            line = str(error).removeprefix(": ")
            path = max((path for path in settings if path in line), key=len, default="")
            wrong.setdefault(path, line)
            if not path:
                return wrong
            del settings[path]
