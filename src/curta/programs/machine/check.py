"""Check whether a program can be learned: compare its answers with the truth, look for conflicts.

Random problems of several sizes are recorded. Where one window is followed by different tokens, no
windowed model can learn the program; two texts then show such a conflict.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from curta.config.errors import QUOTED, UserError, shortened
from curta.problems.numerals import plain_answer, to_text
from curta.problems.problem import answer_text
from curta.problems.sizes import Sizes
from curta.programs.machine.finding import decides, find
from curta.programs.machine.machine import Machine, Role, Windows, cells_of, window_cells
from curta.programs.machine.paper import HOME, ProgramError, Vocabulary, arrow
from curta.programs.machine.program import Program, RecordedText
from curta.programs.machine.recording import (
    Conflict,
    Recording,
    WindowTable,
    find_query,
    recorded_windows,
)
from curta.programs.machine.survey import FACTORS, machine_of, prompt_vocabulary, recorded

TOKENS = 60_000
"""Tokens recorded at each size."""

SECONDS = 5.0
"""The most seconds of recording at each size, even if too few tokens are recorded by then."""

EXAMPLES = 3
"""Most wrong answers shown."""

REPEATED = 50
"""Problems of each size recorded twice, to notice random choices."""

REACH = 3
"""Largest distance at which something may tell two windows apart."""

ROLES = 5
"""Most roles whose conflicts are explained."""

WRITE = "write what decides the next token, such as a carry, on a square that is seen"


class Cell(NamedTuple):
    """One cell of a window."""

    place: str
    """The name of the square, such as `a place+1`."""
    symbol: str | None
    """The symbol on it; None if it is empty."""


@dataclass(frozen=True)
class ConflictExample:
    """A role with windows that are followed by different tokens, shown by two texts."""

    role: str
    """The role."""
    count: int
    """The number of its windows that are followed by different tokens."""
    window: tuple[Cell, ...]
    """One of these windows."""
    follows: tuple[str, str]
    """Two tokens that follow it."""
    problems: tuple[tuple[int, ...], tuple[int, ...]]
    """The operands of a problem for each."""
    steps: tuple[int, int]
    """The index of the token that sees the window in the text of each problem."""
    hint: str
    """What to change in the program."""


@dataclass(frozen=True)
class WrongExample:
    """A problem for which the program writes a wrong answer."""

    operands: tuple[int, ...]
    """The operands."""
    answer: Any
    """The answer that the program writes; None if it is invalid."""
    truth: Any
    """The right answer."""


@dataclass(frozen=True)
class GrowingTokens:
    """Moves or symbols of a role that grow with the problems, so the vocabulary is unbounded."""

    role: str
    """The role."""
    axis: str
    """The axis of the moves; empty if the symbols grow."""
    longest: tuple[str, ...]
    """The longest moves, or the newest symbols."""


@dataclass(frozen=True)
class RecordedSize:
    """What was recorded at one size."""

    digits: int
    """The number of digits."""
    problems: int
    """The number of problems."""
    tokens: int
    """The number of tokens in their texts."""
    longest: int
    """The number of tokens in the longest text."""
    middle: int
    """The median number of tokens in a text."""


@dataclass(frozen=True, eq=False)
class ProgramCheck:
    """The result of checking one program."""

    program: Program
    """The program."""
    machine: Machine
    """Its vocabulary, roles and prompt format."""
    windows: Windows
    """For each role, the neighbours that its tokens see."""
    distinct: int
    """Number of distinct windows that were recorded."""
    expected: int
    """Lower estimate of the number of windows at these sizes (Chao, 1984)."""
    by_role: dict[str, int]
    """Number of distinct windows of each role."""
    symbols: dict[str, int]
    """Number of symbols of each role, small carries included."""
    sizes: tuple[RecordedSize, ...]
    """What was recorded at each size."""
    tokens_per_second: int
    """Tokens that the program writes in a second."""
    wrong: tuple[WrongExample, ...]
    """Some problems with a wrong answer."""
    wrongs: int
    """Number of problems with a wrong answer."""
    conflicts: tuple[ConflictExample, ...]
    """For each role with windows that are followed by different tokens, an example of one."""
    growing: tuple[GrowingTokens, ...]
    """Moves and symbols that grow with the problems, so that the vocabulary has no end."""
    unstable: tuple[int, ...] | None
    """Operands for which two recordings differ; None if there are none."""
    closed: bool | None = None
    """Whether the list of windows is proved complete; None if that was not tried."""
    obstacle: str = ""
    """What prevents the proof, and a remedy that worked for other programs."""

    @property
    def learnable(self) -> bool:
        """Whether answers are right, windows have no conflicts, and recordings agree."""
        return not (self.wrongs or self.conflicts or self.unstable)

    @property
    def table(self) -> dict[str, Any]:
        """The results as plain values for JSON."""
        return {
            "program": self.program.name,
            "operator": self.program.operator,
            "learnable": self.learnable,
            "tokens": len(self.machine.tokens),
            "roles": [role.name for role in self.machine.roles],
            "moves": sorted({token.move for token in self.machine.tokens}),
            "windows": self.windows,
            "distinct_windows": self.distinct,
            "expected_windows": self.expected,
            "windows_of_role": self.by_role,
            "sizes": [vars(size) for size in self.sizes],
            "tokens_per_second": self.tokens_per_second,
            "wrong": self.wrongs,
            "wrong_examples": [
                vars(case)
                | {"written": plain_answer(case.answer), "truth": plain_answer(case.truth)}
                for case in self.wrong
            ],
            "conflicts": [
                vars(conflict) | {"window": [cell._asdict() for cell in conflict.window]}
                for conflict in self.conflicts
            ],
            "growing": [vars(growing) for growing in self.growing],
            "unstable": self.unstable,
            "closed": self.closed,
            "obstacle": self.obstacle,
        }


class RecordedProblems(NamedTuple):
    """Problems of one size with their texts, and the size of the vocabulary after them."""

    problems: list[tuple[int, ...]]
    texts: list[RecordedText]
    sized: RecordedSize
    vocabulary: int
    seconds: float
    unstable: tuple[int, ...] | None
    """A problem for which a second recording differs, if any."""


def check_program(program: Program, sizes: Sizes) -> ProgramCheck:
    """Record problems up to FACTORS times these sizes and check what was written."""
    vocabulary = prompt_vocabulary(program)
    drawn = [_draw(program, sizes.times(factor), vocabulary) for factor in FACTORS]
    problems = [operands for size in drawn for operands in size.problems]
    texts = [text for size in drawn for text in size.texts]
    machine = machine_of([program], vocabulary.tokens)
    recording = Recording.of(texts)
    windows = find(machine, recording, program.reach) if program.run else {}
    table = WindowTable(cells_of(windows))
    table.add(recorded_windows(machine, recording, windows))
    counts = np.bincount(machine.role[table.rows[:, 0]], minlength=len(machine.roles))
    # Chao's estimate of all windows from those seen once and twice: S + f1 (f1 - 1) / (2 (f2 + 1))
    once, twice = (int(np.sum(table.counts == count)) for count in (1, 2))
    symbols = {
        role: len({token.symbol for token in machine.tokens if token.role == role})
        for role in dict.fromkeys(token.role for token in machine.tokens)
    }
    wrong = [list(_wrong(program, machine, size)) for size in drawn]  # by size, the least first
    unstable = next((size.unstable for size in drawn if size.unstable), None)
    conflicts = list[ConflictExample]()
    if program.run and not unstable:
        by_role: dict[str, list[Conflict]] = {}
        for conflict in table.conflicts:
            by_role.setdefault(machine.tokens[conflict.row[0]].role, []).append(conflict)
        for role, of_role in list(by_role.items())[:ROLES]:
            conflicts.append(_explain(program, machine, windows, problems, texts, role, of_role))
    seconds = sum(size.seconds for size in drawn)
    return ProgramCheck(
        program=program,
        machine=machine,
        windows=windows,
        distinct=len(table),
        expected=len(table) + once * (once - 1) // (2 * (twice + 1)),
        by_role={r.name: int(n) for r, n in zip(machine.roles, counts, strict=True) if n},
        symbols=symbols,
        sizes=tuple(size.sized for size in drawn),
        tokens_per_second=round(len(recording.tokens) / max(seconds, 1e-9)),
        wrong=_shortest(next(filter(None, wrong), [])),
        wrongs=sum(map(len, wrong)),
        conflicts=tuple(conflicts),
        growing=tuple(_growing(machine, vocabulary, [size.vocabulary for size in drawn])),
        unstable=unstable,
    )


def refuse_wrong(program: Program, sizes: Sizes) -> None:
    """Raise UserError if a program is wrong or not deterministic at these sizes."""
    vocabulary = prompt_vocabulary(program)
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
        text = lambda answer: shortened(answer_text(answer), QUOTED)
        examples = ", ".join(
            f"{'no answer' if example.answer is None else text(example.answer)}"
            f" for {program.problem_text(example.operands)} (the truth is {text(example.truth)})"
            for example in wrong
        )
        raise UserError(f"{where} is wrong: it writes {examples}")


def _draw(program: Program, sizes: Sizes, vocabulary: Vocabulary) -> RecordedProblems:
    """Record problems of one size, some of them twice."""
    begun, seed = time.perf_counter(), f"check of {program.name}"
    pairs = list(recorded(program, sizes, vocabulary, seed, TOKENS, SECONDS))
    seconds = time.perf_counter() - begun
    texts = [text for _, text in pairs]
    lengths = [len(tokens) for tokens, _ in texts]
    sized = RecordedSize(
        sizes.first[1], len(lengths), sum(lengths), max(lengths), round(median(lengths))
    )
    entered = len(vocabulary)
    again = (ops for ops, text in pairs[:REPEATED] if program.record(ops, vocabulary) != text)
    return RecordedProblems(
        [ops for ops, _ in pairs], texts, sized, entered, seconds, next(again, None)
    )


def _wrong(program: Program, machine: Machine, drawn: RecordedProblems) -> Iterator[WrongExample]:
    """Yield the problems for which the program writes a wrong answer."""
    for operands, (tokens, prompt) in zip(drawn.problems, drawn.texts, strict=True):
        truth = program.true_answer(operands)
        squares = machine.positions(np.array(tokens))[prompt:].tolist()
        pairs = [(machine.tokens[t], at) for t, at in zip(tokens[prompt:], squares, strict=True)]
        answer = program.format.read(pairs) if tokens[-1] == machine.end else None
        if answer != truth or isinstance(answer, bool) != isinstance(truth, bool):
            yield WrongExample(operands, answer, truth)


def _shortest(wrong: Iterable[WrongExample]) -> tuple[WrongExample, ...]:
    """Return up to EXAMPLES different problems, shortest first."""
    different = {example.operands: example for example in wrong}.values()
    length = lambda example: sum(len(to_text(value)) for value in example.operands)
    return tuple(sorted(different, key=lambda e: (length(e), e.operands))[:EXAMPLES])


def _growing(
    machine: Machine, vocabulary: Vocabulary, ends: Sequence[int]
) -> Iterator[GrowingTokens]:
    """Yield roles whose moves along an axis, or whose symbols, grow with each larger size.

    `ends` is the size of the vocabulary after each size of problems.
    """

    def length(move: int) -> int:
        """Return how far a move goes, from the last square or from the origin."""
        return abs(move - HOME if move > HOME // 2 else move)

    tokens, spans = vocabulary.tokens, list(pairwise([0, *ends]))
    for role in dict.fromkeys(token.role for token in tokens):
        # The role's tokens that are new at each size.
        sizes = [[t for t in tokens[start:stop] if t.role == role] for start, stop in spans]
        for axis, name in enumerate(machine.axes):
            moves = [[token.move[axis] for token in size] for size in sizes]
            longest = [max(map(length, size), default=0) for size in moves]
            if 1 < longest[0] < longest[-1] and longest[1] < longest[-1]:
                every = sorted(sorted(set(chain.from_iterable(moves))), key=length)
                yield GrowingTokens(role, name, tuple(arrow(move) for move in every[-4:]))
        # Symbols grow if both larger sizes have new ones: digits ever larger, or signs ever more.
        first = {token.symbol for token in sizes[0]}
        fresh = [
            [symbol for symbol in dict.fromkeys(t.symbol for t in size) if symbol not in first]
            for size in sizes[1:]
        ]
        greatest = [max((token.value or 0 for token in size), default=0) for size in sizes]
        signs = not any(greatest) and len(fresh[1]) > len(fresh[0])
        if all(fresh) and (signs or greatest[0] < greatest[1] < greatest[2]):
            yield GrowingTokens(role, "", tuple(fresh[1][-4:]))


def _explain(
    program: Program,
    machine: Machine,
    windows: Windows,
    problems: Sequence[tuple[int, ...]],
    texts: Sequence[RecordedText],
    role: str,
    conflicts: Sequence[Conflict],
) -> ConflictExample:
    """Show a role's conflict by the two shortest texts, and say what would resolve it."""
    example = min(conflicts, key=lambda c: sum(len(texts[text][0]) for text in c.texts))
    row, (target, other_target), (first, second) = example
    query = Cell(role, machine.tokens[row[0]].symbol)
    remedy = _remedy(program, machine, role, Recording.of(texts))
    hint = f"nothing within {REACH} squares tells all of them apart: {WRITE}"
    if remedy is not None:
        hint = f"{remedy} resolves it (tried on all these texts); or write it on a nearer square"
    return ConflictExample(
        role=role,
        count=len({conflict.row for conflict in conflicts}),
        window=(query, *(Cell(*cell) for cell in window_cells(machine, windows, row))),
        follows=(machine.tokens[target].text, machine.tokens[other_target].text),
        problems=(problems[first], problems[second]),
        steps=(
            find_query(machine, windows, texts[first], row, target),
            find_query(machine, windows, texts[second], row, other_target),
        ),
        hint=hint,
    )


def _remedy(program: Program, machine: Machine, role: str, recording: Recording) -> str | None:
    """Return a change that makes the next token a function: a larger reach, or a broadcast."""
    changes = [(f"reach={far}", machine, far) for far in range(program.reach + 1, REACH + 1)]
    prompt = {part.name for part in program.prompt}
    for number, other in enumerate(machine.roles):
        for axis in machine.axes if other.name != "end" else ():
            if axis in other.broadcast:
                continue
            axes = (*other.broadcast, axis)
            roles = [*machine.roles]
            roles[number] = Role(other.name, axes)
            words = f"broadcast={{{other.name!r}: {axes!r}}}"
            if other.name in prompt:
                words = f"everywhere={axes!r} of {other.name!r}"
            changes.append((words, replace(machine, roles=tuple(roles)), program.reach))
    for words, changed, reach in changes:
        with suppress(ProgramError):  # broadcast, two tokens may share a square
            if decides(changed, recording, role, reach):
                return words
    return None
