"""`123*  45=+501302501500000000`: all texts have the same length, in fields of fixed width.

Operands of at most three digits are right-aligned in three characters, the operator left-aligned in
two. The answer is a sign and six groups, least significant first, each of a digit and a two-digit
carry: what a column of a long multiplication passes on, 00 for other operations. Texts end with the
last field. Source: a decoder for five operations of three digits.
"""

import re
from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.layouts.base import RuledLayout, ShapeBounds, State, Text, TokenRole, Transition
from curta.problems.arithmetic import ARITHMETIC
from curta.problems.digits import NumberBatch
from curta.problems.numerals import to_int, to_text
from curta.problems.operations import Answer
from curta.problems.problem import Problem
from curta.programs.machine.paper import HOME

WIDTH, GROUPS = 3, 6
PROMPT, COMPLETION = 2 * WIDTH + 3, 1 + 3 * GROUPS
FIRST, OPERATOR, SECOND, EQUALS, SIGN, ANSWER, CARRY, BLANK = range(8)
SPOTS = (
    *((FIRST, place) for place in reversed(range(WIDTH))),
    *((OPERATOR, -1),) * 2,
    *((SECOND, place) for place in reversed(range(WIDTH))),
    (EQUALS, -1),
    (SIGN, -1),
    *((role, place) for place in range(GROUPS) for role in (ANSWER, CARRY, CARRY)),
)
"""Role and place of each character of a text."""


class Fields(RuledLayout):
    name = "fields"
    summary = "fields of fixed width, the answer with carries between; place as coordinate"
    characters = "0123456789 +-*%/="
    end_sign = ""
    roles = (
        TokenRole("first", digit=True),
        TokenRole("operator"),
        TokenRole("second", digit=True),
        TokenRole("equals"),
        TokenRole("sign"),
        TokenRole("answer", digit=True),
        TokenRole("carry", digit=True),
        TokenRole("blank"),
    )
    axes = ("place",)
    operators = ("+", "-", "*", "//", "%")
    most = 2
    longest = WIDTH

    def prompt(self, problem: Problem) -> str:
        texts = [to_text(value) for value in problem.operands]
        first, second = (text.rjust(WIDTH) for text in texts)
        return f"{first}{problem.operator:<2}{second}="

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        number = "(?:  [0-9]| [1-9][0-9]|[1-9][0-9]{2})"
        return f"{number}{re.escape(f'{operator:<2}')}{number}="

    def completion(self, problem: Problem) -> str:
        answer = problem.truth
        assert isinstance(answer, int)
        digits = to_text(abs(answer)).rjust(GROUPS, "0")[::-1]
        groups = zip(digits, written_carries(problem), strict=True)
        return "+-"[answer < 0] + "".join(f"{digit}{carry:02}" for digit, carry in groups)

    def read(self, operator: str, completion: str) -> Answer | None:
        digits = completion[1::3]
        if len(completion) != COMPLETION or completion[0] not in "+-" or not digits.isdecimal():
            return None
        return to_int(digits[::-1]) * (-1 if completion[0] == "-" else 1)

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        self.accept(operator, digits)
        return ShapeBounds(PROMPT, COMPLETION, ((-1, GROUPS - 1),))

    def tokens(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> Text:
        batch = len(operands.digits)
        values = _fit_width(operands.digits, WIDTH)
        blank = jnp.arange(WIDTH)[None, None] >= operands.lengths[..., None]
        first, second = jnp.moveaxis(jnp.where(blank, self.code(" "), values)[..., ::-1], 1, 0)
        result = ARITHMETIC[operator].answer(operands._replace(digits=values))
        answer = _fit_width(result.numbers.digits[:, 0], GROUPS)
        carries = _carries(values) if operator == "*" else jnp.zeros_like(answer)
        groups = jnp.stack([answer, carries // 10, carries % 10], axis=-1).reshape(batch, -1)
        sign = jnp.where(result.negative, self.code("-"), self.code("+"))[:, None]
        mark, equals = (
            jnp.broadcast_to(jnp.array([self.code(c) for c in text]), (batch, len(text)))
            for text in (f"{operator:<2}", "=")
        )
        tokens = jnp.concatenate([first, mark, second, equals, sign, groups], axis=1)
        lengths = jnp.full(batch, PROMPT + COMPLETION)
        return Text(tokens.astype(jnp.int32), jnp.full(batch, PROMPT), lengths)

    def rule(self, state: State, character: str) -> Transition:
        """The state is the number of characters so far; it stays at the last one of a text."""
        role, place = SPOTS[state]
        blank = character == " " and role in (FIRST, SECOND)
        return Transition(min(state + 1, len(SPOTS) - 1), BLANK if blank else role, HOME + place)


def written_carries(problem: Problem) -> list[int]:
    """Return what each column of a long multiplication passes on; zeros for other operations.

    >>> written_carries(Problem("*", (25, 15)))  # 5 x 5 = 25 passes on 2
    [2, 1, 0, 0, 0, 0]
    """
    if problem.operator != "*":
        return [0] * GROUPS
    first, second = ([int(d) for d in to_text(value)[::-1]] for value in problem.operands)
    carries, carry = [], 0
    for column in range(GROUPS):
        pairs = [(i, column - i) for i in range(len(first)) if 0 <= column - i < len(second)]
        carry = (sum(first[i] * second[j] for i, j in pairs) + carry) // 10
        carries.append(carry)
    return carries


def _carries(values: Int[Array, "batch 2 width"]) -> Int[Array, "batch groups"]:
    """Return `written_carries` for a batch of multiplications, on the device."""
    first, second = values[:, 0], values[:, 1]
    carries, carry = [], jnp.zeros(len(values), jnp.int32)
    for column in range(GROUPS):
        pairs = [(i, column - i) for i in range(WIDTH) if 0 <= column - i < WIDTH]
        carry = (sum((first[:, i] * second[:, j] for i, j in pairs), start=carry)) // 10
        carries.append(carry)
    return jnp.stack(carries, axis=1)


def _fit_width(digits: Int[Array, "*batch width"], width: int) -> Int[Array, "*batch fitted"]:
    """Return digits cut, or padded with zeros, to `width` places.

    >>> _fit_width(jnp.array([3, 2, 1]), 2).tolist(), _fit_width(jnp.array([3]), 2).tolist()
    ([3, 2], [3, 0])
    """
    padding = max(0, width - digits.shape[-1])
    return jnp.pad(digits, [(0, 0)] * (digits.ndim - 1) + [(0, padding)])[..., :width]
