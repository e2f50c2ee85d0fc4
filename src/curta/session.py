"""Training, asking and examining one run: what the command line and Python share."""

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from . import checkpoints, evaluation, runs, training
from .errors import UserError, unknown
from .exam import exam
from .generation import bucket, completions, widths
from .layouts import layout_named
from .loop import Loop, Show
from .model import Transformer, parameters
from .operations import Answer
from .problems import Problem, parse
from .recipe import Recipe
from .report import write_report
from .runs import Folder
from .training import Member

TOGETHER = 1 << 14
"""Tokens of problems that are calculated with at once: more do not fit into the caches.

512 sums of 20 digits: 1,268 a second with 32 at once, 613 with all.
"""


class Run:
    """One run: a folder, and the members trained in it.

    With `loops` they are asked and examined with that many loops instead of the recipe's.
    """

    def __init__(self, folder: Folder, loops: int | None = None) -> None:
        if loops is not None and loops < 1:
            raise UserError(f"loops must be at least 1, not {loops}")
        self.folder = folder
        self.loops = loops
        self.recipe: Recipe = folder.recipe
        self.seeds: list[int] = folder.info["seeds"]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def report(self) -> Path:
        return self.folder.path / "report.html"

    @cached_property
    def models(self) -> evaluation.Models:
        """Members as of the newest checkpoint, stacked."""
        return self.at(runs.last_step(self.folder))

    def at(self, step: int) -> evaluation.Models:
        """Members as of one of the checkpoints, stacked; as they began for step 0."""
        seeds = jnp.asarray(self.seeds)
        state = self._restored(step) if step else training.init(self.recipe, seeds)
        model = state.chosen
        if self.loops is not None:
            model = jax.vmap(lambda one: one.looped(self.loops))(model)
        return evaluation.Models(model, layout_named(self.recipe.layout), len(self.seeds))

    def model(self, member: int = 0) -> Transformer:
        """One member alone, as of the newest checkpoint."""
        return self.models.member(self._member(member))

    def train(self, show: Show = lambda progress: None) -> None:
        """Trains to the end, from the newest checkpoint on if there is one.

        An interrupt (Ctrl-C) ends it after the current chunk with a checkpoint.
        """
        self.__dict__.pop("models", None)
        mesh = training.training_mesh(self.recipe, len(self.seeds))
        state, first, seconds = self._begin()
        call, compiling = _compiled(self.recipe, mesh, training.spread(state, mesh))
        state = training.spread(state, mesh)
        self.folder.update(
            status="training",
            parameters=parameters(state.model) // len(self.seeds),
            compile_seconds=round(compiling, 3),
        )
        with _interruptible() as interrupted:
            loop = Loop(self.folder, self.recipe, call, show, interrupted)
            status = loop.run(state, first, seconds)
        self.folder.update(status=status)

    def ask(self, problem: str | Problem, member: int = 0) -> Answer | None:
        """The model's answer; None if what it wrote is no answer."""
        asked = parse(problem) if isinstance(problem, str) else problem
        return self.models.layout.read(asked.operator, self.write([asked], member)[0])

    def write(self, problems: Sequence[str | Problem], member: int = 0) -> list[str]:
        """What the model itself writes after each problem, in its layout."""
        self._member(member)
        asked = [parse(p) if isinstance(p, str) else p for p in problems]
        self.accept(asked)
        model, texts = self.models.member(member), dict[int, str]()
        for group in _by_size(asked):
            room = evaluation.room_for(self.models, [asked[i] for i in group])
            for part in _parts(group, max(1, TOGETHER // room.total)):
                chosen = [asked[i] for i in part]
                texts |= dict(
                    zip(part, completions(model, self.models.layout, chosen, room), strict=True)
                )
        return [texts[i] for i in range(len(asked))]

    def accept(self, problems: Sequence[Problem]) -> None:
        """Raises UserError for a problem that this run was not trained on."""
        known = [task.operator for task in self.recipe.tasks]
        for problem in problems:
            if problem.operator not in known:
                raise unknown(f"operator of run {self.name!r}", problem.operator, known)

    def evaluate(
        self,
        progress: Callable[[str], None] = lambda what: None,
        member: int | None = None,
        **changes: Any,
    ) -> dict[str, Any]:
        """Examines all members; keyword arguments change the recipe's evaluation section.

        Returns the table that evaluation.json holds, and writes the report anew. With a
        `member` only that one is examined, and nothing is written.
        """
        models = self.models  # before anything is said: a run without a checkpoint is refused
        if member is not None:
            models = models.only(self._member(member))
        settings = replace(self.recipe.evaluation, **changes)
        table = exam(self.recipe, models, settings, progress)
        table |= {} if self.loops is None else {"loops": self.loops}
        if member is None:
            self.folder.save_evaluation(table)
            write_report(self.folder.path)
        return table

    def _member(self, number: int) -> int:
        if not 0 <= number < len(self.seeds):
            raise UserError(f"no member {number}: run {self.name!r} has 0 to {len(self.seeds) - 1}")
        return number

    def _restored(self, step: int) -> Member:
        like = jax.eval_shape(lambda: training.init(self.recipe, jnp.asarray(self.seeds)))
        return checkpoints.load(self.folder.checkpoints, step, like)

    def _begin(self) -> tuple[Member, int, float]:
        """State, step and seconds to go on from."""
        step = checkpoints.latest(self.folder.checkpoints)
        seconds = self.folder.cut_metrics(step or 0)
        if step is None:
            return training.init(self.recipe, jnp.asarray(self.seeds)), 0, seconds
        return self._restored(step), step, seconds


def _compiled(recipe: Recipe, mesh: Any, state: Member) -> tuple[Callable[..., Any], float]:
    """The chunk of steps, compiled, and the seconds that took."""
    begun = time.perf_counter()
    program: Any = training.compiled(recipe, mesh)
    compiled = program.lower(state, jnp.int32(0), jnp.int32(0)).compile()
    return compiled, time.perf_counter() - begun


def _by_size(problems: Sequence[Problem]) -> list[list[int]]:
    """Indices of problems that fit the same compiled program."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, problem in enumerate(problems):
        shape = (problem.operator, *map(bucket, widths(problem)))
        groups.setdefault(shape, []).append(number)
    return list(groups.values())


def _parts(items: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Turns the first Ctrl-C into an event; a second one interrupts at once."""
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def note(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, previous)
        event.set()

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, previous)
