"""Training, asking and evaluating one run: what the command line and Python share."""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from functools import cached_property, partial
from typing import Any

import jax.numpy as jnp

from curta.config import sections, typed
from curta.config.errors import UserError, quoted
from curta.config.positions import Window
from curta.config.recipe import Recipe, as_table
from curta.evaluation import bulk, certificate, evaluation_set, expected, scoring, suite
from curta.evaluation.results import Certificate, Evaluation, read_windows
from curta.evaluation.sampling import named, written
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.recipes import check_problems
from curta.model.transformer import Transformer, parameters
from curta.problems.operations import Answer
from curta.problems.problem import Problem, parse
from curta.programs import PROGRAMS
from curta.programs.machine.recall import Recall
from curta.programs.user import kept
from curta.runs import (
    checkpoints,
    evaluations,
    folders,
    interrupts,
    life,
    parts,
    states,
    team,
    trackers,
)
from curta.runs.folders import Folder
from curta.runs.info import RunInfo, Stage
from curta.runs.loop import Loop
from curta.runs.record import NoRecord, Record, Show
from curta.runs.repair import Repair
from curta.runs.shares import Shares
from curta.runs.summary import write_summary
from curta.runs.trackers import Findings, Tracked, Tracker, findings
from curta.training import background, devices, records, trainer, windows
from curta.training.records import Data
from curta.training.trainer import Member
from curta.training.windows import TrainingWindows

MANY = 1000
"""Problems for which it pays to calculate all windows of the certificate beforehand."""


