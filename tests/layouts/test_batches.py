"""Batches: what is asked of which token, text by text."""

from itertools import pairwise

import numpy as np

from curta.layouts import layout_named
from curta.layouts.base import Batch, completion_batch, scored_batch
from curta.problems.problem import Problem, parse
from tests import tiny

LAYOUT = layout_named("coupled")
ROOM = tiny.bounds(LAYOUT, 4)


def rows(problems: list[Problem]) -> Batch:
    text = tiny.text(LAYOUT, problems, ROOM.total)
    return completion_batch(text, LAYOUT.where(text), ROOM)


def asked(batch: Batch) -> list[tuple[int, str, str]]:
    """Text, token and goal of everything that is scored, in order."""
    texts, spots = np.nonzero(np.asarray(batch.scored))
    queries, tokens = np.asarray(batch.queries)[texts, spots], np.asarray(batch.tokens)
    return [
        (int(text), LAYOUT.characters[tokens[text, query]], LAYOUT.characters[goal])
        for text, query, goal in zip(
            texts, queries, np.asarray(batch.goals)[texts, spots], strict=True
        )
    ]


def test_what_is_asked_by_example() -> None:
    """21+3=51$ and 9+9=81$: of each completion's tokens the one before is asked."""
    expected = [(t, a, b) for t, line in enumerate(("=51$", "=81$")) for a, b in pairwise(line)]
    problems = [Problem("+", (12, 3)), Problem("+", (9, 9))]
    assert asked(rows(problems)) == expected


def test_of_a_whole_text_every_token_is_scored_but_only_the_completion_judged() -> None:
    line = "21+3=51$"
    text = tiny.text(LAYOUT, [Problem("+", (12, 3))], ROOM.total)
    batch = scored_batch("all", text, LAYOUT.where(text), ROOM)
    assert asked(batch) == [(0, a, b) for a, b in pairwise(line)]
    assert asked(batch._replace(scored=batch.judged)) == [(0, *pair) for pair in pairwise("=51$")]


def test_padding_is_scored_to_the_end_of_thirteen_characters_and_never_judged() -> None:
    layout = layout_named("filled")
    problems = [Problem("+", (1, 9)), Problem("+", (99, 99))]
    bounds = tiny.bounds(layout, 2)
    text = layout.tokens("+", tiny.numbers(problems, 2), bounds)
    batch = scored_batch("padded", text, layout.where(text), bounds)
    assert [layout.decode(row.tolist()) for row in batch.goals] == ["+9=10#######", "9+99=198####"]
    assert batch.scored.shape == (2, 12)
    assert batch.scored.all()
    assert [
        layout.decode(np.asarray(goals)[np.asarray(judged)].tolist())
        for goals, judged in zip(batch.goals, batch.judged, strict=True)
    ] == ["10#", "198#"]


def test_without_causality_nothing_but_the_prompts_is_shown() -> None:
    """Rows of other lengths: where a prompt ends, its answer follows, and is not seen."""
    layout = layout_named("labelled")
    problems = [parse(f"order {numbers}") for numbers in ("7,3", "210,7", "100,999")]
    bounds = layout.bounds("order", (3, 3))
    text = tiny.text(layout, problems, bounds.total)
    batch = completion_batch(text, layout.where(text), bounds, causal=False)
    tokens, roles, goals, scored = map(
        np.asarray, (batch.tokens, batch.where.role, batch.goals, batch.scored)
    )
    seen = [layout.decode(tokens[row][roles[row] >= 0].tolist()) for row in range(3)]
    assert seen == [layout.prompt(problem) for problem in problems]
    wanted = [layout.decode(goals[row][scored[row]].tolist()) for row in range(3)]
    assert wanted == ["ab$", "ab$", "ba$"]
