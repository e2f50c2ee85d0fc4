"""Recipes by name, and whether their operations, programs, layouts and encodings fit together.

`config.recipe` checks the fields of a recipe one by one; this module checks what depends on more.
Names are checked before layouts and encodings are imported, since importing JAX takes a second.

Some fields have an effect in some recipes only, and are refused elsewhere. A field with its default
value is never refused. Nor is `evaluation.certificate=0`, which leaves out what a published layout
does not have anyway.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from curta.config import files, recipe
from curta.config.errors import UserError, error_prefix, quoted, unknown
from curta.config.limits import check_path
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.layouts import LAYOUTS, layout_named
from curta.model.positions import encoding, user
from curta.problems import problem
from curta.problems.operations import operation_named
from curta.problems.sizes import OperandLimits
from curta.programs.user import registry, userfiles

if TYPE_CHECKING:
    from curta.layouts import Layout, ShapeBounds


class Need(NamedTuple):
    """What a field needs to have an effect: in words, and as a test of the recipe."""

    words: str
    met: Callable[[Recipe], bool]
    whole: bool = False
    """For a field of tasks: test the whole recipe, not each task that sets the field alone."""


_PROGRAM = Need("a program, not a layout", lambda r: r.layout is None)
_WATCHED = Need("training.evaluate_every", lambda r: r.training.evaluate_every > 0)
_LISTED = "a program under positions 'window', and evaluation.certificate"
_PAIRS = "an operator of two operands"

VECTORS = (
    "learned", "sinusoidal", "randomised", "coupled", "coupled-sinusoidal", "position-coupling"
)  # fmt: skip
"""Encodings that are vectors, and can be the only input of queries and keys."""

NEEDS = {
    "task.base": Need("a program: layouts write base 10", _PROGRAM.met),
    "task.second": Need(
        "an operator of several operands",
        lambda r: all(operation_named(t.operator).most != 1 for t in r.tasks if t.second),
        whole=True,
    ),
    "task.zero": Need(
        "a layout, and no task.values",
        lambda r: not r.programs and not any(t.values for t in r.tasks),
    ),
    "task.special_until": Need(
        "fresh problems in every step: a layout, no program, and no task.rows",
        lambda r: not r.programs and not any(t.rows for t in r.tasks),
    ),
    "task.smallest_of": Need(
        "a layout, and training.order 'drawn'",
        lambda r: not r.programs and r.training.order == "drawn",
    ),
    "task.weight": Need("a second task", lambda r: len(r.tasks) > 1, whole=True),
    "task.rows": Need(
        "task.values, or a layout", lambda r: not r.programs or any(t.values for t in r.tasks)
    ),
    "task.split": Need(
        "task.values or task.rows", lambda r: any(t.values or t.rows for t in r.tasks)
    ),
    "task.twins_together": Need(
        "task.held_out, and an operator that commutes",
        lambda r: any(t.held_out and operation_named(t.operator).commutes for t in r.tasks),
    ),
    "model.compositional_embeddings": _PROGRAM,
    "model.qk_input": Need(
        f"positions that are vectors: {', '.join(VECTORS)}", lambda r: r.positions.name in VECTORS
    ),
    "model.input_injection": Need(
        "model.num_recurrences of at least 2",
        lambda r: r.model.input_injection != "recurrence" or r.model.num_recurrences > 1,
    ),
    "model.init_std": Need(
        "model.init 'normal' or 'gpt2'", lambda r: r.model.init in ("normal", "gpt2")
    ),
    "model.norm_epsilon": Need("a model.norm", lambda r: r.model.norm != "none"),
    "model.dropout": Need("a place in model.dropout_sites", lambda r: bool(r.model.dropout_sites)),
    "model.dropout_sites": Need("model.dropout", lambda r: r.model.dropout > 0),
    "model.tied_scale": Need("model.tie_embeddings", lambda r: r.model.tie_embeddings),
    "optimizer.final": Need(
        "optimizer.schedule 'cosine' or 'linear'", lambda r: r.optimizer.schedule != "constant"
    ),
    "training.loss": Need(
        "other positions than 'window'", lambda r: not isinstance(r.positions, Window)
    ),
    "training.validation": Need("training.validate_every", lambda r: r.training.validate_every > 0),
    "training.fresh_validation": Need(
        "training.validate_every, and task.held_out of every task",
        lambda r: r.training.validate_every > 0 and all(t.held_out for t in r.tasks),
    ),
    "training.evaluate_digits": _WATCHED,
    "training.evaluate_count": _WATCHED,
    "training.named_at_checkpoints": Need("evaluation.named", lambda r: bool(r.evaluation.named)),
    "training.stop_after": Need("training.stop_at", lambda r: r.training.stop_at is not None),
    "training.problems": _PROGRAM,
    "training.held_out_windows": Need(_LISTED, lambda r: r.covers),
    "training.repair": Need(_LISTED, lambda r: r.covers or not r.training.repair),
    "training.order": Need(
        "a layout, and task.values or task.rows of every task",
        lambda r: not r.programs and all(t.values or t.rows for t in r.tasks),
    ),
    "training.sampling": Need("positions 'window'", lambda r: isinstance(r.positions, Window)),
    "training.progressive_alpha": Need(
        "training.recurrence_loss 'progressive'",
        lambda r: r.training.recurrence_loss == "progressive",
    ),
    "evaluation.grid": Need(
        _PAIRS, lambda r: any(operation_named(t.operator).least == 2 for t in r.tasks)
    ),
    "evaluation.grid_count": Need("evaluation.grid", lambda r: bool(r.evaluation.grid)),
    "evaluation.table": Need(
        _PAIRS, lambda r: any(operation_named(t.operator).takes(2) for t in r.tasks)
    ),
    "evaluation.held_out": Need(
        "task.held_out, task.rows or a program",
        lambda r: bool(r.programs) or any(t.held_out or (t.rows and not t.values) for t in r.tasks),
    ),
    "evaluation.layouts": Need("task.held_out", lambda r: any(t.held_out for t in r.tasks)),
}
"""For each field that not every recipe reads, what it needs."""

DATA_NEEDS = {path: need for path, need in NEEDS.items() if path.startswith("task.")}
"""The same for data sets, which have their own splits."""

DATA_FIELDS = (
    "summary", "layout", "program", "task", "positions", "training.validation",
    "evaluation.digits", "evaluation.count", "evaluation.held_out", "evaluation.layouts",
    "evaluation.seed",
)  # fmt: skip
"""Fields and sections that determine a data set, or which of its problems are too long."""


def check_data_field(path: str) -> None:
    """Raise UserError for a field that does not determine a data set."""
    if not any(path == field or path.startswith(f"{field}.") for field in DATA_FIELDS):
        raise UserError(f"{path} does not affect a data set: choose from {', '.join(DATA_FIELDS)}")


def unread(recipe: Recipe, needs: Mapping[str, Need] = NEEDS) -> dict[str, UserError]:
    """Return an error for each field that is set and has no effect in this recipe."""
    errors = {}
    for path, need in needs.items():
        values, readers = _changed_values(recipe, path), [recipe]
        if path.startswith("task.") and not need.whole:  # each task that sets the field, alone
            single = [replace(recipe, task=(task,)) for task in recipe.tasks]
            readers = [reader for reader in single if _changed_values(reader, path)]
        if values and not any(map(need.met, readers)):
            errors[path] = UserError(f"{path} {values[0]!r} has no effect: it needs {need.words}")
    return errors


def check_common(paths: Iterable[str], recipes: Sequence[Recipe]) -> None:
    """Raise UserError for a field that is set for several recipes of which none reads it."""
    for path in paths:
        if path in NEEDS and not any(map(NEEDS[path].met, recipes)):
            raise UserError(f"{path} has no effect on any of these: it needs {NEEDS[path].words}")


def without(fields: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return the fields of a recipe's file without one of them, so that it has its default."""
    section, field = path.split(".")
    tables = fields[section]  # one, or a list with a table for each task
    drop = lambda table: {key: value for key, value in table.items() if key != field}
    is_list = isinstance(tables, list | tuple)
    return dict(fields) | {section: list(map(drop, tables)) if is_list else drop(tables)}


