"""`12+5=17`: numbers modulo another, each a single token.

There is a token for each residue, shared by operands and answer. A number stands for its residue:
modulo 97, `200` is written `6`. The answer is one token, so a text needs no end sign.
Source: Power et al., Grokking, arXiv 2201.02177, without its other operations and its end token.
"""

import re
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from curta.layouts.base import ShapeBounds, Text
from curta.layouts.direct import DirectLayout
from curta.problems import digits
from curta.problems.arithmetic import ARITHMETIC
from curta.problems.digits import NumberBatch
from curta.problems.operations import SIGNS
from curta.problems.problem import Problem


class Residues(DirectLayout):
    """The layout of one modulus, which its name ends in."""

    summary = "modulo a number, one token for each residue; all numbers stand at 0"
    roles = DirectLayout.roles[:5]
    reverse = False
    reverse_operands = False
    most = 2
    end_sign = ""

    def __init__(self, modulus: int = 97) -> None:
        self.modulus, self.name = modulus, f"residues-{modulus}"
        self.characters = (*map(str, range(modulus)), *SIGNS, "=")
        self.operators = tuple(f"{sign} mod {modulus}" for sign in SIGNS)
        self._numbers = {symbol: token for token, symbol in enumerate(self.characters)}

    def prompt(self, problem: Problem) -> str:
        residues = [value % self.modulus for value in problem.operands]
        return self.prompt_format(problem.operator).write(residues)

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> None:
        """Return None: any number may stand for its residue."""

    def completion(self, problem: Problem) -> str:
        return str(problem.truth)

    def read(self, operator: str, completion: str) -> int | None:
        return int(completion) if completion in self.characters[: self.modulus] else None

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        return ShapeBounds(4, 1, ((-1, 0),))

    def tokens(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> Text:
        """`12+5=17` is 12, the token of `+`, 5, the token of `=`, 17."""
        first, second = digits.residue(operands.digits, self.modulus).T
        answer = ARITHMETIC[operator].answer(operands).numbers.digits[:, 0]
        mark = jnp.full_like(first, self.code(self.prompt_format(operator).between))
        equals = jnp.full_like(first, self.code("="))
        text = [first, mark, second, equals, digits.residue(answer, self.modulus)]
        lengths = jnp.full_like(first, bounds.total)
        return Text(jnp.stack(text, axis=1), jnp.full_like(first, bounds.prompt), lengths)

    def value(self, token: int) -> int | None:
        return token if token < self.modulus else None

    def with_value(self, token: int, value: int) -> int | None:
        return value if max(token, value) < self.modulus else None

    @property
    def digits(self) -> list[int]:
        return list(range(self.modulus))

    def encode(self, text: str) -> Int[np.ndarray, " tokens"]:
        symbols = re.findall("[0-9]+|.", text)
        return np.array([self._numbers[symbol] for symbol in symbols], np.int32)
