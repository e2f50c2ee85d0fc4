"""The transformer: causal, the same with a cache as without, and small."""

import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from curta.config.recipe import Recipe
from curta.layouts import Layout, ShapeBounds, Text, TokenPositions, layout_named
from curta.layouts.texts import layout_of
from curta.model import recipes
from curta.model.decoding import decode_step, empty_cache
from curta.model.positions.base import Encoding
from curta.model.transformer import Transformer, parameters
from curta.problems.problem import Problem
from curta.training.records import padded_texts
from tests import paper, textbook, tiny

LAYOUT = layout_named("coupled")
ROOM = tiny.bounds(LAYOUT, 4)
TEXT = tiny.text(LAYOUT, tiny.random_sums(4, 4), ROOM.total)

PAPER = paper.layout(tiny.recipe())
PAPER_ROOM = PAPER.bounds_of([Problem("+", (9999, 9999))])
PAPER_TEXT = padded_texts(
    [PAPER.tokens_of(problem) for problem in tiny.random_sums(4, 4)], PAPER_ROOM.total, PAPER.end
)
GIVEN = {"coupled": (TEXT, ROOM), "program": (PAPER_TEXT, PAPER_ROOM)}
"""Texts of a layout, and room for them."""

DENSE = [name for name in tiny.ENCODINGS if name != "window"]
"""Encodings that see all earlier tokens; the window is for programs, in one attention layer."""

every_encoding = pytest.mark.parametrize(
    ("name", "num_attention_layers"),
    [
        ("window", 1),
        *((name, 1) for name in DENSE),
    ],
)


DESIGNS: list[dict[str, Any]] = [
    {
        "num_recurrences": 3,
        "input_injection": "sublayer",
        "num_layers": 3,
        "num_attention_layers": 2,
    },
    {"num_recurrences": 2, "input_injection": "block"},
    {"heads": 4, "num_kv_heads": 2, "num_attention_layers": 2},
    {
        "norm_placement": "post_residual",
        "gated": True,
        "attention_scale": False,
        "tie_embeddings": True,
    },
    {"norm_placement": "post_residual", "norm": "plain", "num_kv_heads": 1, "num_recurrences": 2},
    {
        "norm": "layer",
        "norm_epsilon": 0.1,
        "biases": ("qkv", "out", "mlp", "norms", "head"),
        "gated": True,
        "num_kv_heads": 2,
        "num_attention_layers": 2,
    },
    {
        "norm": "layer",
        "norm_placement": "post",
        "biases": ("out", "norms"),
        "final_norm": False,
        "tie_embeddings": True,
        "tied_scale": False,
    },
    {"num_recurrences": 3, "input_injection": "normed"},
    {"num_recurrences": 2, "input_injection": "recurrence", "num_attention_layers": 2},
]
"""What attends in another way, recurs, or has other weights."""


def named(config: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in config.items())


every_design = pytest.mark.parametrize(
    ("name", "config"),
    [("rope", config) for config in DESIGNS],
    ids=str,
)


def under_model(config: dict[str, Any]) -> dict[str, Any]:
    return {f"model__{field}": value for field, value in config.items()}


def designed(name: str, config: dict[str, Any]) -> Transformer:
    recipe = tiny.with_encoding(name, **under_model(config))
    return tiny.drawn(recipe, layout_of(recipe))


def stretched(leaf: Array) -> Array:
    """Gains that are no ones, biases that are no zeros, and every feature of another size."""
    stretch = jnp.broadcast_to(jnp.linspace(0.5, 1.5, leaf.shape[-1]), leaf.shape)
    return jnp.where(leaf == 0, stretch - 1, leaf * stretch)


@cache
def tiny_model(name: str, num_attention_layers: int) -> Transformer:
    return designed(name, {"num_attention_layers": num_attention_layers})


@jax.jit
def logits(model: Transformer, text: Text) -> Array:
    """Logits at every token."""
    _, bounds = GIVEN[model.layout.name]
    return model(text.tokens, model.layout.where(text), tiny.every_index(text), bounds)


