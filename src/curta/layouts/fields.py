"""`123*  45=+501302501500000000`: every text equally long, every character in its field.

Operands of at most three digits are set to the right of three characters, the operator
to the left of two. The answer is a sign and six groups of a digit, least significant
first, and a carry of two: that which a column of a multiplication on paper passes on, 00
for every other operation. Texts end where the fields do. Source: a decoder for five operations
of three digits.
"""

import re
from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.layouts.automaton import State, Transition
from curta.layouts.base import Role, RuledLayout, ShapeBounds, Text
from curta.problems.arithmetic import ARITHMETIC
from curta.problems.digits import Numbers
from curta.problems.numerals import to_int, to_text
from curta.problems.operations import Answer
from curta.problems.problem import Problem
from curta.programs.machine.paper import HOME

WIDTH, GROUPS = 3, 6
PROMPT, COMPLETION = 2 * WIDTH + 3, 1 + 3 * GROUPS
FIRST, OPERATOR, SECOND, EQUALS, SIGN, ANSWER, CARRY, BLANK = range(8)


class Fields(RuledLayout):
    name = "fields"
    summary = "fields of fixed width, the answer with carries between; place as coordinate"
    characters = "0123456789 +-*%/="
    end_sign = ""
    roles = (
        Role("first", digit=True),
        Role("operator"),
        Role("second", digit=True),
        Role("equals"),
        Role("sign"),
        Role("answer", digit=True),
        Role("carry", digit=True),
        Role("blank"),
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

    def tokens(self, operator: str, operands: Numbers, bounds: ShapeBounds) -> Text:
        batch = len(operands.digits)
        values = _fitted(operands.digits, WIDTH)
        blank = jnp.arange(WIDTH)[None, None] >= operands.lengths[..., None]
        first, second = jnp.moveaxis(jnp.where(blank, self.code(" "), values)[..., ::-1], 1, 0)
        result = ARITHMETIC[operator].answer(operands._replace(digits=values))
        answer = _fitted(result.numbers.digits[:, 0], GROUPS)
        carries = _carries(values) if operator == "*" else jnp.zeros_like(answer)
        groups = jnp.stack([answer, carries // 10, carries % 10], axis=-1).reshape(batch, -1)
        sign = jnp.where(result.negative, self.code("-"), self.code("+"))[:, None]
        mark = self._given(f"{operator:<2}", batch)
        equals = self._given("=", batch)
        tokens = jnp.concatenate([first, mark, second, equals, sign, groups], axis=1)
        lengths = jnp.full(batch, PROMPT + COMPLETION)
        return Text(tokens.astype(jnp.int32), jnp.full(batch, PROMPT), lengths)

    def rule(self, state: State, character: str) -> Transition:
        """The state is how many characters stand already; further ones are as the last."""
        spots = _spots()
        role, place = spots[state]
        blank = character == " " and role in (FIRST, SECOND)
        after = min(state + 1, len(spots) - 1)
        return Transition(after, BLANK if blank else role, HOME + place)

    def _given(self, text: str, batch: int) -> Int[Array, "batch characters"]:
        return jnp.broadcast_to(jnp.array([self.code(c) for c in text]), (batch, len(text)))


def written_carries(problem: Problem) -> list[int]:
    """What each column of a multiplication on paper passes on; zeros for other operations.

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
    """As `written_carries`, for a batch of multiplications."""
    first, second = values[:, 0], values[:, 1]
    carries, carry = [], jnp.zeros(len(values), jnp.int32)
    for column in range(GROUPS):
        pairs = [(i, column - i) for i in range(WIDTH) if 0 <= column - i < WIDTH]
        carry = (sum((first[:, i] * second[:, j] for i, j in pairs), start=carry)) // 10
        carries.append(carry)
    return jnp.stack(carries, axis=1)


def _fitted(digits: Int[Array, "*batch width"], width: int) -> Int[Array, "*batch fitted"]:
    """Digits cut or filled up with zeros to `width` places.

    >>> _fitted(jnp.array([3, 2, 1]), 2).tolist(), _fitted(jnp.array([3]), 2).tolist()
    ([3, 2], [3, 0])
    """
    spare = max(0, width - digits.shape[-1])
    return jnp.pad(digits, [(0, 0)] * (digits.ndim - 1) + [(0, spare)])[..., :width]


def _spots() -> list[tuple[int, int]]:
    """Role and place of each character of a text."""
    below = [WIDTH - 1 - i for i in range(WIDTH)]
    prompt = [(FIRST, p) for p in below] + [(OPERATOR, -1)] * 2 + [(SECOND, p) for p in below]
    groups = [(role, p) for p in range(GROUPS) for role in (ANSWER, CARRY, CARRY)]
    return [*prompt, (EQUALS, -1), (SIGN, -1), *groups]
