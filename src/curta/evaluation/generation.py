"""Generation: what trained members write for any problem, and where it goes wrong.

Whole texts are decoded token by token, with a cache. The loop knows no arithmetic: the layout
determines where each token stands, the position encoding which earlier tokens it sees. Under a
window, texts are written side by side on squared paper, so the cost of a token does not depend on
the length of the text.
"""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.evaluation.results import FirstError, NamedProblem, Written
from curta.evaluation.scoring import Models, bucket, room_for, scores
from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.layouts.base import prompt_batch
from curta.model.layers import Flat, KVHeads, Logits, Tokens
from curta.model.transformer import Transformer
from curta.problems.problem import Problem, answer_text, parse, widths
from curta.programs.machine.writing import Prompts, complete

MOST_NATS = 690.0
"""The loss from which all perplexities are equal: the largest that a file can hold."""

AROUND = 60
"""Tokens that are stored before the first wrong one, and from it on: traces may be very long."""

TOGETHER = 1 << 14
"""Tokens of problems that are computed at once: more do not fit into the caches.

512 sums of 20 digits: 1,268 a second with 32 at once, 613 with all.
"""

ALONE = 8192
"""Problems that are written at once under a window, which needs only their tokens."""

T = TypeVar("T")

Slots = Float[Array, "recurrences batch slots kv_heads features"]


class Cache(NamedTuple):
    """The keys and values of all tokens so far, with room for those to come."""

    keys: tuple[Slots, ...]
    """The keys of each attention layer; every recurrence has its own."""
    values: tuple[Slots, ...]
    """The values of each attention layer, likewise."""
    index: Any
    """The positions of the tokens, as `Encoding.index` returns them."""


def decode_step(
    model: Transformer, cache: Cache, tokens: Tokens, where: TokenPositions
) -> tuple[Cache, Logits]:
    """Append tokens at the slots `where.index`; return the new cache and the logits after each."""
    index = model.positions.insert(cache.index, where)
    context, count = model.context(tokens, where, index), model.config.num_recurrences
    rows = jnp.arange(len(tokens))[:, None]  # batch 1

    def recur(number: Array | int, carry: tuple[Flat, Cache]) -> tuple[Flat, Cache]:
        x, cache = carry

        def store(
            past: tuple[Slots, Slots], keys: KVHeads, values: KVHeads
        ) -> tuple[Array, Array, tuple[Slots, Slots]]:
            """Store keys and values; return all those of this recurrence, and the cache."""
            slots = (number, rows, where.index)  # recurrence, text and slot of each new token
            past = past[0].at[slots].set(keys), past[1].at[slots].set(values)
            return past[0][number], past[1][number], past

        past_by_layer = zip(cache.keys, cache.values, strict=True)
        attends = [partial(model.attend, store=partial(store, past)) for past in past_by_layer]
        x, layer_caches = model.run_blocks(x, context, attends)
        keys, values = zip(*layer_caches, strict=True)
        return x, Cache(keys, values, cache.index)

    carry = model.initial_state(context.embedded), cache._replace(index=index)
    x, cache = recur(0, carry) if count == 1 else jax.lax.fori_loop(0, count, recur, carry)
    return cache, model.logits(x, where.index)


