"""A transformer that adds, exported by Curta for the AdderBoard. It needs NumPy only.

`model(tokens)` gives the logits of what follows each token. `generate` is greedy decoding
of any such model, token by token; the text `321+54=` is completed to `321+54=573$`, least
significant digit first.

What the model is given besides the tokens, as an encoding of positions: the part that each
token plays (first or second number, sign, answer) and its place (how many digits of its number
came before it). Attention sees the keys whose part and place, counted from the query's, are in
a short list, each with a learned bias. Both follow from the tokens so far, not from what
the digits are.
"""

import base64
import math
from typing import Any

import numpy as np

SETTINGS: dict[str, Any] = {}
METADATA: dict[str, Any] = {}
SHAPES: dict[str, list[int]] = {}
WEIGHTS: str = ""

LONGEST = 12
"""Tokens that are written at most: eleven digits and the end."""


class Model:
    """A decoder: its tensors by name, and the settings that they do not show."""

    def __init__(self, tensors: dict[str, np.ndarray], settings: dict[str, Any]) -> None:
        self.tensors = tensors
        self.settings = settings

    def __call__(self, tokens: np.ndarray) -> np.ndarray:
        """Logits (tokens x characters) for what follows each token."""
        w, settings = self.tensors, self.settings
        parts, places = self.positions(tokens)
        x = w["tokens"][tokens]
        if "kinds" in w:
            x = x + w["kinds"][parts]
        neighbour = self.window(parts, places)
        for block in range(settings["blocks"]):
            if block < settings["attending"]:
                x = x + self.attention(x, block, neighbour)
            x = x + self.feedforward(x, block)
        head = w["head"] if "head" in w else w["tokens"].T * x.shape[1] ** -0.5
        return normed(x, w["gain"]) @ head

    def positions(self, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The part that each token plays, and its place."""
        plus, equals, end = (self.settings["characters"].index(sign) for sign in "+=$")
        index, digit = np.arange(len(tokens)), tokens < 10
        begun = np.maximum.accumulate(np.where((tokens == plus) | (tokens == equals), index, -1))
        count = index - np.concatenate([[-1], begun[:-1]]) - 1
        passed = [np.cumsum(tokens == sign) > 0 for sign in (plus, equals)]
        number = np.where(passed[1], 2, np.where(passed[0], 1, 0))
        part = np.where(digit, 2 * number, 1)
        part = np.where(tokens == equals, 3, np.where(tokens == end, 5, part))
        return part, np.where(tokens == equals, -1, count)

    def window(self, parts: np.ndarray, places: np.ndarray) -> np.ndarray:
        """For each query (row) and key (column) the number of their bias; -1 is not seen."""
        found = np.full((len(parts), len(parts)), -1)
        moved = places[None, :] - places[:, None]
        for number, (part, place) in enumerate(self.settings["window"]):
            found[(parts[None, :] == part) & (moved == place)] = number
        return np.where(np.tri(len(parts), dtype=bool), found, -1)

    def attention(self, x: np.ndarray, block: int, neighbour: np.ndarray) -> np.ndarray:
        """Softmax attention of every token over the keys that it sees."""
        w, split = self.tensors, (len(x), self.settings["heads"], -1)
        h = normed(x, w["attention_gain"][block])
        query, key, value = (
            (h @ w[name][block]).reshape(split) for name in ("query", "key", "value")
        )
        scores = np.einsum("qhe,khe->hqk", query, key) * self.settings["scale"]
        scores = np.where(neighbour >= 0, scores + w["biases"][block][:, neighbour], -1e9)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = weights / weights.sum(axis=-1, keepdims=True)
        return np.einsum("hqk,khe->qhe", weights, value).reshape(x.shape) @ w["out"][block]

    def feedforward(self, x: np.ndarray, block: int) -> np.ndarray:
        w = self.tensors
        inner = np.maximum(normed(x, w["mlp_gain"][block]) @ w["up"][block], 0.0)
        return (np.square(inner) if self.settings["squared"] else inner) @ w["down"][block]


def normed(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    """Each token's root mean square made 1, times a learned gain."""
    return x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + 1e-6) * gain


def generate(model: Model, prompt: str) -> str:
    """Greedy decoding: the likeliest token after the text so far, again and again."""
    characters = model.settings["characters"]
    text = prompt
    for _ in range(LONGEST):
        tokens = np.array([characters.index(character) for character in text])
        text += characters[int(np.argmax(model(tokens)[-1]))]
        if text.endswith("$"):
            break
    return text[len(prompt) :]


def build_model() -> tuple[Model, dict[str, Any]]:
    """The model, and what the AdderBoard asks of it; parameters are counted, not quoted."""
    numbers = np.frombuffer(base64.b64decode(WEIGHTS), "<f4")
    ends = np.cumsum([math.prod(shape) for shape in SHAPES.values()])
    parts = np.split(numbers, ends[:-1])
    tensors = {
        name: part.reshape(shape) for (name, shape), part in zip(SHAPES.items(), parts, strict=True)
    }
    unique = {id(tensor): tensor.size for tensor in tensors.values()}
    return Model(tensors, SETTINGS), {**METADATA, "params": sum(unique.values())}


def add(model: Model, a: int, b: int) -> int:
    """The sum that the model writes; -1 if what it writes is no number."""
    written = generate(model, f"{str(a)[::-1]}+{str(b)[::-1]}=")
    answer = written.removesuffix("$")[::-1]
    return int(answer) if written.endswith("$") and answer.isdecimal() else -1