@jax.jit
def cached_logits(model: Transformer, text: Text) -> Array:
    """Logits at every token, with the text written token by token into a cache."""
    where, (_, bounds) = model.layout.where(text), GIVEN[model.layout.name]

    def write(cache: Any, slot: Array) -> tuple[Any, Array]:
        one = jax.tree.map(lambda part: part[:, slot][:, None], where)
        cache, logits = decode_step(model, cache, text.tokens[:, slot][:, None], one)
        return cache, logits[:, 0]

    cache = empty_cache(model, where, bounds.total, bounds)
    return jnp.swapaxes(jax.lax.scan(write, cache, jnp.arange(bounds.total))[1], 0, 1)


@every_encoding
def test_writing_into_a_cache_gives_the_logits_of_the_whole_text(
    name: str, num_attention_layers: int
) -> None:
    """Up to rounding: matrix products of other shapes add in another order."""
    model = tiny_model(name, num_attention_layers)
    text, _ = GIVEN[model.layout.name]
    whole, cached = logits(model, text), cached_logits(model, text)
    for row, length in enumerate(text.lengths.tolist()):
        np.testing.assert_allclose(whole[row, :length], cached[row, :length], atol=1e-5)


@every_design
def test_writing_into_a_cache_gives_the_logits_of_the_whole_text_in_every_design(
    name: str, config: dict[str, Any]
) -> None:
    """A looped block has other keys and values in each loop."""
    model = designed(name, config)
    whole, cached = logits(model, TEXT), cached_logits(model, TEXT)
    for row, length in enumerate(TEXT.lengths.tolist()):
        np.testing.assert_allclose(whole[row, :length], cached[row, :length], atol=2e-5)


def test_a_cache_holds_the_heads_of_keys_for_each_recurrence() -> None:
    model = designed("rope", DESIGNS[2] | {"num_recurrences": 3})
    where = LAYOUT.where(TEXT)
    cache = empty_cache(model, where, 7, ROOM)
    assert [part.shape for part in cache.keys] == [(3, 4, 7, 2, 4)] * 2


class Nudged(Encoding):
    """An encoding that adds `nudge` to the embeddings, so as to take derivatives by it."""

    inner: Encoding
    nudge: Array

    @property
    def layers(self) -> Any:
        return self.inner.layers

    def embed(self, where: TokenPositions) -> Array:
        return self.nudge + self.inner.embed(where)

    def rotate(self, heads: Array, where: TokenPositions) -> Array:
        return self.inner.rotate(heads, where)

    def index(self, keys: TokenPositions, bounds: ShapeBounds) -> Any:
        return self.inner.index(keys, bounds)

    def visible_keys(self, index: Any, queries: TokenPositions) -> Any:
        return self.inner.visible_keys(index, queries)

    def everyone(self, index: Any, queries: TokenPositions) -> Any:
        return self.inner.everyone(index, queries)

    def attend(self, *arguments: Any) -> Array:
        return self.inner.attend(*arguments)


@jax.jit
def influence(model: Transformer, text: Text) -> Array:
    """How much each token's embedding moves the logits at each query: queries x tokens."""
    where, (_, bounds) = model.layout.where(text), GIVEN[model.layout.name]

    def at_queries(nudge: Array) -> Array:
        positions = Nudged(model.positions, nudge)
        nudged = Transformer(**vars(model) | {"positions": positions})
        return nudged(text.tokens, where, tiny.every_index(text), bounds)[0]

    zero = jnp.zeros((1, bounds.total, model.config.width))
    # forward: under jit, XLA's reverse mode of this Jacobian is wrong for the window (JAX 0.10.2)
    by_nudge = jax.jacfwd(at_queries)(zero)[:, :, 0]  # queries x vocabulary x tokens x width
    return jnp.max(jnp.abs(by_nudge), axis=(1, 3))