def _changed_values(recipe: Recipe, path: str) -> list[Any]:
    """Return the values of a field that differ from its default: one for each task that has it."""
    section, field = path.split(".")
    tables = recipe.tasks if section == "task" else (getattr(recipe, section),)
    default = type(tables[0]).__dataclass_fields__[field].default
    return [value for value in (getattr(table, field) for table in tables) if value != default]


# Recipes by name, and whether all that they name fits together.


def load(name: str) -> Recipe:
    """Return a recipe: a shipped one by name, any by its file, or a program's by name or file."""
    return parse(read(name), where=f"recipe {name!r}")


def resolve(
    name: str,
    overrides: Mapping[str, Any],
    where: str,
    common: Mapping[str, Any] = MappingProxyType({}),
    needs: Mapping[str, Need] = NEEDS,
) -> Recipe:
    """Return the recipe `name` with fields changed; its programs must be registered.

    `overrides` are for this recipe, `common` for several. A field that an override makes irrelevant
    resets to its default, and so does an irrelevant one in `common`. Raises UserError for any other
    field that is set and has no effect.
    """
    source = read(name)
    fields = recipe.with_overrides(source, {**common, **overrides})
    resolved = parse_fields(fields, where)
    others = () if resolved.layout else resolved.evaluation.layouts
    with error_prefix(where):
        for program in (*resolved.programs, *others):
            registry.programs_of(program)
        check(resolved)
        for path, error in (irrelevant := unread(resolved, needs)).items():
            if path in overrides or path in unread(parse_fields(source, where), needs):
                raise error
            fields = without(fields, path)
    resolved = parse_fields(fields, where) if irrelevant else resolved
    before: Recipe | None = None
    with suppress(UserError):  # a file may be a valid recipe only with the overrides
        before = parse_fields(source, where)
    return recipe.with_summary(resolved, before, name, {**common, **overrides})


