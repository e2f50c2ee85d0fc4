"""What an evaluation is expected to take, and how far it is."""

import pytest

from curta.evaluation import expected
from curta.evaluation.expected import Pace
from curta.evaluation.expected import PartEstimate as Estimate
from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.model import recipes

pytestmark = pytest.mark.usefixtures("brief", "runs_folder")

ROPE = {"positions.name": "rope"}


def parts(overrides: dict[str, object], members: int = 1, name: str = "addition") -> list[Estimate]:
    recipe = recipes.resolve(name, overrides, "a test")
    return expected.parts(recipe, layout_of(recipe), recipe.evaluation, members)


@pytest.mark.parametrize("name", ["sources/range", "sums", "base-16", "fractions"])
def test_no_recipe_is_expected_to_take_hours(name: str) -> None:
    assert all(0 < part.seconds < 3600 for part in parts({}, name=name))


def test_what_is_left_is_measured_by_what_is_done() -> None:
    now, compiled = [0.0], [0.0]
    every = [Estimate("a", 10.0, 4.0), Estimate("b", 10.0), Estimate("c", 20.0)]
    pace = Pace(every, lambda: now[0], lambda: compiled[0])
    assert pace.at("a") == "1 of 3, about 44 s left"
    now[0], compiled[0] = 32.0, 7.0  # 25 s for what was thought to take 10, beside the compiling
    assert pace.at("b") == "2 of 3, about 60 s left, compiled for 7 s so far"
    now[0], compiled[0] = 62.0, 7.0
    said: list[str] = []
    say = pace.added(said.append)
    say("something else")
    say("c: 10%")
    now[0] = 92.0
    say("c: 50%")
    assert said == [
        "something else",
        "c: 10% (3 of 3, about 48 s left, compiled for 7 s so far)",
        "c: 50% (3 of 3, about 18 s left, compiled for 7 s so far)",
    ]


def test_sizes_that_would_take_minutes_are_left_out_of_another_models_evaluation() -> None:
    with pytest.warns(UserWarning, match=r"\+ at 1000 digits \(about .*evaluation.digits"):
        run = api.begin("addition", 8, "rope", ROPE, evaluate=True)
    assert 1000 not in run.recipe.evaluation.sizes("+")
    assert run.recipe.evaluation.sizes("+")[0] == 10
    asked = ROPE | {"evaluation.digits": [20, 1000]}
    run = api.begin("addition", 8, "asked", asked, evaluate=True)
    assert run.recipe.evaluation.sizes("+") == (20, 1000)
