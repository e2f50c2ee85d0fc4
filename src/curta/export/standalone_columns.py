"""A transformer that adds two numbers of ten digits, exported by Curta for the AdderBoard.

It needs NumPy only. `model(tokens)` returns the logits of the token after each token, from a
decoder of one block with causal attention. Tokens are the ten digits. A text is `0 a 0 0 b 0 0`
and the answer, numbers least significant digit first, of ten digits and eleven: zeros stand in
place of signs.

Positions are sines and cosines of a digit's place, a fixed table that both operands and the
answer share. Queries and keys depend on these vectors alone, values on the tokens.
"""

import base64
import math
from typing import Any

import numpy as np

from curta.export.huggingface.asking_curta import checked

SETTINGS: dict[str, Any] = {}
METADATA: dict[str, Any] = {}
SHAPES: dict[str, list[int]] = {}
WEIGHTS: str = ""

DIGITS = 10
PLACES = [*range(-1, DIGITS + 1)] * 3
"""The place of each token: both operands, and the answer from the prompt's last zero on."""


class Model:
    """A decoder: its tensors by name, and its settings."""

    def __init__(self, tensors: dict[str, np.ndarray], settings: dict[str, Any]) -> None:
        self.tensors = unshared(tensors, settings["subtracts"])
        self.settings = settings
        self.vocabulary = vocabulary(tensors["tokens"])

    def __call__(self, tokens: np.ndarray) -> np.ndarray:
        """Return the logits (time x 10) of the token after each token."""
        w = self.tensors
        x = self.vocabulary[tokens]
        x = x + self.attention(x)
        inner = np.maximum(x @ w["up"], 0.0)
        x = x + (np.square(inner) if self.settings["squared"] else inner) @ w["down"]
        head = w["head"] if "head" in w else self.vocabulary.T * x.shape[1] ** -0.5
        return x @ head

    def attention(self, x: np.ndarray) -> np.ndarray:
        """Return causal softmax attention of every token."""
        w, split = self.tensors, (len(x), self.settings["heads"], -1)
        position = self.positions()[: len(x)]
        query, key = ((position @ w[name]).reshape(split) for name in ("query", "key"))
        scores = np.einsum("qhe,khe->hqk", query, key) * self.settings["scale"]
        scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        value = (x @ w["value"]).reshape(split)
        return np.einsum("hqk,khe->qhe", weights, value).reshape(x.shape) @ w["out"]

    def positions(self) -> np.ndarray:
        """Return the fixed vector of every position: waves of its place, harmonics of a period."""
        count = self.tensors["query"].shape[0] // 2
        waves = np.arange(1, count + 1) * (2 * math.pi / self.settings["period"])
        angles = np.array(PLACES)[:, None] * waves
        return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(angles), -1)


def unshared(tensors: dict[str, np.ndarray], subtracts: bool) -> dict[str, np.ndarray]:
    """Return all matrices of attention; a missing one follows from another."""
    query = tensors["query"]
    key = tensors["key"] if "key" in tensors else turned(query, tensors["turn"])
    value = tensors.get("value", key)
    return {"key": key, "value": value, "out": -value.T if subtracts else query.T, **tensors}


def turned(matrix: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Rotate every pair of features by the same angle."""
    first, second = matrix[:, ::2], matrix[:, 1::2]
    cos, sin = np.cos(angle), np.sin(angle)
    pairs = first * cos - second * sin, first * sin + second * cos
    return np.stack(pairs, axis=-1).reshape(matrix.shape)


def vocabulary(tokens: np.ndarray) -> np.ndarray:
    """Return the vector of each digit: a row each, or on an arc by its radius, start and step."""
    if tokens.ndim == 2:
        return tokens
    radius, start, step = tokens
    angles = start + step * np.arange(10)
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def generate(model: Model, prompt: list[int]) -> list[int]:
    """Return greedy decoding: the likeliest token after the text so far, eleven times."""
    text = list(prompt)
    for _ in range(DIGITS + 1):
        text.append(int(np.argmax(model(np.array(text))[-1])))
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
    return Model(tensors, SETTINGS), {**METADATA, "params": int(numbers.size)}


def add(model: Model, a: int, b: int) -> int:
    """Return the sum that the model writes; ValueError except for whole numbers of ten digits."""
    numbers = checked("+", (a, b), (10, 10), 2, DIGITS)
    prompt = [int(digit) for number in numbers for digit in f"0{str(number)[::-1]:0<11}"] + [0]
    answer = generate(model, prompt)[len(prompt) :]
    return int("".join(map(str, answer[::-1])))
