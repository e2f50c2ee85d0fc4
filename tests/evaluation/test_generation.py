"""Writing token by token: what the model finds most likely, one text as well as many."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from curta.evaluation import generation
from curta.evaluation.generation import bucket, completions
from curta.layouts import Layout, ShapeBounds, layout_named
from curta.layouts.texts import layout_of
from curta.model.transformer import Transformer
from curta.problems.problem import Problem, widths
from tests import tiny

PROBLEMS = tiny.random_sums(5, 4, seed=1)


def next_token(model: Transformer, layout: Layout, bounds: ShapeBounds, line: list[int]) -> int:
    """The most likely token after `line`, by one pass over the whole of it."""
    tokens = jnp.array([line + [0] * (bounds.total - len(line))], jnp.int32)
    logits = _last_logits(model, layout, bounds, tokens, jnp.array([len(line)], jnp.int32))
    return int(np.asarray(logits).argmax())


def _logits(
    model: Transformer, layout: Layout, bounds: ShapeBounds, tokens: Array, length: Array
) -> Array:
    where = layout.follow(tokens, length)[1]
    return model(tokens, where, length[:, None] - 1, bounds)[0, 0]


_last_logits = jax.jit(_logits, static_argnums=(1, 2))


def written_without_a_cache(
    model: Transformer, layout: Layout, bounds: ShapeBounds, problem: Problem
) -> list[int]:
    """The greedy completion, by a whole pass for each of its tokens."""
    line = layout.prompt_tokens(problem)
    prompt = len(line)
    while len(line) < prompt + bounds.completion and line[-1] != layout.end:
        line.append(next_token(model, layout, bounds, line))
    return line[prompt:]


@pytest.mark.parametrize("name", ["rope", "coupled", "learned"])
def test_a_completion_is_the_most_likely_token_after_each_token(name: str) -> None:
    """Of an untrained model, which writes nonsense."""
    recipe, layout = (
        tiny.with_encoding(name, model__num_attention_layers=2),
        layout_named("reversed"),
    )
    model, bounds = tiny.drawn(recipe, layout), layout.bounds("+", (6, 6))
    texts = completions(model, layout, PROBLEMS, bounds)
    assert texts == [written_without_a_cache(model, layout, bounds, p) for p in PROBLEMS]


def test_an_encoder_writes_what_is_most_likely_at_each_place_of_its_prompt() -> None:
    layout = layout_named("framed")
    recipe = tiny.with_encoding("learned", layout="framed", model__causal=False)
    model, bounds = tiny.drawn(recipe, layout), layout.bounds("+", (4, 4))
    prompts = np.array([layout.encode(layout.prompt(problem)) for problem in PROBLEMS])
    where = layout.follow(jnp.asarray(prompts), jnp.full(len(prompts), bounds.prompt))[1]
    every = jnp.broadcast_to(jnp.arange(bounds.completion), (len(prompts), bounds.completion))
    best = np.asarray(model(jnp.asarray(prompts), where, every, bounds)).argmax(axis=-1)
    cut = [row[: row.index(layout.end) + 1] if layout.end in row else row for row in best.tolist()]
    assert completions(model, layout, PROBLEMS, bounds) == cut


@pytest.mark.parametrize("heads", [2, 1])
def test_a_looped_model_writes_what_is_most_likely_too(heads: int) -> None:
    looped = {
        "model__num_recurrences": 3,
        "model__input_injection": "block",
        "model__num_kv_heads": heads,
    }
    recipe, layout = tiny.with_encoding("rope", **looped), layout_named("reversed")
    model, bounds = tiny.drawn(recipe, layout), layout.bounds("+", (6, 6))
    texts = completions(model, layout, PROBLEMS, bounds)
    assert texts == [written_without_a_cache(model, layout, bounds, p) for p in PROBLEMS]


def test_a_program_is_run_by_the_most_likely_token_after_each_token() -> None:
    """With a cache that holds whole texts; by windows: see `machine/test_write.py`."""
    recipe = tiny.recipe(positions__name="rope", model__num_attention_layers=2)
    layout = layout_of(recipe)
    model, bounds = tiny.drawn(recipe, layout, 2), layout.bounds_of(PROBLEMS)
    texts = completions(model, layout, PROBLEMS, bounds)
    assert texts == [written_without_a_cache(model, layout, bounds, p) for p in PROBLEMS]


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