@partial(jax.jit, static_argnames=("layout", "bounds"))
def decode(
    model: Transformer,
    tokens: Int[Array, "batch prompt"],
    prompts: Int[Array, " batch"],
    *,
    layout: Layout,
    bounds: ShapeBounds,
) -> Int[Array, "batch completion"]:
    """Return greedy completions of prompts of `prompts` tokens each, filled up with end signs.

    A model that is not causal writes the whole completion over its prompt, in one pass.
    """
    if not model.config.causal:
        where = layout.follow(tokens, prompts)[1]
        return jnp.argmax(model(*prompt_batch(tokens, where, prompts, bounds), bounds), axis=-1)
    config, end, rows = model.config, layout.end, jnp.arange(len(tokens))
    # The whole prompt goes through the model at once; then one token after the other.
    state, where = layout.follow(tokens, prompts)
    slots = (config.num_recurrences, len(tokens), bounds.total, config.kv_heads, config.head_dim)
    blanks = (jnp.zeros(slots),) * config.num_attention_layers
    cache = Cache(blanks, blanks, model.positions.blank(where, bounds.total, bounds))
    cache, logits = decode_step(model, cache, tokens, where)
    first = jnp.argmax(logits[rows, prompts - 1], axis=-1)
    output = jnp.full((len(tokens), bounds.completion), end, jnp.int32)

    # The state of the loop: step, next tokens, state of the layout, cache, tokens so far, ended.
    start = (jnp.int32(0), first, state, cache, output, jnp.zeros(len(tokens), bool))

    def unfinished(now: Any) -> Array:
        step, *_, is_done = now
        return (step < bounds.completion) & ~jnp.all(is_done)

    def write(now: Any) -> Any:
        step, token, state, cache, output, is_done = now
        token = jnp.where(is_done, end, token)
        output = output.at[:, step].set(token)
        state, role, coordinates = layout.automaton.step(state, token)
        index = jnp.minimum(prompts + step, bounds.total - 1)
        where = TokenPositions(index[:, None], role[:, None], coordinates[:, None])
        cache, logits = decode_step(model, cache, token[:, None], where)
        following = jnp.argmax(logits[:, 0], axis=-1)
        return step + 1, following, state, cache, output, is_done | (token == end)

    return jax.lax.while_loop(unfinished, write, start)[4]


def completions(
    model: Transformer, layout: Layout, problems: Sequence[Problem], bounds: ShapeBounds
) -> list[list[int]]:
    """Return the tokens that the model writes after each problem's prompt, and its end sign."""
    size = 1 << (len(problems) - 1).bit_length()
    prompts = [layout.prompt_tokens(problem) for problem in problems]
    prompts += prompts[-1:] * (size - len(prompts))  # no row of another kind is waited for
    tokens = np.zeros((size, bounds.prompt), np.int32)
    for row, prompt in zip(tokens, prompts, strict=True):
        row[: len(prompt)] = prompt
    lengths = np.array([len(prompt) for prompt in prompts], np.int32)
    output = np.asarray(decode(model, tokens, lengths, layout=layout, bounds=bounds))
    return [ended(row, layout.end) for row in output[: len(problems)].tolist()]


def ended(completion: list[int], end: int) -> list[int]:
    """Return the tokens up to and including the first end sign."""
    return completion[: completion.index(end) + 1] if end in completion else completion


def generate(
    models: Models,
    pairs: Sequence[tuple[int, Problem]],
    bounds: ShapeBounds | None = None,
    *,
    limited: bool = False,
) -> list[list[int]]:
    """Return the tokens that members write, for pairs of member and problem.

    With a window they are written side by side. A text without end is abandoned after more tokens
    than any program writes, and if `limited`, after a few more than the longest right one has.
    """
    layout, texts, problems = models.layout, list[list[int]](), [problem for _, problem in pairs]
    if not pairs:
        return texts
    if (memo := models.memo) is None:
        bounds = bounds or room_for(models, problems)
        assert bounds is not None
        for member, group in groupby(pairs, lambda pair: pair[0]):
            of_member = [problem for _, problem in group]
            texts += completions(models.member(member), layout, of_member, bounds)
        return texts
    limit, owner = 0, np.array([member for member, _ in pairs])
    if limited:
        right = [layout.tokens_of(problem) for problem in dict.fromkeys(problems)]
        limit = 16 + max(len(tokens) - prompt for tokens, prompt in right)
    follow = lambda rows, texts: memo.tokens(rows, owner[texts])
    prompts = Prompts.of([layout.prompt_tokens(problem) for problem in problems])
    return complete(layout.machine, layout.windows, follow, prompts, limit).lists


