"""The transformer: causal, the same with a cache as without, and small."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

import tiny
from curta import recipe as recipes
from curta.errors import UserError
from curta.layouts import Layout, Room, Text, Where, layout_named
from curta.model import Model, Transformer, build, parameters
from curta.positions import Encoding
from curta.problems import Problem
from curta.recipe import Recipe

LAYOUT = layout_named("coupled")
ROOM = tiny.room(LAYOUT, 4)
TEXT = tiny.text(LAYOUT, tiny.random_sums(4, 4), ROOM.total)

every_encoding = pytest.mark.parametrize("name", tiny.ENCODINGS)


def tiny_model(name: str, attending: int) -> Transformer:
    recipe = tiny.with_encoding(name, model__attending=attending)
    return tiny.drawn(recipe, LAYOUT)


@jax.jit
def logits(model: Transformer, text: Text) -> Array:
    """Logits at every token."""
    return model(text.tokens, LAYOUT.where(text), tiny.every_index(text), ROOM)


@jax.jit
def cached_logits(model: Transformer, text: Text) -> Array:
    """Logits at every token, with the text written token by token into a cache."""
    where = LAYOUT.where(text)

    def write(cache: Any, slot: Array) -> tuple[Any, Array]:
        one = jax.tree.map(lambda part: part[:, slot][:, None], where)
        cache, logits = model.extend(cache, text.tokens[:, slot][:, None], one)
        return cache, logits[:, 0]

    cache = model.cache(where, ROOM.total, ROOM)
    return jnp.swapaxes(jax.lax.scan(write, cache, jnp.arange(ROOM.total))[1], 0, 1)


@pytest.mark.parametrize("attending", [1, 2])
@every_encoding
def test_writing_into_a_cache_gives_the_logits_of_the_whole_text(name: str, attending: int) -> None:
    """Up to rounding: matrix products of other shapes add in another order."""
    model = tiny_model(name, attending)
    whole, cached = logits(model, TEXT), cached_logits(model, TEXT)
    for row, length in enumerate(TEXT.lengths.tolist()):
        np.testing.assert_allclose(whole[row, :length], cached[row, :length], atol=1e-5)


class Nudged(Encoding):
    """An encoding that adds `nudge` to the embeddings, so as to take derivatives by it."""

    inner: Encoding
    nudge: Array

    @property
    def layers(self) -> Any:
        return self.inner.layers

    def embed(self, where: Where) -> Array:
        return self.nudge + self.inner.embed(where)

    def rotate(self, heads: Array, where: Where) -> Array:
        return self.inner.rotate(heads, where)

    def index(self, keys: Where, room: Room) -> Any:
        return self.inner.index(keys, room)

    def links(self, index: Any, queries: Where) -> Any:
        return self.inner.links(index, queries)

    def attend(self, *arguments: Any) -> Array:
        return self.inner.attend(*arguments)


@jax.jit
def influence(model: Transformer, text: Text) -> Array:
    """How much each token's embedding moves the logits at each query: queries x tokens."""
    where = LAYOUT.where(text)

    def at_queries(nudge: Array) -> Array:
        positions = Nudged(model.positions, nudge)
        nudged = Transformer(**vars(model) | {"positions": positions})
        return nudged(text.tokens, where, tiny.every_index(text), ROOM)[0]

    zero = jnp.zeros((1, ROOM.total, model.settings.width))
    by_nudge = jax.jacrev(at_queries)(zero)[:, :, 0]  # queries x vocabulary x tokens x width
    return jnp.max(jnp.abs(by_nudge), axis=(1, 3))


@every_encoding
def test_no_derivative_leads_from_a_later_token_to_an_earlier_query(name: str) -> None:
    one = jax.tree.map(lambda part: part[:1], TEXT)
    felt = np.asarray(influence(tiny_model(name, 2), one))
    length = int(one.lengths[0])
    assert (felt[:length][np.triu_indices(length, k=1, m=ROOM.total)] == 0).all()
    assert (np.diag(felt)[:length] > 0).all()


