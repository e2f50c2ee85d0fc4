"""A run: its folder, the members trained in it, and all that a user can do with them.

Training, answering and evaluating use only packages below this one. Reports, pages and probes
belong to packages above it and are imported where they are used.
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
"""Called with a few words about what is being done."""


def silent(progress: Any) -> None:
    """Show no progress."""


class Run:
    """A run: one recipe, trained with one or more seeds, and the folder that holds all its files.

    Each seed gives one *member*. Members are numbered from 0, in the order of `seeds`. Runs come
    from `curta.train` and `curta.load`.

    Example::

        run = curta.load("addition")
        run.ask("123456789+987654321")  # 1111111110
        run.evaluate(digits=(20, 100))
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
        # Code that has just created the folder passes `recipe` and `layout`; else they are read.
        self.folder = folder
        """The run's folder; `folder.path` is its path."""
        self.name = folder.name
        """The name of the folder."""
        self.num_recurrences = num_recurrences
        """Recurrences with which members answer; None for the recipe's number."""
        self.recipe: Recipe = recipe or folder.read_recipe()
        """The recipe, every field included."""
        if num_recurrences is not None and isinstance(self.recipe.positions, Window):
            raise UserError(f"run {self.name!r} has positions 'window': it has one recurrence only")
        self.seeds: list[int] = folder.read_info().seeds
        """The seed of each member."""
        self.layout: Layout = layout or folders.layout_in(folder, self.recipe)
        """How problems are written as tokens."""
        self._code = folder.read_code()
        self._models: scoring.Models | None = None
        self._step = 0
        self._listed_windows: Future[certificate.WindowList] | None = None
        self._rounds_before_resuming: int | None = None
        """Rounds of repair when training last resumed after a certificate."""

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
        """Return all members, stacked along a leading axis.

        Args:
            step: Step of the checkpoint to load, 0 for the initial weights. By default it is the
                newest checkpoint, which is read only once.
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
        """Return one member as of the newest checkpoint.

        Raises:
            UserError: There is no such member, or no checkpoint.
        """
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
        """Carry out the stages that are missing: training, evaluation, certificate, report.

        The stages after training are those requested when the run began. They are skipped if
        training was interrupted, or if the loss of every member stopped being finite. No other
        process can change the run meanwhile. Where several processes share the training, process 0
        alone does the rest while the others wait.

        Args:
            show: Called with the progress of training.
            say: Called with a few words about the progress of later stages.
            run_stage: Carries out a stage instead of this method, for instance to draw its
                progress.
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
            raise UserError(f"run {self.name!r} was extended since it was loaded: load it again")

    def train(self, show: Show = silent) -> None:
        """Train to the end, from the newest undamaged checkpoint; do nothing if that is the end.

        On an interrupt (Ctrl-C, SIGTERM) it finishes the current chunk, saves a checkpoint and
        stops.

        Args:
            show: Called with a `Progress` after every chunk of at most 100 steps.
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
        """Let one member calculate a problem, and return its answer.

        Example::

            run.ask("12+34")  # 46

        Args:
            problem: The problem as text, or parsed.
            member: Number of the member that answers.

        Returns:
            An integer for `+`, a tuple of integers for `sort`, and so on. None if the text that the
            member wrote holds no valid answer.

        Raises:
            UserError: The run cannot answer the problem; see `accept`.
        """
        problems = self.accept([problem])
        return self.layout.answer(problems[0], self.write(problems, member)[0])

    def write(self, problems: Sequence[str | Problem], member: int = 0) -> list[list[int]]:
        """Return the token numbers that one member generates after each prompt, end included.

        Raises:
            UserError: The run cannot answer one of the problems; see `accept`.
        """
        self._member(member)
        accepted = self.accept(problems)
        models = self.load_models()
        texts, memo = write_texts(models, accepted, member), models.memo
        if memo is not None:
            folders.join(self.folder, memo.index.rows, accepted)
        return texts

    def accept(self, problems: Iterable[str | Problem]) -> list[Problem]:
        """Parse problems and check that this run can answer them.

        Raises:
            UserError: A problem cannot be parsed, or its operator, base, number of operands or
                length is one that the model does not take.
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
        """Evaluate the members, and save the result in the run's folder.

        An evaluation with the recipe's own settings is saved as `evaluation.json`. One with other
        settings, another number of recurrences or an earlier checkpoint is saved in `evaluations`,
        under a name made of the changes, such as `digits-500`.

        Example::

            run.evaluate(digits=(20, 100), count=500)

        Args:
            progress: Called with a few words about the part that is being evaluated.
            member: Evaluate only this member, and save nothing.
            step: Step of the checkpoint to evaluate; the newest by default.
            show_grid: Called with each grid whenever another row of it is filled.
            report: Write the run's report again.
            changes: Fields of the recipe's `[evaluation]` section to change.

        Raises:
            UserError: A setting is invalid or has no effect, or there is no such checkpoint.
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
                    rows, targets = memo.table.rows[new], memo.table.targets[new]
                    longer = listed.with_windows(rows, targets, examples)
                    windows.save(self.folder.path, longer)
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
        """Check every member on every window that can occur, and save `certificate.json`.

        A window is all that the model sees when it writes a token. The list of windows holds for
        problems of any length.

        Args:
            progress: Called with a few words about what is being done.
            report: Write the run's report again.

        Raises:
            UserError: The run is not of a program under a window, the program's code is not trusted
                here, or the last checkpoint is damaged.
        """
        self._check_current()
        if not folders.has_code(self.layout):
            raise run_snapshot.refusal(self._code)
        if not certifiable(self):
            raise UserError(
                f"run {self.name!r} cannot be certified: only models of a program with a window"
                " can, such as those of the recipe 'addition'"
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
        """Return the exact match of an evaluation, one row for each operator, size and slice.

        Each row has the median, minimum and maximum over the members. Sizes that were not evaluated
        have a row with None. There are no rows before the first evaluation.

        Args:
            evaluation: Name of an evaluation with other settings than the recipe's, from
                `folder.evaluation_names()`.
        """
        from curta.report.rendering import Rows, slice_row

        results = self.folder.read_evaluation(evaluation)
        if results is None:
            return Rows()
        rows = [slice_row(slice_summary(row)) for row in results.lengths]
        return Rows([*rows, *map(slice_row, results.unevaluated)])

    def read_statistics(self, evaluation: str = "") -> list[SliceStatistics]:
        """Return exact match by operator, size and slice, with 95 % confidence intervals.

        Args:
            evaluation: Name of an evaluation, as for `read_rows`.
        """
        from curta.report.tables import statistics_of

        return statistics_of(self.folder, evaluation)

    def read_tables(self, evaluation: str = "") -> dict[str, Table]:
        """Return the run's tables by name.

        Depending on what was measured, these are `exact-match`, `statistics`, `seeds`,
        `trained-and-held-out`, `grid`, `counted`, `named`, `certificate` and `probes/NAME`.

        Example::

            print(run.read_tables()["statistics"].csv())

        Args:
            evaluation: Name of an evaluation, as for `read_rows`.
        """
        from curta.report.tables import of_run

        return of_run(self.folder, evaluation)

    def find_pictures(self) -> "dict[str, PictureFile]":
        """Return the pictures of the report by name, such as `learning` or `probes/NAME`.

        A notebook draws them; `path` is the SVG file.
        """
        from curta.report.rendering import find_pictures

        return find_pictures(self.folder.path)

    def paired(
        self, other: "Run", member: int | None = None, progress: Say = silent, **changes: Any
    ) -> Paired:
        """Compare this run with another one on the same problems, and test the difference.

        The problems are those of this run's evaluation that both runs can answer. Nothing is saved.

        Args:
            other: The run to compare with.
            member: Compare only this member of each run, problem by problem (McNemar's test). Runs
                of one seed are always compared so.
            progress: Called with a few words about the part that is being evaluated.
            changes: Fields of the recipe's `[evaluation]` section to change.

        Raises:
            UserError: The runs have no problems in common.
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
        """Record what members compute at named sites, given the correct texts of problems.

        Example::

            weights = run.activations(["12+34"], "*.attention.weights")
            weights["layer.0.attention.weights"]  # member, problem, head, query, key

        Args:
            problems: Problems whose prompts and correct answers the members read.
            sites: Names or patterns, such as `layer.0.*`. A name without `recurrence.R.` stands for
                all recurrences.
            interventions: Changes of the computation.
            members: Numbers of the members to examine; all by default.

        Raises:
            UserError: A site or selection is unknown, or the arrays do not fit into memory.
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
        """Let members calculate problems under interventions, and return their answers.

        Example::

            run.intervene(["12+34"], [curta.Intervention("layer.0.attention.heads", "zero")])

        Args:
            problems: The problems to answer.
            interventions: Changes of the computation.
            members: Numbers of the members to examine; all by default.

        Returns:
            For each member, its answer to each problem; None where the text holds no valid answer.
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
        """Write `report.html` and its pictures, and return the path of the report.

        Small models are part of the report and calculate in it.

        Args:
            out: Folder to write to; by default the run's, or for another evaluation than the
                recipe's, a folder beside that evaluation.
            evaluation: Name of the evaluation to report, as for `read_rows`.
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
        """Write an HTML page in which one member calculates, and return its path.

        Args:
            member: Number of the member.
            out: File to write; by default it is in the run's folder.

        Raises:
            UserError: The model is too large for a page, or its position encoding comes from a
                Python file.
        """
        from curta.export.html import page

        return page.write_page(self.folder, member, out)

    def to_transformer_lens(self, member: int = 0) -> Any:
        """Return one member as a `TransformerBridge` of TransformerLens, with hooks and tokenizer.

        The copy runs on the CPU and is independent of the run.

        Raises:
            UserError: TransformerLens cannot express the model, or `curta[lens]` is not installed.
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
    """Return whether a run is of a program under a window whose code is known here."""
    is_windowed, recorder = isinstance(run.recipe.positions, Window), run.layout.recorder
    return is_windowed and folders.has_code(run.layout) and recorder is not None