@pytest.mark.parametrize("name", ["nope", "learned", "rope"])
@pytest.mark.parametrize("num_attention_layers", [1, 2])
def test_without_a_causal_mask_every_token_is_felt_and_padding_is_not(
    name: str, num_attention_layers: int
) -> None:
    one = jax.tree.map(lambda part: part[:1], TEXT)
    felt = np.asarray(
        influence(
            designed(name, {"causal": False, "num_attention_layers": num_attention_layers}), one
        )
    )
    length = int(one.lengths[0])
    assert length < ROOM.total
    assert (felt[:length, :length] > 0).all()
    assert (felt[:length, length:] == 0).all()


def test_without_positions_every_earlier_token_is_felt() -> None:
    one = jax.tree.map(lambda part: part[:1], TEXT)
    length = int(one.lengths[0])
    felt = np.asarray(influence(tiny_model("nope", 1), one))[:length, :length]
    assert (felt[np.tril_indices(length)] > 0).all()


def test_under_a_window_only_its_tokens_are_felt() -> None:
    for row in range(4):
        one = jax.tree.map(lambda part, n=row: part[n : n + 1], PAPER_TEXT)
        length = int(one.lengths[0])
        tokens = one.tokens[0, :length].tolist()
        felt = np.asarray(influence(tiny_model("window", 1), one))[:length, :length]
        for query in range(int(one.prompts[0]) - 1, length):
            seen = {key for key in paper.seen(PAPER, tokens[: query + 1]) if key is not None}
            assert set(np.flatnonzero(felt[query] > 0).tolist()) == seen


@pytest.mark.parametrize("name", DENSE)
def test_changing_later_tokens_changes_no_earlier_logits(name: str) -> None:
    """The whole way from tokens on: kinds and coordinates must be causal too."""
    model, shared = tiny_model(name, 2), "21+43"
    pairs = [(12, 34), (12, 7934), (12, 934), (12, 1034)]
    text = tiny.text(LAYOUT, [Problem("+", pair) for pair in pairs], ROOM.total)
    found = logits(model, text)[:, : len(shared)]
    tiny.assert_close(found, jnp.broadcast_to(found[:1], found.shape))


@every_encoding
def test_asking_for_fewer_queries_does_not_change_their_logits(
    name: str, num_attention_layers: int
) -> None:
    model = tiny_model(name, num_attention_layers)
    text, bounds = GIVEN[model.layout.name]
    chosen = jnp.array([[1, 4], [3, 2], [0, 6], [5, 5]], jnp.int32)
    where = model.layout.where(text)
    some = jax.jit(lambda model: model(text.tokens, where, chosen, bounds))(model)
    every = logits(model, text)[jnp.arange(4)[:, None], chosen]
    np.testing.assert_allclose(some, every, atol=1e-5)


@every_design
def test_fewer_queries_have_the_same_logits_in_every_design(
    name: str, config: dict[str, Any]
) -> None:
    model = designed(name, config)
    chosen = jnp.array([[1, 4], [3, 2], [0, 6], [5, 5]], jnp.int32)
    some = jax.jit(lambda model: model(TEXT.tokens, LAYOUT.where(TEXT), chosen, ROOM))(model)
    every = logits(model, TEXT)[jnp.arange(4)[:, None], chosen]
    np.testing.assert_allclose(some, every, atol=2e-5)


@pytest.mark.parametrize("name", ["window", "rope"])
def test_padding_after_a_text_does_not_change_its_logits(name: str) -> None:
    model = tiny_model(name, 1)
    text, bounds = GIVEN[model.layout.name]
    there = jnp.arange(bounds.total)[None] < text.lengths[:, None]
    refilled = text._replace(tokens=jnp.where(there, text.tokens, 7))
    one, two = logits(model, text), logits(model, refilled)
    for row, length in enumerate(text.lengths.tolist()):
        tiny.assert_close(one[row, :length], two[row, :length])


def test_the_default_recipe_has_fewer_than_50_000_parameters() -> None:
    recipe = recipes.load("addition")
    model = tiny.drawn(recipe, layout_of(recipe))
    assert parameters(model) < 50_000


