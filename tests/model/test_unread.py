"""What no part of a recipe reads is refused where it is asked for, and left out where it was."""

import re
from pathlib import Path
from typing import Any

import pytest

from curta.config.errors import UserError
from curta.config.sections import Training
from curta.model import recipes
from curta.model.recipes import NEEDS, unread
from curta.runs.comparison_spec import plan

PLAIN, WINDOW = "addition-plain", "addition"


def test_every_need_is_refused_on_the_command_line() -> None:
    """`tests/snapshots/errors.txt` has a line for each field that may have no effect."""
    errors = (Path(__file__).parents[1] / "snapshots" / "errors.txt").read_text("utf-8")
    refused = re.findall(r"': ([\w.]+) .* has no effect: it needs ", errors)
    assert {*refused, "model.dropout"} == set(NEEDS)


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
