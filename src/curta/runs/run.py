"""One run: its folder, the members trained in it, and everything a user does with them.

Training, answering and evaluating need the folders before this one. Reports, pages and a look
inside belong to later folders, and are imported where they are used.
"""

import importlib
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from curta.config import system
from curta.config.errors import UserError, printable, quoted
from curta.config.positions import Window
from curta.config.recipe import Recipe, changed_evaluation
from curta.config.sections import EvaluationSettings
from curta.config.table import Table, cell, counted, spanned
from curta.evaluation import certificate, evaluation_set, paired, scoring, suite
from curta.evaluation.generation import named, write_texts
from curta.evaluation.paired import EvaluatedRun, Paired
from curta.evaluation.results import Certificate, Evaluation
from curta.evaluation.statistics import SliceStatistics
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.recipes import check_problems
from curta.model.transformer import Transformer
from curta.problems.operations import Answer
from curta.problems.problem import Problem, parse
from curta.programs import PROGRAMS
from curta.programs.machine.recording import RecordedWindows
from curta.programs.user import run_snapshot
from curta.runs import checkpoints, folders, interrupts, life, ownership, trackers
from curta.runs.folders import Folder
from curta.runs.info import Stage, slice_summary
from curta.runs.loop import Loop, Show
from curta.training import processes, records, trainer, windows
from curta.training.trainer import Member
from curta.training.windows import TrainingWindows

if TYPE_CHECKING:
    from curta.probes.inside.activations import Activations
    from curta.probes.inside.interventions import Intervention
    from curta.report.rendering import PictureFile, Rows

Say = Callable[[str], None]
"""Receives a few words about what is being done."""


def silent(progress: Any) -> None:
    """Show no progress."""


