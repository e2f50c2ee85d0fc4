"""What no part of a recipe reads is refused where it is asked for, and left out where it was."""

from typing import Any

import pytest

from curta.config.errors import UserError
from curta.config.recipe import shipped_names
from curta.config.sections import Training
from curta.model import recipes
from curta.model.unread import NEEDS, unread
from curta.runs.comparison_spec import plan

PLAIN, WINDOW, RANGE = "addition-plain", "addition", "sources/range-window"

UNREAD = [
    (PLAIN, "task.base", 16, "it needs a program"),
    (WINDOW, "task.special_until", 9, "it needs problems drawn anew in every step"),
    (RANGE, "task.smallest_of", 4, "it needs a layout, and training.order 'drawn'"),
    (WINDOW, "task.zero", False, "it needs a layout, and no task.values"),
    (WINDOW, "task.weight", 2.0, "it needs a second task"),
    ("isqrt", "task.second", [1, 2], "it needs an operator of several operands"),
    (WINDOW, "task.rows", 8, "it needs task.values, or a layout"),
    (WINDOW, "task.split", 1, "it needs task.values or task.rows"),
    (WINDOW, "task.twins_together", False, "it needs task.held_out, and an operator that commutes"),
    (PLAIN, "model.compositional_embeddings", True, "it needs a program, not a layout"),
    (WINDOW, "model.qk_input", "positions", "it needs positions that are vectors: learned,"),
    (PLAIN, "model.init_std", 0.1, "it needs model.init 'normal'"),
    ("adderboard", "model.norm_epsilon", 0.1, "it needs a model.norm"),
    (PLAIN, "model.input_injection", "recurrence", "it needs model.num_recurrences of at least 2"),
    (PLAIN, "model.dropout_sites", ["mlp"], "it needs model.dropout"),
    (PLAIN, "model.tied_scale", False, "it needs model.tie_embeddings"),
    ("sources/digit-encoder", "optimizer.final", 0.5, "it needs optimizer.schedule 'cosine' or"),
    (WINDOW, "training.loss", "all", "it needs other positions than 'window'"),
    (WINDOW, "training.validation", 8, "it needs training.validate_every"),
    (WINDOW, "training.fresh_validation", True, "it needs training.validate_every, and task.held"),
    (PLAIN, "training.held_out_windows", 0.5, "it needs a program under"),
    (PLAIN, "training.repair", 3, "it needs a program under"),
    (WINDOW, "training.evaluate_digits", [8], "it needs training.evaluate_every"),
    (WINDOW, "training.evaluate_count", 8, "it needs training.evaluate_every"),
    (WINDOW, "training.named_at_checkpoints", True, "it needs evaluation.named"),
    (WINDOW, "training.stop_after", 8, "it needs training.stop_at"),
    (PLAIN, "training.problems", 8, "it needs a program, not a layout"),
    (PLAIN, "training.order", "epochs", "it needs a layout, and task.values or task.rows"),
    (PLAIN, "training.sampling", "frequency", "it needs positions 'window'"),
    (PLAIN, "training.progressive_alpha", 0.5, "it needs training.recurrence_loss 'progressive'"),
    ("isqrt", "evaluation.grid", 8, "it needs an operator of two operands"),
    ("isqrt", "evaluation.grid_count", 8, "it needs evaluation.grid"),
    ("isqrt", "evaluation.table", 8, "it needs an operator of two operands"),
    (PLAIN, "evaluation.held_out", 8, "it needs task.held_out, task.rows or a program"),
    (WINDOW, "evaluation.layouts", ["carried"], "it needs task.held_out"),
]


@pytest.mark.parametrize(("name", "path", "value", "says"), UNREAD)
def test_what_has_no_effect_is_refused(name: str, path: str, value: Any, says: str) -> None:
    with pytest.raises(UserError, match=rf"recipe '{name}': {path} .* has no effect: {says}"):
        recipes.resolve(name, {path: value}, f"recipe {name!r}")


def test_every_need_is_here() -> None:
    assert {path for _, path, _, _ in UNREAD} | {"model.dropout"} == set(NEEDS)


TABLE = {"special": 0.0, "values": [0, 9], "held_out": 10}


@pytest.mark.parametrize(
    ("tasks", "path"),
    [
        ([{"operator": "+", "special_until": 500}, {"operator": "-", "rows": 100}], None),
        ([{"operator": "+", "rows": 9}, {"operator": "-", "special_until": 5}], None),
        ([TABLE, {"operator": "-", "split": 9}], "task.split"),
        ([TABLE, {"operator": "-", "twins_together": False}], "task.twins_together"),
        ([TABLE | {"operator": "//"}, {"rows": 9, "split": 9}], None),
    ],
)
def test_a_field_of_a_task_is_read_by_one_that_sets_it(tasks: Any, path: str | None) -> None:
    fields = {"layout": "plain", "positions": {"name": "rope"}, "task": tasks}
    assert [*unread(recipes.parse_fields(fields, "mine"))] == ([path] if path else [])


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_recipes_have_nothing_without_effect(name: str) -> None:
    recipes.resolve(name, {}, name)


def test_what_entries_of_a_comparison_have_in_common_is_read_by_one_of_them() -> None:
    common = {"training.problems": 8}
    program, layout = plan([WINDOW, PLAIN], common).rows
    assert program.recipe.training.problems == 8
    assert layout.recipe.training.problems == Training().problems
    with pytest.raises(UserError, match=r"training\.problems has no effect on any of these"):
        plan([PLAIN, f"two: {PLAIN}"], common)


@pytest.mark.parametrize(
    "fields",
    [
        {"program": ["addition", "/tmp/code.py"]},
        {"program": "addition", "positions": {"name": "code.py"}},
        {"program": "addition", "evaluation": {"layouts": ["code.py"]}},
    ],
    ids=str,
)
def test_a_recipe_of_a_run_that_names_a_file_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=r"the recipe names the file '.*code\.py'"):
        recipes.check_kept(fields, "the recipe")
    recipes.check_kept({"program": "code.py@0123456789ab", "positions": 5}, "the recipe")