def counted_by_hand(recipe: Recipe, layout: Layout) -> int:
    settings, vocabulary = recipe.model, len(layout.characters)
    width, wide = settings.width, settings.width * settings.mlp_ratio
    shared = width * (settings.num_kv_heads or settings.heads) // settings.heads
    attention = settings.num_attention_layers * 2 * (width * width + width * shared)
    mlp = settings.num_layers * (2 + settings.gated) * width * wide
    norms = (settings.num_attention_layers + settings.num_layers) * (
        1 + (settings.norm_placement != "pre")
    ) + 1
    if settings.norm_placement == "post":
        norms -= settings.num_attention_layers + settings.num_layers
    norms -= not settings.final_norm
    gains = width * norms * (settings.norm != "plain")
    biases = {
        "qkv": settings.num_attention_layers * (width + 2 * shared),
        "out": settings.num_attention_layers * width,
        "mlp": settings.num_layers * (width + (1 + settings.gated) * wide),
        "norms": width * norms,
        "head": vocabulary,
    }
    gains += sum(biases[name] for name in settings.biases)
    embeddings = vocabulary * width * (1 if settings.tie_embeddings else 2)
    roles = len(layout.roles) * width * settings.role_embeddings
    return attention + mlp + gains + embeddings + roles


SIZES: list[dict[str, Any]] = [
    *({"activation": name} for name in ("relu", "relu2", "gelu", "gelu_erf", "silu")),
    *({"norm": name} for name in ("rms", "layer", "plain")),
    {"tie_embeddings": True},
    {"role_embeddings": False},
    {"num_layers": 4, "num_attention_layers": 2},
    {"num_layers": 4, "num_attention_layers": 4},
    {"init": "normal"},
    *DESIGNS,
]


@pytest.mark.parametrize("config", SIZES, ids=named)
def test_every_design_runs_and_has_the_parameters_it_should(config: dict[str, Any]) -> None:
    recipe = tiny.with_encoding("nope", **under_model(config))
    model = tiny.drawn(recipe, LAYOUT)
    found = logits(model, TEXT)
    assert found.shape == (*TEXT.tokens.shape, len(LAYOUT.characters))
    assert jnp.isfinite(found).all()
    assert parameters(model) == counted_by_hand(recipe, LAYOUT)


@pytest.mark.parametrize("tie_embeddings", [True, False])
def test_a_spelled_token_is_its_digit_its_carry_its_role_and_its_move(tie_embeddings: bool) -> None:
    """`1` with one carried is `1` with nothing carried, and what `0` has beyond that, too."""
    recipe = tiny.recipe(
        program="spaced", model__tie_embeddings=tie_embeddings, model__compositional_embeddings=True
    )
    layout = paper.layout(recipe)
    model, numbers = tiny.drawn(recipe, layout), {t: n for n, t in enumerate(layout.machine.tokens)}
    pairs = [
        (numbers[token], numbers[other])
        for token in numbers
        if token.value is not None
        for other in numbers
        if other[1:3] + other[4:] == (token.role, token.move, 1) and token.carry == 0
        if other.value == token.value
    ]
    moved = np.stack([model.characters()[two] - model.characters()[one] for one, two in pairs])
    assert len(pairs) > 5
    np.testing.assert_allclose(moved, np.broadcast_to(moved[:1], moved.shape), atol=1e-5)
    plain = tiny.drawn(tiny.recipe(program="spaced", model__tie_embeddings=tie_embeddings),
                       layout)  # fmt: skip
    parts = len(layout.parts()[0])
    assert parameters(plain) - parameters(model) == (len(numbers) - parts) * 16


def test_spelling_changes_nothing_where_tokens_have_no_parts() -> None:
    plain, compositional_embeddings = (
        tiny.drawn(tiny.dense(model__compositional_embeddings=s), LAYOUT) for s in (False, True)
    )
    tiny.assert_close(logits(plain, TEXT), logits(compositional_embeddings, TEXT))