def readable_texts(
    models: Models, pairs: Sequence[tuple[int, Problem]], bounds: ShapeBounds | None = None
) -> list[Written]:
    """Return the limited texts of `generate` as people read them."""
    texts = generate(models, pairs, bounds, limited=True)
    rows = zip(pairs, texts, strict=True)
    return [compared(models.layout, problem, tokens) for (_, problem), tokens in rows]


def write_texts(models: Models, problems: Sequence[Problem], member: int) -> list[list[int]]:
    """Return the tokens that a member writes after each problem, including the end."""

    def write(group: list[Problem]) -> list[list[int]]:
        bounds = room_for(models, group)
        together = ALONE if bounds is None else max(1, TOGETHER // bounds.total)
        pairs = [(member, problem) for problem in group]
        pieces = (pairs[start : start + together] for start in range(0, len(pairs), together))
        return [text for piece in pieces for text in generate(models, piece, bounds)]

    return _by_size(problems, write)


def named(texts: Sequence[str], before: Models, after: Models) -> list[NamedProblem]:
    """Return for each problem its truth and every member's text before and after training."""
    problems = [parse(text) for text in texts]
    begun, trained = (answers_of_all(models, problems) for models in (before, after))
    return [
        NamedProblem(problem.operator, str(problem), problem.truth_text, earlier, later)
        for problem, earlier, later in zip(problems, begun, trained, strict=True)
    ]


def perplexities(models: Models, problems: Sequence[Problem]) -> list[list[float]]:
    """Return for each problem the perplexity of the right answer, by member."""

    def perplexity(group: list[Problem]) -> list[list[float]]:
        group_scores = scores(models, group, room_for(models, group))
        mean = np.minimum(group_scores.losses / group_scores.tokens, MOST_NATS)
        rounded: list[list[float]] = np.exp(mean).T.round(6).tolist()
        return rounded

    return _by_size(problems, perplexity)


def answers_of_all(models: Models, problems: Sequence[Problem]) -> list[list[Written]]:
    """Return for each problem what every member wrote, and its answer."""

    def answer(group: list[Problem]) -> list[list[Written]]:
        pairs = [(member, problem) for member in range(models.members) for problem in group]
        rows = readable_texts(models, pairs)
        return [rows[number :: len(group)] for number in range(len(group))]

    return _by_size(problems, answer)


def compared(layout: Layout, problem: Problem, tokens: list[int]) -> Written:
    """Return a text and its answer as people read them, and the first error in it."""
    answer, (right, prompt) = layout.answer(problem, tokens), layout.tokens_of(problem)
    text = None if answer is None else answer_text(answer, problem.answer_base)
    error = first_error(tokens, right[prompt:], layout.characters)
    return Written(layout.decode(tokens), text, error)


def _by_size(problems: Sequence[Problem], call: Callable[[list[Problem]], list[T]]) -> list[T]:
    """Call a function with the problems that fit the same compiled program; join its results."""
    groups, results = dict[tuple[object, ...], list[int]](), dict[int, T]()
    for number, problem in enumerate(problems):
        shape = (problem.operator, *map(bucket, widths(problem)))
        groups.setdefault(shape, []).append(number)
    for group in groups.values():
        results |= zip(group, call([problems[number] for number in group]), strict=True)
    return [results[number] for number in range(len(problems))]


def first_error(
    text_tokens: Sequence[int], expected: Sequence[int], symbols: Sequence[str]
) -> FirstError | None:
    """Return the first wrong token of a text and its surroundings; None if all of it is right."""
    if list(text_tokens) == list(expected):
        return None
    shorter = min(len(text_tokens), len(expected))
    at = next((i for i in range(shorter) if text_tokens[i] != expected[i]), shorter)
    around = slice(max(0, at - AROUND), at + AROUND)
    wrote, should = ("".join(symbols[t] for t in text[around]) for text in (text_tokens, expected))
    before = sum(len(symbols[t]) for t in expected[:at])
    start = sum(len(symbols[t]) for t in expected[: around.start])
    return FirstError(before, start, wrote, should, token=at)
