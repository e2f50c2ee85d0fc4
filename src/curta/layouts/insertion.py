"""`S210,007,033=`: insertion sort, one comparison and exchange after the other.

Turn k inserts number k into the ordered list of those before it. At each slot the
smaller of the list's number and the one carried along is left behind and the larger
is carried on; the last slot, where the list has none, takes what is carried. Numbers
are padded to one width and written most significant digit first, so that both
results of an exchange can be written at once, digit by digit: a pair of the smaller's
and the larger's digit. Which of the two is which shows in the smaller's: a plain
digit while they are equal, `a` to `j` once the list's number is the smaller, `k` to
`t` once the carried one is. The list after the last turn is the answer.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from .. import digits
from ..decimals import to_text
from ..digits import Numbers
from ..problems import Problem
from .base import END, Kind, Piece, Room, Text, grid, headless, join
from .forms import NUMBERS, Form, Reading
from .traced import CARRIED, TracedLayout, ladder

(OPERATOR, NUMBER, COMMA, EQUALS, SMALLER, LARGER, NEXT, TURN, RESULT, ANSWER, THEN, FINISH) = (
    range(12)
)


class Insertion(TracedLayout):
    name = "insertion"
    summary = "insertion sort by pairs; place, turn and slot of every token as coordinates"
    characters = CARRIED + "S,=|;" + END
    kinds = (
        Kind("operator"),
        Kind("number", digit=True),
        Kind("comma", wild=("place", "slot")),
        Kind("equals"),
        Kind("smaller", digit=True),
        Kind("larger", digit=True),
        Kind("next", wild=("place",)),
        Kind("turn"),
        Kind("result"),
        Kind("answer", digit=True),
        Kind("then"),
        Kind("end"),
    )
    linear = False
    axes = ("place", "turn", "slot")
    operators = ("sort",)
    states = 6  # part (numbers, pairs, answer), place, turn, slot, larger due, how many numbers

    def form(self, operator: str) -> Form:
        return Form(",", before="S", turned=(False, False), fill="0")

    def reading(self, operator: str) -> Reading:
        return Reading(f".*=()({NUMBERS})", turned=False)

    def working(self, problem: Problem) -> str:
        ordered: list[str] = []
        turns = []
        for carried in padded(problem.operands):
            slots = []
            for slot, number in enumerate(ordered):
                slots.append(written_pair(number, carried))
                ordered[slot], carried = min(number, carried), max(number, carried)
            ordered.append(carried)
            turns.append("|".join([*slots, carried]))
        return f"{';'.join(turns)}={','.join(ordered)}"

    def room(self, operator: str, digits: Sequence[int]) -> Room:
        count, width = len(digits), max(digits)
        pairs, lists = count * (count - 1) // 2 * (2 * width + 1), count * (width + 1)
        extents = ((-1, width), (0, count), (0, count))
        return Room(1 + lists, pairs + 2 * lists + 1, extents)

    def tokens(self, operator: str, operands: Numbers, room: Room) -> Text:
        batch = len(operands.digits)
        width = jnp.max(operands.lengths, axis=1)
        there = operands.lengths > 0
        numbers = digits.reverse(operands.digits, jnp.broadcast_to(width[:, None], there.shape))
        turns, ordered = self._turns(numbers, there, width)
        first, equals, end = (self.one(character, batch) for character in ("S", "=", END))
        prompt = [first, self._listed(numbers, there, width), equals]
        answer = self._listed(ordered, there, width)
        return join(prompt, [turns, equals, answer, end], room.total, self.code(END))

    def step(
        self, state: Int[Array, "*batch 6"], token: Int[Array, "*batch"]
    ) -> tuple[Int[Array, "*batch 6"], Int[Array, "*batch"], Int[Array, "*batch 3"]]:
        part, place, turn, slot, due, count = jnp.moveaxis(state, -1, 0)
        digit, equals, end = token < 30, token == self.code("="), token == self.code(END)
        kind = ladder(
            token,
            (digit & (token >= 10), SMALLER),
            (digit & (part == 1) & (due > 0), LARGER),
            (digit, jnp.array([NUMBER, SMALLER, ANSWER])[part]),
            (equals, jnp.where(part == 0, EQUALS, RESULT)),
            (end, FINISH),
            (token == self.code(","), jnp.where(part == 0, COMMA, THEN)),
            (token == self.code("|"), NEXT),
            (token == self.code(";"), TURN),
            (True, OPERATOR),
        )
        here = jnp.where(digit | end, place, -1)
        count = jnp.where(kind == EQUALS, turn + 1, count)
        turn = ladder(
            token,
            ((kind == TURN) | (kind == COMMA), turn + 1),
            (kind == EQUALS, 0),
            (kind == RESULT, count),
            (True, turn),
        )
        slot = ladder(
            token,
            ((kind == NEXT) | (kind == THEN), slot + 1),
            ((kind == TURN) | (kind == RESULT), 0),
            (True, slot),
        )
        due = ((kind == SMALLER) & (slot < turn)).astype(jnp.int32)
        part = jnp.where(equals, jnp.minimum(part + 1, 2), part)
        seen = jnp.stack([here, turn, slot], -1)
        return jnp.stack([part, here + 1 - due, turn, slot, due, count], -1), kind, seen

    def _turns(self, numbers: Array, there: Array, width: Array) -> tuple[Piece, Array]:
        """All slots of all turns, a separator before each but the first; and the ordered list."""
        batch, count, wide = numbers.shape
        spots = [(turn, slot) for turn in range(count) for slot in range(turn + 1)]
        plan = jnp.array(spots, jnp.int32)

        def exchange(now: tuple[Array, Array], spot: Array) -> tuple[tuple[Array, Array], Array]:
            ordered, carried = now
            turn, slot = spot
            carried = jnp.where(slot == 0, numbers[:, turn], carried)
            smaller, larger = _exchanged(ordered[:, slot], carried)
            left = jnp.where(slot == turn, carried, smaller)
            kept = jnp.where(there[:, turn, None], left % 10, ordered[:, slot])
            pair = jnp.stack([left, larger], axis=-1)
            return (ordered.at[:, slot].set(kept), larger), pair

        start = jnp.zeros_like(numbers), numbers[:, 0]
        (ordered, _), pairs = jax.lax.scan(exchange, start, plan)
        pairs = jnp.moveaxis(pairs, 0, 1).reshape(batch, len(plan), 2 * wide)
        marks = jnp.where(plan[:, 1] == 0, self.code(";"), self.code("|"))[None, :, None]
        marked = jnp.concatenate([jnp.broadcast_to(marks, (batch, len(plan), 1)), pairs], axis=-1)
        last = (plan[:, 0] == plan[:, 1])[:, None]  # no larger number there
        at = jnp.arange(-1, 2 * wide)
        valid = (at < 2 * width[:, None, None]) & ~(last & (at >= 0) & (at % 2 == 1))
        found = grid(marked, valid & there[:, plan[:, 0], None])
        return headless(found), ordered

    def _listed(self, numbers: Array, there: Array, width: Array) -> Piece:
        """Numbers with commas between."""
        batch, count, wide = numbers.shape
        commas = jnp.full((batch, count, 1), self.code(","))
        valid = there[..., None] & (jnp.arange(-1, wide) < width[:, None, None])
        found = grid(jnp.concatenate([commas, numbers], axis=-1), valid)
        return headless(found)


def _exchanged(
    number: Int[Array, "batch width"], carried: Int[Array, "batch width"]
) -> tuple[Int[Array, "batch width"], Int[Array, "batch width"]]:
    """The smaller with its flags, and the larger; most significant digit first."""
    signs = jnp.sign(number - carried)
    at = jnp.argmax(signs != 0, axis=1)[:, None]
    sign = jnp.take_along_axis(signs, at, axis=1)
    decided = jnp.arange(number.shape[1]) >= at
    flag = jnp.where(decided, jnp.where(sign < 0, 1, jnp.where(sign > 0, 2, 0)), 0)
    smaller, larger = (
        jnp.where(sign > 0, *pair) for pair in ((carried, number), (number, carried))
    )
    return smaller + 10 * flag, larger


def padded(operands: Sequence[int]) -> list[str]:
    """All numbers with as many digits as the longest."""
    texts = [to_text(value) for value in operands]
    width = max(map(len, texts))
    return [text.rjust(width, "0") for text in texts]


def written_pair(number: str, carried: str) -> str:
    """Digits of the smaller, with flags, and of the larger, in turn."""
    text, flag = "", 0
    for one, other in zip(number, carried, strict=True):
        if flag == 0 and one != other:
            flag = 1 if one < other else 2
        smaller, larger = (other, one) if flag == 2 else (one, other)
        text += CARRIED[10 * flag + int(smaller)] + larger
    return text
