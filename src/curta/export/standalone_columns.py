"""A transformer that adds two numbers of ten digits, exported by Curta for the AdderBoard.

It needs NumPy only. `model(tokens)` returns the logits of the token after each token, from a
decoder of one block with causal attention. Tokens are the ten digits. A text is `0 a 0 0 b 0 0`
and the answer, numbers least significant digit first, of ten digits and eleven: zeros stand in
place of signs.

Positions are sines and cosines of a digit's place, a fixed table that both operands and the
answer share. Queries and keys depend on these vectors alone, values on the tokens.
"""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np

from curta.export.huggingface.asking_curta import checked
from curta.export.standalone import CONFIG, METADATA, SHAPES, tensors
from curta.reference import character_vectors, head_matrix, logits_after, softmax, unshared

PERIOD: float = 0.0

DIGITS = 10
PLACES = [*range(-1, DIGITS + 1)] * 3
"""The place of each token: both operands, and the answer from the prompt's last zero on."""


class ColumnModel:
    """A decoder of one block; its vectors of positions are waves, harmonics of a period."""

    def __init__(self) -> None:
        config: Any = SimpleNamespace(**CONFIG)
        self.config, self.weights = config, unshared(config, tensors())
        self.characters = character_vectors(config, self.weights, np.eye(10))
        self.head = head_matrix(config, self.weights, self.characters)
        harmonics = np.arange(1, config.width // 2 + 1) * (2 * math.pi / PERIOD)
        angles = np.array(PLACES)[:, None] * harmonics
        self.positions = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(
            len(PLACES), -1
        )

    def __call__(self, tokens: np.ndarray) -> np.ndarray:
        """Return the logits (time x 10) of the token after each token."""
        w, x, position = self.weights, self.characters[tokens], self.positions[: len(tokens)]
        query, key, value = (
            (state @ w[f"attention.{name}"][0]).reshape(len(x), self.config.heads, -1)
            for name, state in (("query", position), ("key", position), ("value", x))
        )
        scale = self.config.head_dim**-0.5 if self.config.attention_scale else 1.0
        scores = np.einsum("qhe,khe->hqk", query, key) * scale
        shares = softmax(np.where(np.tri(len(x), dtype=bool), scores, -np.inf))
        heads = np.einsum("hqk,khe->qhe", shares, value).reshape(x.shape)
        return logits_after(self.config, x + heads @ w["attention.out"][0], w, self.head)


def generate(model: ColumnModel, prompt: list[int]) -> list[int]:
    """Return greedy decoding: the likeliest token after the text so far, eleven times."""
    text = list(prompt)
    for _ in range(DIGITS + 1):
        text.append(int(np.argmax(model(np.array(text))[-1])))
    return text


def build_model() -> tuple[ColumnModel, dict[str, Any]]:
    """Return the model and the AdderBoard's metadata, with counted parameters."""
    return ColumnModel(), {**METADATA, "params": sum(map(math.prod, SHAPES.values()))}


def add(model: ColumnModel, a: int, b: int) -> int:
    """Return the sum that the model writes; ValueError except for whole numbers of ten digits."""
    numbers = checked("+", (a, b), (10, 10), 2, DIGITS)
    prompt = [int(digit) for number in numbers for digit in f"0{str(number)[::-1]:0<11}"] + [0]
    answer = generate(model, prompt)[len(prompt) :]
    return int("".join(map(str, answer[::-1])))