def test_without_positions_every_earlier_token_is_felt() -> None:
    one = jax.tree.map(lambda part: part[:1], TEXT)
    length = int(one.lengths[0])
    felt = np.asarray(influence(tiny_model("nope", 1), one))[:length, :length]
    assert (felt[np.tril_indices(length)] > 0).all()


def test_in_one_windowed_block_only_tokens_within_reach_are_felt() -> None:
    one = jax.tree.map(lambda part: part[:1], TEXT)
    length = int(one.lengths[0])
    place = np.asarray(LAYOUT.where(one).coordinates)[0, :length, 0]
    moved = place[None, :] - place[:, None]
    reachable = np.tril((moved >= 0) & (moved <= 1))
    felt = np.asarray(influence(tiny_model("window", 1), one))[:length, :length]
    np.testing.assert_array_equal(felt > 0, reachable)


@every_encoding
def test_changing_later_tokens_changes_no_earlier_logits(name: str) -> None:
    """The whole way from tokens on: kinds and coordinates must be causal too."""
    model, shared = tiny_model(name, 2), "21+43"
    pairs = [(12, 34), (12, 7934), (12, 934), (12, 1034)]
    text = tiny.text(LAYOUT, [Problem("+", pair) for pair in pairs], ROOM.total)
    found = logits(model, text)[:, : len(shared)]
    np.testing.assert_array_equal(found, jnp.broadcast_to(found[:1], found.shape))


@pytest.mark.parametrize("attending", [1, 2])
@every_encoding
def test_asking_for_fewer_queries_does_not_change_their_logits(name: str, attending: int) -> None:
    model = tiny_model(name, attending)
    chosen = jnp.array([[1, 4], [3, 2], [0, 6], [5, 5]], jnp.int32)
    some = jax.jit(lambda model: model(TEXT.tokens, LAYOUT.where(TEXT), chosen, ROOM))(model)
    every = logits(model, TEXT)[jnp.arange(4)[:, None], chosen]
    np.testing.assert_allclose(some, every, atol=1e-5)


def test_padding_after_a_text_does_not_change_its_logits() -> None:
    model = tiny_model("window", 2)
    refilled = TEXT._replace(
        tokens=jnp.where(jnp.arange(ROOM.total) < TEXT.lengths[:, None], TEXT.tokens, 7)
    )
    one, two = logits(model, TEXT), logits(model, refilled)
    for row, length in enumerate(TEXT.lengths.tolist()):
        np.testing.assert_array_equal(one[row, :length], two[row, :length])


def test_the_default_recipe_has_fewer_than_50_000_parameters() -> None:
    recipe = recipes.load("addition")
    model = tiny.drawn(recipe, layout_named(recipe.layout))
    assert parameters(model) < 50_000


def counted_by_hand(recipe: Recipe, layout: Layout) -> int:
    settings, vocabulary = recipe.model, len(layout.characters)
    width, wide = settings.width, settings.width * settings.mlp_factor
    attention = settings.attending * 4 * width * width
    mlp = settings.blocks * 2 * width * wide
    gains = width * (settings.attending + settings.blocks + 1) * (settings.norm != "plain")
    embeddings = vocabulary * width * (1 if settings.tied else 2)
    kinds = len(layout.kinds) * width * settings.kinds
    return attention + mlp + gains + embeddings + kinds


DESIGNS: list[dict[str, Any]] = [
    *({"model__activation": name} for name in ("relu", "relu2", "gelu", "silu")),
    *({"model__norm": name} for name in ("rms", "layer", "plain")),
    {"model__tied": True},
    {"model__kinds": False},
    {"model__blocks": 4, "model__attending": 2},
    {"model__blocks": 4, "model__attending": 4},
]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: "-".join(map(str, design.values())))
def test_every_design_runs_and_has_the_parameters_it_should(design: dict[str, Any]) -> None:
    recipe = tiny.with_encoding("nope", **design)
    model = tiny.drawn(recipe, LAYOUT)
    found = logits(model, TEXT)
    assert found.shape == (*TEXT.tokens.shape, len(LAYOUT.characters))
    assert jnp.isfinite(found).all()
    assert parameters(model) == counted_by_hand(recipe, LAYOUT)


