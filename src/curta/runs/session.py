"""Training, asking, evaluating and certifying one run: what the command line and Python share."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from curta.config import typed
from curta.config.errors import UserError, quoted
from curta.config.positions import Window
from curta.config.recipe import Recipe, as_table
from curta.config.sections import Evaluation as EvaluationSettings
from curta.evaluation import bulk, certificate, evaluation_set, expected, scoring, suite
from curta.evaluation.results import Certificate, Evaluation, read_windows
from curta.evaluation.writing import named, write_texts
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.recipes import check_problems
from curta.model.transformer import Transformer, parameters
from curta.problems.operations import Answer
from curta.problems.problem import Problem, parse
from curta.programs import PROGRAMS
from curta.programs.machine.recording import RecordedWindows
from curta.programs.user import run_snapshot
from curta.runs import (
    checkpoints,
    evaluations,
    folders,
    interrupts,
    life,
    partial_evaluation,
    states,
    summary,
    team,
    trackers,
)
from curta.runs.folders import Folder
from curta.runs.info import RunInfo, Stage
from curta.runs.loop import Loop
from curta.runs.record import Record, Show
from curta.runs.repair import Repair
from curta.runs.trackers import Findings, Tracked, Tracker, findings
from curta.training import background, devices, records, trainer, windows
from curta.training.trainer import Member
from curta.training.windows import TrainingWindows

MANY = 1000
"""Problems for which it pays to calculate all windows of the certificate beforehand."""


class Session:
    """One run: a folder, and the members trained in it.

    With `num_recurrences`, members answer and are evaluated with that many, not the recipe's.
    Whoever has just created the folder passes its `recipe` and `layout`; else they are read.
    """

    def __init__(
        self,
        folder: Folder,
        num_recurrences: int | None = None,
        recipe: Recipe | None = None,
        layout: Layout | None = None,
    ) -> None:
        if num_recurrences is not None and num_recurrences < 1:
            raise UserError(f"recurrences must be at least 1, not {num_recurrences}")
        self.folder = folder
        self.num_recurrences = num_recurrences
        self.recipe: Recipe = recipe or folder.read_recipe()
        if num_recurrences is not None and isinstance(self.recipe.positions, Window):
            raise UserError(f"run {self.name!r} has positions 'window': it has one recurrence only")
        self.seeds: list[int] = folder.read_info().seeds
        self.layout: Layout = layout or folders.layout_in(folder, self.recipe)
        self._code = folder.read_code()
        self._models: scoring.Models | None = None
        self._step = 0
        self._listed_windows: Future[certificate.ListedWindows] | None = None
        self._rounds_before_resuming: int | None = None
        """Rounds of repair there were when training last resumed after a certificate."""

    @property
    def name(self) -> str:
        return self.folder.name

    def load_models(self) -> scoring.Models:
        """Return the members as of the newest checkpoint, stacked; read once."""
        if self._models is None:
            self._step = states.newest(self.folder)
            self._models = self.at(self._step)
        return self._models

    @property
    def step(self) -> int:
        """The step of the checkpoint whose weights answer and are evaluated."""
        self.load_models()
        return self._step

    def at(self, step: int) -> scoring.Models:
        """Return the members as of one of the checkpoints, stacked; initial ones for step 0."""
        return self._stacked(self._state(step))

    def _state(self, step: int) -> Member:
        return states.at(self.folder, self.recipe, self.layout, self.seeds, step)

    def _stacked(self, state: Member) -> scoring.Models:
        seeds, count = tuple(self.seeds), self.num_recurrences
        models = scoring.Models(state.chosen, self.layout, len(seeds), seeds=seeds)
        return models if count is None else models.with_recurrences(count)

    def model(self, member: int = 0) -> Transformer:
        """Return one member as of the newest checkpoint; UserError if there is no such member."""
        return self.load_models().member(self._member(member))

    def _member(self, number: int) -> int:
        if not 0 <= number < len(self.seeds):
            raise UserError(f"no member {number}: run {self.name!r} has 0 to {len(self.seeds) - 1}")
        return number

    def summary(self) -> dict[str, Any]:
        """Return what the run is and what was found, from its files, as tables for JSON."""
        return summary.summary(self.folder, self.recipe, self.layout)

    # Training

    def train(self, show: Show = lambda progress: None) -> None:
        """Train to the end from the newest whole checkpoint, or not at all if that is there.

        An interrupt (Ctrl-C, SIGTERM) ends it after the current chunk with a checkpoint.
        """
        self.check_current()
        self._models = None
        info = self.folder.read_info()
        end = self.recipe.training.steps if info.ended is None else info.ended
        over = info.over and (info.checkpoint >= end or not info.alive)
        if not (over and checkpoints.is_whole(self.folder.checkpoints, info.checkpoint)):
            with self.stage("training") as outcome:
                outcome.status = self._train(info, show)

    def stage(self, name: Stage) -> AbstractContextManager[life.Outcome]:
        """A stage of the run's life; UserError if the run has another recipe by now."""
        self.check_current()
        return life.stage(self.folder, name)

    def check_current(self) -> None:
        """Raise UserError if the run was extended since its recipe was read."""
        if self.folder.read_info().steps > self.recipe.training.steps:
            raise UserError(f"run {self.name!r} was extended since it was loaded: load it anew")

    def _train(self, info: RunInfo, show: Show) -> life.Ending:
        tracker_names = trackers.checked(info.track)
        first, seconds = states.going_on(self.folder)
        if isinstance(self.recipe.positions, Window) and not windows.read(self.folder.path):
            # A training that is under way without a list of windows goes on without it.
            listed = None
            if self.recipe.covers and self.certifiable and not first:
                Session.prepare(self)
                assert self._listed_windows is not None
                listed = self._listed_windows.result().listed[:2]
            self.windows = records.training_windows(self.recipe, self.program, self.seeds, listed)
            windows.save(self.folder.path, self.windows)
        self._tell("training", step=first)
        with interrupts.deferred() as noted, self._trackers(tracker_names, first) as tracking:
            record = Record(self.folder, self.recipe, tracking, show)
            loop, state, compile_seconds = self.loop(first, record, noted)
            self.folder.update(
                steps=self.recipe.training.steps,
                parameters=parameters(state.model) // len(self.seeds),
                compile_seconds=round(compile_seconds, 3),
                device=devices.description(),  # a run may be begun elsewhere than it is trained
            )
            status = loop.run(state, first, seconds)
        if loop.final is not None:
            self._step, final_state = loop.final
            self._models = self._stacked(final_state)
        if any(name not in PROGRAMS for name in self.recipe.programs):
            evaluation_set.keep(self.folder.path, self.recipe, self.layout)
        return status

    def loop(
        self, step: int, record: Record | None, interrupted: interrupts.Noted
    ) -> tuple[Loop, Member, float]:
        """Return the training from a step on, to be run in every process of the run.

        With it come the members at that step, on the devices that train them, and the seconds that
        compiling took.
        """
        mesh = trainer.training_mesh(self.recipe, len(self.seeds))
        place = partial(trainer.placed, mesh=mesh)
        state = trainer.shard(self._state(step), mesh)
        shown = self.windows if isinstance(self.recipe.positions, Window) else None
        data, bounds = records.recorded(self.recipe, self.layout, self.seeds, shown, step)
        data, begun = place(data), time.perf_counter()
        program: Any = trainer.compiled(self.recipe, trainer.TaskLayout(self.layout, bounds), mesh)
        call = program.lower(state, data, jnp.int32(0), jnp.int32(0)).compile()
        compile_seconds = time.perf_counter() - begun
        repair = None
        if self.recipe.round_steps:
            save: Callable[[TrainingWindows], None] = lambda rounds: None
            if record:
                save = partial(windows.save, self.folder.path)
            repair = Repair(self.recipe, self.windows, step, place, save)
        info = self.folder.read_info()
        loop = Loop(info, self.recipe, self.layout, call, data, shown, repair, record, interrupted)
        return loop, state, compile_seconds

    def _tell(self, do: str, **more: Any) -> None:
        """Begin a stage in the other processes of this run, at the step of its weights."""
        message = {"step": self._step, "trust": self.code_known} | more
        team.tell(do, self.folder.path, **message)

    def missing(self) -> list[Stage]:
        """Return the stages that are still to be carried out, in order.

        Training is one of them again where the checkpoint that it ended with is damaged, or the
        recipe has more steps by now.
        """
        info, training = self.folder.read_info(), self.recipe.training
        if info.over:
            extended = bool(training.extended_at) and info.checkpoint < training.steps
            if extended or checkpoints.newest_whole(self.folder.checkpoints) != info.checkpoint:
                info = replace(info, done=())
        return life.missing(self.folder, info)

    def _trackers(
        self, names: Sequence[str], step: int
    ) -> AbstractContextManager[Sequence[Tracker]]:
        """Open the trackers of these names, from that step on."""
        info, settings = self.folder.read_info(), as_table(self.recipe)
        run = Tracked(
            self.name, info.created, self.folder.path, self.seeds, settings, step, info.tracking
        )
        return trackers.opened(names, run)

    def _conclude(self, results: Findings) -> None:
        """Give the run's trackers what was found of the newest weights."""
        names = trackers.installed(self.folder.read_info().track)
        with self._trackers(names, self.step) as tracking:
            for tracker in tracking:
                tracker.conclude(results)

    # Answering

    @property
    def program(self) -> ProgramLayout:
        """The layout of a run of programs; UserError for any other run."""
        if not isinstance(self.layout, ProgramLayout):
            raise UserError(f"run {self.name!r} is of no program")
        return self.layout

    @property
    def code_known(self) -> bool:
        """Whether the code of its programs is known here, not only the texts that it has kept."""
        recorder = self.layout.recorder if isinstance(self.layout, ProgramLayout) else None
        return not isinstance(recorder, run_snapshot.StoredTexts)

    def ask(self, problem: str | Problem, member: int = 0) -> Answer | None:
        """Return the model's answer; None if what it wrote is no answer."""
        problems = self.accept([problem])
        return self.layout.answer(problems[0], self.write(problems, member)[0])

    def write(self, problems: Sequence[str | Problem], member: int = 0) -> list[list[int]]:
        """Return the tokens that the model itself writes after each problem."""
        self._member(member)
        accepted = self.accept(problems)
        self._look_ahead(len(accepted))
        texts = write_texts(self.load_models(), accepted, member)
        memo = self.load_models().memo
        if memo is not None and folders.join(self.folder, memo.index.rows, accepted):
            vars(self).pop("windows", None)  # read again
        return texts

    def answers(self, text: str, member: int = 0) -> list[str] | None:
        """Return the answers to the lines of a text, if all are plain problems; see `bulk`."""
        self._member(member)
        self._make_known()
        memo = self.load_models().memo
        if memo is None:
            return None
        self._look_ahead(text.count("\n"))
        return bulk.answers(self.program.machine, self.program.windows, memo.look(member), text)

    def _look_ahead(self, problems: int) -> None:
        """Calculate all windows of the certificate, where so many problems make it pay."""
        memo = self.load_models().memo
        if memo is not None and problems >= MANY:
            certified = read_windows(self.folder.path)
            if certified is not None:
                memo.prepare(certified.rows)

    def _make_known(self) -> None:
        """Its own operators: another run may have others of the same name."""
        run_snapshot.make_known(self._code)

    def accept(self, problems: Iterable[str | Problem]) -> list[Problem]:
        """Return the problems, read and checked; UserError for one that this run cannot answer.

        See `recipes.check_problems`.
        """
        if isinstance(problems, str | Problem) or not isinstance(problems, Iterable):
            raise UserError(f"problems are a list such as ['12+34'] (got {quoted(problems)})")
        self._make_known()
        operators = [task.operator for task in self.recipe.tasks]
        parsed = [parse(problem, operators) for problem in problems]
        check_problems(self.recipe, self.layout, parsed, f"run {self.name!r}")
        return parsed

    # Evaluation

    def evaluate(
        self,
        progress: Callable[[str], None] = lambda what: None,
        member: int | None = None,
        step: int | None = None,
        show_grid: suite.ShowGrid = lambda grid: None,
        **changes: Any,
    ) -> Evaluation:
        """Evaluate all members; keyword arguments change the recipe's evaluation section.

        Returns what evaluation.json holds. One with changes, with another number of recurrences,
        or of the checkpoint of an earlier `step`, is written beside it (see `evaluations.py`).
        With a `member` only that one is evaluated, and nothing is written. `show_grid` is called
        with each grid as it fills, after every row.
        """
        self._make_known()
        models = self.load_models()  # first: a run without a checkpoint is refused
        if step is None or step == self._step:
            step = self._step
        else:
            steps = checkpoints.steps(self.folder.checkpoints)
            if step not in steps:
                raise UserError(
                    f"run {self.name!r} has no checkpoint of step {step:,}: there are"
                    f" {', '.join(f'{there:,}' for there in steps)}, as training.checkpoints says"
                )
            models = self.at(step)
        settings = suite.settings_of(self.recipe, self.layout, changes)
        self.accept(settings.named)
        if member is not None:
            alone = models.only(self._member(member))
            return self._evaluation(alone, settings, progress, show_grid, member)
        changed = evaluations.changes(self.recipe.evaluation, settings, self.num_recurrences)
        if step != self._step:
            changed["step"] = step
        self.check_current()
        weights = checkpoints.record(self.folder.checkpoints, step)
        owner = [weights, asdict(settings), self.num_recurrences]
        partial_file = evaluations.partial_file(self.folder.path, changed)
        stage = life.beside(self.folder) if changed else life.stage(self.folder, "evaluating")
        with stage, partial_evaluation.kept_parts(partial_file, owner) as keep:
            shared = self._shared(keep, settings, models, step)
            result = self._evaluation(models, settings, progress, show_grid, None, *shared)
            result = replace(result, changes=changed, step=step)
            self.folder.save_evaluation(result)
            if not changed:
                self._conclude(findings.of_evaluation(result))
        return result

    def _shared(
        self,
        keep: partial_evaluation.KeptParts,
        settings: EvaluationSettings,
        models: scoring.Models,
        step: int,
    ) -> tuple[suite.Keep, Callable[[str], Any]]:
        """Return `keep`, and what drops parts; all processes of the run evaluate parts."""
        leader = team.leader()
        if leader is None:
            return keep, lambda name: None
        self._tell(
            "evaluating",
            settings=typed.text(settings),
            recurrences=self.num_recurrences,
            step=step,
        )
        names = suite.parts(self.recipe, models, settings)
        missing = [name for name in names if name not in keep.results]
        shares = partial_evaluation.Shares(leader, missing)
        return lambda name, find: keep(name, partial(shares.find, name, find)), shares.take

    def _evaluation(
        self,
        models: scoring.Models,
        settings: EvaluationSettings,
        progress: Callable[[str], None],
        show_grid: suite.ShowGrid,
        member: int | None = None,
        keep: suite.Keep = suite.fresh,
        drop: Callable[[str], Any] = lambda name: None,
    ) -> Evaluation:
        """Evaluate all members, or one; windows that they meet join the run's list."""
        listed = windows.read(self.folder.path) if models.memo is not None else None
        if listed is not None:
            text = np.zeros(len(listed.rows), np.int64)
            models.true_windows.add(RecordedWindows(listed.rows, listed.targets, text))
        with expected.compiling() as compiled:
            timed = (
                expected.parts(self.recipe, self.layout, settings, models.members)
                if self.code_known
                else []
            )
            pace = expected.Pace(timed, compiled=compiled)
            say = interrupts.checked(pace.added(progress))
            try:
                result = suite.evaluate(self.recipe, models, settings, say, keep, drop, show_grid)
            finally:
                if listed is not None and member is None:
                    table = models.true_windows
                    new = [n for n in sorted(models.examples) if n >= len(listed.rows)]
                    if new:
                        rows, targets = table.rows[new], table.targets[new]
                        examples = [models.examples[number] for number in new]
                        self.windows = listed.joined(rows, targets, examples)
                        windows.save(self.folder.path, self.windows)
        result = replace(result, num_recurrences=self.num_recurrences)
        if not settings.named:
            return result
        say("named problems")
        initial = self.at(0) if member is None else self.at(0).only(member)
        return replace(result, named=tuple(named(settings.named, initial, models)))

    # Certificate

    @property
    def certifiable(self) -> bool:
        """Whether it is of a program under a window whose code is known here."""
        return (
            isinstance(self.recipe.positions, Window)
            and isinstance(self.layout, ProgramLayout)
            and self.layout.recorder is not None
            and self.code_known
        )

    @cached_property
    def windows(self) -> TrainingWindows:
        """The run's windows, and which of them each member was shown."""
        return windows.read(self.folder.path) or records.training_windows(
            self.recipe, self.program, self.seeds
        )

    def prepare(self) -> None:
        """Start listing the windows of its programs in the background; this needs no weights.

        Does nothing where its recipe wants no certificate, or it can have none.
        """
        wanted = self.recipe.evaluation.certificate and self.certifiable
        if self._listed_windows is None and wanted:
            self._listed_windows = background.begin(
                partial(certificate.prepare, self.recipe, self.program)
            )

    def certify(self, progress: Callable[[str], None] = lambda what: None) -> Certificate:
        """Check every member on every window that can occur; see `certificate`.

        Returns what certificate.json holds.
        """
        self.check_current()
        models, trained = self.load_models(), self.folder.read_info().checkpoint
        if self.step < trained:
            raise UserError(
                f"run {self.name!r}: the checkpoint of step {trained:,} is damaged, and a"
                f" certificate is of the last one: `curta train --resume {self.folder.address}`"
                " trains it again"
            )
        training_windows = self.windows
        with self.stage("certifying"):
            say = interrupts.checked(progress)
            say("windows")
            listed = None if self._listed_windows is None else self._listed_windows.result()
            result, content = certificate.certify(
                models, self.recipe, self.seeds, training_windows, say, listed
            )
            self.folder.save_certificate(result, content)
            self._conclude(findings.of_certificate(result))
        self._listed_windows = None
        return result

    def goes_on(self) -> bool:
        """Resume training if the certificate has a wrong window; return whether it does.

        That is so where an evaluation met windows that no round of repair knew of.
        """
        verdict, rounds = self.folder.read_certificate(), len(self.windows.wrong)
        wrong = verdict is not None and any(member.wrong for member in verdict.members)
        left = bool(self.recipe.round_steps) and rounds < self.recipe.training.repair
        if not wrong or not left or rounds == self._rounds_before_resuming:
            return False
        self._rounds_before_resuming = rounds
        self.folder.update(done=(), status="interrupted")
        return True
