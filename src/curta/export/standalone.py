"""A transformer that adds, exported by Curta for the AdderBoard. It needs NumPy only.

`model(tokens)` returns the logits of the token after each token. `generate` is greedy decoding of
any such model, token by token. It writes the sum as on squared paper: a token is a symbol, a role
and a move of the pen, such as the digit 7 of the sum one place further.

Besides the tokens, the model gets a position encoding: the squares to which the moves so far lead.
Attention sees the keys whose role and place, relative to the query, are in a short list, its
window, each with a learned bias.
"""

import base64
import math
from typing import Any

import numpy as np

from curta.export.huggingface.asking_curta import answer, prompt

MACHINE: dict[str, Any] = {}
SETTINGS: dict[str, Any] = {}
METADATA: dict[str, Any] = {}
SHAPES: dict[str, list[int]] = {}
WEIGHTS: str = ""

SPARE: int = 0
"""Most new tokens per token of the prompt, plus 50, so that every text ends."""


class Model:
    """A decoder: its tensors by name, the machine on which it writes, and its settings."""

    def __init__(
        self, tensors: dict[str, np.ndarray], machine: dict[str, Any], settings: dict[str, Any]
    ) -> None:
        self.tensors = tensors
        self.machine = machine
        self.settings = settings
        names = [role["name"] for role in machine["roles"]]
        self.role = np.array([names.index(token["role"]) for token in machine["tokens"]])
        self.home = np.array([token["home"] for token in machine["tokens"]])
        self.offset = np.array([token["offset"] for token in machine["tokens"]])
        self.wide = np.array(
            [[axis in role["broadcast"] for axis in machine["axes"]] for role in machine["roles"]]
        )
        self.windows = [
            [(names.index(other), moved) for other, moved in machine["windows"].get(name, [])]
            for name in names
        ]

    def __call__(self, tokens: np.ndarray) -> np.ndarray:
        """Return the logits (time x tokens) of the token after each token."""
        w, settings, roles = self.tensors, self.settings, self.role[tokens]
        vocabulary = w["tokens"]
        if settings["parts"] is not None:
            vocabulary = vocabulary[np.array(settings["parts"])].sum(axis=1)
        x = vocabulary[tokens]
        if "roles" in w:
            x = x + w["roles"][roles]
        cells = self.window(roles, self.positions(tokens))
        for block in range(settings["num_layers"]):
            if block < settings["num_attention_layers"]:
                x = x + self.attention(x, block, roles, cells)
            x = x + self.feedforward(x, block)
        head = w["head"] if "head" in w else vocabulary.T * x.shape[1] ** -0.5
        return normed(x, w["gain"]) @ head

    def positions(self, tokens: np.ndarray) -> np.ndarray:
        """Return the pen's square at each token: it goes home or stays, then moves by an offset."""
        position, positions = np.zeros_like(self.offset[0]), []
        for token in tokens:
            position = np.where(self.home[token], 0, position) + self.offset[token]
            positions.append(position)
        return np.array(positions)

    def window(self, roles: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return the window cell of each key (column) for each query (row); -1 for none."""
        cells = np.full((len(roles), len(roles)), -1)
        moved = np.where(self.wide[roles], 0, places - places[:, None])
        for role, neighbours in enumerate(self.windows):
            for cell, (other, move) in enumerate(neighbours, 1):
                there = (moved == move).all(axis=-1) & (roles == other)
                cells[there & (roles[:, None] == role)] = cell
        np.fill_diagonal(cells, 0)
        cells = np.where(np.tri(len(roles), dtype=bool), cells, -1)
        for cell in range(1, cells.max() + 1):  # of several tokens on a square the newest counts
            newer = np.cumsum((cells == cell)[:, ::-1], axis=1)[:, ::-1]
            cells[(cells == cell) & (newer > 1)] = -1
        return cells

    def attention(
        self, x: np.ndarray, block: int, roles: np.ndarray, cells: np.ndarray
    ) -> np.ndarray:
        """Return softmax attention of every token over the cells of its window.

        An absent neighbour is a zero vector, and is attended to like the others.
        """
        w, split = self.tensors, (len(x), self.settings["heads"], -1)
        h = normed(x, w["attention_gain"][block])
        query, key, value = (
            (h @ w[name][block]).reshape(split) for name in ("query", "key", "value")
        )
        biases = w["biases"][block].reshape(self.settings["heads"], len(self.wide), -1)
        scores = np.einsum("qhe,khe->hqk", query, key) * self.settings["scale"]
        scores = np.where(cells >= 0, scores + biases[:, roles[:, None], cells], -1e9)
        numbers = np.arange(biases.shape[-1])
        present = (cells[:, :, None] == numbers).any(axis=1)
        exists = numbers <= np.array([len(near) for near in self.windows])[roles, None]
        absent = np.where(exists & ~present, biases[:, roles], -1e9)
        scores = np.concatenate([scores, absent], axis=-1)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = (weights / weights.sum(axis=-1, keepdims=True))[..., : len(x)]
        return np.einsum("hqk,khe->qhe", weights, value).reshape(x.shape) @ w["out"][block]

    def feedforward(self, x: np.ndarray, block: int) -> np.ndarray:
        w = self.tensors
        inner = np.maximum(normed(x, w["mlp_gain"][block]) @ w["up"][block], 0.0)
        return (np.square(inner) if self.settings["squared"] else inner) @ w["down"][block]


def normed(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Scale each token's vector to root mean square 1, and multiply by a learned gain."""
    return x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + 1e-6) * gain


def generate(model: Model, prompt: list[int]) -> list[int]:
    """Return greedy decoding: the likeliest token after the text so far, repeatedly."""
    text = list(prompt)
    for _ in range(SPARE * len(prompt) + 50):
        text.append(int(np.argmax(model(np.array(text))[-1])))
        if model.machine["tokens"][text[-1]]["role"] == "end":
            break
    return text


def build_model() -> tuple[Model, dict[str, Any]]:
    """Return the model and the AdderBoard's metadata, with counted parameters."""
    numbers = np.frombuffer(base64.b64decode(WEIGHTS), "<f4")
    ends = np.cumsum([math.prod(shape) for shape in SHAPES.values()])
    arrays = np.split(numbers, ends[:-1])
    tensors = {
        name: array.reshape(shape)
        for (name, shape), array in zip(SHAPES.items(), arrays, strict=True)
    }
    unique = {id(tensor): tensor.size for tensor in tensors.values()}
    return Model(tensors, MACHINE, SETTINGS), {**METADATA, "params": sum(unique.values())}


def add(model: Model, a: int, b: int) -> int:
    """Return the sum that the model writes; -1 if it writes no number, or no end.

    Raises ValueError for negative or non-integer operands, and for too many digits.
    """
    tokens = prompt(model.machine, "+", [a, b])
    total = answer(model.machine, "+", generate(model, tokens), len(tokens))
    return -1 if total is None else total