class Session:
    """One run: a folder, and the members trained in it.

    With `num_recurrences` they are asked and evaluated with that many, not the recipe's.
    """

    def __init__(self, folder: Folder, num_recurrences: int | None = None) -> None:
        if num_recurrences is not None and num_recurrences < 1:
            raise UserError(f"recurrences must be at least 1, not {num_recurrences}")
        self.folder = folder
        self.num_recurrences = num_recurrences
        self._prepared: Future[certificate.ListedWindows] | None = None
        self._models: scoring.Models | None = None
        self._step = 0
        self._repaired: int | None = None
        """Rounds of repair there were when training last went on after a certificate."""
        self.recipe: Recipe = folder.read_recipe()
        if num_recurrences is not None and isinstance(self.recipe.positions, Window):
            raise UserError(f"run {self.name!r} has positions 'window': it has one recurrence only")
        self.seeds: list[int] = folder.read_info().seeds
        self._code = folder.read_code()
        self.layout: Layout = folders.layout_in(folder)

    @property
    def name(self) -> str:
        return self.folder.name

    def load_models(self) -> scoring.Models:
        """Members as of the newest checkpoint, stacked; read once."""
        if self._models is None:
            self._step = states.newest(self.folder)
            self._models = self.at(self._step)
        return self._models

    @property
    def step(self) -> int:
        """That of the checkpoint whose weights are asked and evaluated."""
        self.load_models()
        return self._step

    def at(self, step: int) -> scoring.Models:
        """Members as of one of the checkpoints, stacked; as they began for step 0."""
        model, count = self._state(step).chosen, len(self.seeds)
        models = scoring.Models(model, self.layout, count, seeds=tuple(self.seeds))
        wanted = self.num_recurrences
        return models if wanted is None else models.with_recurrences(wanted)

    def _state(self, step: int) -> Member:
        return states.at(self.folder, self.recipe, self.layout, self.seeds, step)

    def model(self, member: int = 0) -> Transformer:
        """One member as of the newest checkpoint; UserError if there is none of that number."""
        return self.load_models().member(self._member(member))

    def train(self, show: Show = lambda progress: None) -> None:
        """Trains to the end, from the newest whole checkpoint on, or not at all if that is there.

        An interrupt (Ctrl-C, SIGTERM) ends it after the current chunk with a checkpoint.
        """
        trained, self._models = states.is_trained(self.folder, self.recipe), None
        if not trained:
            with self.stage("training") as outcome:
                outcome.status = self._train(show)

    def stage(self, name: Stage) -> AbstractContextManager[life.Outcome]:
        """A stage of the run's life; UserError if the run is of another recipe by now."""
        states.check_recipe(self.folder, self.recipe)
        return life.stage(self.folder, name)

    def _train(self, show: Show) -> life.Ending:
        track = trackers.checked(self.folder.read_info().track)
        first, seconds = states.going_on(self.folder)
        self._keep_windows(first)
        self._tell("training", step=first)
        state, call, data, compiling = self.begun(first)
        self.folder.update(
            steps=self.recipe.training.steps,
            parameters=parameters(state.model) // len(self.seeds),
            compile_seconds=round(compiling, 3),
            device=devices.description(),  # a run may be begun elsewhere than it is trained
        )
        with interrupts.deferred() as noted, self._trackers(track, first) as tracking:
            record = Record(self.folder, self.recipe, tracking, show)
            status = self.loop(call, data, first, record, noted).run(state, first, seconds)
        if self.own_code:
            evaluation_set.keep(self.folder.path, self.recipe, self.layout)
        return status

    def begun(self, step: int) -> tuple[Member, Callable[..., Any], Data, float]:
        """The members at a step on the devices that train them, the chunk of steps, compiled, its
        data, and the seconds that compiling took; in every process of the run."""
        mesh = trainer.training_mesh(self.recipe, len(self.seeds))
        state = trainer.shard(self._state(step), mesh)
        shown = self.windows if isinstance(self.recipe.positions, Window) else None
        data, bounds = records.recorded(self.recipe, self.layout, self.seeds, shown, step)
        data, begun = trainer.placed(data, mesh), time.perf_counter()
        program: Any = trainer.compiled(self.recipe, trainer.Written(self.layout, bounds), mesh)
        compiled = program.lower(state, data, jnp.int32(0), jnp.int32(0)).compile()
        return state, compiled, data, time.perf_counter() - begun

    def loop(
        self,
        call: Callable[..., Any],
        data: Data,
        step: int,
        record: NoRecord,
        interrupted: interrupts.Noted,
    ) -> Loop:
        """The training from a step on, to be run; in every process of the run."""
        info, rounds = self.folder.read_info(), None
        if self.recipe.round_steps:
            mesh = trainer.training_mesh(self.recipe, len(self.seeds))
            place = partial(trainer.placed, mesh=mesh)
            rounds = Repair(self.recipe, self.windows, step, place, record.shown)
        return Loop(info, self.recipe, self.layout, call, data, rounds, record, interrupted)

    @property
    def own_code(self) -> bool:
        """Whether it was trained on programs that do not come with Curta."""
        return any(name not in PROGRAMS for name in self.recipe.programs)

    @property
    def code_known(self) -> bool:
        """Whether what its programs write is known here for all problems."""
        known = self.layout.recorder if isinstance(self.layout, ProgramLayout) else None
        return not isinstance(known, kept.StoredTexts)

    def _trackers(
        self, names: Sequence[str], step: int
    ) -> AbstractContextManager[Sequence[Tracker]]:
        """What else than the folder keeps what is known of the run, from that step on."""
        info, settings = self.folder.read_info(), as_table(self.recipe)
        run = Tracked(
            self.name, info.created, self.folder.path, self.seeds, settings, step, info.tracking
        )
        return trackers.opened(names, run)

    def _conclude(self, found: Findings) -> None:
        """Gives the run's trackers what was found of the newest weights."""
        names = trackers.installed(self.folder.read_info().track)
        with self._trackers(names, self.step) as tracking:
            for tracker in tracking:
                tracker.conclude(found)

    def ask(self, problem: str | Problem, member: int = 0) -> Answer | None:
        """The model's answer; None if what it wrote is no answer."""
        asked = self.accept([problem])
        return self.layout.answer(asked[0], self.write(asked, member)[0])

    def write(self, problems: Sequence[str | Problem], member: int = 0) -> list[list[int]]:
        """The tokens that the model itself writes after each problem."""
        self._member(member)
        asked = self.accept(problems)
        self._look_ahead(len(asked))
        texts = written(self.load_models(), asked, member)
        memo = self.load_models().memo
        if memo is not None and folders.join(self.folder, memo.index.rows, asked):
            vars(self).pop("windows", None)  # read again
        return texts

    def answers(self, text: str, member: int = 0) -> list[str] | None:
        """The answers to the problems on the lines of a text, if these are plain; see `bulk`."""
        self._member(member)
        self._make_known()
        memo = self.load_models().memo
        if memo is None:
            return None
        self._look_ahead(text.count("\n"))
        return bulk.answers(self.program.machine, self.program.windows, memo.look(member), text)

    def _look_ahead(self, problems: int) -> None:
        """Calculates all windows that will be asked, where it pays."""
        memo = self.load_models().memo
        if memo is not None and problems >= MANY:
            known = read_windows(self.folder.path)
            if known is not None:
                memo.prepare(known.rows)

    def _make_known(self) -> None:
        """Its own operators: another run may have others of the same name."""
        kept.make_known(self._code)

    def accept(self, problems: Iterable[str | Problem]) -> list[Problem]:
        """Return the problems, read and checked; UserError for one that this run cannot answer.

        See `recipes.check_problems`.
        """
        if isinstance(problems, str | Problem) or not isinstance(problems, Iterable):
            raise UserError(f"problems are a list such as ['12+34'] (got {quoted(problems)})")
        self._make_known()
        operators = [task.operator for task in self.recipe.tasks]
        asked = [parse(problem, operators) for problem in problems]
        check_problems(self.recipe, self.layout, asked, f"run {self.name!r}")
        return asked

    def evaluate(
        self,
        progress: Callable[[str], None] = lambda what: None,
        member: int | None = None,
        step: int | None = None,
        show_grid: suite.ShowGrid = lambda grid: None,
        **changes: Any,
    ) -> Evaluation:
        """Evaluates all members; keyword arguments change the recipe's evaluation section.

        Returns what evaluation.json holds, and writes the summary anew. One with changes, with
        another number of recurrences, or of the checkpoint of an earlier `step`, is kept beside it
        (see `evaluations.py`). With a `member` only that one is evaluated, and nothing is written.
        `show_grid` is called with each grid as it fills, after every row.
        """
        self._make_known()
        models, at = self._evaluated_at(step)  # first: a run without a checkpoint is refused
        settings = suite.settings_of(self.recipe, self.layout, changes)
        self.accept(settings.named)
        if member is not None:
            alone = models.only(self._member(member))
            return self._evaluation(alone, settings, progress, show_grid, member)
        changed = evaluations.changes(self.recipe.evaluation, settings, self.num_recurrences)
        changed |= {} if at == self.step else {"step": at}
        states.check_recipe(self.folder, self.recipe)
        stage = life.beside(self.folder) if changed else life.stage(self.folder, "evaluating")
        with stage, self._parts(settings, changed, at) as kept:
            shared = self._shared(kept, settings, models, at)
            found = self._evaluation(models, settings, progress, show_grid, None, *shared)
            found = replace(found, changes=changed, step=at)
            self.folder.save_evaluation(found)
            if not changed:
                write_summary(self.folder)
                self._conclude(findings.of_evaluation(found))
        return found

    def _evaluated_at(self, step: int | None) -> tuple[scoring.Models, int]:
        """The members as of that checkpoint, or of the newest; UserError if it is not kept."""
        newest = self.load_models()
        if step is None or step == self.step:
            return newest, self.step
        states.check_kept(self.folder, step)
        return self.at(step), step

    def _shared(
        self, kept: parts.Kept, settings: sections.Evaluation, models: scoring.Models, step: int
    ) -> tuple[suite.Keep, suite.Say]:
        """As `kept`, and what drops parts; what is not known is found by all processes."""
        leader = team.leader()
        if leader is None:
            return kept, lambda name: None
        every = suite.parts(self.recipe, models, settings)
        asked = typed.text(settings)
        self._tell("evaluating", settings=asked, recurrences=self.num_recurrences, step=step)
        shares = Shares(leader, [name for name in every if name not in kept.known])
        return lambda name, find: kept(name, partial(shares.find, name, find)), shares.drop

    def _tell(self, do: str, **more: Any) -> None:
        """Begins a stage in the other processes of this run, at the step of its weights."""
        more = {"step": self._step, "trust": self.code_known} | more
        team.tell(do, self.folder.path, **more)

    def _evaluation(
        self,
        models: scoring.Models,
        settings: sections.Evaluation,
        progress: Callable[[str], None],
        show_grid: suite.ShowGrid,
        member: int | None = None,
        keep: suite.Keep = suite.fresh,
        drop: suite.Say = lambda name: None,
    ) -> Evaluation:
        """What is found of all members, or of one."""
        listed = windows.read(self.folder.path) if models.memo is not None else None
        if listed is not None:
            models.recall.know(listed.rows, listed.targets)
        with expected.compiling() as compiled:
            pace = self._pace(models, settings, compiled)
            say = interrupts.checked(pace.added(progress))
            try:
                found = suite.evaluate(self.recipe, models, settings, say, keep, drop, show_grid)
            finally:
                if listed is not None and member is None:
                    self._join(listed, models.recall)
        found = replace(found, num_recurrences=self.num_recurrences)
        if not settings.named:
            return found
        say("named problems")
        before = self.at(0)
        before = before if member is None else before.only(member)
        return replace(found, named=tuple(named(settings.named, before, models)))

    def _join(self, listed: TrainingWindows, recall: Recall) -> None:
        """Add the windows that an evaluation met to the run's list."""
        new = [number for number in sorted(recall.met) if number >= len(listed.rows)]
        if new:
            table, examples = recall.table, [recall.met[number] for number in new]
            self.windows = listed.joined(table.rows[new], table.targets[new], examples)
            windows.save(self.folder.path, self.windows)

    def _pace(
        self,
        models: scoring.Models,
        settings: sections.Evaluation,
        compiled: Callable[[], float],
    ) -> expected.Pace:
        """How far such an evaluation is; not known of a program whose code is not."""
        given = (self.recipe, self.layout, settings, models.members)
        parts = expected.parts(*given) if self.code_known else []
        return expected.Pace(parts, compiled=compiled)

    def _parts(
        self, settings: sections.Evaluation, changed: dict[str, Any], step: int
    ) -> AbstractContextManager[parts.Kept]:
        """Keeps what is found size by size, for an evaluation that is interrupted."""
        weights = checkpoints.record(self.folder.checkpoints, step)
        path = evaluations.path_of(self.folder.path, evaluations.named(changed))
        path = path.with_suffix(".jsonl") if changed else self.folder.path / parts.FILE
        return parts.kept(path, [weights, asdict(settings), self.num_recurrences])

    @property
    def program(self) -> ProgramLayout:
        """The layout of a run of programs; UserError for any other run."""
        if not isinstance(self.layout, ProgramLayout):
            raise UserError(f"run {self.name!r} is of no program")
        return self.layout

    @property
    def certifiable(self) -> bool:
        """Whether it is of a program under a window whose code is known here."""
        return (
            isinstance(self.recipe.positions, Window)
            and isinstance(self.layout, ProgramLayout)
            and self.layout.recorder is not None
            and self.code_known
        )

    @property
    def to_certify(self) -> bool:
        """Whether its recipe wants a certificate when it is trained, and it can have one."""
        return bool(self.recipe.evaluation.certificate) and self.certifiable

    def missing(self) -> list[Stage]:
        """The stages that are still to be carried out, in order.

        Training is one of them again where the checkpoint that it ended with is damaged, or the
        recipe has more steps by now.
        """
        info, training = self.folder.read_info(), self.recipe.training
        waits = bool(training.extended_at) and info.checkpoint < training.steps
        if (info.over and waits) or self._has_lost(info):
            info = replace(info, done=())
        return life.missing(self.folder, info)

    def _has_lost(self, info: RunInfo) -> bool:
        """Whether the checkpoint that a finished training ended with is not whole any more."""
        return info.over and checkpoints.newest_whole(self.folder.checkpoints) != info.checkpoint

    @cached_property
    def windows(self) -> TrainingWindows:
        """The run's windows, and which of them each member was shown."""
        kept = windows.read(self.folder.path)
        return kept or records.training_windows(self.recipe, self.program, self.seeds)

    def _keep_windows(self, step: int) -> None:
        """Lists the windows of a run of programs and keeps which of them are shown, once.

        A training that is under way without such a list goes on without it.
        """
        if not isinstance(self.recipe.positions, Window) or windows.read(self.folder.path):
            return
        listed = None
        if self.recipe.covers and self.certifiable and not step:
            Session.prepare(self)
            assert self._prepared is not None
            listed = self._prepared.result().listed[:2]
        asked = (self.recipe, self.program, self.seeds, listed)
        self.windows = records.training_windows(*asked)
        windows.save(self.folder.path, self.windows)

    def prepare(self) -> None:
        """Start listing the windows of its programs in the background; this needs no weights."""
        if self._prepared is None and self.to_certify:
            asked = (self.recipe, self.program)
            self._prepared = background.begin(partial(certificate.prepare, *asked))

    def certify(self, progress: Callable[[str], None] = lambda what: None) -> Certificate:
        """Whether every member is right on every window that can occur; see `certificate`.

        Returns what certificate.json holds.
        """
        states.check_recipe(self.folder, self.recipe)
        models, trained = self.load_models(), self.folder.read_info().checkpoint
        if self.step < trained:
            raise UserError(
                f"run {self.name!r}: the checkpoint of step {trained:,} is damaged, and a"
                f" certificate is of the last one: `curta resume {self.folder.address}` trains"
                " it again"
            )
        asked = (models, self.recipe, self.seeds, self.windows)
        with self.stage("certifying"):
            say = interrupts.checked(progress)
            say("windows")
            prepared = None if self._prepared is None else self._prepared.result()
            found, content = certificate.certify(*asked, say, prepared)
            self.folder.save_certificate(found, content)
            self._conclude(findings.of_certificate(found))
        self._prepared = None
        return found

    def goes_on(self) -> bool:
        """Resume training if the certificate has a wrong window; return whether it does.

        That is so where an evaluation met windows that no round of repair knew of.
        """
        found, rounds = self.folder.read_certificate(), len(self.windows.wrong)
        wrong = found is not None and any(one.wrong for one in found.members)
        left = bool(self.recipe.round_steps) and rounds < self.recipe.training.repair
        if not wrong or not left or rounds == self._repaired:
            return False
        self._repaired = rounds
        self.folder.update(done=(), status="interrupted")
        return True

    def _member(self, number: int) -> int:
        if not 0 <= number < len(self.seeds):
            raise UserError(f"no member {number}: run {self.name!r} has 0 to {len(self.seeds) - 1}")
        return number
