"""Survey programs: make their machine and windows from recorded texts of several sizes."""

import itertools
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from curta.problems.sizes import Sizes
from curta.programs.machine import finding
from curta.programs.machine.machine import Machine, Role, Windows
from curta.programs.machine.paper import HOME, ProgramError, Token, TokenKey, Vocabulary, token_of
from curta.programs.machine.program import Program, RecordedText
from curta.programs.machine.prompt import Format, Sign
from curta.programs.machine.recording import Recording
from curta.programs.machine.sampling import drawn

FACTORS = (1, 2, 4)
"""A survey records problems of this many times the training sizes."""

TOKENS = 240_000
"""Tokens recorded for a family of programs, divided over its programs and sizes."""

ANSWER_ROLES = ("role", "sign", "fraction")
"""The fields of `Answer` that name roles."""


@dataclass(frozen=True, eq=False)
class Recorder:
    """Programs by operator, with vocabularies that number their tokens as the machine does."""

    programs: Mapping[str, Program]
    vocabularies: Mapping[str, Vocabulary]

    def record(self, operator: str, operands: Sequence[int]) -> RecordedText:
        """Record a text in the machine's tokens; raise ProgramError for an unknown token."""
        return self.programs[operator].record(operands, self.vocabularies[operator])


class Survey(NamedTuple):
    """The machine of some programs, and the windows of its roles."""

    machine: Machine
    windows: Windows


def survey(
    programs: Sequence[Program], sizes: Mapping[str, Sizes], others: Sequence[Program] = ()
) -> Survey:
    """Make one machine for programs, from texts of up to FACTORS times the training sizes.

    It also has the tokens and formats of `others`, which write the same problems differently.
    Programs of one family share roles; otherwise the family's name is put before the role.
    """
    families: dict[str, list[Program]] = {}
    for program in programs:
        families.setdefault(program.family or program.name, []).append(program)
    surveys = [_survey_family(family, sizes, others) for family in families.values()]
    return surveys[0] if len(surveys) == 1 else _join(list(families), surveys)


def _survey_family(
    programs: Sequence[Program], sizes: Mapping[str, Sizes], others: Sequence[Program]
) -> Survey:
    """Survey programs that share their roles."""
    vocabulary = prompt_vocabulary(*programs, *others)
    budget, texts = TOKENS // (len(FACTORS) * len(programs)), list[RecordedText]()
    for program, factor in itertools.product(programs, FACTORS):
        seed, larger = f"survey of {program.name}", sizes[program.operator].times(factor)
        pairs = recorded(program, larger, vocabulary, seed, budget, math.inf)
        texts += [text for _, text in pairs]

    # Sort tokens by first occurrence of the role, then by digit, carry and move.
    tokens = vocabulary.tokens
    roles = {role: number for number, role in enumerate(dict.fromkeys(t.role for t in tokens))}
    sort_key = lambda t: (
        roles[t.role], -1 if t.value is None else t.value, t.carry, t.symbol, t.move
    )  # fmt: skip
    machine = machine_of(programs, sorted(tokens, key=sort_key), others)
    number = [machine.numbers[key] for key in vocabulary]
    recording = Recording.of([([number[t] for t in text], prompt) for text, prompt in texts])
    with programs[0].locating() if len(programs) == 1 else nullcontext():
        windows = finding.find(machine, recording, max(program.reach for program in programs))
    return Survey(machine, windows)


def prompt_vocabulary(*programs: Program) -> Vocabulary:
    """Return a vocabulary with every token that prompts of these programs can have."""
    vocabulary = Vocabulary()
    for program in programs:
        for key in program.format.every():
            vocabulary[key]
    return vocabulary


def machine_of(
    programs: Sequence[Program], tokens: Sequence[Token], others: Sequence[Program] = ()
) -> Machine:
    """Return the machine of programs that share their roles, with these tokens."""
    if not any(token.role == "end" for token in tokens):
        titles = " and ".join(program.title for program in programs)
        raise ProgramError(f"{titles} never ends a text: call paper.end() last")
    # By role, the axes on which it is broadcast; parts of a prompt say so themselves.
    everywhere: dict[str, tuple[str, ...]] = {}
    for program in (*programs, *others):
        everywhere |= program.broadcast
    for program in (*programs, *others):
        everywhere |= {part.name: part.everywhere for part in program.prompt}
    names = dict.fromkeys(token.role for token in tokens)
    return Machine(
        tuple(dict.fromkeys(axis for program in programs for axis in program.axes)),
        tuple(tokens),
        tuple(Role(name, everywhere.get(name, ())) for name in names),
        {program.operator: program.format for program in programs},
        {program.name: program.format for program in others},
    )


def recorded(
    program: Program, sizes: Sizes, vocabulary: Vocabulary, seed: str, budget: int, seconds: float
) -> Iterator[tuple[tuple[int, ...], RecordedText]]:
    """Yield problems with their texts until `budget` tokens or `seconds` are used up.

    Two in five are rare problems.
    """
    end = time.perf_counter() + seconds
    for operands in drawn(program, sizes, seed, 0.4):
        text = program.record(operands, vocabulary)
        yield operands, text
        budget -= len(text[0])
        if budget < 0 or time.perf_counter() > end:
            return


def _join(names: Sequence[str], surveys: Sequence[Survey]) -> Survey:
    """Join machines into one, with their names before their roles and one end for all.

    Tokens stand at the origin of axes that their own machine lacks.
    """
    axes = tuple(dict.fromkeys(axis for each in surveys for axis in each.machine.axes))

    def rename(family: str, role: str) -> str:
        return role if role in ("end", "") else f"{family} {role}"

    def widen(machine: Machine, move: Sequence[int], spare: int) -> tuple[int, ...]:
        """Return a move on all axes, with `spare` on those that the machine lacks."""
        moved = dict(zip(machine.axes, move, strict=True))
        return tuple(moved.get(axis, spare) for axis in axes)

    keys, roles = dict[TokenKey, None](), dict[str, Role]()
    windows: Windows = {}
    formats = dict[str, Format]()
    for name, each in zip(names, surveys, strict=True):
        machine, prefixed = each.machine, partial(rename, name)
        for symbol, role, carry, move in machine.numbers:
            spare = HOME if all(step > HOME // 2 for step in move) else 0
            keys[symbol, prefixed(role), carry, widen(machine, move, spare)] = None
        for role, near in each.windows.items():
            windows[prefixed(role)] = tuple(
                (prefixed(other), widen(machine, moved, 0)) for other, moved in near
            )
        for part in machine.roles:
            roles[prefixed(part.name)] = part._replace(name=prefixed(part.name))
        for operator, form in machine.formats.items():
            at = dict.fromkeys(axes, 0) | {form.axes[0]: -1}
            prompt = tuple(
                replace(p, role=prefixed(p.name), at=at | p.at)
                if isinstance(p, Sign) and p.step is None
                else replace(p, role=prefixed(p.name))
                for p in form.prompt_parts
            )
            roles_of_answer: dict[str, Any] = {
                r: prefixed(getattr(form.answer, r)) for r in ANSWER_ROLES
            }
            formats[operator] = Format(axes, prompt, replace(form.answer, **roles_of_answer))
    tokens = tuple(token_of(*key) for key in keys)
    return Survey(Machine(axes, tokens, tuple(roles.values()), formats), windows)
