"""What is kept of a training while it goes on: in the run's folder, by trackers, on the screen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from jaxtyping import PyTree

from curta.config import files
from curta.config.recipe import Recipe
from curta.runs import checkpoints, embedding_history, metrics
from curta.runs.embedding_history import Vectors
from curta.runs.folders import Folder
from curta.runs.info import Metric, NamedAnswer
from curta.runs.trackers import Tracker
from curta.training import windows
from curta.training.windows import TrainingWindows


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


class NoRecord:
    """Keeps nothing: for all processes of a run but process 0."""

    def rows(self, rows: Sequence[Metric]) -> None:
        """Lines of metrics."""

    def moment(self, step: int, vectors: Vectors) -> None:
        """The characters' vectors."""

    def end(self, step: int) -> None:
        """That the training ends at this step, before that of the recipe."""

    def round(self, described: str) -> None:
        """Note that a round of repair begins, and why."""

    def shown(self, found: TrainingWindows) -> None:
        """What the round draws from."""

    def checkpoint(
        self, step: int, state: PyTree, seconds: float, stopped: Mapping[int, int]
    ) -> None:
        """All members' state, the seconds trained so far, and the members that have failed."""

    def progress(self, now: Progress) -> None:
        """How far it is."""


class Record(NoRecord):
    """Keeps it in a run's folder, and gives it to trackers and to whoever watches."""

    def __init__(
        self, folder: Folder, recipe: Recipe, trackers: Sequence[Tracker], show: Show
    ) -> None:
        self.folder, self.recipe = folder, recipe
        self.trackers, self.show = trackers, show
        self._round = ""

    def rows(self, rows: Sequence[Metric]) -> None:
        metrics.add(self.folder.metrics, rows)
        for tracker in self.trackers:
            tracker.add(rows)

    def moment(self, step: int, vectors: Vectors) -> None:
        embedding_history.save(self.folder.history, step, vectors)

    def end(self, step: int) -> None:
        self.folder.update(ended=step)

    def round(self, described: str) -> None:
        self._round = described

    def shown(self, found: TrainingWindows) -> None:
        windows.save(self.folder.path, found)

    def checkpoint(
        self, step: int, state: PyTree, seconds: float, stopped: Mapping[int, int]
    ) -> None:
        """The metrics before it outlast a power failure as it does."""
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

    def progress(self, now: Progress) -> None:
        self.show(replace(now, repair=self._round))
