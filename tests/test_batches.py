"""Batches: what is asked of which token, and that packing changes nothing but the padding."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny
from curta import batches
from curta.batches import Batch, Capacity, capacity, enough, errors, packed, padded, whole
from curta.layouts import layout_named
from curta.problems import Problem, parse
from curta.tasks import Task

LAYOUT = layout_named("coupled")
RECIPE = tiny.recipe()
ROOM = tiny.room(LAYOUT, 4)
AMPLE = Capacity(256, 128)


def both(problems: list[Problem], fits: Capacity = AMPLE) -> tuple[Batch, Batch]:
    text = tiny.text(LAYOUT, problems, ROOM.total)
    where = LAYOUT.where(text)
    return padded(text, where, ROOM), packed(text, where, fits)


def asked(batch: Batch) -> list[tuple[int, str, str]]:
    """Text, token and goal of everything that is scored, in order."""
    rows, spots = np.nonzero(np.asarray(batch.scored))
    queries = np.asarray(batch.queries)[rows, spots]
    text, tokens = np.asarray(batch.where.text), np.asarray(batch.tokens)
    return [
        (int(text[r, q]), LAYOUT.characters[tokens[r, q]], LAYOUT.characters[goal])
        for r, q, goal in zip(rows, queries, np.asarray(batch.goals)[rows, spots], strict=True)
    ]


def test_what_is_asked_by_example() -> None:
    """21+3=51$ and 9+9=81$: of each completion's tokens the one before is asked."""
    expected = [(t, a, b) for t, line in enumerate(("=51$", "=81$")) for a, b in pairwise(line)]
    problems = [Problem("+", (12, 3)), Problem("+", (9, 9))]
    assert [asked(batch) for batch in both(problems)] == [expected] * 2


def test_of_a_whole_text_every_token_is_scored_but_only_the_completion_judged() -> None:
    line = "21+3=51$"
    text = tiny.text(LAYOUT, [Problem("+", (12, 3))], ROOM.total)
    batch = whole(text, LAYOUT.where(text))
    assert asked(batch) == [(0, a, b) for a, b in pairwise(line)]
    assert asked(batch._replace(scored=batch.judged)) == [(0, *pair) for pair in pairwise("=51$")]


def test_a_begin_sign_is_asked_for_the_first_digit() -> None:
    layout = layout_named("begun")
    text = tiny.text(layout, [Problem("+", (12, 3))], tiny.room(layout, 2).total)
    batch = whole(text, layout.where(text))
    first = int(batch.queries[0, 0]), int(batch.tokens[0, 0]), int(batch.goals[0, 0])
    assert first == (0, layout.characters.index("#"), 1)
    assert batch.scored[0, 0]


def test_without_causality_each_token_is_asked_of_the_prompts_at_once() -> None:
    """The answer to =3+21____ is 51$, asked of its first three characters and never shown."""
    layout, problem = layout_named("framed"), Problem("+", (12, 3))
    room = tiny.room(layout, 4)
    text = tiny.text(layout, [problem], room.total)
    batch = padded(text, layout.where(text), room, causal=False)
    prompt = layout.prompt(problem)
    assert layout.decode(batch.tokens[0].tolist()) == prompt
    found = [
        (query, layout.characters[goal])
        for query, goal, scored in zip(
            *(np.asarray(part[0]) for part in (batch.queries, batch.goals, batch.scored)),
            strict=True,
        )
        if scored
    ]
    assert found == list(enumerate("51$"))
    assert batch.queries.max() < len(prompt)


def test_without_causality_nothing_but_the_prompts_is_shown() -> None:
    """Rows of other lengths: where a prompt ends, its answer follows, and is not seen."""
    layout = layout_named("labelled")
    problems = [parse(f"order {numbers}") for numbers in ("7,3", "210,7", "100,999")]
    room = layout.room("order", (3, 3))
    text = tiny.text(layout, problems, room.total)
    batch = padded(text, layout.where(text), room, causal=False)
    tokens, kinds, goals, scored = map(
        np.asarray, (batch.tokens, batch.where.kind, batch.goals, batch.scored)
    )
    seen = [layout.decode(tokens[row][kinds[row] >= 0].tolist()) for row in range(3)]
    assert seen == [layout.prompt(problem) for problem in problems]
    wanted = [layout.decode(goals[row][scored[row]].tolist()) for row in range(3)]
    assert wanted == ["ab$", "ab$", "ba$"]


@given(problems=st.lists(tiny.sums(4), min_size=5, max_size=5))
def test_packed_texts_ask_what_padded_ones_ask(problems: list[Problem]) -> None:
    apart, together = both(problems)
    assert asked(apart) == asked(together)
    assert together.present.all()
    assert together.tokens.shape == (1, AMPLE.tokens)


@given(problems=st.lists(tiny.sums(4), min_size=5, max_size=5))
def test_a_model_says_the_same_of_packed_and_padded_texts(problems: list[Problem]) -> None:
    model, found = tiny.drawn(RECIPE, LAYOUT), []
    for batch in both(problems):
        logits = np.asarray(model(batch.tokens, batch.where, batch.queries, ROOM))
        found.append(logits[np.asarray(batch.scored)])
    np.testing.assert_allclose(*found, atol=1e-5)


def test_texts_that_do_not_fit_are_left_out_whole() -> None:
    """Each of these has 6 tokens before its end, 3 of them asked."""
    problems = [Problem("+", (n, 9)) for n in range(5, 9)]
    for fits in (Capacity(19, 64), Capacity(64, 10)):
        _, batch = both(problems, fits)
        assert batch.present.tolist() == [True, True, True, False]
        assert {text for text, _, _ in asked(batch)} == {0, 1, 2}


def test_errors_are_counted_for_each_text() -> None:
    for batch in both([Problem("+", (12, 3)), Problem("+", (9, 9)), Problem("+", (0, 0))]):
        logits = jax.nn.one_hot(batch.goals, len(LAYOUT.characters))
        assert errors(logits, batch).tolist() == [0, 0, 0]
        second = batch.where.text[jnp.arange(len(batch.queries))[:, None], batch.queries] == 1
        assert errors(jnp.where(second[..., None], -logits, logits), batch).tolist() == [0, 3, 0]


def test_a_batch_hardly_ever_exceeds_its_capacity() -> None:
    task, layout, texts = Task(operator="*", digits=(1, 4)), layout_named("product"), 32
    fits, room = capacity(task, layout, texts), layout.room("*", (4, 4))
    assert fits.tokens < 0.7 * texts * room.total
    for seed in range(20):
        text = layout.tokens("*", task.draw(jax.random.key(seed), texts), room)
        assert jnp.sum(text.lengths - 1) <= fits.tokens
        assert jnp.sum(text.lengths - text.prompts) <= fits.scored


@pytest.mark.parametrize(("lengths", "least"), [([64] * 4, 640), ([1, 1, 1, 1000], 1000)])
def test_capacity_is_at_least_the_mean_and_the_longest(lengths: list[int], least: int) -> None:
    found = enough(np.array(lengths), 10)
    assert found >= least
    assert found % 64 == 0
    assert batches.SPARE > 3