@pytest.mark.parametrize("tied", [True, False])
def test_a_spelled_letter_is_its_digit_and_its_carry(tied: bool) -> None:
    """`b` is 1 with one carried: its vector is that of 1 plus what `a` has beyond 0."""
    layout = layout_named("running")
    recipe = tiny.with_encoding("nope", model__spelled=True, model__tied=tied)
    model = tiny.drawn(recipe, layout)
    zero, one, a, b = model.characters()[layout.encode("01ab")]
    np.testing.assert_allclose(b - one, a - zero, atol=1e-6)
    assert not np.allclose(a, zero)
    plain = tiny.drawn(tiny.with_encoding("nope", model__tied=tied), layout)
    assert (
        parameters(plain) - parameters(model) == (24 - 15) * 16
    )  # ten digits, a carry, four signs


def test_spelling_changes_nothing_where_there_are_no_letters() -> None:
    plain, spelled = (tiny.drawn(tiny.recipe(model__spelled=s), LAYOUT) for s in (False, True))
    np.testing.assert_array_equal(logits(plain, TEXT), logits(spelled, TEXT))


def normed(name: str, x: np.ndarray) -> np.ndarray:
    centred = x if name == "rms" else x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True))


FORMULAS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu2": lambda x: np.maximum(x, 0) ** 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}


@pytest.mark.parametrize(
    ("norm", "activation", "tied"),
    [("rms", "relu2", False), ("layer", "relu", True), ("plain", "silu", False)],
)
def test_a_block_is_attention_then_mlp_by_the_textbook(
    norm: str, activation: str, tied: bool
) -> None:
    """One block, one head, no positions, written out in NumPy."""
    recipe = tiny.with_encoding(
        "nope", model__blocks=1, model__heads=1, model__kinds=False,
        model__norm=norm, model__activation=activation, model__tied=tied,
    )  # fmt: skip
    model = tiny.drawn(recipe, LAYOUT)
    x = np.asarray(model.tokens)[np.asarray(TEXT.tokens[0])]
    h = normed(norm, x)
    q, k, v = (h @ np.asarray(getattr(model.attention, n)[0]) for n in ("query", "key", "value"))
    scores = np.where(np.tri(len(x), dtype=bool), q @ k.T / np.sqrt(model.settings.width), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    x = x + weights / weights.sum(-1, keepdims=True) @ v @ np.asarray(model.attention.out[0])
    inner = FORMULAS[activation](normed(norm, x) @ np.asarray(model.mlp.up[0]))
    x = x + inner @ np.asarray(model.mlp.down[0])
    head = np.asarray(model.tokens).T / 4 if tied else np.asarray(model.head)  # 4 is the root of 16
    np.testing.assert_allclose(logits(model, TEXT)[0], normed(norm, x) @ head, atol=1e-4)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"width": 30, "heads": 4}, "model.width 30 is not divisible by model.heads 4"),
        ({"blocks": 1, "attending": 2}, "model.attending 2 is more than model.blocks 1"),
    ],
)
def test_an_impossible_size_is_refused(settings: dict[str, int], complaint: str) -> None:
    with pytest.raises(UserError, match=complaint):
        Model(**settings)


def test_a_model_is_built_without_drawing_anything() -> None:
    recipe = tiny.recipe()
    leaves = jax.tree.leaves(build(recipe.model, recipe.positions, LAYOUT))
    assert not any(isinstance(leaf, jax.Array) and leaf.std() > 0 for leaf in leaves)
