"""Which problems are drawn: on the device for training, as Python ints for tests.

Both come from the same few lines: random numbers, a stated share of which an
operation's special cases then turn into rare ones. Only the source of the random
bits differs, and that a test problem has exactly the size that was asked for.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge, Gt, Le
from jaxtyping import Array, Int, PRNGKeyArray, UInt

from curta.config.errors import UserError
from curta.problems.decimals import to_int
from curta.problems.digits import Numbers, cut
from curta.problems.operations import Operation
from curta.problems.operations.cases import below
from curta.problems.operations.declared import Declared
from curta.problems.problem import Problem, operation_named
from curta.problems.problem_table import LARGEST, Table
from curta.programs.machine import Program
from curta.programs.machine.sampling import Sizes, Span, draw, drawn, refused

Rate = Annotated[float, Ge(0.0), Le(1.0)]

RANDOM = "random"
"""The category of problems without anything special."""


@dataclass(frozen=True)
class Task:
    """Problems of one operation; digit counts are uniform and independent.

    Operands are written in `base`: another one than ten needs a program that knows it.
    `digits` bounds the digit count of every operand, `second`, where given, that
    of all but the first; `operands` bounds their number. A share `special` of the
    problems is divided evenly among the operation's special cases. Where a recipe
    has several tasks, `weight` is the share of problems that each contributes.

    With `values`, problems come instead from the table of all pairs of operands in that
    range, every pair equally often. `held_out` of its rows, chosen by `split`, are never
    trained on; `rows` is how many of the others are (0 is all of them).
    """

    operator: str = "+"
    base: Annotated[int, Ge(2), Le(36)] = 10
    digits: Span = (1, 10)
    second: Span | None = None
    operands: Span | None = None
    special: Rate = 0.25
    weight: Annotated[float, Gt(0.0)] = 1.0
    values: tuple[Annotated[int, Ge(0)], Annotated[int, Ge(0)]] | None = None
    held_out: Annotated[int, Ge(0)] = 0
    rows: Annotated[int, Ge(0)] = 0
    split: int = 42

    def __post_init__(self) -> None:
        operation = operation_named(self.operator)
        for name in ("digits", "second", "operands"):
            low, high = getattr(self, name) or (1, 1)
            if not 1 <= low <= high:
                raise UserError(f"task.{name} must be two counts, 1 <= low <= high: {low}..{high}")
        few, many = self.counts
        if few < operation.least or many > (operation.most or many):
            raise UserError(f"task.operands {few}..{many}: not what {operation.name} takes")
        _check_table(self)

    @property
    def operation(self) -> Operation:
        return operation_named(self.operator)

    @property
    def counts(self) -> Span:
        """Fewest and most operands."""
        least = 2 if self.values else operation_named(self.operator).least
        return self.operands or (least, least)

    @property
    def sizes(self) -> Sizes:
        """Bounds on the digit counts and the number of operands."""
        if self.values:
            low, high = (len(str(value)) for value in self.values)
            return Sizes((low, high), (low, high), self.counts)
        return Sizes(self.digits, self.second or self.digits, self.counts)

    @property
    def spans(self) -> tuple[Span, ...]:
        """Bounds on the digit count of each operand."""
        return tuple(self.sizes.digits(place) for place in range(self.counts[1]))

    @property
    def widest(self) -> tuple[int, ...]:
        """The highest digit count of each operand."""
        return tuple(high for _, high in self.spans)

    @property
    def limit(self) -> int:
        """The first number that no first operand of training reaches."""
        return self.values[1] + 1 if self.values else 10 ** self.digits[1]

    def draw(self, key: PRNGKeyArray, batch: int) -> Numbers:
        """A batch for training, a pure function of `key`.

        All randomness comes from one draw of bits: each further one would add
        to every step, and more to compilation than the rest of this function.
        """
        if self.values:
            return self._from_table(jax.random.bits(key, (batch,)))
        operands, width = len(self.spans), max(self.widest)
        bits = jax.random.bits(key, (batch, 2 + operands * (1 + 2 * width)))
        choices, lengths, bits = jnp.split(bits, [2, 2 + operands], axis=1)
        low, high = jnp.array(self.spans).T
        few, many = self.counts
        there = jnp.arange(operands) < few + below(choices[:, :1], many - few + 1)
        lengths = jnp.where(there, low + below(lengths, high - low + 1), 0)
        kinds = _plan(self.operator, self.special, choices[:, 1])
        return _drawn(self.operator, lengths, bits, kinds)

    @property
    def table(self) -> Table | None:
        """All problems that there are, in a random order: the first are those held out."""
        return Table(self.operator, *self.values, seed=self.split) if self.values else None

    @property
    def trained(self) -> range:
        """The places in the table's order of the problems that are trained on."""
        if self.table is None:
            return range(0)
        end = self.held_out + self.rows if self.rows else self.table.rows
        return range(self.held_out, end)

    def _from_table(self, bits: UInt[Array, " batch"]) -> Numbers:
        assert self.table is not None
        places = self.trained
        return self.table.numbers(places.start + below(bits, len(places)))


