"""Written problems as Arrow columns, without a Python loop over rows.

Numbers are 64-bit integers where all of a data set are and fit, else decimal strings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Int, UInt8

from curta.config.registry import optional_module
from curta.evaluation.scoring import right_text
from curta.layouts import Layout
from curta.layouts.base import Text
from curta.layouts.program import ProgramLayout
from curta.problems.arithmetic import Result
from curta.problems.digits import Numbers
from curta.problems.operations import OPERATIONS, Answer
from curta.problems.problem import Problem, answer_text

FITS = 18
"""Digits that a 64-bit integer holds, whatever they are."""


class Written(NamedTuple):
    """A batch of problems as arrays."""

    numbers: Numbers
    answer: Result
    text: Text


@dataclass(frozen=True)
class Columns:
    """What the columns of a data set are.

    `decimal` numbers are strings; `several` is whether answers are lists of numbers. Texts of
    a `program` have its tokens beside them, with the role of each and the square it stands on.
    """

    decimal: bool
    several: bool
    program: ProgramLayout | None = None

    @cached_property
    def schema(self) -> Any:
        """The same for every split, as `datasets` wants it."""
        arrow = _arrow()
        number = arrow.string() if self.decimal else arrow.int64()
        fields = {
            "prompt": arrow.string(),
            "completion": arrow.string(),
            "operator": arrow.string(),
            "operands": arrow.list_(number),
            "answer": arrow.list_(number) if self.several else number,
        }
        if self.program is not None:
            fields |= {"prompt_tokens": arrow.int32(), "tokens": arrow.list_(arrow.int32())}
            fields |= {"roles": arrow.list_(arrow.string())}
            fields |= {square(axis): arrow.list_(arrow.int32()) for axis in self.program.axes}
        return arrow.schema(list(fields.items()))

    def of_arrays(
        self, batch: Written, mine: Bool[np.ndarray, " batch"], operator: str, layout: Layout
    ) -> Any:
        """A table of those problems of a batch that are `mine`."""
        written = jax.tree.map(lambda part: part[mine], batch)
        characters = _bytes(layout.characters)[written.text.tokens]
        slot = np.arange(characters.shape[1])
        given = slot < written.text.prompts[:, None]
        there = slot < written.text.lengths[:, None]
        answers = self._numbers(written.answer.numbers, written.answer.negative)
        columns = [
            _strings(characters, given),
            _strings(characters, there & ~given),
            _arrow().repeat(operator, len(given)),
            _lists(self._numbers(written.numbers, None), written.numbers.lengths),
            _lists(answers, written.answer.numbers.lengths) if self.several else answers,
        ]
        return _arrow().table(columns, schema=self.schema)

    def of_problems(self, problems: Sequence[Problem], layout: Layout) -> Any:
        """Return a table of problems; UserError where a program writes another answer."""
        texts = [right_text(layout, problem) for problem in problems]
        columns: list[Any] = [
            [layout.decode(tokens[:prompt]) for tokens, prompt in texts],
            [layout.decode(tokens[prompt:]) for tokens, prompt in texts],
            [problem.operator for problem in problems],
            [[self._number(value) for value in problem.operands] for problem in problems],
            [self._answer(problem.truth) for problem in problems],
        ]
        if self.program is not None:
            columns += _on_paper(texts, self.program)
        return _arrow().table(columns, schema=self.schema)

    def _answer(self, answer: Answer) -> Any:
        if isinstance(answer, tuple):
            return [self._number(value) for value in answer]
        return answer_text(answer) if isinstance(answer, Fraction) else self._number(int(answer))

    def _number(self, value: int) -> int | str:
        return answer_text(value) if self.decimal else value

    def _numbers(self, numbers: Numbers, negative: Bool[np.ndarray, " batch"] | None) -> Any:
        """All numbers that there are, one after the other; if any is negative, they are single."""
        signs = np.zeros(len(numbers.lengths), bool) if negative is None else negative
        there = numbers.lengths > 0
        if not self.decimal:
            return _arrow().array(_values(numbers, signs)[there])
        width = numbers.digits.shape[-1]
        shown = np.arange(width)[::-1] < numbers.lengths[..., None]
        digits = np.asarray(numbers.digits)[..., ::-1] + np.uint8(ord("0"))
        if signs.any():
            signed = np.broadcast_to(signs[:, None, None], (*there.shape, 1))
            digits = np.concatenate([np.full_like(digits[..., :1], ord("-")), digits], axis=-1)
            shown = np.concatenate([signed, shown], axis=-1)
        return _strings(digits[there][..., None], shown[there])


def square(axis: str) -> str:
    """The name of the column that says where tokens stand on an axis."""
    return f"square_{axis}"


def _on_paper(texts: Sequence[tuple[Sequence[int], int]], program: ProgramLayout) -> list[Any]:
    """How many tokens each prompt has; all tokens, their roles, and their squares on each axis."""
    arrow, machine = _arrow(), program.machine
    tokens = np.array([token for line, _ in texts for token in line], np.int32)
    ends = arrow.array(np.cumsum([0] + [len(line) for line, _ in texts]), arrow.int32())
    names = arrow.array([role.name for role in machine.roles])
    where = machine.positions(tokens).T.astype(np.int32)
    flat = [tokens, names.take(arrow.array(machine.role[tokens])), *where]
    lists = [arrow.ListArray.from_arrays(ends, arrow.array(part)) for part in flat]
    return [arrow.array([prompt for _, prompt in texts], arrow.int32()), *lists]


def keys(table: Any) -> Any:
    """What tells the problems of a table apart: operator and operands, as one string each.

    Problems that differ in the order of their operands alone, where that makes no difference,
    are one: 40+68 and 68+40.
    """
    arrow, compute = _arrow(), optional_module("pyarrow.compute", "data")
    operands = table["operands"].cast(arrow.list_(arrow.string()))
    joined = compute.binary_join(operands, " ")
    operators = compute.unique(table["operator"]).to_pylist()
    commuting = [symbol for symbol in operators if OPERATIONS[symbol].commutes]
    if commuting:
        commutes = compute.is_in(table["operator"], value_set=arrow.array(commuting))
        lengths = compute.min_max(compute.list_value_length(operands)).as_py()
        if lengths == {"min": 2, "max": 2}:  # by Arrow: ten times as fast as row by row
            first, second = (compute.list_element(operands, place) for place in (0, 1))
            least = compute.min_element_wise(first, second)
            ordered = compute.binary_join_element_wise(
                least, compute.max_element_wise(first, second), " "
            )
        else:
            ordered = arrow.array([" ".join(sorted(row)) for row in operands.to_pylist()])
        joined = compute.if_else(commutes, ordered, joined)
    return compute.binary_join_element_wise(table["operator"], joined, " ")


def _arrow() -> Any:
    return optional_module("pyarrow", "data")


def _bytes(characters: Sequence[str]) -> UInt8[np.ndarray, "characters width"]:
    """Each character in UTF-8, filled up with zeros."""
    encoded = np.array([character.encode() for character in characters])
    return encoded[:, None].view(np.uint8).reshape(len(characters), -1)


def _strings(
    characters: UInt8[np.ndarray, "rows width bytes"], shown: Bool[np.ndarray, "rows width"]
) -> Any:
    """An Arrow column of strings: of each row the characters that are shown."""
    kept = shown if characters.shape[-1] == 1 else shown[..., None] & (characters > 0)
    lengths = kept.reshape(len(kept), -1).sum(axis=1)
    content = characters[kept]
    buffers = [None, _offsets(lengths), _arrow().py_buffer(np.ascontiguousarray(content))]
    return _arrow().Array.from_buffers(_arrow().string(), len(kept), buffers)


def _lists(values: Any, lengths: Int[np.ndarray, "rows numbers"]) -> Any:
    """Lists of as many values as there are numbers in each row."""
    arrow = _arrow()
    there = (lengths > 0).sum(axis=1)
    offsets = arrow.Array.from_buffers(arrow.int32(), len(there) + 1, [None, _offsets(there)])
    return arrow.ListArray.from_arrays(offsets, values)


def _offsets(lengths: Int[np.ndarray, " rows"]) -> Any:
    """Where each row begins, and the last ends."""
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return _arrow().py_buffer(ends.astype(np.int32))


def _values(
    numbers: Numbers, negative: Bool[np.ndarray, " batch"]
) -> Int[np.ndarray, "batch numbers"]:
    powers = 10 ** np.arange(numbers.digits.shape[-1], dtype=np.int64)
    values = numbers.digits @ powers
    return np.where(negative[:, None], -values, values)
