"""What a training keeps while it goes on, and how far it is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from jaxtyping import PyTree

from curta.config import files
from curta.config.recipe import Recipe
from curta.runs import checkpoints, metrics
from curta.runs.folders import Folder
from curta.runs.info import Metric, NamedAnswer
from curta.runs.trackers import Tracker


@dataclass(frozen=True)
class Validated:
    """What a validation finds of each member, and the learning rate of the next step."""

    loss: list[float]
    exact_match: list[float]
    token_accuracy: list[float]
    by_operator: dict[str, list[float]]
    learning_rate: float


@dataclass(frozen=True)
class Progress:
    """What is known after a chunk of steps; an example is a problem, or under a window that.

    `named` are each member's answers to named problems, at a checkpoint where they are written.
    """

    step: int
    steps: int
    seconds: float
    loss: list[float]
    exact_match: list[float]
    stopped: dict[int, int]
    examples_per_second: float
    named: Mapping[int, Mapping[str, NamedAnswer]] = field(default_factory=dict)
    validated: Validated | None = None
    repair: str = ""
    """The round of repair, and its reason."""


Show = Callable[[Progress], None]


class Record:
    """What a training keeps in its run's folder, and gives to trackers and to whoever watches."""

    def __init__(
        self, folder: Folder, recipe: Recipe, trackers: Sequence[Tracker], show: Show
    ) -> None:
        self.folder, self.recipe = folder, recipe
        self.trackers, self.show = trackers, show

    def rows(self, rows: Sequence[Metric]) -> None:
        """Keep lines of metrics."""
        metrics.add(self.folder.metrics, rows)
        for tracker in self.trackers:
            tracker.add(rows)

    def checkpoint(
        self, step: int, state: PyTree, seconds: float, stopped: Mapping[int, int]
    ) -> None:
        """Keep all members' state, the seconds trained so far, and the members that have failed.

        The metrics before it outlast a power failure as it does.
        """
        files.sync(self.folder.metrics)
        owner = checkpoints.owner(self.recipe, self.folder.read_info().seeds, step)
        settings = self.recipe.training
        checkpoints.save(
            self.folder.checkpoints,
            step,
            state,
            owner,
            settings.checkpoints,
            settings.extended_at,
            stopped,
        )
        self.folder.update(
            training_seconds=round(seconds, 3), stopped=dict(stopped), checkpoint=step
        )
