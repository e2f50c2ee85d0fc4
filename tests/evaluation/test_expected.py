"""What an evaluation is expected to take, and how far it is."""

import time

import pytest

from curta.evaluation import expected
from curta.evaluation.expected import Pace
from curta.evaluation.expected import PartEstimate as Estimate
from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.model import recipes
from tests import tiny

pytestmark = pytest.mark.usefixtures("brief", "runs_folder")

ROPE = {"positions.name": "rope"}


def parts(overrides: dict[str, object], members: int = 1, name: str = "addition") -> list[Estimate]:
    recipe = recipes.resolve(name, overrides, "a test")
    return expected.parts(recipe, layout_of(recipe), recipe.evaluation, members)


def test_a_dense_model_takes_the_longer_the_more_it_sees() -> None:
    whole, window = parts(ROPE), parts({})
    assert [part.name for part in whole] == [
        *(f"+ at {n} digits" for n in (10, 20, 100, 500, 1000)), "+, trained on and held out",
    ]  # fmt: skip
    own = [part.seconds for part in whole]
    assert own[4] > 3 * own[3]
    assert window[4].seconds < 30
    assert parts(ROPE, members=4)[4].seconds == pytest.approx(4 * own[4])


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


def test_sizes_that_may_be_left_out_count_apart() -> None:
    """Those of training are always evaluated, and the first one; of the others nobody knows yet."""
    certain = [
        part.name for part in parts(ROPE | {"evaluation.digits": [2, 10, 20, 500]}) if part.certain
    ]
    assert certain == ["+ at 2 digits", "+ at 10 digits", "+, trained on and held out"]
    assert all(part.certain for part in parts(ROPE | {"evaluation.all_sizes": True}))
    pace = Pace(
        [
            Estimate("a", 1.0),
            Estimate("b", 3.0, 0.0, False),
            Estimate("c", 600.0, 0.0, False),
        ],
        lambda: 0.0,
    )
    assert pace.at("a") == "1 of 3, about 1 s to 10 min left"
    assert pace.at("b") == "2 of 3, about 2 s to 8 min left"


def test_a_short_first_part_that_is_compiled_for_does_not_make_the_others_long() -> None:
    now, compiled = [0.0], [0.0]
    pace = Pace([Estimate("a", 0.01, 4.0), Estimate("b", 5.0)], lambda: now[0], lambda: compiled[0])
    pace.at("a")
    now[0], compiled[0] = 5.0, 4.5
    assert pace.at("b").startswith("2 of 2, about 5 s left")


def test_sizes_that_would_take_minutes_are_left_out_of_another_models_evaluation() -> None:
    with pytest.warns(UserWarning, match=r"\+ at 1000 digits \(about .*evaluation.digits"):
        run = api.begin("addition", 8, "rope", ROPE, evaluate=True)
    assert 1000 not in run.recipe.evaluation.sizes("+")
    assert run.recipe.evaluation.sizes("+")[0] == 10
    asked = ROPE | {"evaluation.digits": [20, 1000]}
    run = api.begin("addition", 8, "asked", asked, evaluate=True)
    assert run.recipe.evaluation.sizes("+") == (20, 1000)


def test_the_recipes_own_model_keeps_its_sizes() -> None:
    run = api.begin("addition", 1, "own", {}, evaluate=True)
    assert run.recipe.evaluation.sizes("+") == (10, 20, 100, 500, 1000)


@pytest.mark.slow
def test_a_comparison_knows_what_is_left() -> None:
    begun = api.begin_comparison(["addition", "subtraction"], tiny.overrides(), 1, "both")
    assert list(begun.pace().parts) == ["addition", "subtraction"]
    begun.run_comparison()
    assert begun.pace().parts == {}


def test_off_a_terminal_a_line_is_printed_at_times(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from curta.frontends.cli.display import Status

    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with Status() as status:
        for now[0], what in ((1.0, "a"), (12.0, "b"), (13.0, "c"), (30.0, "d")):
            status.say(what)
    assert capsys.readouterr().err == "evaluating b ...\nevaluating d ...\n"
