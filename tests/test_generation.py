"""Writing token by token: what the model finds most likely, one text as well as many."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import tiny
from curta.generation import bucket, completions, widths
from curta.layouts import Layout, Room, layout_named
from curta.model import Transformer
from curta.problems import Problem

PROBLEMS = tiny.random_sums(5, 4, seed=1)


def next_token(model: Transformer, layout: Layout, room: Room, line: list[int]) -> int:
    """The most likely token after `line`, by one pass over the whole of it."""
    tokens = jnp.array([line + [0] * (room.total - len(line))], jnp.int32)
    logits = _last_logits(model, layout, room, tokens, jnp.array([len(line)], jnp.int32))
    return int(np.asarray(logits).argmax())


def _logits(model: Transformer, layout: Layout, room: Room, tokens: Array, length: Array) -> Array:
    where = layout.follow(tokens, length)[1]
    return model(tokens, where, length[:, None] - 1, room)[0, 0]


_last_logits = jax.jit(_logits, static_argnums=(1, 2))


def written_without_a_cache(
    model: Transformer, layout: Layout, room: Room, problem: Problem
) -> str:
    """The greedy completion, by a whole pass for each of its tokens."""
    line, completion = layout.encode(layout.prompt(problem)).tolist(), ""
    while len(completion) < room.completion and not completion.endswith("$"):
        line.append(next_token(model, layout, room, line))
        completion += layout.characters[line[-1]]
    return completion


@pytest.mark.parametrize("name", ["rope", "coupled", "learned"])
def test_a_completion_is_the_most_likely_token_after_each_token(name: str) -> None:
    """Of an untrained model, which writes nonsense; the window has its own test below."""
    recipe, layout = tiny.with_encoding(name, model__attending=2), layout_named("reversed")
    model, room = tiny.drawn(recipe, layout), layout.room("+", (6, 6))
    texts = completions(model, layout, PROBLEMS, room)
    assert texts == [written_without_a_cache(model, layout, room, p) for p in PROBLEMS]


def test_an_encoder_writes_what_is_most_likely_at_each_place_of_its_prompt() -> None:
    layout = layout_named("framed")
    recipe = tiny.with_encoding("learned", layout="framed", model__causal=False)
    model, room = tiny.drawn(recipe, layout), layout.room("+", (4, 4))
    prompts = np.array([layout.encode(layout.prompt(problem)) for problem in PROBLEMS])
    where = layout.follow(jnp.asarray(prompts), jnp.full(len(prompts), room.prompt))[1]
    every = jnp.broadcast_to(jnp.arange(room.completion), (len(prompts), room.completion))
    best = np.asarray(model(jnp.asarray(prompts), where, every, room)).argmax(axis=-1)
    expected = [layout.decode(row) for row in best.tolist()]
    cut = [text.partition("$")[0] + "$" * ("$" in text) for text in expected]
    assert completions(model, layout, PROBLEMS, room) == cut


@pytest.mark.parametrize("heads", [2, 1])
def test_a_looped_model_writes_what_is_most_likely_too(heads: int) -> None:
    looped = {"model__loops": 3, "model__inject": "block", "model__key_value_heads": heads}
    recipe, layout = tiny.with_encoding("rope", **looped), layout_named("reversed")
    model, room = tiny.drawn(recipe, layout), layout.room("+", (6, 6))
    texts = completions(model, layout, PROBLEMS, room)
    assert texts == [written_without_a_cache(model, layout, room, p) for p in PROBLEMS]


def test_a_windowed_completion_is_the_most_likely_token_while_it_is_a_number() -> None:
    """A text with two tokens of one kind at one place has no meaning in a window."""
    layout = layout_named("coupled")
    model, room = tiny.drawn(tiny.recipe(), layout, seed=2), layout.room("+", (6, 6))
    texts = completions(model, layout, PROBLEMS, room)
    for text, problem in zip(texts, PROBLEMS, strict=True):
        number = text[: len(text) - len(text.lstrip("0123456789"))]
        whole = written_without_a_cache(model, layout, room, problem)
        assert whole[: len(number)] == number


def test_a_problem_is_answered_alike_alone_and_among_others() -> None:
    layout = layout_named("coupled")
    model, room = tiny.drawn(tiny.recipe(), layout), layout.room("+", (6, 6))
    together = completions(model, layout, PROBLEMS, room)
    assert together == [completions(model, layout, [p], room)[0] for p in PROBLEMS]


def test_a_completion_ends_with_its_first_end_or_fills_its_room() -> None:
    layout = layout_named("coupled")
    room = layout.room("+", (6, 6))
    ended = set()
    for seed in range(6):
        for text in completions(tiny.drawn(tiny.recipe(), layout, seed), layout, PROBLEMS, room):
            assert text.find("$") in (-1, len(text) - 1)
            assert text.endswith("$") or len(text) == room.completion
            ended.add(text.endswith("$"))
    assert ended == {True, False}


def test_digit_counts_are_rounded_up_to_few_sizes() -> None:
    sizes = [bucket(digits) for digits in range(1, 10_001)]
    assert all(size >= digits for digits, size in enumerate(sizes, start=1))
    assert sizes == sorted(sizes)
    assert len(set(sizes)) <= 6


def test_widths_are_digit_counts() -> None:
    assert widths(Problem("+", (0, 12345))) == (1, 5)
    assert widths(Problem("+", (10**5000, 10**5000 - 1))) == (5001, 5000)
