"""Writing token by token: what the model finds most likely, one text as well as many."""

from curta.evaluation.generation import completions
from curta.layouts import layout_named
from tests import tiny

PROBLEMS = tiny.random_sums(5, 4, seed=1)


def test_a_problem_is_answered_alike_alone_and_among_others() -> None:
    layout = layout_named("coupled")
    model, bounds = tiny.drawn(tiny.dense(), layout), layout.bounds("+", (6, 6))
    together = completions(model, layout, PROBLEMS, bounds)
    assert together == [completions(model, layout, [p], bounds)[0] for p in PROBLEMS]


def test_a_completion_ends_with_its_first_end_or_fills_its_room() -> None:
    layout = layout_named("coupled")
    bounds, ended = layout.bounds("+", (6, 6)), set()
    for seed in range(6):
        for text in completions(tiny.drawn(tiny.dense(), layout, seed), layout, PROBLEMS, bounds):
            assert layout.end not in text[:-1]
            assert text[-1] == layout.end or len(text) == bounds.completion
            ended.add(text[-1] == layout.end)
    assert ended == {True, False}
