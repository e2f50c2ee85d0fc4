"""Rounds of repair: after the last step, training goes on until no listed window is wrong.

A round begins with every window that is known to occur. Where a member has some wrong that it was
shown, its training was not finished: it goes on with these drawn more often. Otherwise the wrong
ones are shown from now on. A member that has none wrong rests: its weights stay as they are.
What a round draws from lies in the file before its first step, so that a run that is killed goes
on with the same.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from curta.config.recipe import Recipe
from curta.config.table import counted
from curta.evaluation import memo
from curta.model.transformer import Transformer
from curta.training.records import Data, window_data
from curta.training.windows import NEVER, TrainingWindows

MANY = 0.01
"""Share of wrong windows above which a member's training was far from finished."""

FASTER = 5.0
"""Factor on the learning rate of a round for such a member."""


class Repair:
    """The rounds of one run, and what each step draws from; training began at step `first` here."""

    def __init__(
        self,
        recipe: Recipe,
        windows: TrainingWindows,
        first: int,
        place: Callable[[Data], Data],
        save: Callable[[TrainingWindows], None],
    ) -> None:
        self.training, self.steps, self.windows = recipe.training, recipe.round_steps, windows
        self.known = first < recipe.training.steps
        self.place, self.save = place, save
        self.learning_rate = recipe.optimizer.learning_rate

    def round_at(self, step: int) -> int:
        """Return the round of the step after `step`; 0 before the first round."""
        after = step - self.training.steps
        return 1 + after // self.steps if self.steps and after >= 0 else 0

    def data(self, step: int) -> Data:
        """Return the data that the step after `step` draws from."""
        number = min(self.round_at(step), len(self.windows.wrong))
        return self.place(window_data(self.windows, number, room=True, known=self.known))

    def resting(self, step: int) -> Bool[np.ndarray, " members"]:
        """Return the members whose weights this round does not change."""
        number = self.round_at(step)
        if not number:
            return np.zeros(len(self.windows.since), bool)
        return np.logical_not(self.windows.wrong[number - 1].any(axis=1))

    def described(self, step: int) -> str:
        """Describe the round of this step: its number, and the most wrong windows at its start."""
        number = self.round_at(step)
        wrong = int(self.windows.wrong_counts[number - 1].max())
        return f"repair {number}, of {counted(wrong, 'wrong window')}"

    def rates(self, step: int) -> Float[np.ndarray, " members"]:
        """Return each member's peak learning rate in the round of this step."""
        wrong = self.windows.wrong_counts[self.round_at(step) - 1]
        faster = np.where(wrong > MANY * len(self.windows.rows), FASTER, 1.0)
        return (self.learning_rate * faster).astype(np.float32)

    def begins(self, step: int, model: Transformer, alive: Bool[np.ndarray, " members"]) -> bool:
        """Return whether a round begins after this step; if so, save its data.

        That follows from the weights alone, so it is the same where a run is resumed here.
        """
        number, windows = self.round_at(step), self.windows
        if not 1 <= number <= self.training.repair:
            return False
        windows.since[windows.since >= number] = NEVER
        del windows.wrong[number - 1 :], windows.wrong_counts[number - 1 :]
        wrong = ~(memo.calculate(model, windows.rows, windows.targets).margin > 0)
        wrong &= alive[:, None]
        if not wrong.any():
            return False
        shown = windows.since >= 0
        unfinished = (wrong & shown).any(axis=1, keepdims=True)
        windows.since[wrong & ~shown & ~unfinished] = number
        windows.wrong.append(wrong & (windows.since >= 0))
        windows.wrong_counts.append(wrong.sum(axis=1))
        self.save(windows)
        return True
