"""Whether a program can be learned: its answers held against the truth, and its windows.

Random problems of several sizes are recorded. Where the same window is followed by different
tokens no model under a window can learn the program: such conflicts are explained by two texts.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from curta.config.errors import QUOTED, UserError, shortened
from curta.problems.numerals import to_text
from curta.problems.problem import answer_text
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

REPEATED = 50
"""Problems of each size that are recorded twice."""


@dataclass(frozen=True)
class Wrong:
    """A problem whose text does not hold the right answer."""

    operands: tuple[int, ...]
    written: Any
    truth: Any


@dataclass(frozen=True)
class Growing:
    """Moves or symbols whose number grows with the problems: the vocabulary has no bound."""

    role: str
    axis: str
    """Axis of the moves; empty if it is the symbols that grow."""
    longest: tuple[str, ...]


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
    expected: int
    """Lower estimate of the number of windows at these sizes (Chao, 1984)."""
    by_role: dict[str, int]
    """The same of each role."""
    symbols: dict[str, int]
    """How many symbols each role has, small carries included."""
    sizes: tuple[Sized, ...]
    tokens_per_second: int
    wrong: tuple[Wrong, ...]
    wrongs: int
    conflicts: tuple[Explained, ...]
    growing: tuple[Growing, ...]
    unstable: tuple[int, ...] | None
    """Return a problem for which two recordings differ, if any."""

    @property
    def learnable(self) -> bool:
        return not (self.wrongs or self.conflicts or self.unstable)


def check(program: Program, sizes: Sizes) -> Checked:
    """Record problems up to FACTORS times these sizes, and look at what was written."""
    vocabulary = _prompts(program)
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
    counts = np.bincount(machine.role[table.rows[:, 0]], minlength=len(machine.roles))
    by_role = {role.name: int(n) for role, n in zip(machine.roles, counts, strict=True) if n}
    each = {
        token.role: {t.symbol for t in machine.tokens if t.role == token.role}
        for token in machine.tokens
    }
    symbols = {role: len(found) for role, found in each.items()}
    wrong = [list(_wrong(program, machine, size)) for size in drawn]
    unstable = next((one.unstable for one in drawn if one.unstable), None)
    conflicts = explain(of, table.conflicts) if program.run and not unstable else ()
    return Checked(
        program, machine, windows, len(table), _expected(table), by_role, symbols,
        tuple(one.sized for one in drawn),
        round(len(recording.tokens) / max(seconds, 1e-9)), _shortest(next(filter(None, wrong), [])),
        sum(map(len, wrong)), conflicts,
        tuple(_growing(machine, vocabulary, [one.known for one in drawn])), unstable,
    )  # fmt: skip


def _expected(table: WindowTable) -> int:
    """Estimate the total from windows seen once and twice: S + f1 (f1 - 1) / (2 (f2 + 1))."""
    once, twice = (int(np.sum(table.counts == count)) for count in (1, 2))
    return len(table) + once * (once - 1) // (2 * (twice + 1))


def refuse_wrong(program: Program, sizes: Sizes) -> None:
    """Raise UserError if a program writes another answer than the truth, or not always the same.

    The message has the problems that `check` shows: at the first size where any is wrong.
    """
    vocabulary = _prompts(program)
    drawn = _draw(program, sizes, vocabulary)
    where = f"program {program.name!r}"
    where += f" of {program.file.rpartition('@')[0]}" if program.file else ""
    if drawn.unstable:
        problem = program.problem_text(drawn.unstable)
        raise UserError(
            f"{where} is not deterministic: it writes two different texts for {problem}"
        )
    wrong = _shortest(_wrong(program, machine_of([program], vocabulary.tokens), drawn))
    if wrong:
        examples = ", ".join(
            f"{'no answer' if one.written is None else shortened(answer_text(one.written), QUOTED)}"
            f" for {program.problem_text(one.operands)}"
            f" (the truth is {shortened(answer_text(one.truth), QUOTED)})"
            for one in wrong
        )
        raise UserError(f"{where} is wrong: it writes {examples}")


def _shortest(wrong: Iterable[Wrong]) -> tuple[Wrong, ...]:
    """Return some different problems of these, the shortest first."""
    different = {one.operands: one for one in wrong}.values()
    length = lambda one: (sum(len(to_text(value)) for value in one.operands), one.operands)
    return tuple(sorted(different, key=length)[:SHOWN])


def _prompts(program: Program) -> Vocabulary:
    """Return a vocabulary that has every token of a prompt."""
    vocabulary = Vocabulary()
    for key in program.format.every():
        vocabulary.add(key)
    return vocabulary


class Drawn(NamedTuple):
    """Problems of one size and their texts, and how many tokens there were by then."""

    problems: list[tuple[int, ...]]
    texts: list[Text]
    sized: Sized
    known: int
    seconds: float
    unstable: tuple[int, ...] | None
    """A problem whose text differs when it is recorded again."""


def _draw(program: Program, sizes: Sizes, vocabulary: Vocabulary) -> Drawn:
    begun = time.perf_counter()
    found = list(recorded(program, sizes, vocabulary, f"check of {program.name}", TOKENS, SECONDS))
    seconds = time.perf_counter() - begun
    texts = [text for _, text in found]
    lengths = [len(tokens) for tokens, _ in texts]
    sized = Sized(sizes.first[1], len(lengths), sum(lengths), max(lengths), round(median(lengths)))
    known = len(vocabulary.numbers)
    again = (one for one, text in found[:REPEATED] if program.record(one, vocabulary) != text)
    unstable = next(again, None)
    return Drawn([operands for operands, _ in found], texts, sized, known, seconds, unstable)


def _wrong(program: Program, machine: Machine, drawn: Drawn) -> Iterator[Wrong]:
    """Yield the problems whose text holds another answer than the truth."""
    for operands, (tokens, prompt) in zip(drawn.problems, drawn.texts, strict=True):
        right = program.true_answer(operands)
        where = machine.positions(np.array(tokens))[prompt:].tolist()
        pairs = [(machine.tokens[t], w) for t, w in zip(tokens[prompt:], where, strict=True)]
        answer = program.format.read(pairs) if tokens[-1] == machine.end else None
        if answer != right or isinstance(answer, bool) != isinstance(right, bool):
            yield Wrong(operands, answer, right)


def _growing(machine: Machine, vocabulary: Vocabulary, ends: Sequence[int]) -> Iterator[Growing]:
    """Roles whose moves on an axis, or whose symbols, grow with each larger size."""
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
        sizes = [
            [t for t in tokens[start:stop] if t.role == role] for start, stop in pairwise(begins)
        ]
        known = {t.symbol for t in sizes[0]}
        fresh = [list(dict.fromkeys(t.symbol for t in size)) for size in sizes[1:]]
        fresh = [[symbol for symbol in size if symbol not in known] for size in fresh]
        greatest = [max((t.value or 0 for t in size), default=0) for size in sizes]
        signs = not any(greatest) and len(fresh[1]) > len(fresh[0])
        if all(fresh) and (signs or greatest[0] < greatest[1] < greatest[2]):
            yield Growing(role, "", tuple(fresh[1][-4:]))


def _length(move: int) -> int:
    return abs(move - HOME if move > HOME // 2 else move)