def normed(name: str, x: np.ndarray) -> np.ndarray:
    centred = x if name == "rms" else x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True))


FORMULAS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu2": lambda x: np.maximum(x, 0) ** 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}


@pytest.mark.parametrize(
    ("norm", "activation", "tie_embeddings"),
    [("rms", "relu2", False), ("layer", "relu", True), ("plain", "silu", False)],
)
def test_a_block_is_attention_then_mlp_by_the_textbook(
    norm: str, activation: str, tie_embeddings: bool
) -> None:
    """One block, one head, no positions, written out in NumPy."""
    recipe = tiny.with_encoding(
        "nope", model__num_layers=1, model__heads=1, model__role_embeddings=False,
        model__norm=norm, model__activation=activation, model__tie_embeddings=tie_embeddings,
    )  # fmt: skip
    model = tiny.drawn(recipe, LAYOUT)
    x = np.asarray(model.tokens)[np.asarray(TEXT.tokens[0])]
    h = normed(norm, x)
    q, k, v = (h @ np.asarray(getattr(model.attention, n)[0]) for n in ("query", "key", "value"))
    scores = np.where(np.tri(len(x), dtype=bool), q @ k.T / np.sqrt(model.config.width), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    x = x + weights / weights.sum(-1, keepdims=True) @ v @ np.asarray(model.attention.out[0])
    inner = FORMULAS[activation](normed(norm, x) @ np.asarray(model.mlp.up[0]))
    x = x + inner @ np.asarray(model.mlp.down[0])
    head = (
        np.asarray(model.tokens).T / 4 if tie_embeddings else np.asarray(model.head)
    )  # 4 is the root of 16
    np.testing.assert_allclose(logits(model, TEXT)[0], normed(norm, x) @ head, atol=1e-4)


@pytest.mark.parametrize(
    "config",
    [*DESIGNS, {"num_recurrences": 3}, {"input_injection": "sublayer"}, {"causal": False}],
    ids=named,
)
def test_a_design_is_the_textbook_s(config: dict[str, Any]) -> None:
    """Blocks one after the other, loop by loop, head by head; gains are no ones."""
    drawn = designed("nope", config)
    model = jax.tree.map(stretched, drawn)
    where, found = LAYOUT.where(TEXT), logits(model, TEXT)
    for row, length in enumerate(TEXT.lengths.tolist()):
        expected = textbook.whole(model, TEXT.tokens[row, :length], where.role[row, :length])
        np.testing.assert_allclose(found[row, :length], expected, atol=1e-4)


def test_a_normalised_residual_is_norm_of_sum_of_state_and_sublayer_of_norm() -> None:
    """h <- norm2(h + Attn(norm1 h)), then the same with a gated feed-forward; in NumPy.

    One head, scores without a scale, tanh GELU on the gate, one norm more before the head.
    """
    model = designed("nope", {
        "num_layers": 1, "num_attention_layers": 1, "heads": 1,
        "role_embeddings": False, "tie_embeddings": True, "gated": True,
        "norm_placement": "post_residual", "attention_scale": False, "activation": "gelu",
    })  # fmt: skip
    model = jax.tree.map(stretched, model)
    attention, mlp = (jax.tree.map(lambda leaf: np.asarray(leaf[0]), part)
                      for part in (model.attention, model.mlp))  # fmt: skip

    def rms(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
        return x / np.sqrt((x**2).mean(-1, keepdims=True)) * gain

    h = np.asarray(model.tokens)[np.asarray(TEXT.tokens[0])]
    n = rms(h, attention.gain)
    scores = (n @ attention.query) @ (n @ attention.key).T
    scores = np.where(np.tri(len(h), dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    h = rms(h + weights @ (n @ attention.value) @ attention.out, attention.after)
    n = rms(h, mlp.gain)
    gate = n @ mlp.gate
    gate = gate / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)))
    h = rms(h + (gate * (n @ mlp.up)) @ mlp.down, mlp.after)
    expected = rms(h, np.asarray(model.gain)) @ np.asarray(model.tokens).T / 4
    np.testing.assert_allclose(logits(model, TEXT)[0], expected, atol=1e-4)


@pytest.mark.parametrize("num_recurrences", [1, 2])
def test_recurrences_are_a_setting_of_the_same_weights(num_recurrences: int) -> None:
    drawn = designed("rope", {"num_recurrences": num_recurrences, "input_injection": "block"})
    other = designed("rope", {"num_recurrences": 3, "input_injection": "block"}).with_recurrences(
        num_recurrences
    )
    assert tiny.same(drawn, other)
    tiny.assert_close(logits(drawn, TEXT), logits(other, TEXT))


def test_states_after_each_recurrence_are_those_of_models_with_so_many_recurrences() -> None:
    model = designed("rope", {"num_recurrences": 4, "input_injection": "block"})
    where, queries = LAYOUT.where(TEXT), tiny.every_index(TEXT)
    found = jax.jit(lambda m: m.states(TEXT.tokens, where, queries, ROOM, each=True))(model)
    for num_recurrences in (1, 3, 4):
        read = model.logits(found.after(jnp.int32(num_recurrences)), queries)
        np.testing.assert_allclose(
            read, logits(model.with_recurrences(num_recurrences), TEXT), atol=2e-5
        )


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"num_recurrences": 3, "input_injection": "block", "num_attention_layers": 2},
        {"dropout_sites": ("embedding", "attention", "mlp"), "num_layers": 3},
        {
            "dropout_sites": ("embedding", "attention", "mlp", "output"),
            "num_recurrences": 2,
            "num_attention_layers": 2,
            "input_injection": "normed",
        },
    ],
    ids=named,
)
def test_dropout_leaves_out_embeddings_and_what_else_a_recipe_names(
    config: dict[str, Any],
) -> None:
    """Of each loop others, and none without a key, as in evaluation."""
    model = designed("nope", config | {"dropout": 0.5})
    where, queries, key = LAYOUT.where(TEXT), tiny.every_index(TEXT), jax.random.key(3)
    run = jax.jit(lambda model, key: model(TEXT.tokens, where, queries, ROOM, key))
    found = run(model, key)
    assert tiny.same(run(model, key), found)
    assert not np.allclose(run(model, jax.random.key(4)), found)
    plain = logits(designed("nope", config), TEXT)
    np.testing.assert_allclose(run(model, None), plain, rtol=1e-4, atol=1e-5)
    dropped = [
        model._dropped(key, loop, TEXT.tokens.shape) for loop in range(model.config.num_recurrences)
    ]
    assert not any(tiny.same(one, two) for one, two in itertools.pairwise(dropped))
    row, length = 1, int(TEXT.lengths[1])
    rows = slice(ROOM.total, ROOM.total + length)
    embedded = model._embed(TEXT.tokens, where, key)[rows]
    clean = textbook.entry(model, TEXT.tokens[row, :length], where.role[row, :length])
    assert (np.isclose(embedded, 0) | np.isclose(embedded, 2 * clean, atol=1e-6)).all()
    assert 0.3 < np.isclose(embedded, 0).mean() < 0.7
    x = textbook.begin(model, embedded)
    for output, attention, mlp in dropped:
        kept = textbook.Masks(
            None if output is None else output[:, :, rows],
            None if attention is None else attention[:, row, :length, :, :length],
            None if mlp is None else mlp[:, rows],
        )
        x = textbook.loop(model, x, embedded, kept)
    np.testing.assert_allclose(found[row, :length], textbook.logits(model, x), atol=1e-4)


def test_all_weights_come_from_one_draw() -> None:
    """One for each would take ten times as long to compile."""
    recipe = tiny.recipe()
    traced = jax.make_jaxpr(lambda key: Transformer.init(
        recipe.model, recipe.positions, PAPER, key=key))(jax.random.key(0))  # fmt: skip
    assert str(traced).count("random_bits") == 1
