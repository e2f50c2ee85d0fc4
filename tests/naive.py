"""A transformer in plain NumPy, one text at a time: what tests hold every forward pass against.

Everything is written as the papers define it and as slowly as it likes. Weights are those of a
checkpoint, by their path, such as `attention.query`. Of the package only settings are used, and
a layout's rule for where tokens stand.
"""

import math
from typing import Any

import jax
import numpy as np
from scipy.special import erf, softmax

from curta.config.recipe import Recipe
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.transformer import Transformer
from tests import paper

ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu2": lambda x: np.maximum(x, 0) ** 2,
    "gelu": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_erf": lambda x: x / 2 * (1 + erf(x / math.sqrt(2))),
    "silu": lambda x: x / (1 + np.exp(-x)),
}


def weights_of(model: Transformer) -> dict[str, np.ndarray]:
    """Return the weights of a model by their paths."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(model)
    return {jax.tree_util.keystr(path)[1:]: np.asarray(leaf) for path, leaf in leaves}


class Forward:
    """The forward pass over one text; arrays have the tokens as first axis."""

    def __init__(
        self, recipe: Recipe, weights: dict[str, np.ndarray], layout: Layout, tokens: list[int]
    ) -> None:
        self.config, self.settings, self.layout = recipe.model, recipe.positions, layout
        self.weights = unshared(recipe, {k: v.astype(np.float64) for k, v in weights.items()})
        self.dropout: dict[str, np.ndarray] = {}  # by site, factors of each block: 0 where dropped
        self.tokens, self.index = tokens, np.arange(len(tokens))
        self.role, self.places = followed(layout, tokens)
        self.cells = None
        if isinstance(layout, ProgramLayout) and self.settings.name == "window":
            self.cells = [paper.seen(layout, tokens[: end + 1]) for end in self.index]

    def all_logits(self) -> np.ndarray:
        """Return the logits of what follows each token: tokens x vocabulary."""
        entry = self.entry()
        x = self.begin(entry)
        for _ in range(self.config.num_recurrences):
            x = self.recurrence(x, entry)
        return self.logits(x)

    def vectors(self) -> np.ndarray:
        """Return the vector of each token of the vocabulary."""
        vectors = self.weights["tokens"]
        if self.config.embedding == "arc":
            radius, start, step = vectors
            angles = start + step * np.arange(len(self.layout.characters))
            return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        if self.config.compositional_embeddings:
            return self.layout.composition() @ vectors
        return vectors

    def entry(self) -> np.ndarray:
        """Return the embedded text."""
        entry = self.vectors()[self.tokens]
        if self.config.role_embeddings:
            entry = entry + self.weights["roles"][self.role]
        return entry + self.position_vectors() if self.config.qk_input == "state" else entry

    def begin(self, entry: np.ndarray) -> np.ndarray:
        """Return the state before the first recurrence, which may add the entry itself."""
        injected = self.config.input_injection in ("recurrence", "block", "sublayer")
        return 0 * entry if injected else entry

    def recurrence(self, x: np.ndarray, entry: np.ndarray) -> np.ndarray:
        """Return the state after all blocks."""
        injection = self.config.input_injection
        x = x + entry if injection == "recurrence" else x
        for block in range(self.config.num_layers):
            x = x + entry if injection in ("block", "sublayer") else x
            if block < self.config.num_attention_layers:
                x = self.sublayer("attention", block, x, entry)
                x = x + entry if injection == "sublayer" else x
            x = self.sublayer("mlp", block, x, entry)
        return x

    def logits(self, x: np.ndarray) -> np.ndarray:
        config, w = self.config, self.weights
        if config.final_norm:
            x = self.norm(x, w.get("gain"), w.get("gain_bias"))
        scale = config.width**-0.5 if config.tied_scale else 1.0
        head = self.vectors().T * scale if config.tie_embeddings else w["head"]
        return x @ head + w.get("head_bias", 0)

    def dropped(self, x: np.ndarray, site: str, *where: Any) -> np.ndarray:
        """Return what dropout leaves of an array of some block."""
        return x * self.dropout[site][where] if site in self.dropout else x

    def sublayer(self, kind: str, block: int, x: np.ndarray, entry: np.ndarray) -> np.ndarray:
        """Return the state after attention or the MLP of one block."""
        config, start = self.config, f"{kind}."
        w = {k[len(start) :]: v[block] for k, v in self.weights.items() if k.startswith(start)}
        h = self.norm_before(x, w)
        h = h + entry if config.input_injection == "normed" else h
        change = self.attention(block, h, w) if kind == "attention" else self.mlp(block, h, w)
        x = x + self.dropped(change, "output", block, int(kind == "mlp"))
        if config.norm_placement == "pre":
            return x
        return self.norm(x, w.get("after"), w.get("after_bias"))

    def norm_before(self, x: np.ndarray, w: dict[str, np.ndarray]) -> np.ndarray:
        if self.config.norm_placement == "post":
            return x
        return self.norm(x, w.get("gain"), w.get("gain_bias"))

    def norm(self, x: np.ndarray, gain: Any, bias: Any) -> np.ndarray:
        config = self.config
        if config.norm == "none":
            return x
        if config.norm != "rms":
            x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x**2).mean(axis=1, keepdims=True) + config.norm_epsilon)
        return x * (1 if gain is None else gain) + (0 if bias is None else bias)

    def mlp(self, block: int, h: np.ndarray, w: dict[str, np.ndarray]) -> np.ndarray:
        activate = ACTIVATIONS[self.config.activation]
        inner = h @ w["up"] + w.get("up_bias", 0)
        if self.config.gated:
            inner = activate(h @ w["gate"] + w.get("gate_bias", 0)) * inner
        else:
            inner = activate(inner)
        return self.dropped(inner, "mlp", block) @ w["down"] + w.get("down_bias", 0)

    def attention(self, block: int, h: np.ndarray, w: dict[str, np.ndarray]) -> np.ndarray:
        """Return what attention adds to the state: each head with the keys of its group."""
        config, count = self.config, len(self.tokens)
        located = h
        if config.qk_input == "positions":
            located = self.norm_before(self.position_vectors(), w)
        query, key, value = (
            (source @ w[name] + w.get(f"{name}_bias", 0)).reshape(count, -1, config.head_dim)
            for name, source in (("query", located), ("key", located), ("value", h))
        )
        group, heads = config.heads // config.kv_heads, []
        for head in range(config.heads):
            q, k = self.turned(query[:, head], head), self.turned(key[:, head // group], head)
            v = value[:, head // group]
            scale = config.head_dim**-0.5 if config.attention_scale else 1.0
            if self.cells is not None:
                heads.append(self.windowed(block, head, scale * q, k, v))
                continue
            scores = scale * q @ k.T + self.bias(block, head)
            if config.causal:
                scores[self.index[:, None] < self.index] = -np.inf
            shares = self.dropped(softmax(scores, axis=-1), "attention", block, slice(None), head)
            heads.append(shares @ v)
        return np.concatenate(heads, axis=1) @ w["out"] + w.get("out_bias", 0)

    def windowed(
        self, block: int, head: int, q: np.ndarray, k: np.ndarray, v: np.ndarray
    ) -> np.ndarray:
        """Attend to the cells of each token's window; one that is empty holds a vector of zeros."""
        assert self.cells is not None
        biases = self.weights["positions.biases"][block, head]
        biases = biases.reshape(len(self.layout.roles), -1)
        heads = []
        for query, cells in enumerate(self.cells):
            keys, values = (
                np.array([0 * table[0] if cell is None else table[cell] for cell in cells])
                for table in (k, v)
            )
            scores = keys @ q[query] + biases[self.role[query], : len(cells)]
            heads.append(softmax(scores, axis=-1) @ values)
        return np.array(heads)

    def position_vectors(self) -> np.ndarray:
        """Return what is added to embeddings, or stands for the state in queries and keys."""
        s, w, width = self.settings, self.weights, self.config.width
        pairs = np.arange(width // 2)
        match s.name:
            case "learned":
                return w["positions.table"][self.index]
            case "randomised" if s.of == "learned":
                return w["positions.vectors.table"][self.index]
            case "sinusoidal" | "randomised":
                base = getattr(s, "base", 10_000.0)
                return waves(self.index[:, None] * base ** (-2 * pairs / width))
            case "coupled-sinusoidal":
                each = 2 * math.pi * (pairs + 1) / s.period
                return sum(waves(axis[:, None] * each) for axis in self.places.T)
            case "coupled" | "position-coupling":
                tables = w["positions.tables"]
                return sum(
                    table[axis + 1] for table, axis in zip(tables, self.places.T, strict=True)
                )
            case "abacus" if s.inject == "embedding":
                return self.abacus()
        return np.zeros((len(self.tokens), width))

    def abacus(self) -> np.ndarray:
        """The i-th digit of a number has row i + 1 and the offset; all else has row 0."""
        digit = np.array([self.layout.roles[role].digit for role in self.role])
        rows = self.places[:, 0] + self.settings.evaluation_offset + 1
        return self.weights["positions.table"][np.where(digit, rows, 0)]

    def turned(self, heads: np.ndarray, number: int) -> np.ndarray:
        """Return one head's queries or keys as the encoding changes them."""
        s = self.settings
        if s.name == "abacus" and s.inject == "queries_keys":
            return heads + np.split(self.abacus(), self.config.heads, axis=1)[number]
        if s.name != "rope":
            return heads
        half = heads.shape[1] // 2
        at = self.index if s.over == "tokens" else np.full(len(heads), number)
        angles = at[:, None] * s.base ** (-np.arange(half) / half)
        turned = (heads[:, :half] + 1j * heads[:, half:]) * np.exp(1j * angles)
        return np.concatenate([turned.real, turned.imag], axis=1)

    def bias(self, block: int, head: int) -> np.ndarray | float:
        """Return what is added to one head's scores: queries x keys."""
        s, w = self.settings, self.weights
        distance = self.index[:, None] - self.index
        match s.name:
            case "alibi":
                slope = 2 ** (-8 * (head + 1) / self.config.heads)
                slope = w["positions.slopes"][block, head] if s.learned else slope
                return -slope * np.abs(distance)
            case "t5":
                exact = s.num_buckets // 2
                far = np.log(np.maximum(distance, exact) / exact) / np.log(s.max_distance / exact)
                far = np.minimum(exact + (far * (s.num_buckets - exact)).astype(int), 999)
                far = np.minimum(far, s.num_buckets - 1)
                buckets = np.where(distance < exact, np.maximum(distance, 0), far)
                return w["positions.table"][buckets, head]
            case "fire":
                maps = {k[15:]: v[block] for k, v in w.items() if k.startswith("positions.maps.")}
                near = np.log(np.abs(maps["scale"] * distance) + 1)
                least = np.maximum(self.index, abs(512 * maps["threshold"]))
                far = np.log(np.abs(maps["scale"] * least) + 1)[:, None]
                inner = (near / (far + 1e-6))[..., None] * maps["up"] + maps["up_bias"]
                return np.maximum(inner, 0) @ maps["down"][:, head] + maps["down_bias"][head]
        return 0.0


def followed(layout: Layout, tokens: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return the role of each token, and where it stands: tokens x axes."""
    tables, state, at, steps = layout.automaton, 0, 0, []
    for token in tokens:
        at = np.where(tables.home[state, token], 0, at) + tables.offset[state, token]
        steps.append((tables.role[state, token], at))
        state = tables.next[state, token]
    return np.array([role for role, _ in steps]), np.array([at for _, at in steps])


def unshared(recipe: Recipe, weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return all weights, those too that `model.weight_sharing` derives from others."""
    w, config = dict(weights), recipe.model
    if "key-query" in config.weight_sharing:  # pairs of features turned by one angle of each block
        query, angle = w["attention.query"], w["attention.turn"][:, :, None]
        turned = (query[..., ::2] + 1j * query[..., 1::2]) * np.exp(1j * angle)
        w["attention.key"] = np.stack([turned.real, turned.imag], -1).reshape(query.shape)
    if "value-key" in config.weight_sharing:
        w["attention.value"] = w["attention.key"]
    if "out-query" in config.weight_sharing:
        w["attention.out"] = w["attention.query"].swapaxes(1, 2)
    if "out-value" in config.weight_sharing:
        w["attention.out"] = -w["attention.value"].swapaxes(1, 2)
    if "norms" in config.weight_sharing:
        for name in ("attention.gain", "attention.after", "mlp.gain", "mlp.after"):
            w[name] = np.tile(w["gain"], (config.num_layers, 1))
    return w


def waves(angles: np.ndarray) -> np.ndarray:
    """Return sines and cosines in turn: s0 c0 s1 c1 ..."""
    return np.stack([np.sin(angles), np.cos(angles)], axis=2).reshape(len(angles), -1)
