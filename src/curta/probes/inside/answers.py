"""Where a model is asked for the digits of an answer."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.probes.inside.question import Question
from curta.training.records import padded_texts


class Digits(NamedTuple):
    """The digits of all answers, one after the other; `number` counts those of one from 0.

    They are counted as they are written: in most texts, the least significant first.
    """

    problem: Int[np.ndarray, " digits"]
    query: Int[np.ndarray, " digits"]
    """The position at which the model is asked for it."""
    number: Int[np.ndarray, " digits"]
    token: Int[np.ndarray, " digits"]

    @classmethod
    def of(cls, asked: Question) -> "Digits":
        """Of all the problems: of 57+68=125 the 5, 2 and 1, wherever they stand in its text."""
        written = asked.written
        text = padded_texts(written, asked.bounds.total, 0)
        roles = np.asarray(asked.layout.where(text).role)
        found = []
        for row, (tokens, prompt) in enumerate(written):
            names = answer_roles(asked.layout, asked.problems[row].operator)
            wanted = [r for r, role in enumerate(asked.layout.roles) if role.name in names]
            places = np.flatnonzero(np.isin(roles[row, prompt : len(tokens)], wanted))
            begin = prompt - 1 if asked.config.causal else 0
            found += [
                (row, begin + place, number, tokens[prompt + place])
                for number, place in enumerate(places.tolist())
            ]
        return cls(*np.array(found, int).reshape(-1, 4).T)

    def at(self, values: Shaped[np.ndarray, "members problems positions *rest"]) -> np.ndarray:
        """What is found where they are asked for: members by digits, and whatever follows."""
        found: np.ndarray = values[:, self.problem, self.query]
        return found

    def of_problems(self, start: int, count: int) -> "Digits":
        """Those of some problems one after the other, which are counted from 0 then."""
        mine = (self.problem >= start) & (self.problem < start + count)
        found = Digits(*(column[mine] for column in self))
        return found._replace(problem=found.problem - start)

    def shares(
        self, right: Bool[np.ndarray, "members digits"]
    ) -> list[tuple[int, int, Float[np.ndarray, " members"]]]:
        """For each number of a digit how many there are, and the share that is right."""
        numbers = range(int(self.number.max(initial=-1)) + 1)
        return [
            (n, int((self.number == n).sum()), right[:, self.number == n].mean(axis=1))
            for n in numbers
        ]


def answer_roles(layout: Layout, operator: str) -> Sequence[str]:
    """The roles of an answer's digits; where a layout has none for them, all but its end."""
    if isinstance(layout, ProgramLayout):
        answer = layout.machine.formats[operator].answer
        return [role for role in (answer.role, answer.fraction) if role]
    names = [role.name for role in layout.roles]
    return ["answer"] if "answer" in names else [name for name in names if name != "end"]


def numbers(
    asked: Question, digits: Digits, places: Int[np.ndarray, " digits"], base: int
) -> list[int | None]:
    """The number that each problem's digits are, if they stand at these positions from the lowest.

    Digits 5, 2, 1 at positions 0, 1, 2 are 125. None where a token is no digit.
    """
    found: list[int | None] = [0] * len(asked.problems)
    for row, place, token in zip(digits.problem, places, digits.token, strict=True):
        value, before = asked.layout.value(int(token)), found[row]
        found[row] = (
            None if value is None or before is None else before + value * base ** int(place)
        )
    return found


def right(
    digits: Digits, logits: Float[np.ndarray, "members problems positions vocabulary"]
) -> Bool[np.ndarray, "members digits"]:
    """Whether each digit is the likeliest token where it is asked for."""
    found: np.ndarray = digits.at(logits.argmax(axis=-1)) == digits.token
    return found
