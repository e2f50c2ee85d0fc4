"""A windowed model's forward pass in NumPy: what `curta ask` runs, without JAX.

Under a window the one attention layer is the first, so a token's vector, query, key and value
depend on the token alone. They are tables with one row per token, computed once; what is left is
a softmax over the cells of each window and the MLPs after it. Every design that positions
'window' accept is here (`config.recipe.WINDOW_NEEDS`); logits agree with the compiled model
up to rounding.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from curta.config.sections import ModelConfig
from curta.programs.machine.machine import Machine, Windows, cells_of
from curta.programs.machine.recording import WindowIndex, distinct
from curta.programs.machine.writing import write

TOGETHER = 4096
"""Windows of one pass."""

TEXTS = 8192
"""Texts written side by side."""

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relu": lambda x: np.maximum(x, 0),
    "relu2": lambda x: np.square(np.maximum(x, 0)),
    "gelu": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "gelu_erf": lambda x: x * (1 + np.vectorize(math.erf, "f")(x / math.sqrt(2))) / 2,
    "silu": lambda x: x / (1 + np.exp(-x)),
}


class WindowModel:
    """One member of a windowed run: the logits of windows.

    `weights` are float32 arrays by their path, such as `attention.query`. Raises
    KeyError or ValueError where they are not those of `config` on this machine.
    """

    def __init__(
        self,
        config: ModelConfig,
        weights: Mapping[str, np.ndarray],
        machine: Machine,
        windows: Windows,
    ) -> None:
        self.config, self.machine, self.windows = config, machine, windows
        w = self.weights = unshared(config, weights)
        characters = character_vectors(config, w, machine.features)
        self.head = head_matrix(config, w, characters)
        if self.head.shape != (config.width, len(machine.tokens)):
            raise ValueError(f"a head of {self.head.shape} for {len(machine.tokens)} tokens")
        self.vectors = characters + w["roles"][machine.role] if "roles" in w else characters

        # Tables of the vocabulary: tokens x heads x features. A neighbour that is absent has the
        # number after the last token: a row of zeros, attended to like the others.
        h = normed(config, self.vectors, w, "attention.gain", 0)
        query, key, value = (
            (h @ w[f"attention.{name}"][0]).reshape(len(h), -1, config.head_dim)
            for name in ("query", "key", "value")
        )
        self.query = query * np.float32(config.head_dim**-0.5 if config.attention_scale else 1.0)
        self.key, self.value = (
            np.pad(table, ((0, 1), (0, 0), (0, 0))).repeat(config.heads // config.kv_heads, axis=1)
            for table in (key, value)
        )

        # Score biases, roles x cells x heads; a role has as many cells as its window.
        cells = cells_of(windows)
        counts = np.array([1 + len(windows.get(role.name, ())) for role in machine.roles])
        biases = w["positions.biases"][0].reshape(config.heads, len(machine.roles), cells)
        exists = np.arange(cells) < counts[:, None]
        self.bias = np.where(exists[..., None], biases.transpose(1, 2, 0), np.float32(-1e9))

    def logits(
        self, rows: Int[np.ndarray, "windows cells"]
    ) -> Float[np.ndarray, "windows vocabulary"]:
        """Return the logits of what follows each window: a query's token, then its neighbours."""
        token = rows[:, 0]
        scores = np.einsum("whf,wchf->wch", self.query[token], self.key[rows])
        shares = softmax(scores + self.bias[self.machine.role[token]], axis=1)
        heads = np.einsum("wch,wchf->whf", shares, self.value[rows]).reshape(len(rows), -1)
        x = self.vectors[token] + heads @ self.weights["attention.out"][0]
        if self.config.norms_after:
            x = normed(self.config, x, self.weights, "attention.after", 0)
        return logits_after(self.config, x, self.weights, self.head)


