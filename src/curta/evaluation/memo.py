"""The next tokens of members after windows, each distinct window computed once.

A model with one attention layer under a window is a function of the window. So a million problems
for all members need one pass over their distinct windows, and lookups.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.model.decoding import logits_of_windows
from curta.model.transformer import Transformer
from curta.programs.machine.recording import WindowIndex, distinct

BLOCKS = (64, 4096)
"""Windows of one pass: few sizes, so that few programs are compiled."""

UNKNOWN = -1


class WindowOutputs(NamedTuple):
    """The next tokens of all members after windows, with losses and margins."""

    token: Int[np.ndarray, "members windows"]
    """The most likely next token."""
    loss: Float[np.ndarray, "members windows"]
    """Cross entropy of the right token, in nats."""
    margin: Float[np.ndarray, "members windows"]
    """The right token's logit minus the largest other logit."""


def calculate(
    stacked: Transformer,
    rows: Int[np.ndarray, "windows cells"],
    targets: Int[np.ndarray, " windows"],
) -> WindowOutputs:
    """Compute all members on all windows, in blocks.

    Logits 5, 3, 4 with the first right: token 0, margin 1, loss ln(1 + e^-2 + e^-1).
    """
    return WindowOutputs(*in_blocks(partial(_pass, stacked), rows, targets, BLOCKS))


def in_blocks(
    call: Callable[[Array, Array], tuple[Array, ...]],
    rows: Int[np.ndarray, "windows cells"],
    targets: Int[np.ndarray, " windows"],
    sizes: Sequence[int],
) -> list[np.ndarray]:
    """Return a call's outputs for windows, as arrays (..., windows), in blocks of a few sizes.

    5,000 windows in blocks of 64 or 4,096: one of 4,096, and one of 4,096 that is padded.
    """
    blocks, start = [], 0
    while start < len(rows):
        size = next((size for size in sizes if size >= len(rows) - start), sizes[-1])
        block, goals = rows[start : start + size], targets[start : start + size]
        spare = size - len(block)
        outputs = call(
            jnp.asarray(np.pad(block, ((0, spare), (0, 0)))), jnp.asarray(np.pad(goals, (0, spare)))
        )
        blocks.append([np.asarray(column)[..., : len(block)] for column in outputs])
        start += size
    return [np.concatenate(column, axis=-1) for column in zip(*blocks, strict=True)]


@jax.jit
def _pass(
    stacked: Transformer, rows: Int[Array, "windows cells"], targets: Int[Array, " windows"]
) -> tuple[Array, Array, Array]:
    def member_outputs(model: Transformer) -> tuple[Array, Array, Array]:
        logits = logits_of_windows(model, rows)
        right = jnp.take_along_axis(logits, targets[:, None], axis=1)[:, 0]
        others = jnp.where(jnp.arange(logits.shape[1])[None] == targets[:, None], -jnp.inf, logits)
        loss = jax.nn.logsumexp(logits, axis=1) - right
        return jnp.argmax(logits, axis=1), loss, right - jnp.max(others, axis=1)

    return jax.lax.map(member_outputs, stacked)


class Memo:
    """The windows so far, and each member's next token after them."""

    def __init__(self, stacked: Transformer, members: int, cells: int) -> None:
        self.stacked, self.index = stacked, WindowIndex(cells)
        self.token = np.zeros((members, 0), np.int32)
        self.loss = np.zeros((members, 0), np.float32)
        self.targets = np.zeros(0, np.int32)

    def tokens(
        self, rows: Int[np.ndarray, "queries cells"], member: int | Int[np.ndarray, " queries"]
    ) -> Int[np.ndarray, " queries"]:
        """Return the next token of a member, or of each window's own member."""
        number = self.prepare(rows)
        return self.token[member, number]

    def prepare(
        self,
        rows: Int[np.ndarray, "queries cells"],
        targets: Int[np.ndarray, " queries"] | None = None,
    ) -> Int[np.ndarray, " queries"]:
        """Compute unknown windows, all at once, and return the number of each window."""
        number = self.index.find(rows)
        fresh = number < 0
        if fresh.any():
            first, _ = distinct(rows[fresh])
            new = rows[fresh][first]
            goals = np.zeros(len(new), np.int32) if targets is None else targets[fresh][first]
            outputs = calculate(self.stacked, new, goals)
            self.index.enter(new)
            self.token = np.concatenate([self.token, outputs.token], axis=1)
            self.loss = np.concatenate([self.loss, outputs.loss], axis=1)
            goals = np.full(len(new), UNKNOWN, np.int32) if targets is None else goals
            self.targets = np.concatenate([self.targets, goals])
            number = self.index.find(rows)
        return number

    def look(self, member: int) -> Any:
        """Return `tokens` of one member."""
        return partial(self.tokens, member=member)

    def with_losses(
        self, rows: Int[np.ndarray, "queries cells"], targets: Int[np.ndarray, " queries"]
    ) -> Int[np.ndarray, " queries"]:
        """Return the number of each window, all of them computed with the loss of their targets.

        New windows a, b, a have numbers 0, 1, 0, or 1, 0, 1.
        """
        number = self.prepare(rows, targets)
        without_loss = self.targets[number] == UNKNOWN
        if without_loss.any():  # they were only written after so far
            chosen, first = np.unique(number[without_loss], return_index=True)
            goals = targets[without_loss][first]
            self.loss[:, chosen] = calculate(self.stacked, self.index.rows[chosen], goals).loss
            self.targets[chosen] = goals
        assert np.array_equal(self.targets[number], targets), "a window with two right tokens"
        return number
