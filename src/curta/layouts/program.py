"""The texts of programs: the position of every token follows from the moves of tokens.

A layout with a machine alone can write prompts, follow texts and read answers. It knows the correct
completions only with a recorder, that is, with the program's code.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import log2
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.config.errors import UserError, unknown
from curta.layouts.base import Automaton, Layout, ShapeBounds, Text, TokenPositions, TokenRole
from curta.problems.arithmetic import NumberBatch
from curta.problems.operations import Answer, operation_named
from curta.problems.problem import Problem, widths
from curta.problems.sizes import OperandLimits, Sizes
from curta.programs.machine import sampling
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.store import recorder
from curta.programs.machine.survey import Recorder
from curta.programs.user import registry

SAMPLES = 100
"""Random problems whose longest stands for a size whose largest problem has no answer."""

SHORT = 8
"""Digits of the problems from which the length of longer ones is estimated."""


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
            TokenRole(role.name, role.name in valued, role.broadcast) for role in machine.roles
        )

    @cached_property
    def limits(self) -> Mapping[str, OperandLimits]:
        return self.machine.limits

    @property
    def end(self) -> int:
        return self.machine.end

    def other(self, name: str) -> "ProgramLayout":
        """Return the same machine with the prompts of another program."""
        programs = registry.programs_of(name)
        program = next((p for p in programs if p.name in self.machine.others), None)
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

    def tokens(self, operator: str, operands: NumberBatch, bounds: ShapeBounds) -> Text:
        raise UserError("a program's texts are recorded, not written on the device")

    def prompt_tokens(self, problem: Problem) -> list[int]:
        self.accept(problem.operator, widths(problem))
        return self.machine.prompt_tokens(problem)

    def tokens_of(self, problem: Problem) -> tuple[list[int], int]:
        """Return the text and the length of its prompt; UserError without the program's code."""
        if self.recorder is None:
            raise UserError(
                f"what the program writes for {problem} is not known here: its code was not run"
            )
        self.accept(problem.operator, widths(problem))
        return self.recorder.record(problem.operator, problem.operands)

    def answer(self, problem: Problem, completion: Sequence[int]) -> Answer | None:
        return self.machine.read_answer(problem, completion)

    def value(self, token: int) -> int | None:
        return self.machine.tokens[token].value

    def with_value(self, token: int, value: int) -> int | None:
        """Return the token with this value, and the same role, carry and move, if there is one."""
        old = self.machine.tokens[token]
        if old.value is None:
            return None
        return self.machine.numbers.get((value, old.role, old.carry, old.move))

    @property
    def digits(self) -> list[int]:
        """The digits of the first answer's role, with the most frequent carry and move."""
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
        """Return bounds for the longest of a few problems of this size."""
        return self.bounds_of(self.long_problems(operator, digits))

    def estimate_tokens(self, operator: str, digits: tuple[int, ...]) -> int:
        """Estimate the tokens of the longest text with operands of so many digits.

        Texts of more than 32 digits are extrapolated from those of 8 and 16 digits.
        """

        def count(digits: tuple[int, ...]) -> int:
            return len(self.tokens_of(self.long_problems(operator, digits)[0])[0])

        if max(digits) <= 4 * SHORT:
            return count(digits)
        shorter = tuple(min(width, SHORT) for width in digits)
        first, second = (count(tuple(times * width for width in shorter)) for times in (1, 2))
        growth = max(1.0, log2(second / first))
        return round(second * (max(digits) / (2 * SHORT)) ** growth)

    def long_problems(self, operator: str, digits: Sequence[int]) -> list[Problem]:
        """Return the largest and the smallest problem with so many digits, if they have answers.

        If neither has one: the longest of some random problems of at most so many digits.
        """
        base, refuse = self.base(operator), operation_named(operator).refuse
        operands = self.machine.formats[operator].of_operands(len(digits))
        sizes = [(operand.base, count) for operand, count in zip(operands, digits, strict=True)]
        extremes = [
            tuple(base**count - 1 for base, count in sizes),
            tuple(base ** (count - 1) for base, count in sizes),
        ]
        longest = [operands for operands in extremes if refuse(operands) is None] or extremes
        if self.recorder is not None and refuse(longest[0]) is not None:
            program, rng = self.recorder.programs[operator], random.Random(0)
            shorter = Sizes((1, digits[0]), (1, digits[-1]), (len(digits), len(digits)))
            samples = [sampling.draw(program, shorter, rng) for _ in range(SAMPLES)]
            longest = [max(samples, key=lambda operands: sum(n.bit_length() for n in operands))]
        return [Problem(operator, operands, base) for operands in longest]

    def bounds_of(self, problems: Sequence[Problem]) -> ShapeBounds:
        """Return bounds for exactly these problems."""
        return self.room_for([self.tokens_of(problem) for problem in problems])

    def room_for(self, texts: Sequence[tuple[Sequence[int], int]]) -> ShapeBounds:
        """Return bounds for these texts, each with the length of its prompt."""
        where = np.concatenate([self.machine.positions(np.array(t)) for t, _ in texts])
        extents = tuple(zip(where.min(0).tolist(), where.max(0).tolist(), strict=True))
        return ShapeBounds(
            max(prompt for _, prompt in texts), max(len(t) - p for t, p in texts), extents
        )

    @cached_property
    def automaton(self) -> Automaton:
        home, offset = self.machine.moves
        role = self.machine.role[None]
        return Automaton(np.zeros_like(role), role, home[None], offset[None])

    def follow(
        self, tokens: Int[Array, "batch time"], lengths: Int[Array, " batch"]
    ) -> tuple[Int[Array, "batch states"], TokenPositions]:
        """Sum the moves since the last home, for all tokens at once; see `Machine.positions`."""
        home, offset = (jnp.asarray(table)[tokens] for table in self.machine.moves)
        total, index = jnp.cumsum(offset, axis=1), jnp.arange(tokens.shape[1])[None]
        since = jax.lax.cummax(jnp.where(home, index[..., None], 0), axis=1)
        before = jnp.take_along_axis(total - offset, since, axis=1)
        position = total - before
        is_text = index < lengths[:, None]
        role = jnp.where(is_text, jnp.asarray(self.machine.role)[tokens], -1)
        last = position[jnp.arange(len(tokens)), lengths - 1]
        state = jnp.pad(last, ((0, 0), (1, 0)))
        where = TokenPositions(jnp.broadcast_to(index, tokens.shape), role, position)
        return state, where

    def composition(self) -> Float[np.ndarray, "tokens parts"]:
        return self.machine.features
