"""Fields that have an effect in some recipes only, and are refused elsewhere.

A field with its default value is never refused. Nor is `evaluation.certificate=0`, which leaves out
what a published layout does not have anyway.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from curta.config.errors import UserError
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.problems.operations import operation_named


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
        "problems drawn anew in every step: a layout, no program, and no task.rows",
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
