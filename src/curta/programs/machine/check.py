"""Whether a program can be learned: its answers held against the truth, and its windows.

Random problems of several sizes are recorded. Where the same window is followed by different
tokens no model under a window can learn the program: such conflicts are explained by two texts.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, pairwise
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from curta.config.errors import UserError
from curta.problems.sizes import Sizes
from curta.programs.machine.conflicts import Explained, Recorded, explain
from curta.programs.machine.finding import find
from curta.programs.machine.machine import Machine, Windows, cells_of
from curta.programs.machine.paper import Vocabulary
from curta.programs.machine.program import Program, Text
from curta.programs.machine.recording import Recording, seen
from curta.programs.machine.survey import FACTORS, machine_of, recorded
from curta.programs.machine.table import WindowTable
from curta.programs.machine.tokens import HOME, arrow

TOKENS = 60_000
"""Tokens that are recorded at each size."""

SECONDS = 5.0
"""Seconds of recording at each size, after which fewer tokens must do."""

SHOWN = 3
"""Wrong answers that are shown, at most."""

Truth = Callable[..., Any]


@dataclass(frozen=True)
class Wrong:
    """A problem whose text does not hold the right answer."""

    operands: tuple[int, ...]
    written: Any
    truth: Any


@dataclass(frozen=True)
class Growing:
    """Moves that become longer as problems do: there is no end of tokens."""

    role: str
    axis: str
    moves: tuple[str, ...]


@dataclass(frozen=True)
class Sized:
    """What was recorded at one size."""

    digits: int
    problems: int
    tokens: int
    longest: int
    middle: int


@dataclass(frozen=True, eq=False)
class Checked:
    """What was found of a program."""

    program: Program
    machine: Machine
    windows: Windows
    distinct: int
    """Distinct windows."""
    sizes: tuple[Sized, ...]
    tokens_per_second: int
    wrong: tuple[Wrong, ...]
    wrongs: int
    conflicts: tuple[Explained, ...]
    growing: tuple[Growing, ...]
    other_truth: tuple[Wrong, ...] = field(default=())
    """Where the program's truth is not that of Curta's own operation."""

    @property
    def learnable(self) -> bool:
        return not (self.wrongs or self.conflicts or self.other_truth)


def check(program: Program, sizes: Sizes, truth: Truth, own: Truth | None = None) -> Checked:
    """Records problems up to FACTORS times these sizes, and looks at what was written.

    `own` is Curta's truth, where the program has another for the same operator.
    """
    vocabulary = Vocabulary()
    for key in program.format.every():
        vocabulary.add(key)
    drawn = [_draw(program, sizes.times(factor), vocabulary) for factor in FACTORS]
    problems = [operands for one in drawn for operands in one.problems]
    texts = [text for one in drawn for text in one.texts]
    seconds = sum(one.seconds for one in drawn)
    machine = machine_of([program], vocabulary.tokens)
    recording = Recording.of(texts)
    windows = find(machine, recording, program.reach) if program.run else {}
    table = WindowTable(cells_of(windows))
    table.add(seen(machine, recording, windows))
    of = Recorded(program, machine, windows, problems, texts)
    wrong = list(_wrong(of, truth))
    different = list(_different(problems, truth, own)) if own else []
    conflicts = explain(of, table.conflicts) if program.run else ()
    return Checked(
        program, machine, windows, len(table), tuple(one.sized for one in drawn),
        round(len(recording.tokens) / max(seconds, 1e-9)), _shortest(wrong), len(wrong),
        conflicts, tuple(_growing(machine, vocabulary, [one.known for one in drawn])),
        _shortest(different),
    )  # fmt: skip


def _shortest(wrong: Sequence[Wrong]) -> tuple[Wrong, ...]:
    """Return SHOWN different ones of the smallest operands: a problem may be drawn twice."""
    by_operands = {one.operands: one for one in wrong}
    ordered = sorted(by_operands, key=lambda key: (sum(n.bit_length() for n in key), key))
    return tuple(by_operands[operands] for operands in ordered[:SHOWN])


class Drawn(NamedTuple):
    """Problems of one size and their texts, and how many tokens there were by then."""

    problems: list[tuple[int, ...]]
    texts: list[Text]
    sized: Sized
    known: int
    seconds: float


def _draw(program: Program, sizes: Sizes, vocabulary: Vocabulary) -> Drawn:
    begun = time.perf_counter()
    found = list(recorded(program, sizes, vocabulary, f"check of {program.name}", TOKENS, SECONDS))
    seconds = time.perf_counter() - begun
    texts = [text for _, text in found]
    lengths = [len(tokens) for tokens, _ in texts]
    sized = Sized(sizes.first[1], len(lengths), sum(lengths), max(lengths), round(median(lengths)))
    return Drawn(
        [operands for operands, _ in found], texts, sized, len(vocabulary.numbers), seconds
    )


def _wrong(of: Recorded, truth: Truth) -> Iterator[Wrong]:
    """Problems whose text holds another answer than the truth."""
    machine = of.machine
    for operands, (tokens, prompt) in zip(of.problems, of.texts, strict=True):
        right = truth(*operands)
        _check_type(of.program, operands, right)
        where = machine.positions(np.array(tokens))[prompt:].tolist()
        pairs = [(machine.tokens[t], w) for t, w in zip(tokens[prompt:], where, strict=True)]
        answer = of.program.format.read(pairs) if tokens[-1] == machine.end else None
        right = tuple(right) if isinstance(right, list) else right
        if answer != right or isinstance(answer, bool) != isinstance(right, bool):
            yield Wrong(operands, answer, right)


def _check_type(program: Program, operands: tuple[int, ...], right: Any) -> None:
    """Raises UserError for a truth that is no answer such as the program's."""
    several, pointed = bool(program.answer.many), bool(program.answer.fraction)
    numbers = list(right) if several and isinstance(right, list | tuple) else [right]
    kind = Fraction if pointed else int
    if several != isinstance(right, list | tuple) or not all(isinstance(n, kind) for n in numbers):
        wanted = "a tuple of whole numbers" if several else "a whole number, True or False"
        wanted = "a fractions.Fraction" if pointed else wanted
        call = f"program {program.name!r}: truth({', '.join(map(str, operands))})"
        raise UserError(f"{call} must return {wanted} (got {right!r})")


def _different(problems: Sequence[tuple[int, ...]], truth: Truth, own: Truth) -> Iterator[Wrong]:
    """Problems of which Curta's own operation has another truth."""
    for operands in problems[:1000]:
        if truth(*operands) != own(*operands):
            yield Wrong(operands, truth(*operands), own(*operands))


def _growing(machine: Machine, vocabulary: Vocabulary, ends: Sequence[int]) -> Iterator[Growing]:
    """Moves of each role on each axis that are longer at each larger size."""
    tokens, begins = vocabulary.tokens, [0, *ends]
    for role in dict.fromkeys(token.role for token in tokens):
        for axis, name in enumerate(machine.axes):
            parts = [
                [t.move[axis] for t in tokens[start:stop] if t.role == role]
                for start, stop in pairwise(begins)
            ]
            longest = [max(map(_length, part), default=0) for part in parts]
            if 1 < longest[0] < longest[-1] and longest[1] < longest[-1]:
                every = sorted(sorted(set(chain.from_iterable(parts))), key=_length)
                yield Growing(role, name, tuple(arrow(move) for move in every[-4:]))


def _length(move: int) -> int:
    return abs(move - HOME if move > HOME // 2 else move)