def read(name: str) -> dict[str, Any]:
    """Return the fields of a recipe as its file has them; of a program, those of `registry`.

    Paths in a recipe's file are relative to it. Raises UserError for an unknown name.
    """
    check_path(name)
    path = Path(name)
    if path.suffix == ".py":
        return registry.recipe_fields(userfiles.load(path).programs, [name])
    if path.suffix == ".toml":
        text = files.read_text(path, f"recipe {str(path)!r}")
        fields = recipe.tables(text, f"recipe {name!r}")
        return _with_files(fields, lambda file: str(path.parent / file))
    if name not in recipe.shipped_names():
        if programs := registry.find_programs(name):
            return registry.recipe_fields(programs, [name])
        raise unknown("recipe", name, [*recipe.shipped_names(), *registry.names()], "curta show")
    return recipe.shipped(name)


def parse(fields: Mapping[str, Any], where: str) -> Recipe:
    """Check every field, and that all fit together; UserError names the first that is wrong.

    Executes the user's files that the fields name.
    """
    parsed = parse_fields(fields, where)
    with error_prefix(where):
        check(parsed)
    return parsed


def check_kept(fields: Mapping[str, Any], where: str) -> None:
    """Raise UserError if the recipe of a run, a comparison or an export names a file by path.

    These have tags in place of paths: a path would be read and executed without being asked for.
    """

    def refuse(file: str) -> str:
        raise UserError(f"{where} names the file {file!r}, as no recipe of a run does")

    _with_files(fields, refuse)


def parse_fields(fields: Mapping[str, Any], where: str) -> Recipe:
    """Parse as `parse` does, but check each field by itself only."""
    tagged = _with_files(fields, lambda file: userfiles.load(file).tag)
    return recipe.parse(user.with_user_encoding(tagged, where), where)


def check(candidate: Recipe) -> None:
    """Raise UserError if the recipe's operations, layout, positions or sizes do not fit."""
    for task in candidate.tasks:
        operation_named(task.operator)
    if candidate.layout is not None:
        for name in (candidate.layout, *candidate.evaluation.layouts):
            LAYOUTS.check(name)
    from curta.problems import tasks

    for task, share in zip(candidate.tasks, candidate.shares, strict=True):
        tasks.check(task)
        if candidate.training.order == "fixed" and tasks.trained_count(task) < share:
            raise UserError(f"training.order 'fixed': there are fewer problems than {share} a step")
    layout = None if candidate.layout is None else layout_named(candidate.layout)
    if layout is not None:
        _check_layout(candidate, layout)
    check_named(candidate, layout)
    operators = [task.operator for task in candidate.tasks]
    for field, sizes in (
        ("evaluation.digits", candidate.evaluation.digits),
        ("training.evaluate_digits", candidate.training.evaluate_digits),
    ):
        for operator in sizes if isinstance(sizes, dict) else ():
            if operator not in operators:
                with error_prefix(field):
                    raise unknown("operator of this recipe", operator, operators)


