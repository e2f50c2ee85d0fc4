"""Fields that only some recipes read, and are refused where nothing reads them.

A field that has its default says nothing, so it is never refused. Nor is a certificate's size:
`evaluation.certificate=0` leaves out what a published layout does not have anyway.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from curta.config.errors import UserError
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.problems.operations import operation_named


class Need(NamedTuple):
    """What a field is read with, in words, and whether a recipe has it."""

    words: str
    met: Callable[[Recipe], bool]
    whole: bool = False
    """Whether a field of a task is for all tasks together; else one that sets it has to read it."""


def _holds_out(recipe: Recipe) -> bool:
    return any(task.held_out for task in recipe.tasks)


def _is_finite(recipe: Recipe) -> bool:
    return any(task.held_out or (task.rows and not task.values) for task in recipe.tasks)


def _is_table(recipe: Recipe) -> bool:
    return any(task.values for task in recipe.tasks)


def _is_watched(recipe: Recipe) -> bool:
    return recipe.training.evaluate_every > 0


def _has_twins(recipe: Recipe) -> bool:
    return any(task.held_out and operation_named(task.operator).commutes for task in recipe.tasks)


def _has_second(recipe: Recipe) -> bool:
    return all(operation_named(t.operator).most != 1 for t in recipe.tasks if t.second)


_PROGRAM = Need("a program, not a layout", lambda r: r.layout is None)
LISTED = "a program under positions 'window', and evaluation.certificate"
_PAIRS = "an operator of two operands"

VECTORS = (
    "learned", "sinusoidal", "randomised", "coupled", "coupled-sinusoidal", "position-coupling"
)  # fmt: skip
"""Encodings that are added to the embeddings, if queries and keys are not made of them alone."""

NEEDS = {
    "task.base": Need("a program: layouts write base 10", _PROGRAM.met),
    "task.second": Need("an operator of several operands", _has_second, whole=True),
    "task.zero": Need(
        "a layout, and no task.values", lambda r: not r.programs and not _is_table(r)
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
    "task.twins_together": Need("task.held_out, and an operator that commutes", _has_twins),
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
    "training.evaluate_digits": Need("training.evaluate_every", _is_watched),
    "training.evaluate_count": Need("training.evaluate_every", _is_watched),
    "training.named_at_checkpoints": Need("evaluation.named", lambda r: bool(r.evaluation.named)),
    "training.stop_after": Need("training.stop_at", lambda r: r.training.stop_at is not None),
    "training.problems": _PROGRAM,
    "training.held_out_windows": Need(LISTED, lambda r: r.covers),
    "training.repair": Need(LISTED, lambda r: r.covers or not r.training.repair),
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
        "task.held_out, task.rows or a program", lambda r: bool(r.programs) or _is_finite(r)
    ),
    "evaluation.layouts": Need("task.held_out", _holds_out),
}
"""What fields need that not every recipe has."""

DATA_NEEDS = {path: need for path, need in NEEDS.items() if path.startswith("task.")}
"""The same for data sets, which have splits of their own."""

DATA_FIELDS = (
    "summary", "layout", "program", "task", "positions", "training.validation",
    "evaluation.digits", "evaluation.count", "evaluation.held_out", "evaluation.layouts",
    "evaluation.seed",
)  # fmt: skip
"""Fields and sections that say what a data set holds, or what is too long for its models."""


def of_data(path: str) -> bool:
    """Whether a field says something of a data set."""
    return any(path == known or path.startswith(f"{known}.") for known in DATA_FIELDS)


def check_data_field(path: str) -> None:
    """Raises UserError for a field that says nothing of a data set."""
    if not of_data(path):
        raise UserError(f"{path} says nothing of a data set: choose from {', '.join(DATA_FIELDS)}")


def unread(recipe: Recipe, needs: Mapping[str, Need] = NEEDS) -> dict[str, UserError]:
    """For each field that is set and has no effect in this recipe, what it would need."""
    found = {}
    for path, need in needs.items():
        values = _set(recipe, path)
        if values and not any(map(need.met, _asked(recipe, path, need))):
            found[path] = UserError(f"{path} {values[0]!r} has no effect: it needs {need.words}")
    return found


def _asked(recipe: Recipe, path: str, need: Need) -> list[Recipe]:
    """The recipe; for a field of tasks, with each task alone that sets it."""
    if need.whole or not path.startswith("task."):
        return [recipe]
    alone = [replace(recipe, task=(task,)) for task in recipe.tasks]
    return [one for one in alone if _set(one, path)]


def check_common(paths: Iterable[str], recipes: Sequence[Recipe]) -> None:
    """Raises UserError for a field set for several recipes of which none reads it."""
    for path in paths:
        if path in NEEDS and not any(map(NEEDS[path].met, recipes)):
            raise UserError(f"{path} has no effect on any of these: it needs {NEEDS[path].words}")


def without(fields: Mapping[str, Any], path: str) -> dict[str, Any]:
    """The fields of a recipe's file, one of them left to its default."""
    section, field = path.split(".")
    table = fields[section]
    tables = [
        {key: value for key, value in one.items() if key != field}
        for one in (table if isinstance(table, list | tuple) else [table])
    ]
    return dict(fields) | {section: tables if isinstance(table, list | tuple) else tables[0]}


def _set(recipe: Recipe, path: str) -> list[Any]:
    """The values of a field that are not its default; a task's field has one in each task."""
    section, field = path.split(".")
    parts = recipe.tasks if section == "task" else (getattr(recipe, section),)
    default = type(parts[0]).__dataclass_fields__[field].default
    return [value for value in (getattr(part, field) for part in parts) if value != default]
