"""Machines made from programs: their vocabulary and windows, from texts of several sizes."""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from curta.problems.sizes import Sizes
from curta.programs.machine import finding
from curta.programs.machine.machine import Machine, Role, Windows, joined
from curta.programs.machine.paper import HOME, Key, ProgramError, Token, Vocabulary, token_of
from curta.programs.machine.program import Program, Text
from curta.programs.machine.prompt import Format, Part, Sign
from curta.programs.machine.recording import Recording
from curta.programs.machine.sampling import drawn

FACTORS = (1, 2, 4)
"""How many times the sizes of training a survey goes to."""

TOKENS = 240_000
"""Tokens of a survey of programs that share their roles, divided over them and the sizes."""

Rename = Callable[[str], str]


@dataclass(frozen=True, eq=False)
class Recorder:
    """Programs, by operator, and the vocabularies that number their tokens as a machine does."""

    programs: Mapping[str, Program]
    vocabularies: Mapping[str, Vocabulary]

    def record(self, operator: str, operands: Sequence[int]) -> Text:
        """A text in the machine's own tokens; ProgramError for a token that it does not have."""
        return self.programs[operator].record(operands, self.vocabularies[operator])


@dataclass(frozen=True, eq=False)
class Survey:
    """What was found of some programs."""

    machine: Machine
    windows: Windows
    recorder: Recorder


def survey(
    programs: Sequence[Program], sizes: Mapping[str, Sizes], others: Sequence[Program] = ()
) -> Survey:
    """One machine for these programs, with every token of texts up to FACTORS times the sizes.

    Of `others`, which put the same problems otherwise, the machine has the tokens and formats.
    Programs of one family share roles; those of others are told apart by its name.
    """
    families: dict[str, list[Program]] = {}
    for program in programs:
        families.setdefault(program.family or program.name, []).append(program)
    found = [_family(mine, sizes, others) for mine in families.values()]
    return found[0] if len(found) == 1 else _together(list(families), found)


def _family(
    programs: Sequence[Program], sizes: Mapping[str, Sizes], others: Sequence[Program]
) -> Survey:
    """Programs that share all roles."""
    vocabulary = Vocabulary()
    for program in (*programs, *others):
        for key in program.format.every():
            vocabulary.add(key)
    budget, texts = TOKENS // (len(FACTORS) * len(programs)), list[Text]()
    for program, factor in itertools.product(programs, FACTORS):
        seed, larger = f"survey of {program.name}", sizes[program.operator].times(factor)
        found = recorded(program, larger, vocabulary, seed, budget, math.inf)
        texts += [text for _, text in found]
    tokens = sorted(vocabulary.tokens, key=_order(vocabulary.tokens))
    machine = machine_of(programs, tokens, others)
    place = [machine.numbers[key] for key in vocabulary.numbers]
    recording = Recording.of([([place[token] for token in text], p) for text, p in texts])
    with programs[0].locating() if len(programs) == 1 else nullcontext():
        windows = finding.find(machine, recording, max(program.reach for program in programs))
    known = Vocabulary(machine.numbers)
    recorder = Recorder({p.operator: p for p in programs}, {p.operator: known for p in programs})
    return Survey(machine, windows, recorder)


def machine_of(
    programs: Sequence[Program], tokens: Sequence[Token], others: Sequence[Program] = ()
) -> Machine:
    """The machine of programs that share all roles, with these tokens."""
    if not any(token.role == "end" for token in tokens):
        named = " and ".join(program.title for program in programs)
        raise ProgramError(f"{named} never ends a text: call paper.end() last")
    axes = joined([program.axes for program in programs])
    besides = {program.name: program.format for program in others}
    roles = _roles([*programs, *others], tokens)
    formats = {program.operator: program.format for program in programs}
    return Machine(axes, tuple(tokens), roles, formats, besides)