def _check_layout(candidate: Recipe, layout: "Layout") -> None:
    """Raise UserError if the layout cannot write the problems, or the model lacks positions."""
    from curta.problems import task_sizes

    if isinstance(candidate.positions, Window):
        raise UserError(f"positions 'window' needs a program; {layout.name!r} is a layout")
    for task in candidate.tasks:
        layout.accept(task.operator, task_sizes.widest(task))
    texts = [layout.bounds(task.operator, task_sizes.widest(task)) for task in candidate.tasks]
    for bounds in texts if not candidate.model.causal else ():
        _check_prompt(candidate, bounds)
    if not user.is_known(candidate.positions):
        return
    if candidate.training.loss == "numeric" and layout.digits != [*range(10)]:
        raise UserError(f"training.loss 'numeric' needs digits: layout {layout.name!r} has others")
    positions = encoding(candidate, layout)
    for bounds in texts:
        positions.check(bounds, training=True)
    for name in candidate.evaluation.layouts:
        layout.other(name)


def check_problems(
    candidate: Recipe, layout: "Layout | None", problems: Sequence[problem.Problem], title: str
) -> None:
    """Check problems for models of a recipe, which messages call `title`.

    Without a layout, the formats of the recipe's programs are what is checked. Raises UserError for
    the first problem whose operator, number of operands, base or length these models do not take.
    """
    tasks, limits, positions = candidate.tasks, dict[str, OperandLimits](), None
    if layout is not None:
        limits = {task.operator: layout.limits[task.operator] for task in tasks}
        # Windows have positions at any length; a user's encoding can be asked only with its code.
        is_window = isinstance(candidate.positions, Window)
        if not is_window and user.is_known(candidate.positions):
            positions = encoding(candidate, layout)
    else:
        # The limits of the programs; none if the code of one is not registered here.
        programs = [p for name in candidate.programs for p in registry.find_programs(name)]
        formats = {program.operator: program.format for program in programs}
        if all(task.operator in formats for task in tasks):
            for task in tasks:
                limits[task.operator] = formats[task.operator].limits
                if task.base != 10:
                    limits[task.operator] = limits[task.operator]._replace(base=task.base)
    for query in problems if limits else ():
        problem.check_limits(query, limits, title)
        if layout is None or positions is None:
            continue
        with error_prefix(quoted(str(query))):
            bounds = layout.bounds_of([query])
            positions.check(bounds)
            if not candidate.model.causal:
                _check_prompt(candidate, bounds)


def check_named(candidate: Recipe, layout: "Layout | None") -> None:
    """Check the problems that a recipe's evaluation names."""
    with error_prefix("evaluation.named"):
        problems = [problem.parse(text) for text in candidate.evaluation.named]
        check_problems(candidate, layout, problems, "this recipe")


def _check_prompt(candidate: Recipe, bounds: "ShapeBounds") -> None:
    """Raise UserError if a prompt is shorter than the answer that is written over it."""
    if bounds.completion > bounds.prompt:
        raise UserError(
            f"without model.causal an answer is written over its prompt, which is too"
            f" short in layout {candidate.layout!r}: {bounds.prompt} for {bounds.completion} tokens"
        )


def _with_files(fields: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return the fields with `change` applied to the name of each file, relative paths included."""

    def changed(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return list(map(changed, value))
        return change(value) if isinstance(value, str) and value.endswith(".py") else value

    result = {k: changed(value) if k == "program" else value for k, value in fields.items()}
    for section, field in (("positions", "name"), ("evaluation", "layouts")):
        table = fields.get(section)
        if isinstance(table, Mapping) and field in table:
            result[section] = {**table, field: changed(table[field])}
    return result