class Run:
    """One run: a folder, the members trained in it, and its report.

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
        self.name = folder.name
        self.num_recurrences = num_recurrences
        self.recipe: Recipe = recipe or folder.read_recipe()
        if num_recurrences is not None and isinstance(self.recipe.positions, Window):
            raise UserError(f"run {self.name!r} has positions 'window': it has one recurrence only")
        self.seeds: list[int] = folder.read_info().seeds
        self.layout: Layout = layout or folders.layout_in(folder, self.recipe)
        self._code = folder.read_code()
        self._models: scoring.Models | None = None
        self._step = 0
        self._listed_windows: Future[certificate.WindowList] | None = None
        self._rounds_before_resuming: int | None = None
        """Rounds of repair there were when training last resumed after a certificate."""

    def __repr__(self) -> str:
        """Return status, training and exact match of the worst seed in the worst slice."""
        try:
            info, evaluation = self.folder.read_info(), self.folder.read_evaluation()
        except UserError:
            return f"<Run {printable(self.name)}: damaged>"
        digits = spanned(info.trained_digits, "digit")
        facts = [info.status, counted(len(info.seeds), "seed"), f"{info.recipe} of {digits}"]
        if evaluation and evaluation.lengths:
            facts.append(f"worst slice {cell(min(min(r.exact_match) for r in evaluation.lengths))}")
        return f"<Run {printable(self.name)}: {', '.join(map(printable, facts))}>"

    def _repr_html_(self) -> str:
        about = f"Run {self.name}: {self.folder.read_info().status}, seeds {self.seeds}"
        return self.read_rows()._repr_html_(about)

    # Weights

    def load_models(self, step: int | None = None) -> scoring.Models:
        """Return the members, stacked, as of the newest checkpoint, which is read once.

        With a `step` they are those of that checkpoint, or the initial ones for step 0.
        """
        if step is not None:
            return self._stacked(self._state(step))
        if self._models is None:
            self._step = self.folder.newest_checkpoint()
            self._models = self._stacked(self._state(self._step))
        return self._models

    @property
    def step(self) -> int:
        """The step of the checkpoint whose weights answer and are evaluated."""
        self.load_models()
        return self._step

    def _state(self, step: int) -> Member:
        init = lambda: trainer.init(self.recipe, self.layout, jnp.asarray(self.seeds))
        if not step:
            return init()
        owner = checkpoints.owner(self.recipe, self.seeds, step)
        like = jax.eval_shape(init)
        state: Member = checkpoints.load(self.folder.checkpoints, step, like, owner)
        return state

    def _stacked(self, state: Member) -> scoring.Models:
        seeds = tuple(self.seeds)
        models = scoring.Models(state.chosen, self.layout, len(seeds), seeds=seeds)
        if self.num_recurrences is not None:
            models = models.with_recurrences(self.num_recurrences)
        return models

    def model(self, member: int = 0) -> Transformer:
        """Return one member as of the newest checkpoint; UserError if there is no such member."""
        return self.load_models().member(self._member(member))

    def _member(self, number: int) -> int:
        return folders.check_member(number, self.name, len(self.seeds))

    # Stages

    def complete(
        self,
        show: Show = silent,
        say: Say = silent,
        run_stage: Callable[[Stage], None] | None = None,
    ) -> None:
        """Carry out what is missing: train, then evaluate, certify and report if requested.

        The run is owned meanwhile. Nothing follows a training that was interrupted, or of which no
        member is left. `run_stage` carries out a stage in another way, such as with its progress on
        a screen. Several processes share the training; process 0 alone does the rest, while the
        others wait.
        """
        stage_methods: dict[Stage, Callable[[], object]] = {
            "training": partial(self.train, show),
            "evaluating": partial(self.evaluate, say, report=False),
            "certifying": partial(self.certify, say, report=False),
            "reporting": self.write_report,
        }
        is_first, several = processes.is_first(), jax.process_count() > 1
        if is_first and self.folder.read_info().wanted:
            system.in_background(partial(importlib.import_module, "matplotlib.figure"))
            if self.recipe.evaluation.certificate and certifiable(self):
                self._list_windows()
        owned = ownership.owned(self.folder.path) if is_first else nullcontext()
        # Of several processes none may leave the loop alone, so signals wait for a safe point.
        with owned, interrupts.deferred() if several else nullcontext():
            stages = life.missing(self.folder, self.recipe) if is_first else []
            while stage := processes.from_first(stages[0] if stages else None):
                try:
                    if is_first or stage == "training":
                        run_stage(stage) if run_stage else stage_methods[stage]()
                except KeyboardInterrupt:
                    processes.from_first(None)  # lets the others end, too
                    raise
                if not is_first:
                    continue
                if not self.folder.read_info().over:
                    stages = []
                elif stage == "certifying" and self._resumes_training():
                    stages = life.missing(self.folder, self.recipe)
                else:
                    stages = stages[1:]

    def _check_current(self) -> None:
        """Raise UserError if the run was extended since its recipe was read."""
        if self.folder.read_info().steps > self.recipe.training.steps:
            raise UserError(f"run {self.name!r} was extended since it was loaded: load it anew")

    def train(self, show: Show = silent) -> None:
        """Train to the end from the newest whole checkpoint, or not at all if that is there.

        An interrupt (Ctrl-C, SIGTERM) ends it after the current chunk with a checkpoint.
        """
        self._check_current()
        self._models, is_first = None, processes.is_first()
        stages = life.missing(self.folder, self.recipe) if is_first else []
        if not processes.from_first("training" in stages):
            return
        with life.stage(self.folder, "training") as outcome, processes.peers():
            step, seconds = processes.from_first(self.folder.resume() if is_first else None)
            training_windows = self._training_windows(step)
            state = self._state(step)
            loop = Loop(self.folder, self.recipe, self.layout, training_windows, state, step, show)
            names = self.folder.read_info().track if is_first else ()
            with trackers.opened(names, self.folder, step) as opened:
                outcome.status = loop.run(seconds, opened)
            if loop.final is not None:
                self._step, state = loop.final
                self._models = self._stacked(state)
            if is_first and any(name not in PROGRAMS for name in self.recipe.programs):
                evaluation_set.keep(self.folder.path, self.recipe, self.layout)

    def _training_windows(self, step: int) -> TrainingWindows | None:
        """Return the windows that training shows from a step on, saved before the first one."""
        if not isinstance(self.recipe.positions, Window):
            return None
        if processes.is_first() and not windows.read(self.folder.path):
            # A training that is under way without a list of windows goes on without it.
            listed, closed = None, list[str]()
            if self.recipe.covers and certifiable(self) and not step:
                windows_listed = self._list_windows().result()
                listed = windows_listed.rows, windows_listed.targets
                closed = [c.operator for c in windows_listed.catalogues if c.closed]
            layout, seeds = program_layout(self), self.seeds
            new = records.training_windows(self.recipe, layout, seeds, listed, closed)
            windows.save(self.folder.path, new)
        processes.from_first(None)  # now the windows are on disk for all
        return self._read_windows()

    def _read_windows(self) -> TrainingWindows:
        """Return the run's windows, and which of them each member was shown."""
        return windows.read(self.folder.path) or records.training_windows(
            self.recipe, program_layout(self), self.seeds
        )

    # Answering

    def ask(self, problem: str | Problem, member: int = 0) -> Answer | None:
        """Return the model's answer; None if what it wrote is no answer."""
        problems = self.accept([problem])
        return self.layout.answer(problems[0], self.write(problems, member)[0])

    def write(self, problems: Sequence[str | Problem], member: int = 0) -> list[list[int]]:
        """Return the tokens that the model itself writes after each problem."""
        self._member(member)
        accepted = self.accept(problems)
        models = self.load_models()
        texts, memo = write_texts(models, accepted, member), models.memo
        if memo is not None:
            folders.join(self.folder, memo.index.rows, accepted)
        return texts

    def accept(self, problems: Iterable[str | Problem]) -> list[Problem]:
        """Return the problems, read and checked; UserError for one that this run cannot answer.

        See `recipes.check_problems`.
        """
        if isinstance(problems, str | Problem) or not isinstance(problems, Iterable):
            raise UserError(f"problems are a list such as ['12+34'] (got {quoted(problems)})")
        run_snapshot.make_known(self._code)
        operators = [task.operator for task in self.recipe.tasks]
        parsed = [parse(problem, operators) for problem in problems]
        check_problems(self.recipe, self.layout, parsed, f"run {self.name!r}")
        return parsed

    # Evaluation

    def evaluate(
        self,
        progress: Say = silent,
        member: int | None = None,
        step: int | None = None,
        show_grid: suite.ShowGrid = silent,
        report: bool = True,
        **changes: Any,
    ) -> Evaluation:
        """Evaluate all members; keyword arguments change the recipe's evaluation section.

        Returns what evaluation.json holds. One with changes, with another number of recurrences,
        or of the checkpoint of an earlier `step`, is written beside it (see `folders.py`).
        With `report` the report is written anew. With a `member` only that one is evaluated, and
        nothing is written. `show_grid` is called with each grid as it fills, after every row.
        """
        run_snapshot.make_known(self._code)
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
            models = self.load_models(step)
        settings = suite.settings_of(self.recipe, self.layout, changes)
        self.accept(settings.named)
        if member is not None:
            alone = models.only(self._member(member))
            return self._evaluation(alone, settings, progress, show_grid, member)
        changed = folders.evaluation_changes(self.recipe.evaluation, settings, self.num_recurrences)
        if step != self._step:
            changed["step"] = step
        weights = checkpoints.record(self.folder.checkpoints, step)
        depends_on = [weights, asdict(settings), self.num_recurrences]
        path = self.folder.path / folders.PARTIAL
        if changed:
            path = self.folder.evaluations / f"{folders.evaluation_name(changed)}.jsonl"
        with ownership.owned(self.folder.path):
            self._check_current()
            stage = life.stage(self.folder, None if changed else "evaluating")
            with stage, folders.partial_evaluation(path, depends_on) as keep:
                result = self._evaluation(models, settings, progress, show_grid, keep=keep)
                result = replace(result, changes=changed, step=step)
                self.folder.save_evaluation(result)
                if not changed:
                    results = trackers.evaluation_results(result, self.seeds)
                    trackers.conclude(self.folder, step, results)
            if report:
                self.write_report()
        return result

    def _evaluation(
        self,
        models: scoring.Models,
        settings: EvaluationSettings,
        progress: Say,
        show_grid: suite.ShowGrid,
        member: int | None = None,
        keep: suite.Keep = suite.fresh,
    ) -> Evaluation:
        """Evaluate all members, or one; windows that they meet join the run's list."""
        memo = models.memo
        listed = windows.read(self.folder.path) if memo else None
        if memo and listed:
            text = np.zeros(len(listed.rows), np.int64)
            memo.table.add(RecordedWindows(listed.rows, listed.targets, text))
        timed = []
        if folders.has_code(self.layout):
            timed = suite.part_estimates(self.recipe, self.layout, settings, models.members)
        say = interrupts.checked(suite.Pace(timed).added(progress))
        try:
            result = suite.evaluate(self.recipe, models, settings, say, keep, show_grid)
        finally:
            if memo and listed and member is None:
                new = sorted(n for n in memo.examples if n >= len(listed.rows))
                if new:
                    examples = [memo.examples[n] for n in new]
                    joined = listed.joined(memo.table.rows[new], memo.table.targets[new], examples)
                    windows.save(self.folder.path, joined)
        result = replace(result, num_recurrences=self.num_recurrences)
        if not settings.named:
            return result
        say("named problems")
        initial = self.load_models(0)
        initial = initial if member is None else initial.only(member)
        return replace(result, named=tuple(named(settings.named, initial, models)))

    # Certificate

    def _list_windows(self) -> Future[certificate.WindowList]:
        """Start listing the windows of its programs in the background; this needs no weights."""
        if self._listed_windows is None:
            self._listed_windows = system.in_background(
                partial(certificate.prepare, self.recipe, program_layout(self))
            )
        return self._listed_windows

    def certify(self, progress: Say = silent, report: bool = True) -> Certificate:
        """Check every member on every window that can occur; see `certificate`.

        Returns what certificate.json holds. With `report` the report is written anew.
        """
        self._check_current()
        if not folders.has_code(self.layout):
            raise run_snapshot.refusal(self._code)
        if not certifiable(self):
            raise UserError(
                f"run {self.name!r} is of no program under a window: nothing to certify"
            )
        models, trained = self.load_models(), self.folder.read_info().checkpoint
        if self.step < trained:
            raise UserError(
                f"run {self.name!r}: the checkpoint of step {trained:,} is damaged, and a"
                f" certificate is of the last one: `curta train --resume {self.folder.argument}`"
                " trains it again"
            )
        training_windows = self._read_windows()
        with ownership.owned(self.folder.path):
            with life.stage(self.folder, "certifying"):
                say = interrupts.checked(progress)
                say("windows")
                listed = None if self._listed_windows is None else self._listed_windows.result()
                result, content = certificate.certify(
                    models, self.recipe, training_windows, say, listed
                )
                self.folder.save_certificate(result, content)
                results = trackers.certificate_results(result, self.seeds)
                trackers.conclude(self.folder, self.step, results)
            self._listed_windows = None
            if report:
                self.write_report()
        return result

    def _resumes_training(self) -> bool:
        """Resume training if the certificate has a wrong window; return whether it does.

        That is so where an evaluation met windows that no round of repair knew of.
        """
        verdict, rounds = self.folder.read_certificate(), len(self._read_windows().wrong)
        is_wrong = verdict is not None and any(member.wrong for member in verdict.members)
        can_repair = bool(self.recipe.round_steps) and rounds < self.recipe.training.repair
        if not is_wrong or not can_repair or rounds == self._rounds_before_resuming:
            return False
        self._rounds_before_resuming = rounds
        self.folder.update(done=(), status="interrupted")
        return True

    # Results

    def read_rows(self, evaluation: str = "") -> "Rows":
        """Return a row for each operator, size and slice, with median, least and greatest.

        It is the recipe's evaluation, or another by its name in `folder.evaluation_names()`.
        Sizes that were left out have a row without figures.
        """
        from curta.report.rendering import Rows, slice_row

        results = self.folder.read_evaluation(evaluation)
        if results is None:
            return Rows()
        rows = [slice_row(slice_summary(row)) for row in results.lengths]
        return Rows([*rows, *map(slice_row, results.unevaluated)])

    def read_statistics(self, evaluation: str = "") -> list[SliceStatistics]:
        """Return every member's figures, and those over members with intervals."""
        from curta.report.tables import statistics_of

        return statistics_of(self.folder, evaluation)

    def read_tables(self, evaluation: str = "") -> dict[str, Table]:
        """Return tables by name, such as `statistics`, each with `csv()` and `latex()`."""
        from curta.report.tables import of_run

        return of_run(self.folder, evaluation)

    def find_pictures(self) -> "dict[str, PictureFile]":
        """Return the report's pictures: `learning`, `lengths`, `grid`, `probes/NAME`."""
        from curta.report.rendering import find_pictures

        return find_pictures(self.folder.path)

    def paired(
        self, other: "Run", member: int | None = None, progress: Say = silent, **changes: Any
    ) -> Paired:
        """Evaluate this run and another one on the same problems; nothing is written.

        They are the problems of this run's evaluation, with `changes`, as far as both runs can
        answer them. With a `member`, one of each is compared problem by problem, as with one seed.
        Raises UserError if they have no problems in common.
        """
        settings, evaluated = changed_evaluation(self.recipe.evaluation, changes), []
        for run in (self, other):
            run_snapshot.make_known(run._code)
            if not folders.has_code(run.layout):
                raise run_snapshot.refusal(run._code)
            if member is not None:
                run._member(member)
            evaluated.append(EvaluatedRun(run.recipe, run.load_models(), run.seeds))
        names = self.name, other.name
        if self.name == other.name and self.folder.path != other.folder.path:
            names = str(self.folder.path), str(other.folder.path)
        say = interrupts.checked(progress)
        return paired.paired(evaluated[0], evaluated[1], names, settings, member, say)

    # Inside

    def activations(
        self,
        problems: Sequence[str | Problem],
        sites: str | Sequence[str] = "*",
        interventions: "Sequence[Intervention]" = (),
        members: Sequence[int] | None = None,
    ) -> "Activations":
        """Return named arrays of what members compute over the correct texts of problems.

        `sites` are names or patterns, such as `layer.0.*` or `*.attention.weights`; without
        `recurrence.R.` a name stands for all recurrences. Interventions change the computation.
        Without `members`, all are examined. Raises UserError for unknown names and selections,
        and for more than fits into memory.
        """
        from curta.probes.inside import activations

        models, accepted, numbers = self._examined(problems, interventions, members)
        return activations.find(
            models, accepted, sites, interventions, run=self.name, step=self.step, members=numbers
        )

    def intervene(
        self,
        problems: Sequence[str | Problem],
        interventions: "Sequence[Intervention]",
        members: Sequence[int] | None = None,
    ) -> list[list[Answer | None]]:
        """Return what each member answers to each problem under interventions.

        An answer is None where the text that it wrote is none.
        """
        from curta.probes.inside import question

        models, accepted, _ = self._examined(problems, interventions, members)
        return [
            [self.layout.answer(*pair) for pair in zip(accepted, texts, strict=True)]
            for texts in question.write_under(models, accepted, interventions)
        ]

    def _examined(
        self,
        problems: Sequence[str | Problem],
        interventions: "Sequence[Intervention]",
        members: Sequence[int] | None,
    ) -> tuple[scoring.Models, list[Problem], list[int]]:
        """Return some members, all by default, the problems, and the members' numbers."""
        accepted = self.accept(problems)
        self.accept([change.source for change in interventions if change.source])
        numbers = [self._member(number) for number in members or range(len(self.seeds))]
        return self.load_models().only(*numbers), accepted, numbers

    # Report and export

    def write_report(self, out: Path | None = None, evaluation: str = "") -> Path:
        """Write report.html and its pictures, by default into the run's folder; return its path.

        Members calculate in it where a page can carry them. The report of another evaluation than
        the recipe's lies beside that by default.
        """
        from curta.export.html.page import trained_at_work
        from curta.report.page import write_report

        def write(place: Path) -> Path:
            work = trained_at_work([self.folder])
            return write_report(self.folder.path, work, place, evaluation)

        if out is not None:
            return write(out)
        if not evaluation:
            self._check_current()
            with life.stage(self.folder, "reporting"):
                return write(self.folder.path)
        self.folder.read_evaluation(evaluation)
        with life.stage(self.folder):
            return write(self.folder.evaluations / evaluation)

    def write_page(self, member: int = 0, out: Path | None = None) -> Path:
        """Write a page in which one member calculates, by default into the run's folder.

        Raises UserError for a model that a page cannot carry.
        """
        from curta.export.html import page

        return page.write_page(self.folder, member, out)

    def to_transformer_lens(self, member: int = 0) -> Any:
        """Return one member as a `TransformerBridge` of TransformerLens, with hooks and tokenizer.

        It computes on the CPU what the member does, and shares nothing with the run. Raises
        UserError for a model that it cannot express, or where `curta[lens]` is not installed.
        """
        from curta.export import lens
        from curta.export.base import Exported

        model = self.model(member)
        return lens.bridge(Exported(self.name, self.seeds[member], self.recipe, model, member))


def program_layout(run: Run) -> ProgramLayout:
    """Return the layout of a run of programs; UserError for any other run."""
    if not isinstance(run.layout, ProgramLayout):
        raise UserError(f"run {run.name!r} is of no program")
    return run.layout


def certifiable(run: Run) -> bool:
    """Whether a run is of a program under a window whose code is known here."""
    is_windowed, recorder = isinstance(run.recipe.positions, Window), run.layout.recorder
    return is_windowed and folders.has_code(run.layout) and recorder is not None