def recorded(
    program: Program, sizes: Sizes, vocabulary: Vocabulary, seed: str, budget: int, seconds: float
) -> Iterator[tuple[tuple[int, ...], Text]]:
    """Problems of these sizes with their texts, of so many tokens in all or as time allows.

    Two in five are special ones.
    """
    end = time.perf_counter() + seconds
    for operands in drawn(program, sizes, seed, 0.4):
        text = program.record(operands, vocabulary)
        yield operands, text
        budget -= len(text[0])
        if budget < 0 or time.perf_counter() > end:
            return


def _roles(programs: Sequence[Program], tokens: Sequence[Token]) -> tuple[Role, ...]:
    wide = {role: axes for program in programs for role, axes in program.broadcast.items()}
    wide |= {part.name: part.everywhere for program in programs for part in program.prompt}
    return tuple(Role(name, wide.get(name, ())) for name in dict.fromkeys(t.role for t in tokens))


def _order(tokens: Sequence[Token]) -> Callable[[Token], tuple[Any, ...]]:
    """Roles as they came, then digits, carries and moves in order."""
    roles = {role: number for number, role in enumerate(dict.fromkeys(t.role for t in tokens))}

    def key(token: Token) -> tuple[Any, ...]:
        value = -1 if token.value is None else token.value
        return roles[token.role], value, token.carry, token.symbol, token.move

    return key


def _together(names: Sequence[str], found: Sequence[Survey]) -> Survey:
    """Several machines as one: their roles with their names before them, one end for all."""
    axes = joined([one.machine.axes for one in found])
    every: dict[Key, None] = {}
    windows: Windows = {}
    roles: dict[str, Role] = {}
    formats: dict[str, Format] = {}
    programs: dict[str, Program] = {}
    owned: list[tuple[Survey, dict[Key, Key]]] = []
    for name, one in zip(names, found, strict=True):
        rename = partial(_renamed, name)
        keys = {key: _rekeyed(key, one.machine.axes, axes, rename) for key in one.machine.numbers}
        every |= dict.fromkeys(keys.values())
        owned.append((one, keys))
        windows |= _rewindowed(one, axes, rename)
        named = [role._replace(name=rename(role.name)) for role in one.machine.roles]
        roles |= {role.name: role for role in named}
        formats |= {o: _reformatted(f, axes, rename) for o, f in one.machine.formats.items()}
        programs |= one.recorder.programs
    machine = Machine(axes, tuple(token_of(*key) for key in every), tuple(roles.values()), formats)
    vocabularies = {
        operator: Vocabulary({own: machine.numbers[key] for own, key in keys.items()})
        for one, keys in owned
        for operator in one.recorder.programs
    }
    return Survey(machine, windows, Recorder(programs, vocabularies))


def _renamed(name: str, role: str) -> str:
    return role if role == "end" else f"{name} {role}"


def _rekeyed(key: Key, own: Sequence[str], axes: Sequence[str], rename: Rename) -> Key:
    """A token on more axes: it stands at the origin of those that it does not know."""
    symbol, role, carry, move = key
    known = dict(zip(own, move, strict=True))
    spare = HOME if all(step > HOME // 2 for step in move) else 0
    return symbol, rename(role), carry, tuple(known.get(axis, spare) for axis in axes)


def _rewindowed(one: Survey, axes: Sequence[str], rename: Rename) -> Windows:
    own = one.machine.axes
    return {
        rename(role): tuple(
            (rename(other), tuple(dict(zip(own, d, strict=True)).get(axis, 0) for axis in axes))
            for other, d in neighbours
        )
        for role, neighbours in one.windows.items()
    }


def _reformatted(form: Format, axes: tuple[str, ...], rename: Rename) -> Format:
    """The format on more axes: signs say where they stand, at the origin of the others."""
    spare = dict.fromkeys(axes, 0) | {form.axes[0]: -1}

    def part(one: Part) -> Part:
        if isinstance(one, Sign) and one.step is None:
            return replace(one, role=rename(one.name), at=spare | one.at)
        return replace(one, role=rename(one.name))

    own = form.answer
    sign, fraction = (rename(role) if role else "" for role in (own.sign, own.fraction))
    answer = replace(own, role=rename(own.role), sign=sign, fraction=fraction)
    return Format(axes, tuple(map(part, form.parts)), answer)
