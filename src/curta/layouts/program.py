"""Texts that programs write: where every token stands follows from the moves it carries.

A layout made from a machine alone can put problems, follow texts and read answers. What a
program itself would write it knows only with a recorder, that is, with the program's code.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.config.errors import UserError, unknown
from curta.layouts.automaton import Automaton, of_machine
from curta.layouts.base import Layout, Role, ShapeBounds, Text, TokenPositions
from curta.problems.digits import Numbers
from curta.problems.operations import Answer, operation_named
from curta.problems.problem import Problem, widths
from curta.problems.sizes import OperandLimits, Sizes
from curta.programs.machine import sampling
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.store import recorder
from curta.programs.machine.survey import Recorder
from curta.programs.user import registry

DRAWN = 100
"""Random problems of which the longest stands for a size whose largest problem is refused."""


class ProgramLayout(Layout):
    """The texts of one machine, and the windows in which their tokens are functions."""

    name = "program"
    summary = "what a program writes; role and square of every token, from the moves it carries"
    linear = False

    def __init__(
        self, machine: Machine, windows: Windows, recorder: Recorder | None = None
    ) -> None:
        self.machine, self.windows, self.recorder = machine, windows, recorder
        self.characters = tuple(token.symbol for token in machine.tokens)
        self.axes = machine.axes
        self.operators = tuple(machine.formats)
        valued = {token.role for token in machine.tokens if token.value is not None}
        self.roles = tuple(
            Role(role.name, role.name in valued, role.broadcast) for role in machine.roles
        )

    @cached_property
    def limits(self) -> Mapping[str, OperandLimits]:
        return self.machine.limits

    @property
    def end(self) -> int:
        return self.machine.end

    def other(self, name: str) -> "ProgramLayout":
        """The same machine, with problems put as another program puts them."""
        programs = registry.programs_of(name)
        program = next((one for one in programs if one.name in self.machine.others), None)
        if program is None:
            raise unknown("other way to write these problems", name, self.machine.others)
        form = self.machine.others[program.name]
        machine = replace(self.machine, formats={program.operator: form})
        return ProgramLayout(machine, self.windows, recorder(machine, [program]))

    @property
    def title(self) -> str:
        return "the recipe's program"

    def prompt(self, problem: Problem) -> str:
        return self.decode(self.prompt_tokens(problem))

    def completion(self, problem: Problem) -> str:
        tokens, prompt = self.tokens_of(problem)
        return self.decode(tokens[prompt:-1])

    def tokens(self, operator: str, operands: Numbers, bounds: ShapeBounds) -> Text:
        raise UserError("a program's texts are recorded, not written on the device")

    def prompt_tokens(self, problem: Problem) -> list[int]:
        self.accept(problem.operator, widths(problem))
        return self.machine.prompt_tokens(problem)

    def tokens_of(self, problem: Problem) -> tuple[list[int], int]:
        """Raises UserError without the program's code."""
        if self.recorder is None:
            raise UserError(
                f"what the program writes for {problem} is not known here: its code was not run"
            )
        self.accept(problem.operator, widths(problem))
        return self.recorder.record(problem.operator, problem.operands)

    def answer(self, problem: Problem, written: Sequence[int]) -> Answer | None:
        return self.machine.read_answer(problem, written)

    def value(self, token: int) -> int | None:
        return self.machine.tokens[token].value

    def with_value(self, token: int, value: int) -> int | None:
        """Role, carry and move stay what they are."""
        written = self.machine.tokens[token]
        if written.value is None:
            return None
        return self.machine.numbers.get((value, written.role, written.carry, written.move))

    @property
    def digits(self) -> list[int]:
        """Those of the first answer's role, with the carry and the move that have the most."""
        role = next(iter(self.machine.formats.values())).answer.role
        groups: dict[tuple[Any, ...], list[int]] = {}
        for number, token in enumerate(self.machine.tokens):
            if token.role == role and token.value is not None:
                groups.setdefault((token.carry, token.move), []).append(number)
        return max(groups.values(), key=len)

    @property
    def vocabulary(self) -> list[str]:
        return [token.text for token in self.machine.tokens]

    def bounds(self, operator: str, digits: Sequence[int]) -> ShapeBounds:
        """Room for the longest of a few problems of this size; see `bounds_of` for given ones."""
        return self.bounds_of(self.long_problems(operator, digits))

    def long_problems(self, operator: str, digits: Sequence[int]) -> list[Problem]:
        """The largest and the smallest problem with so many digits, as far as they have answers.

        If the program refuses both: the longest of some random problems of at most so many digits.
        """
        base, refuse = self.base(operator), operation_named(operator).refuse
        extremes = self.extremes(operator, digits)
        every = [operands for operands in extremes if refuse(operands) is None] or extremes
        if self.recorder is not None and refuse(every[0]) is not None:
            program, rng = self.recorder.programs[operator], random.Random(0)
            sizes = Sizes((1, digits[0]), (1, digits[-1]), (len(digits), len(digits)))
            drawn = [sampling.draw(program, sizes, rng) for _ in range(DRAWN)]
            every = [max(drawn, key=lambda operands: sum(n.bit_length() for n in operands))]
        return [Problem(operator, operands, base) for operands in every]

    def extremes(self, operator: str, digits: Sequence[int]) -> list[tuple[int, ...]]:
        """The largest and the smallest operands with so many digits, in the operands' base."""
        operands = self.machine.formats[operator].of_operands(len(digits))
        sizes = [(operand.base, count) for operand, count in zip(operands, digits, strict=True)]
        return [
            tuple(base**count - 1 for base, count in sizes),
            tuple(base ** (count - 1) for base, count in sizes),
        ]

    def bounds_of(self, problems: Sequence[Problem]) -> ShapeBounds:
        """Room for these very problems."""
        return self.room_for([self.tokens_of(problem) for problem in problems])

    def room_for(self, texts: Sequence[tuple[Sequence[int], int]]) -> ShapeBounds:
        """Room for these texts."""
        where = np.concatenate([self.machine.positions(np.array(t)) for t, _ in texts])
        extents = tuple(zip(where.min(0).tolist(), where.max(0).tolist(), strict=True))
        return ShapeBounds(
            max(prompt for _, prompt in texts), max(len(t) - p for t, p in texts), extents
        )

    @cached_property
    def automaton(self) -> Automaton:
        """The machine, which has a single state."""
        return of_machine(self.machine)

    def follow(
        self, tokens: Int[Array, "batch time"], lengths: Int[Array, " batch"]
    ) -> tuple[Int[Array, "batch states"], TokenPositions]:
        """As a sum of moves since the last home, all tokens at once; see `Machine.positions`."""
        home, offset = (jnp.asarray(part)[tokens] for part in self.machine.moves)
        total, index = jnp.cumsum(offset, axis=1), jnp.arange(tokens.shape[1])[None]
        since = jax.lax.cummax(jnp.where(home, index[..., None], 0), axis=1)
        before = jnp.take_along_axis(total - offset, since, axis=1)
        position = total - before
        written = index < lengths[:, None]
        role = jnp.where(written, jnp.asarray(self.machine.role)[tokens], -1)
        last = position[jnp.arange(len(tokens)), lengths - 1]
        state = jnp.pad(last, ((0, 0), (1, 0)))
        where = TokenPositions(jnp.broadcast_to(index, tokens.shape), role, position)
        return state, where

    def parts(self) -> Float[np.ndarray, "tokens parts"]:
        return self.machine.parts
