"""Exact match: one teacher-forced pass, or look-up, says what generation would show."""

from dataclasses import replace
from itertools import zip_longest
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.errors import UserError
from curta.config.sections import EvaluationSettings
from curta.evaluation import exact_match, scoring, writing
from curta.evaluation.generation import completions
from curta.evaluation.scoring import Models
from curta.layouts.texts import layout_of
from curta.problems.problem import Problem
from curta.problems.tasks import problems
from curta.programs.machine import Answer, Given, Paper, Sign, program
from curta.programs.machine.writing import Completions
from curta.programs.user import registry
from curta.training import trainer
from tests import paper, tiny

pytestmark = pytest.mark.usefixtures("brief")

PROBLEMS = [*tiny.random_sums(60, 3), *problems("+", "carry", (3, 3), 4, 0)]


@pytest.fixture(scope="module")
def windowed() -> Models:
    """Two members under a window that have learned some sums, by look-up."""
    return paper.trained(tiny.recipe(training__problems=60), 60)


@pytest.fixture(scope="module")
def dense() -> Models:
    """Two members that see all earlier tokens, and have learned short sums."""
    recipe = tiny.with_encoding("coupled", training__batch=32, task__digits=[1, 1])
    return paper.trained(recipe, 500)


def texts(models: Models, member: int, asked: list[Problem]) -> list[list[int]]:
    """What a member writes, token by token over whole texts."""
    bounds = models.layout.bounds_of(asked)
    return completions(models.member(member), models.layout, asked, bounds)


def generated(models: Models, asked: list[Problem]) -> np.ndarray:
    """Whether each member really writes each sum."""
    return np.array(
        [
            [
                models.layout.answer(problem, text) == sum(problem.operands)
                for text, problem in zip(texts(models, member, asked), asked, strict=True)
            ]
            for member in range(2)
        ]
    )


@pytest.mark.parametrize("kind", ["windowed", "dense"])
def test_exact_match_is_what_generation_shows_problem_by_problem(
    kind: str, request: pytest.FixtureRequest
) -> None:
    models = request.getfixturevalue(kind)
    found = scoring.exact_match(models, PROBLEMS)
    assert found.shape == (2, len(PROBLEMS))
    assert 0 < found.mean() < 1, "the models should be right at times and wrong at times"
    np.testing.assert_array_equal(found, generated(models, PROBLEMS))


def test_look_up_writes_and_scores_what_whole_texts_do(windowed: Models) -> None:
    """The same models asked without windows: scores by one masked pass, tokens by decoding."""
    asked = PROBLEMS[:24]
    whole = replace(windowed)
    whole.__dict__["memo"] = None
    bounds = windowed.layout.bounds_of(asked)
    found, expected = scoring.scores(windowed, asked), scoring.scores(whole, asked, bounds)
    np.testing.assert_array_equal(found.hits, expected.hits)
    np.testing.assert_array_equal(found.tokens, expected.tokens)
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-4, atol=1e-4)
    for member in (0, 1):
        written = writing.generate(windowed, member, asked, None)
        for mine, other in zip(written, texts(windowed, member, asked), strict=True):
            assert mine[: len(other)] == other  # decoding ends where its room does


