"""Recipes side by side: the fields in which they differ, and only those."""

from curta.report.comparison import recipe_fields

RECIPE = """
summary = "One"
layout = "coupled"

[[task]]
operator = "+"
digits = [1, 10]

[[task]]
operator = "//"
digits = [1, 6]

[model]
width = 32
"""


def test_fields_are_named_by_their_paths_and_tasks_by_their_operators() -> None:
    assert recipe_fields(RECIPE) == {
        "summary": "One",
        "layout": "coupled",
        "task +.operator": "+",
        "task +.digits": [1, 10],
        "task //.operator": "//",
        "task //.digits": [1, 6],
        "model.width": 32,
    }