class WindowWriter(WindowModel):
    """A model that writes what follows prompts; each distinct window is computed once."""

    def __init__(self, *model: Any) -> None:
        super().__init__(*model)
        self.index = WindowIndex(cells_of(self.windows))
        self.next_token = np.zeros(0, np.int32)

    def next_tokens(self, rows: Int[np.ndarray, "queries cells"]) -> Int[np.ndarray, " queries"]:
        """Return the likeliest token after each window."""
        number = self.index.find(rows)
        fresh = rows[number < 0]
        if len(fresh):
            fresh = fresh[distinct(fresh)[0]]
            blocks = [fresh[start : start + TOGETHER] for start in range(0, len(fresh), TOGETHER)]
            tokens = [np.argmax(self.logits(block), axis=1) for block in blocks]
            self.index.enter(fresh)
            self.next_token = np.concatenate([self.next_token, *tokens])
            number = self.index.find(rows)
        return self.next_token[number]

    def write(self, prompts: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return what follows each prompt, the end included unless a text never ends."""
        texts: dict[int, list[int]] = {}
        order = sorted(range(len(prompts)), key=lambda number: len(prompts[number]))
        for start in range(0, len(order), TEXTS):
            chosen = order[start : start + TEXTS]
            block = [prompts[number] for number in chosen]
            texts |= zip(
                chosen, write(self.machine, self.windows, self.next_tokens, block), strict=True
            )
        return [texts[number] for number in range(len(prompts))]


def logits_after(
    config: ModelConfig, x: np.ndarray, weights: Mapping[str, np.ndarray], head: np.ndarray
) -> np.ndarray:
    """Return the logits of states after attention: what is left are the MLPs, norm and head."""
    activate = ACTIVATIONS[config.activation]
    for layer in range(config.num_layers):
        h = normed(config, x, weights, "mlp.gain", layer)
        inner = h @ weights["mlp.up"][layer]
        gate = activate(h @ weights["mlp.gate"][layer] if config.gated else inner)
        x = x + (gate * inner if config.gated else gate) @ weights["mlp.down"][layer]
        if config.norms_after:
            x = normed(config, x, weights, "mlp.after", layer)
    logits: np.ndarray = normed(config, x, weights, "gain") @ head
    return logits


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return shares that add up to 1 along an axis."""
    shares: np.ndarray = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return shares / shares.sum(axis=axis, keepdims=True)


def normed(
    config: ModelConfig,
    x: np.ndarray,
    weights: Mapping[str, np.ndarray],
    gain: str,
    layer: int | None = None,
) -> np.ndarray:
    """Return `x` after the norm that has this gain."""
    if config.norm == "none":
        return x
    if config.norm != "rms":
        x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + np.float32(config.norm_epsilon))
    if not config.has_gains:
        return x
    return x * (weights[gain] if layer is None else weights[gain][layer])


def character_vectors(
    config: ModelConfig,
    weights: Mapping[str, np.ndarray],
    features: Float[np.ndarray, "tokens features"],
) -> Float[np.ndarray, "tokens width"]:
    """Return the vector of each token, each the sum of the vectors of its features."""
    if config.embedding == "arc":
        radius, start, step = weights["tokens"]
        angles = start + step * np.arange(len(features), dtype=np.float32)
        arc: np.ndarray = radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
        return arc
    vectors: np.ndarray = weights["tokens"]
    return features @ vectors if config.compositional_embeddings else vectors


def head_matrix(
    config: ModelConfig, weights: Mapping[str, np.ndarray], characters: np.ndarray
) -> Float[np.ndarray, "width tokens"]:
    """Return the matrix that makes logits of states."""
    scale = np.float32(config.width**-0.5 if config.tied_scale else 1.0)
    head: np.ndarray = characters.T * scale if config.tie_embeddings else weights["head"]
    return head


def unshared(config: ModelConfig, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return all weights, those too that `model.weight_sharing` makes of others."""
    w = dict(weights)
    if "key-query" in config.weight_sharing:  # each pair of features turned by one angle
        query, angle = w["attention.query"], w.pop("attention.turn")[:, :, None]
        first, second = query[..., ::2], query[..., 1::2]
        cos, sin = np.cos(angle), np.sin(angle)
        pairs = (first * cos - second * sin, first * sin + second * cos)
        w["attention.key"] = np.stack(pairs, axis=-1).reshape(query.shape)
    if "value-key" in config.weight_sharing:
        w["attention.value"] = w["attention.key"]
    if "out-query" in config.weight_sharing:
        w["attention.out"] = w["attention.query"].swapaxes(1, 2)
    if "out-value" in config.weight_sharing:
        w["attention.out"] = -w["attention.value"].swapaxes(1, 2)
    if "norms" in config.weight_sharing:
        gains = np.broadcast_to(w["gain"], (config.num_layers, config.width))
        if config.norms_before:
            w["attention.gain"], w["mlp.gain"] = gains[: config.num_attention_layers], gains
        if config.norms_after:
            w["attention.after"], w["mlp.after"] = gains[: config.num_attention_layers], gains
    return w
