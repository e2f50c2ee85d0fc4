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

from curta.config.errors import UserError
from curta.model.decoding import logits_of_windows
from curta.model.transformer import Transformer
from curta.problems.problem import Problem
from curta.programs.machine.recording import RecordedWindows, WindowIndex, WindowTable, distinct

BLOCKS = (64, 4096)
"""Windows of one pass: few sizes, so that few programs are compiled."""


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
        self.stacked, self.index, self.table = stacked, WindowIndex(cells), WindowTable(cells)
        self.token = np.zeros((members, 0), np.int32)
        """The next tokens after the windows of `index`."""
        self.true = WindowOutputs(self.token, *np.zeros((2, members, 0), np.float32))
        """What members make of the windows of `table`, those of true texts."""
        self.examples = dict[int, Problem]()
        """The first problem with each window that `enter_true` entered, by its number."""

    def tokens(
        self, rows: Int[np.ndarray, "queries cells"], member: int | Int[np.ndarray, " queries"]
    ) -> Int[np.ndarray, " queries"]:
        """Return the next token of a member, or of each window's own member.

        Unknown windows are computed, all at once.
        """
        fresh = rows[self.index.find(rows) < 0]
        if len(fresh):
            fresh = fresh[distinct(fresh)[0]]
            targets = np.zeros(len(fresh), np.int32)  # only for losses, which are not needed
            self._enter(fresh, calculate(self.stacked, fresh, targets).token)
        return self.token[member, self.index.find(rows)]

    def look(self, member: int) -> Any:
        """Return `tokens` of one member."""
        return partial(self.tokens, member=member)

    def enter_true(
        self, windows: RecordedWindows, problems: Sequence[Problem]
    ) -> Int[np.ndarray, " queries"]:
        """Enter the windows of true texts, those of some problems, and return their numbers.

        Raises UserError if any window is followed by two tokens.
        """
        before, number = len(self.table), self.table.add(windows)
        if self.table.conflicts:
            raise UserError(
                "at these sizes two tokens follow one window: `curta check` shows which"
            )
        # New windows are the last; `first` is where each occurs first.
        entered, first = np.unique(number, return_index=True)
        texts = windows.text[first].tolist()
        self.examples |= {
            n: problems[text]
            for n, text in zip(entered.tolist(), texts, strict=True)
            if n >= before
        }
        return number

    def true_outputs(self) -> WindowOutputs:
        """Return what members make of true windows; those entered since the last call are new."""
        count = self.true.token.shape[1]
        if count < len(self.table):
            rows = self.table.rows[count:]
            outputs = calculate(self.stacked, rows, self.table.targets[count:])
            pairs = zip(self.true, outputs, strict=True)
            self.true = WindowOutputs(*(np.concatenate(pair, axis=1) for pair in pairs))
            fresh = self.index.find(rows) < 0
            self._enter(rows[fresh], outputs.token[:, fresh])
        return self.true

    def _enter(self, rows: Int[np.ndarray, "windows cells"], token: np.ndarray) -> None:
        self.index.enter(rows)
        self.token = np.concatenate([self.token, token], axis=1)
