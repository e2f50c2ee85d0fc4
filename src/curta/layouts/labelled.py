"""`33:c,7:b,012:a` with `acb$` after or over it: letters in the order of their numbers.

The problem `a:210,b:7,c:33` is reversed as a whole, and so is its answer `bca`. The label `a` ends
a problem, so no equals sign is needed. Source: an encoder for sums, products and sorting (which
pads all inputs to one length; here batches are padded).
"""

import string
from collections.abc import Sequence

import jax.numpy as jnp

from curta.layouts.base import (
    END,
    Piece,
    PromptFormat,
    RuledLayout,
    ShapeBounds,
    State,
    Text,
    TokenRole,
    Transition,
    flipped,
    join,
    number,
    number_pattern,
    sign,
)
from curta.problems.arithmetic import ARITHMETIC
from curta.problems.digits import NumberBatch, places
from curta.problems.numerals import to_text
from curta.problems.operations import OPERATIONS, Answer
from curta.problems.problem import Problem
from curta.programs.machine.paper import HOME

LETTERS = string.ascii_lowercase
NUMBER, COLON, LABEL, COMMA, LETTER, FINISH = range(6)


class Labelled(RuledLayout):
    name = "labelled"
    summary = "numbers with letters, reversed, then the letters in order; index in each number"
    characters = "0123456789" + LETTERS + ":," + END
    roles = (
        TokenRole("number", digit=True),
        TokenRole("colon"),
        TokenRole("label"),
        TokenRole("comma"),
        TokenRole("letter"),
        TokenRole("end"),
    )
    linear = False
    """So that bounds are not rounded up: twenty numbers would get room for 128."""
    axes = ("index",)
    operators = ("order",)
    most = len(LETTERS)
    begin = (False, False)

    def prompt_format(self, operator: str) -> PromptFormat:
        return PromptFormat(",", after=":a")

    def prompt(self, problem: Problem) -> str:
        pairs = zip(LETTERS, map(to_text, problem.operands), strict=False)
        return ",".join(f"{letter}:{text}" for letter, text in pairs)[::-1]

    def prompt_pattern(self, operator: str, digits: int, operands: int) -> str:
        number, least, pattern = number_pattern(digits, turned=True), OPERATIONS[operator].least, ""
        for place in range(operands, 0, -1):  # (?:(?:N:c,)?N:b,)?N:a
            pattern = f"{pattern}{number}:{LETTERS[place - 1]}"
            if place > 1:
                pattern = f"(?:{pattern},)" + ("?" if place > least else "")
        return pattern

    def completion(self, problem: Problem) -> str:
        assert isinstance(problem.truth, tuple)
        return "".join(LETTERS[place - 1] for place in problem.truth)[::-1]

    def read(self, operator: str, completion: str) -> Answer | None:
        letters, end, _ = completion.partition(END)
        if not end or not set(letters) <= set(LETTERS):
            return None
        return OPERATIONS[operator].value([1 + LETTERS.index(letter) for letter in letters[::-1]])

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        count = len(digits)
        return ShapeBounds(sum(digits) + 3 * count - 1, count + 1, ((-1, max(*digits, count)),))

    def tokens(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> Text:
        batch, count = operands.lengths.shape
        prompt = []
        for place in reversed(range(count)):
            # A number and its letter, followed by a comma unless it is the first number.
            lengths = operands.lengths[:, place]
            prompt.append(number(operands.digits[:, place], lengths))
            marks = f":{LETTERS[place]}" + "," * (place > 0)
            valid = lengths[:, None] > 0
            prompt += [sign(self.code(mark), batch)._replace(valid=valid) for mark in marks]
        answer = ARITHMETIC[operator].answer(operands).numbers
        order = jnp.sum(answer.digits * 10 ** places(answer.digits), axis=-1)
        letters = flipped(Piece(self.code("a") - 1 + order, answer.lengths > 0))
        end = self.code(END)
        return join(prompt, [letters, sign(end, batch)], bounds.total, end)

    def rule(self, state: State, character: str) -> Transition:
        """The state: is the problem over, and has this number (or the answer) begun?"""
        over, in_number = state
        if character.isdecimal() or (over and character in LETTERS):
            role = NUMBER if character.isdecimal() else LETTER
            return Transition((over, True), role, +1 if in_number else HOME)
        role = {":": COLON, ",": COMMA, END: FINISH}.get(character, LABEL)
        return Transition((over or character == "a", False), role, HOME - 1)
