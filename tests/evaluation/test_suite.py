"""Exact match, by one pass or look-up, is what generation shows; longer sizes may be left out."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.errors import UserError
from curta.config.sections import EvaluationSettings
from curta.evaluation import generation, scoring, suite
from curta.evaluation.generation import completions
from curta.evaluation.results import Generated, SliceResult, WholeTable
from curta.evaluation.scoring import Models
from curta.layouts.texts import layout_of
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem
from curta.problems.tasks import problems
from curta.programs import PROGRAMS
from curta.programs.declared import Declared
from curta.programs.machine import Answer, Given, Paper, Sign, program
from curta.programs.machine.writing import Completions
from curta.programs.user import registry
from curta.training import trainer
from tests import paper, tiny

pytestmark = pytest.mark.usefixtures("brief")

PROBLEMS = [*tiny.random_sums(60, 3), *problems("+", "carry", (3, 3), 4, 0)]


@pytest.fixture(scope="module")
def dense() -> Models:
    """Two members that see all earlier tokens, and have learned short sums."""
    recipe = tiny.with_encoding("coupled", training__batch=32, task__digits=[1, 1])
    return paper.trained(recipe, 500)


def texts(models: Models, member: int, sums: list[Problem]) -> list[list[int]]:
    """Return what a member writes, token by token over whole texts."""
    bounds = models.layout.bounds_of(sums)
    return completions(models.member(member), models.layout, sums, bounds)


def generated(models: Models, sums: list[Problem]) -> np.ndarray:
    """Return whether each member really writes each sum."""
    answers = [
        [
            models.layout.answer(p, text)
            for p, text in zip(sums, texts(models, m, sums), strict=True)
        ]
        for m in range(2)
    ]
    return np.array(
        [[a == sum(p.operands) for a, p in zip(row, sums, strict=True)] for row in answers]
    )


@pytest.mark.parametrize("kind", ["learned", "dense"])
def test_exact_match_is_what_generation_shows_problem_by_problem(
    kind: str, request: pytest.FixtureRequest
) -> None:
    models = request.getfixturevalue(kind)
    match = scoring.exact_match(models, PROBLEMS)
    assert match.shape == (2, len(PROBLEMS))
    assert 0 < match.mean() < 1, "the models should be right at times and wrong at times"
    np.testing.assert_array_equal(match, generated(models, PROBLEMS))


def test_look_up_writes_and_scores_what_whole_texts_do(learned: Models) -> None:
    """The same models evaluated without windows: one masked pass, and decoding."""
    sums = PROBLEMS[:24]
    whole = replace(learned)
    whole.__dict__["memo"] = None
    bounds = learned.layout.bounds_of(sums)
    scores, expected = scoring.scores(learned, sums), scoring.scores(whole, sums, bounds)
    np.testing.assert_array_equal(scores.hits, expected.hits)
    np.testing.assert_array_equal(scores.tokens, expected.tokens)
    np.testing.assert_allclose(scores.losses, expected.losses, rtol=1e-4, atol=1e-4)
    for member in (0, 1):
        written = generation.generate(learned, [(member, p) for p in sums], None)
        for mine, other in zip(written, texts(learned, member, sums), strict=True):
            assert mine[: len(other)] == other  # decoding ends where its room does


def test_a_difference_between_look_up_and_writing_is_reported(
    learned: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = EvaluationSettings(digits=(1,), count=32, generated=32)
    assert suite.evaluate_size(learned, "+", 1, settings)[0].generated.agrees is True
    write = generation.complete

    def torn(*arguments: Any) -> Completions:
        tokens, counts = write(*arguments)
        tokens[np.arange(len(counts)), counts - 1] = 0
        return Completions(tokens, counts)

    monkeypatch.setattr(generation, "complete", torn)
    result = suite.evaluate_size(learned, "+", 1, settings)[0]
    assert any(share > 0 for share in result.exact_match)
    assert result.generated.agrees is False
    assert result.generated.exact_match == [0.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [("dense", "BUDGET", scoring.BUDGET >> 9), ("dense", "BLOCK", 5), ("learned", "TOGETHER", 100)],
)
def test_problems_in_several_pieces_are_scored_as_in_one(
    kind: str,
    name: str,
    value: int,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Several passes, the last not full; long completions in blocks; windows in parts."""
    models = request.getfixturevalue(kind)
    whole = scoring.scores(models, PROBLEMS[:21])
    scoring.compiled.cache_clear()
    monkeypatch.setattr(scoring, name, value)
    if name == "BUDGET":
        bounds = scoring.room_for(models, PROBLEMS[:21])
        assert bounds is not None
        assert scoring.batch_size(models.stacked, bounds, 21) < 16
    scores = scoring.scores(models, PROBLEMS[:21])
    scoring.compiled.cache_clear()
    np.testing.assert_array_equal(scores.hits, whole.hits)
    np.testing.assert_allclose(scores.losses, whole.losses, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("sample", [8, 1])
def test_every_member_that_is_wrong_has_one_such_problem(learned: Models, sample: int) -> None:
    settings = EvaluationSettings(digits=(3,), count=8, generated=sample)
    rows = suite.evaluate_size(learned, "+", 3, settings)
    for result in rows:
        wrong = [member for member, share in enumerate(result.exact_match) if share < 1]
        assert [error.member for error in result.errors] == wrong
        sums = {str(p): p for p in problems("+", result.slice_name, (3, 3), 8, settings.seed)}
        for error in result.errors:
            problem = sums[error.problem]
            (text,) = generation.generate(learned, [(error.member, problem)], None)
            tokens, prompt = learned.layout.tokens_of(problem)
            at, right = error.first_error.at, tokens[prompt:]
            assert text[:at] == right[:at]
            assert text[at] != right[at]
            rest = learned.layout.decode(text[error.first_error.start :])
            assert rest.startswith(error.first_error.written)
            assert error.truth == str(sum(problem.operands))
    assert any(result.errors for result in rows)


def test_a_grid_has_a_cell_for_each_member_and_pair_of_digit_counts(learned: Models) -> None:
    settings = EvaluationSettings(digits=(2,), grid=3, grid_count=6)
    rows = [suite.grid_row(learned, "+", settings, first) for first in (1, 2, 3)]
    cells = np.moveaxis(np.array(rows), 1, 0)
    assert cells.shape == (2, 3, 3)
    sums = problems("+", "random", (1, 2), 6, settings.seed)
    np.testing.assert_allclose(cells[:, 0, 1], generated(learned, sums).mean(1), atol=1e-6)


def test_shares_are_kept_to_six_digits_and_only_all_is_one() -> None:
    shares = scoring.rounded(np.array([0.0, 1e-9, 1 / 3, 2_999_999 / 3_000_000, 1.0]))
    assert shares == [0.0, 0.000001, 0.333333, 0.999999, 1.0]


def test_a_table_counts_what_the_examination_finds(learned: Models) -> None:
    limit, progress = 12, list[str]()
    table = suite.whole_table(learned, "+", limit, progress.append)
    every = [Problem("+", (a, b)) for a in range(limit + 1) for b in range(limit + 1)]
    right = scoring.exact_match(learned, every).sum(axis=1)
    assert 0 < right.sum() < 2 * len(every)
    assert table == WholeTable("+", limit, 169, right.tolist())
    assert progress[-1] == "all of +: 100%"


def test_pairs_are_all_problems_once_without_those_that_have_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also of a user's operation: 0/0 has no answer, 3/0 may have one."""
    refuse = lambda a, b: None if a or b else "one of them must be more than 0"
    both = replace(PROGRAMS["gcd"], name="both", operator="both", refuse=refuse)
    monkeypatch.setitem(OPERATIONS, "both", Declared.of(both))
    every = {(a, b) for a in range(11) for b in range(11)}
    expected = {
        "+": every, "%": {(a, b) for a, b in every if b}, "both": every - {(0, 0)},
    }  # fmt: skip
    for operator, problems_of in expected.items():
        pairs = suite.table_pairs(operator, 10)
        assert {tuple(pair) for pair in pairs.tolist()} == problems_of
        assert len(pairs) == len(problems_of)
        np.testing.assert_array_equal(pairs, suite.table_pairs(operator, 10))


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
def test_a_program_whose_answers_are_wrong_is_reported(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many problems: few are recorded, many are recalled by their windows."""
    monkeypatch.setitem(registry.REGISTERED, "forgetful", forgetful)
    recipe = tiny.recipe(program="forgetful", task__digits=[1, 3])
    layout = layout_of(recipe)
    stacked = trainer.init(recipe, layout, jnp.array([0])).model
    sums = [Problem("+", (99_901 + number, 99)) for number in range(count)]
    says = r"the program writes \d+ for \d+\+99, and the truth is \d+: `curta check` shows where"
    with pytest.raises(UserError, match=says):
        scoring.exact_match(Models(stacked, layout, 1, seeds=(0,)), sums)


# Longer sizes are left out once every member is wrong on shorter ones.


STOPS: dict[str, tuple[dict[str, Any], dict[str, Any], list[int | str]]] = {
    "after a size at which every seed is wrong": (
        {"digits": (1, 10)}, {"digits": (100, 20, 50, 10)}, [100],
    ),
    "unless all sizes are wanted": (
        {"digits": (1, 10)}, {"digits": (20, 50, 100), "all_sizes": True}, [],
    ),
    "never at sizes of training": ({"digits": (1, 100)}, {"digits": (50, 100)}, []),
    "not for a size that is shorter than any of training": (
        {"digits": (60, 70)}, {"digits": (50, 100)}, [],
    ),
    "not where one operand is shorter": (
        {"digits": (1, 10)}, {"digits": ("50/20", "20/50", "60/20")}, ["60/20"],
    ),
}  # fmt: skip
"""A task, settings of the evaluation, and the sizes that are left out."""


def row(
    operator: str = "+",
    size: str = "20",
    slice_name: str = "random",
    count: int = 200,
    shares: Sequence[float] = (1.0,),
) -> SliceResult:
    """Exact match of each member; all else is as if all were right."""
    return SliceResult(
        operator=operator,
        size=size,
        digits=int(size.split("/")[0].split("x")[-1]),
        slice_name=slice_name,
        count=count,
        exact_match=list(shares),
        token_accuracy=[1.0] * len(shares),
        perplexity=[1.0] * len(shares),
        generated=Generated(8, list(shares), agrees=True, tokens_per_second=1000),
        errors=[],
    )


@pytest.mark.parametrize("name", STOPS)
def test_the_evaluation_stops(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = {"10": (0.5, 1.0), "20": (0.0, 0.1)}
    monkeypatch.setattr(
        suite,
        "evaluate_size",
        lambda models, operator, size, settings: [
            row(operator, str(size), "random", shares=(0.0, 0.0)),
            row(operator, str(size), "carry", shares=right.get(str(size), (0.0, 0.0))),
        ],
    )
    monkeypatch.setattr(suite, "generate_examples", lambda *given: [])
    task, settings, left_out = STOPS[name]
    recipe = tiny.dense(layout="plain", task=[{"operator": "+", **task}])
    stacked = jax.tree.map(lambda leaf: leaf[None], tiny.drawn(recipe, layout_of(recipe)))
    models = Models(stacked, layout_of(recipe), 1)
    said = list[str]()
    found = suite.evaluate(recipe, models, EvaluationSettings(**settings), said.append)
    assert [one.size for one in found.unevaluated] == [str(size) for size in left_out]
    assert said == list(dict.fromkeys(f"+ at {one.size} digits" for one in found.lengths))
    assert len(said) + len(left_out) == len(settings["digits"])
    for one in found.unevaluated:
        assert one.reason == "every seed is wrong on every problem at 50 digits" or "/" in one.size
