"""What an evaluation is expected to take, and how far it is."""

import pytest

from curta.evaluation import suite
from curta.evaluation.suite import Pace
from curta.evaluation.suite import PartEstimate as Estimate
from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.model import recipes

pytestmark = pytest.mark.usefixtures("brief", "runs_folder")

ROPE = {"positions.name": "rope"}


def parts(overrides: dict[str, object], members: int = 1, name: str = "addition") -> list[Estimate]:
    recipe = recipes.resolve(name, overrides, "a test")
    return suite.part_estimates(recipe, layout_of(recipe), recipe.evaluation, members)


@pytest.mark.parametrize("name", ["sources/range", "sums", "base-16", "fractions"])
def test_no_recipe_is_expected_to_take_hours(name: str) -> None:
    assert all(0 < part.seconds < 3600 for part in parts({}, name=name))


def test_the_time_left_is_corrected_by_the_parts_that_are_finished() -> None:
    now = [0.0]
    pace = Pace([Estimate("a", 10.0), Estimate("b", 15.0), Estimate("c", 20.0)], lambda: now[0])
    lines: list[str] = []
    say = pace.added(lines.append)
    for now[0], text in ((0.0, "a"), (25.0, "b"), (45.0, "c: 10%"), (50.0, "other")):
        say(text)  # b begins after 25 s instead of 10: at twice the estimate
    now[0] = 60.0
    say("c: 50%")
    assert lines == [
        "a (1 of 3, about 45 s left)",
        "b (2 of 3, about 70 s left)",
        "c: 10% (3 of 3, about 33 s left)",
        "other",
        "c: 50% (3 of 3, about 18 s left)",
    ]


def test_sizes_that_would_take_minutes_are_left_out_of_another_models_evaluation() -> None:
    with pytest.warns(UserWarning, match=r"\+ at 1000 digits \(about .*evaluation.digits"):
        run = api.begin("addition", 8, "rope", ROPE, evaluate=True)
    assert 1000 not in run.recipe.evaluation.sizes("+")
    assert run.recipe.evaluation.sizes("+")[0] == 10
    asked = ROPE | {"evaluation.digits": [20, 1000]}
    run = api.begin("addition", 8, "asked", asked, evaluate=True)
    assert run.recipe.evaluation.sizes("+") == (20, 1000)
