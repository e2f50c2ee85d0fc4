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
from types import SimpleNamespace
from typing import Any

import numpy as np

from curta.export.huggingface.asking_curta import answer, prompt
from curta.programs.machine.machine import cells_of
from curta.programs.machine.store import load
from curta.reference import WindowModel

MACHINE: dict[str, Any] = {}
CONFIG: dict[str, Any] = {}
METADATA: dict[str, Any] = {}
SHAPES: dict[str, list[int]] = {}
WEIGHTS: str = ""

SPARE: int = 0
"""Most new tokens per token of the prompt, plus 50, so that every text ends."""


class PaperModel:
    """A decoder of whole texts: it looks up the window of each token."""

    def __init__(self) -> None:
        self.machine, windows = load(MACHINE, "MACHINE")
        config: Any = SimpleNamespace(**CONFIG)
        self.windowed = WindowModel(config, tensors(), self.machine, windows)
        self.neighbours, self.cells = self.machine.neighbours(windows), cells_of(windows)

    def __call__(self, tokens: np.ndarray) -> np.ndarray:
        """Return the logits (time x tokens) of the token after each token."""
        machine, absent = self.machine, len(self.machine.tokens)
        newest: dict[tuple[int, ...], int] = {}  # by role and square; 0 on an axis of broadcasting
        rows = np.full((len(tokens), self.cells), absent)

        def address(role: int, square: np.ndarray) -> tuple[int, ...]:
            return (role, *np.where(machine.broadcast_mask[role], 0, square).tolist())

        for row, token, square in zip(rows, tokens, machine.positions(tokens), strict=True):
            role = int(machine.role[token])
            newest[address(role, square)] = row[0] = token
            for cell, (other, moved) in enumerate(self.neighbours[role], 1):
                row[cell] = newest.get(address(other, square + moved), absent)
        return self.windowed.logits(rows)


def generate(model: PaperModel, prompt: list[int]) -> list[int]:
    """Return greedy decoding: the likeliest token after the text so far, repeatedly."""
    text = list(prompt)
    for _ in range(SPARE * len(prompt) + 50):
        text.append(int(np.argmax(model(np.array(text))[-1])))
        if text[-1] == model.machine.end:
            break
    return text


def tensors() -> dict[str, np.ndarray]:
    """Return the weights by name."""
    numbers = np.frombuffer(base64.b64decode(WEIGHTS), "<f4")
    ends = np.cumsum([math.prod(shape) for shape in SHAPES.values()])
    arrays = np.split(numbers, ends[:-1])
    return {
        name: array.reshape(shape)
        for (name, shape), array in zip(SHAPES.items(), arrays, strict=True)
    }


def build_model() -> tuple[PaperModel, dict[str, Any]]:
    """Return the model and the AdderBoard's metadata, with counted parameters."""
    return PaperModel(), {**METADATA, "params": sum(map(math.prod, SHAPES.values()))}


def add(model: PaperModel, a: int, b: int) -> int:
    """Return the sum that the model writes; -1 if it writes no number, or no end.

    Raises ValueError for negative or non-integer operands, and for too many digits.
    """
    tokens = prompt(MACHINE, "+", [a, b])
    total = answer(MACHINE, "+", generate(model, tokens), len(tokens))
    return -1 if total is None else total