def shares(tasks: Sequence[Task], batch: int) -> tuple[int, ...]:
    """How many problems of each batch every task contributes: at least one, by its weight."""
    whole = sum(task.weight for task in tasks)
    exact = [round(batch * task.weight / whole, 9) for task in tasks]
    counts = [max(1, int(share)) for share in exact]
    by_need = sorted(range(len(tasks)), key=lambda i: counts[i] - exact[i])
    for i in by_need[: batch - sum(counts)]:
        counts[i] += 1
    for _ in range(sum(counts) - batch):
        counts[counts.index(max(counts))] -= 1
    return tuple(counts)


def categories(operator: str) -> list[str]:
    """Kinds of test problems: random ones, and each special case."""
    return [RANDOM, *operation_named(operator).cases]


def problems(
    operator: str, category: str, size: Sequence[int], count: int, seed: int
) -> list[Problem]:
    """`count` test problems whose operands have `size` digits, a pure function of the arguments.

    Special cases may make operands shorter, never longer.
    """
    operation = operation_named(operator)
    if isinstance(operation, Declared):
        return _by_program(operation, category, size, count, f"{seed} {category} {tuple(size)}")
    kind = categories(operator).index(category)
    rng = np.random.default_rng([seed, *category.encode(), *operator.encode(), *size])
    bits = rng.integers(0, 1 << 32, (count, 2 * len(size) * max(size)), np.uint32)
    lengths = np.tile(np.array(size, np.int32), (count, 1))
    found = _examined(operator, lengths, bits, np.full(count, kind, np.int32))
    return [Problem(operator, operands) for operands in _ints(found)]


def sample(task: Task, count: int) -> list[Problem]:
    """Training problems as Python has them, always the same ones."""
    if isinstance(task.operation, Declared):
        drawn_ones = drawn(_program(task.operation), task.sizes, "sample", task.special)
        return [Problem(task.operator, operands) for operands in islice(drawn_ones, count)]
    found = _sampled(task, count)
    return [Problem(task.operator, operands) for operands in _ints(found)]


def as_size(size: int | str, operator: str) -> tuple[int, ...]:
    """Digits of each operand: 20, "50/25" for the first / the others, "20x5" for 20 of 5."""
    least = operation_named(operator).least
    first, _, rest = str(size).partition("/")
    count, times, digits = first.partition("x")
    if rest:
        return (int(first),) + (int(rest),) * (least - 1)
    return (int(digits),) * int(count) if times else (int(first),) * least


def held_out(task: Task, places: range) -> list[Problem]:
    """Problems that are never trained on, by their places in the table's order."""
    assert task.table is not None
    assert places.stop <= task.held_out
    pairs = np.asarray(task.table.pairs(jnp.arange(places.start, places.stop)))
    return [Problem(task.operator, tuple(pair)) for pair in pairs.tolist()]


def validation(task: Task, count: int) -> list[Problem]:
    """Problems to watch the training by: the first ones held out, or else fresh ones."""
    return held_out(task, range(count)) if task.held_out else sample(task, count)


