"""Several layouts as one: the operator stands first, then the problem as its own layout has it.

Since the operator is known from the first token on, every token's kind and
coordinates are those of its own layout. Kinds keep apart what the layouts mean by
them; characters that look the same are the same tokens.
"""

from collections.abc import Sequence
from itertools import accumulate

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from ..digits import Numbers
from ..operations import OPERATIONS
from ..problems import Problem
from .base import Kind, Layout, Room, Text
from .difference import Difference
from .division import LongDivision
from .forms import Form, Reading
from .product import Product
from .running import Running
from .traced import spelled

PARTS: tuple[Layout, ...] = (Running(), Difference(), Product(), LongDivision())


class Calculator(Layout):
    name = "calculator"
    summary = "the operator, then as " + ", ".join(part.name for part in PARTS)
    characters = "".join(dict.fromkeys("".join(part.characters for part in PARTS)))
    kinds = (
        Kind("mark"),
        *(
            kind._replace(name=f"{part.name} {kind.name}", group=group)
            for group, part in enumerate(PARTS)
            for kind in part.kinds
        ),
    )
    linear = False
    axes = tuple(dict.fromkeys(axis for part in PARTS for axis in part.axes))
    operators = tuple(operator for part in PARTS for operator in part.operators)
    states = 1 + sum(part.states for part in PARTS)  # which layout, and the state of each

    def form(self, operator: str) -> Form:
        form = self._part(operator).form(operator)
        return form._replace(before=OPERATIONS[operator].mark + form.before)

    def reading(self, operator: str) -> Reading:
        return self._part(operator).reading(operator)

    def working(self, problem: Problem) -> str:
        return self._part(problem.operator).working(problem)

    def spelling(self, character: str) -> tuple[str, ...]:
        return spelled(character)

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        part = self._part(operator)
        room = part.room(operator, digits)
        known = dict(zip(part.axes, room.extents, strict=True))
        extents = tuple(known.get(axis, (0, 0)) for axis in self.axes)
        return Room(room.prompt + 1, room.completion, extents)

    def tokens(self, operator: str, operands: Numbers, room: Room) -> Text:
        part = self._part(operator)
        inner = tuple(room.extents[self.axes.index(axis)] for axis in part.axes)
        text = part.tokens(operator, operands, Room(room.prompt - 1, room.completion, inner))
        mark = self.characters.index(OPERATIONS[operator].mark)
        marks = jnp.full((len(text.tokens), 1), mark, jnp.int32)
        tokens = jnp.concatenate([marks, self._outer(part)[text.tokens]], axis=1)
        return Text(tokens, text.prompts + 1, text.lengths + 1)

    def step(
        self, state: Int[Array, "*batch states"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch states"], Int[Array, "*batch"], Int[Array, "*batch axes"]]:
        chosen, begun = state[..., 0], state[..., 0] > 0
        after = [jnp.where(begun, chosen, jnp.array(self._chosen())[token])[..., None]]
        kind, seen = jnp.zeros_like(token), jnp.zeros((*token.shape, len(self.axes)), jnp.int32)
        starts = accumulate((part.states for part in PARTS), initial=1)
        kinds = accumulate((len(part.kinds) for part in PARTS), initial=1)
        for number, (part, first, offset) in enumerate(zip(PARTS, starts, kinds, strict=False), 1):
            mine, inner = chosen == number, state[..., first : first + part.states]
            stepped, own, coordinates = part.step(inner, jnp.array(self._inner(part))[token])
            after.append(jnp.where(mine[..., None], stepped, inner))
            kind = jnp.where(mine, offset + own, kind)
            known = {axis: coordinates[..., place] for place, axis in enumerate(part.axes)}
            placed = [known.get(axis, jnp.zeros_like(token)) for axis in self.axes]
            seen = jnp.where(mine[..., None], jnp.stack(placed, axis=-1), seen)
        return jnp.concatenate(after, axis=-1), kind, seen

    def _part(self, operator: str) -> Layout:
        return next(part for part in PARTS if operator in part.operators)

    def _chosen(self) -> Int[np.ndarray, " characters"]:
        """For each character the number of the layout that it begins as an operator."""
        numbers = np.ones(len(self.characters), np.int32)
        for number, part in enumerate(PARTS, 1):
            for operator in part.operators:
                numbers[self.characters.index(OPERATIONS[operator].mark)] = number
        return numbers

    def _inner(self, part: Layout) -> Int[np.ndarray, " characters"]:
        """Each character as a token of that layout; what the layout lacks, as its last one."""
        last = len(part.characters) - 1
        found = [part.characters.find(character) for character in self.characters]
        return np.array([last if token < 0 else token for token in found], np.int32)

    def _outer(self, part: Layout) -> Int[Array, " characters"]:
        """Each token of that layout as a token of this one."""
        return jnp.array([self.characters.index(character) for character in part.characters])
