"""What is recorded on the way through a model, held against the same written out in NumPy."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.layouts import layout_named
from curta.model.inspection import AXES, SiteChange, all_logits, kind, record_activations
from curta.model.transformer import Transformer
from tests import tiny

LAYOUT = layout_named("coupled")
ROOM = tiny.bounds(LAYOUT, 3)
TEXT = tiny.text(LAYOUT, tiny.random_sums(3, 3), ROOM.total)

DESIGNS: list[dict[str, Any]] = [
    {"num_attention_layers": 2},
    {"num_layers": 3, "num_kv_heads": 1, "gated": True, "activation": "relu"},
    {"num_recurrences": 2, "input_injection": "block"},
    {"num_recurrences": 3, "input_injection": "sublayer", "num_attention_layers": 2},
    {"num_recurrences": 2, "input_injection": "recurrence"},
    {"norm": "layer", "biases": ("qkv", "out", "mlp", "norms", "head")},
    {"norm_placement": "post_residual"},
    {"causal": False, "norm": "none"},
]


def drawn(config: dict[str, Any]) -> Transformer:
    """A model without positions; its gains are no ones, its biases no zeros."""
    changes = {f"model__{field}": value for field, value in config.items()}
    model = tiny.drawn(tiny.with_encoding("nope", **changes), LAYOUT)
    return jax.tree.map(stretched, model)


def stretched(leaf: jax.Array) -> jax.Array:
    stretch = jnp.broadcast_to(jnp.linspace(0.5, 1.5, leaf.shape[-1]), leaf.shape)
    return jnp.where(leaf == 0, stretch - 1, leaf * stretch)


class ByHand:
    """Every site of one text, in NumPy: one token, one head after the other."""

    def __init__(self, model: Transformer, tokens: np.ndarray, roles: np.ndarray) -> None:
        self.config, self.model = model.config, jax.tree.map(np.asarray, model)
        self.found: dict[str, np.ndarray] = {}
        assert self.model.roles is not None
        self.entry = self.model.tokens[tokens] + self.model.roles[roles]
        self.seen = np.tri(len(tokens), dtype=bool) | (not self.config.causal)
        injected = self.config.input_injection in ("recurrence", "block", "sublayer")
        x, several = self.entry * (not injected), self.config.num_recurrences > 1
        self.found["embedding"] = self.entry
        for number in range(self.config.num_recurrences):
            self.prefix = f"recurrence.{number}." if several else ""
            x = x + self.entry * (self.config.input_injection == "recurrence")
            for layer in range(self.config.num_layers):
                x = self.layer(x, layer)
        self.found["final"] = self.norm(x, self.model.gain, self.model.gain_bias)
        logits = self.found["final"] @ self.model.head
        self.found["logits"] = logits + (0 if model.head_bias is None else self.model.head_bias)

    def norm(self, x: np.ndarray, gain: Any, bias: Any) -> np.ndarray:
        if self.config.norm == "none":
            return x
        x = x - x.mean(-1, keepdims=True) * (self.config.norm == "layer")
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + self.config.norm_epsilon) * gain
        return x if bias is None else x + bias

    def layer(self, x: np.ndarray, number: int) -> np.ndarray:
        def note(name: str, value: np.ndarray) -> np.ndarray:
            self.found[f"{self.prefix}layer.{number}.{name}"] = value
            return value

        def part(layer: Any, name: str) -> Any:
            weight = getattr(layer, name)
            return None if weight is None else weight[number]

        def after(x: np.ndarray, layer: Any) -> np.ndarray:
            if self.config.norm_placement == "pre":
                return x
            return self.norm(x, part(layer, "after"), part(layer, "after_bias"))

        config, attention, mlp = self.config, self.model.attention, self.model.mlp
        x = note("before", x + self.entry * (config.input_injection in ("block", "sublayer")))
        if number < config.num_attention_layers:
            h = self.norm(x, part(attention, "gain"), part(attention, "gain_bias"))
            x = after(x + self.attention(h, note, lambda name: part(attention, name)), attention)
            x = note("middle", x + self.entry * (config.input_injection == "sublayer"))
        h = self.norm(x, part(mlp, "gain"), part(mlp, "gain_bias"))
        inner = h @ part(mlp, "up") + _or_zero(part(mlp, "up_bias"))
        act = (lambda y: np.maximum(y, 0)) if config.activation == "relu" else _relu2
        if config.gated:
            inner = act(h @ part(mlp, "gate") + _or_zero(part(mlp, "gate_bias"))) * inner
        else:
            inner = act(inner)
        change = note("mlp.inner", inner) @ part(mlp, "down") + _or_zero(part(mlp, "down_bias"))
        return note("after", after(x + note("mlp.output", change), mlp))

    def attention(self, h: np.ndarray, note: Any, part: Any) -> np.ndarray:
        features, group = self.config.head_dim, self.config.heads // self.config.kv_heads
        q, k, v = (
            (h @ part(name) + _or_zero(part(f"{name}_bias"))).reshape(len(h), -1, features)
            for name in ("query", "key", "value")
        )
        heads: dict[str, list[np.ndarray]] = {"keys": [], "values": [], "weights": [], "heads": []}
        for head in range(self.config.heads):
            mine_k, mine_v = k[:, head // group], v[:, head // group]
            scores = np.where(self.seen, q[:, head] @ mine_k.T / np.sqrt(features), -np.inf)
            raised = np.exp(scores - scores.max(-1, keepdims=True))
            weights = raised / raised.sum(-1, keepdims=True)
            out = part("out")[head * features : (head + 1) * features]
            for name, value in zip(
                heads, (mine_k, mine_v, weights, weights @ mine_v @ out), strict=True
            ):
                heads[name].append(value)
        note("attention.queries", q)
        for name, values in heads.items():
            note(f"attention.{name}", np.stack(values, axis=0 if name == "weights" else 1))
        return note("attention.output", sum(heads["heads"]) + _or_zero(part("out_bias")))


def _or_zero(bias: Any) -> Any:
    return 0.0 if bias is None else bias


def _relu2(y: np.ndarray) -> np.ndarray:
    return np.maximum(y, 0) ** 2


@jax.jit
def everything(model: Transformer) -> dict[str, jax.Array]:
    return record_activations(model, TEXT.tokens, LAYOUT.where(TEXT), ROOM)


@pytest.mark.parametrize("config", DESIGNS, ids=str)
def test_every_site_is_what_it_is_by_hand(config: dict[str, Any]) -> None:
    model, row = drawn(config), 1
    length, where = int(TEXT.lengths[row]), LAYOUT.where(TEXT)
    tokens, roles = np.asarray(TEXT.tokens[row]), np.asarray(where.role[row])
    expected = ByHand(model, tokens[:length], roles[:length]).found
    found = everything(model)
    assert set(found) == set(expected)
    for site, values in expected.items():
        value = np.asarray(found[site])[row]
        value = value[:, :length, :length] if site.endswith("weights") else value[:length]
        np.testing.assert_allclose(value, values, rtol=1e-5, atol=3e-5, err_msg=site)


@pytest.mark.parametrize("config", DESIGNS, ids=str)
def test_every_site_has_the_axes_of_its_kind(config: dict[str, Any]) -> None:
    found = everything(drawn(config))
    assert {kind(site) for site in found} == set(AXES)
    for site, value in found.items():
        assert value.ndim == len(AXES[kind(site)]), site


@pytest.mark.parametrize("name", tiny.ENCODINGS)
def test_what_is_recorded_leads_to_the_models_own_logits(name: str) -> None:
    """With every encoding, the window's mask over texts included."""
    layout = tiny.layout_for(name)
    bounds = layout.bounds("+", (4, 4))
    text = tiny.text(layout, tiny.random_sums(3, 4), bounds.total)
    model = tiny.drawn(tiny.with_encoding(name), layout)

    @jax.jit
    def both(model: Transformer) -> tuple[jax.Array, ...]:
        where = layout.where(text)
        plain = all_logits(model, text.tokens, where, bounds)
        asked = model(text.tokens, where, tiny.every_index(text), bounds)
        return plain, asked, record_activations(model, text.tokens, where, bounds)["logits"]

    plain, asked, found = both(model)
    there = np.asarray(layout.where(text).role) >= 0
    np.testing.assert_allclose(found[there], plain[there], atol=3e-5)
    np.testing.assert_allclose(found[there], asked[there], atol=3e-5)


def test_a_change_is_where_its_mask_is_and_what_follows_goes_on_from_it() -> None:
    model, site = drawn({"num_attention_layers": 2}), "layer.0.mlp.output"
    mask = np.zeros((3, ROOM.total, 1), bool)
    mask[:, 4] = True
    change = SiteChange(jnp.asarray(mask), jnp.zeros((1, 1, 1)))
    before = everything(model)
    after = record_activations(model, TEXT.tokens, LAYOUT.where(TEXT), ROOM, changes={site: change})
    assert not np.asarray(after[site])[:, 4].any()
    tiny.assert_close(np.delete(after[site], 4, axis=1), np.delete(before[site], 4, axis=1))
    tiny.assert_close(after["layer.0.after"][:, 4], before["layer.0.middle"][:, 4])
    tiny.assert_close(after["logits"][:, :4], before["logits"][:, :4])
    assert np.abs(after["logits"] - before["logits"])[:, 4:].max(axis=(0, 2)).all()
