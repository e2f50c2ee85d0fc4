"""Every problem of a table: counted, each once, as the ordinary examination has it."""

from dataclasses import replace

import numpy as np
import pytest

from curta.evaluation import exact_match, scoring
from curta.evaluation.results import WholeTable
from curta.evaluation.scoring import Models
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem
from curta.programs import PROGRAMS
from curta.programs.declared import Declared
from tests import paper, tiny


@pytest.fixture(scope="module")
def models() -> Models:
    """Two members under a window that are sometimes right."""
    return paper.trained(tiny.recipe(training__problems=60), 60)


def test_a_table_counts_what_the_examination_finds(models: Models) -> None:
    limit, shown = 12, list[float]()
    table = exact_match.whole_table(models, "+", limit, shown.append)
    every = [Problem("+", (a, b)) for a in range(limit + 1) for b in range(limit + 1)]
    right = sum(scoring.exact_match(models, [problem])[:, 0].astype(int) for problem in every)
    assert 0 < right.sum() < 2 * len(every)
    assert table == WholeTable("+", limit, 169, right.tolist())
    assert shown[-1] == 1.0


@pytest.mark.parametrize(("operator", "count"), [("+", 121), ("//", 110), ("%", 110)])
def test_pairs_are_all_problems_once_without_those_that_have_no_answer(
    operator: str, count: int
) -> None:
    pairs = exact_match.table_pairs(operator, 10)
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs) == count
    assert (pairs.min(), pairs.max()) == (0, 10)
    assert operator == "+" or pairs[:, 1].min() == 1
    np.testing.assert_array_equal(pairs, exact_match.table_pairs(operator, 10))


def test_pairs_leave_out_what_an_operation_of_the_users_refuses_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """0/0 has no answer, 3/0 may have one."""
    refuse = lambda a, b: None if a or b else "one of them must be more than 0"
    both = replace(PROGRAMS["gcd"], name="both", operator="both", refuse=refuse)
    monkeypatch.setitem(OPERATIONS, "both", Declared.of(both))
    pairs = {tuple(pair) for pair in exact_match.table_pairs("both", 9).tolist()}
    assert pairs == {(a, b) for a in range(10) for b in range(10)} - {(0, 0)}