def test_a_difference_between_look_up_and_writing_is_reported(
    windowed: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = EvaluationSettings(digits=(1,), count=32, generated=32)
    assert exact_match.lengths(windowed, "+", 1, settings)[0].generated.agrees is True
    write = writing.complete

    def torn(*of: Any) -> Completions:
        tokens, counts = write(*of)
        tokens[np.arange(len(counts)), counts - 1] = 0
        return Completions(tokens, counts)

    monkeypatch.setattr(writing, "complete", torn)
    row = exact_match.lengths(windowed, "+", 1, settings)[0]
    assert any(share > 0 for share in row.exact_match)
    assert row.generated.agrees is False
    assert row.generated.exact_match == [0.0, 0.0]


def test_members_are_in_order(windowed: Models) -> None:
    found = scoring.exact_match(windowed, PROBLEMS)
    turned = jax.tree.map(lambda leaf: leaf[::-1], windowed.stacked)
    swapped = scoring.exact_match(replace(windowed, stacked=turned), PROBLEMS)
    assert (found[0] != found[1]).any()
    np.testing.assert_array_equal(swapped, found[::-1])


def test_problems_in_several_passes_are_scored_as_in_one(
    dense: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the last pass is not full."""
    whole = scoring.exact_match(dense, PROBLEMS[:21])
    monkeypatch.setattr(scoring, "BUDGET", scoring.BUDGET >> 9)
    bounds = scoring.room_for(dense, PROBLEMS[:21])
    assert bounds is not None
    assert scoring.batch_size(dense.stacked, bounds, 21) < 16
    np.testing.assert_array_equal(scoring.exact_match(dense, PROBLEMS[:21]), whole)


def test_problems_looked_up_in_parts_are_scored_as_in_one(
    windowed: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scoring.scores(windowed, PROBLEMS)
    monkeypatch.setattr(scoring, "TOGETHER", 100)
    for one, other in zip(scoring.scores(windowed, PROBLEMS), whole, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("generated", [8, 1])
def test_every_member_that_is_wrong_has_one_such_problem(windowed: Models, generated: int) -> None:
    settings = EvaluationSettings(digits=(3,), count=8, generated=generated)
    rows = exact_match.lengths(windowed, "+", 3, settings)
    for row in rows:
        wrong = [member for member, share in enumerate(row.exact_match) if share < 1]
        assert [error.member for error in row.errors] == wrong
        asked = {str(p): p for p in problems("+", row.slice_name, (3, 3), 8, settings.seed)}
        for error in row.errors:
            problem = asked[error.problem]
            (text,) = writing.generate(windowed, error.member, [problem], None)
            tokens, prompt = windowed.layout.tokens_of(problem)
            at, right = error.first_error.at, tokens[prompt:]
            assert text[:at] == right[:at]
            assert text[at] != right[at]
            shown = windowed.layout.decode(text[error.first_error.start :])
            assert shown.startswith(error.first_error.written)
    assert any(row.errors for row in rows)


def test_a_grid_has_a_cell_for_each_member_and_pair_of_digit_counts(windowed: Models) -> None:
    settings = EvaluationSettings(digits=(2,), grid=3, grid_count=6)
    rows = [exact_match.grid_row(windowed, "+", settings, first) for first in (1, 2, 3)]
    table = exact_match.grid("+", settings, rows)
    cells = np.array(table.exact_match)
    assert (table.max_digits, table.digits, table.count) == (3, [1, 2, 3], 6)
    assert cells.shape == (2, 3, 3)
    asked = problems("+", "random", (1, 2), 6, settings.seed)
    np.testing.assert_allclose(cells[:, 0, 1], generated(windowed, asked).mean(1), atol=1e-6)


def test_shares_are_kept_to_six_digits_and_only_all_is_one() -> None:
    found = scoring.rounded(np.array([0.0, 1e-9, 1 / 3, 2_999_999 / 3_000_000, 1.0]))
    assert found == [0.0, 0.000001, 0.333333, 0.999999, 1.0]


def test_examples_show_what_each_member_answers(windowed: Models) -> None:
    rows = exact_match.examples(windowed, "+", 2, EvaluationSettings())
    assert [row.member for row in rows] == [0] * (len(rows) // 2) + [1] * (len(rows) // 2)
    for row in rows:
        first, second = row.problem.split("+")
        assert row.truth == str(int(first) + int(second))
        assert row.answer is None or row.answer.isdecimal()


def test_a_long_completion_is_scored_in_blocks_as_in_one_piece(
    dense: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scoring.exact_match(dense, PROBLEMS)
    scoring.compiled.cache_clear()
    monkeypatch.setattr(scoring, "BLOCK", 5)
    np.testing.assert_array_equal(scoring.exact_match(dense, PROBLEMS), whole)
    scoring.compiled.cache_clear()


@program(
    "forgetful",
    operator="+",
    axes=("place",),
    answer=Answer("sum"),
    sizes=(1, 3),
    prompt=(Given("a", "place"), Sign("+"), Given("b", "place"), Sign("=")),
)
def forgetful(paper: Paper, a: list[int], b: list[int]) -> None:
    """A sum that loses its last carry beyond the sizes on which programs are checked."""
    carry = 0
    for one, other in zip_longest(a, b, fillvalue=0):
        carry, digit = divmod(one + other + carry, 10)
        paper.move(place=+1).write("sum", digit)
    if carry and len(a) <= 3:
        paper.move(place=+1).write("sum", carry)
    paper.end()


@pytest.mark.parametrize("count", [1, 100])
def test_a_program_whose_answers_are_wrong_is_told(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many are asked: few are recorded, many are recalled by their windows."""
    monkeypatch.setitem(registry.REGISTERED, "forgetful", forgetful)
    recipe = tiny.recipe(program="forgetful", task__digits=[1, 3])
    layout = layout_of(recipe)
    stacked = trainer.init(recipe, layout, jnp.array([0])).model
    asked = [Problem("+", (99_901 + number, 99)) for number in range(count)]
    says = r"the program writes \d+ for \d+\+99, and the truth is \d+: `curta check` shows where"
    with pytest.raises(UserError, match=says):
        scoring.exact_match(Models(stacked, layout, 1, seeds=(0,)), asked)
