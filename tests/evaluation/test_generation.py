"""Writing token by token: what the model finds most likely, one text as well as many."""

import numpy as np
import pytest
from jaxtyping import Array

from curta.evaluation import generation
from curta.evaluation.generation import bucket, completions
from curta.layouts import layout_named
from curta.model.transformer import Transformer
from curta.problems.problem import Problem, widths
from tests import tiny

PROBLEMS = tiny.random_sums(5, 4, seed=1)


def test_a_problem_is_answered_alike_alone_and_among_others() -> None:
    layout = layout_named("coupled")
    model, bounds = tiny.drawn(tiny.dense(), layout), layout.bounds("+", (6, 6))
    together = completions(model, layout, PROBLEMS, bounds)
    assert together == [completions(model, layout, [p], bounds)[0] for p in PROBLEMS]


def test_rows_that_fill_a_batch_up_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """All have a problem's own prompt, so that none writes on when all problems are done."""
    layout, given = layout_named("coupled"), list[Array]()

    def complete(model: Transformer, tokens: Array, lengths: Array, **_: object) -> Array:
        given.extend((tokens, lengths))
        return np.full((len(tokens), 3), layout.end)

    monkeypatch.setattr(generation, "complete", complete)
    model = tiny.drawn(tiny.dense(), layout)
    assert len(completions(model, layout, PROBLEMS, layout.bounds("+", (6, 6)))) == 5
    tokens, lengths = map(np.asarray, given)
    assert len(tokens) == 8
    for row in (5, 6, 7):
        assert (tokens[row] == tokens[4]).all()
        assert lengths[row] == lengths[4]


def test_a_completion_ends_with_its_first_end_or_fills_its_room() -> None:
    layout = layout_named("coupled")
    bounds, ended = layout.bounds("+", (6, 6)), set()
    for seed in range(6):
        for text in completions(tiny.drawn(tiny.dense(), layout, seed), layout, PROBLEMS, bounds):
            assert layout.end not in text[:-1]
            assert text[-1] == layout.end or len(text) == bounds.completion
            ended.add(text[-1] == layout.end)
    assert ended == {True, False}


def test_digit_counts_are_rounded_up_to_few_sizes() -> None:
    sizes = [bucket(digits) for digits in range(1, 10_001)]
    assert all(size >= digits for digits, size in enumerate(sizes, start=1))
    assert sizes == sorted(sizes)
    assert len(set(sizes)) <= 6


def test_widths_are_digit_counts() -> None:
    assert widths(Problem("+", (0, 12345))) == (1, 5)
    assert widths(Problem("+", (10**5000, 10**5000 - 1))) == (5001, 5000)