def split(task: Task) -> dict[str, str | int]:
    """How many problems are trained on, held out, and both: counted, not concluded."""
    assert task.table is not None
    parts = (task.trained, range(task.held_out))
    rows = [set(np.asarray(task.table.row(jnp.arange(p.start, p.stop))).tolist()) for p in parts]
    counts = {"training": len(rows[0]), "held_out": len(rows[1])}
    return {"operator": task.operator, **counts, "overlap": len(rows[0] & rows[1])}


def _check_table(task: Task) -> None:
    """Raises UserError if there is no such table, or no such split of it."""
    if task.table is None:
        if task.held_out or task.rows:
            raise UserError("task.held_out and task.rows are parts of a table: set task.values")
        return
    operation, rows = operation_named(task.operator), task.table.rows
    low, high = task.table.low, task.table.high
    if operation.least > 2 or (operation.most or 2) < 2:
        raise UserError(f"{operation.name} has no table: it does not take two operands")
    if low > high or not 1 <= rows <= LARGEST:
        raise UserError(f"task.values {low}..{high}: a table has 1 to {LARGEST:,} problems")
    if task.second or task.operands:
        raise UserError("task.second and task.operands have no meaning with task.values")
    if task.special:
        raise UserError("task.special must be 0 with task.values: every pair comes equally often")
    if task.held_out + max(task.rows, 1) > rows:
        raise UserError(f"task.held_out and task.rows are more than the table's {rows:,} problems")


def _by_program(
    operation: Declared, category: str, size: Sequence[int], count: int, seed: str
) -> list[Problem]:
    """Test problems of an operation that a program brings, drawn by plain Python."""
    program, rng = _program(operation), random.Random(f"{operation.symbol} {seed}")
    sizes = Sizes.exactly(size)
    case = operation.cases.get(category)
    found: list[tuple[int, ...]] = []
    while len(found) < count:
        operands = case(rng, *size) if case else draw(program, sizes, rng)
        if not refused(program, operands):
            found.append(operands)
    return [Problem(operation.symbol, operands) for operands in found]


def _program(operation: Declared) -> Program:
    """The program that brings it; UserError if its code is not known here."""
    if operation.program is None:
        operation.truth()
    assert operation.program is not None
    return operation.program


def _plan(operator: str, special: float, bits: UInt[Array, " batch"]) -> Int[Array, " batch"]:
    """0 for a random problem, else the number of its special case."""
    cases = len(operation_named(operator).cases)
    chosen = below(bits >> 16, 1 << 16) < round(special * (1 << 16))
    return jnp.where(chosen, 1 + below(bits & 0xFFFF, cases), 0)


def _drawn(
    operator: str,
    lengths: Int[Array, "batch operands"],
    bits: UInt[Array, "batch bits"],
    kinds: Int[Array, " batch"],
) -> Numbers:
    """Problems from random bits: two for each digit, its value and noise for special cases."""
    operation = operation_named(operator)
    values, noise = jnp.split(bits.reshape(*lengths.shape, -1), 2, axis=-1)
    plain = cut(Numbers(below(values, 10), lengths))
    found = plain
    for number, case in enumerate(operation.cases.values(), 1):
        mine = kinds == number
        special = case(plain, noise)
        found = Numbers(
            jnp.where(mine[:, None, None], special.digits, found.digits),
            jnp.where(mine[:, None], special.lengths, found.lengths),
        )
    return operation.admit(found)


@partial(jax.jit, static_argnums=(0, 1))
def _sampled(task: Task, count: int) -> Numbers:
    return task.draw(jax.random.key(0), count)


_examined = partial(jax.jit, static_argnums=0)(_drawn)


def _ints(found: Numbers) -> list[tuple[int, ...]]:
    """Operands of each problem as Python ints."""
    digits, lengths = (np.asarray(part) for part in found)
    lines = (digits[..., ::-1] + ord("0")).astype(np.uint8)
    texts = [[row.tobytes().decode() for row in operands] for operands in lines]
    return [
        tuple(to_int(text) for text, length in zip(row, counts, strict=True) if length)
        for row, counts in zip(texts, lengths.tolist(), strict=True)
    ]
