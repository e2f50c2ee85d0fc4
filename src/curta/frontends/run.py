"""A run and a comparison as users have them: with their reports, pictures, pages and tables."""

import importlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from curta.config.errors import printable
from curta.config.recipe import changed_evaluation
from curta.config.table import Table, cell, spanned
from curta.evaluation import paired, scoring, suite
from curta.evaluation.paired import EvaluatedRun, Paired
from curta.evaluation.results import Certificate, Evaluation
from curta.evaluation.statistics import SliceStatistics
from curta.export import html
from curta.export.base import Exported
from curta.probes.inside import activations, question
from curta.probes.inside.activations import Activations
from curta.probes.inside.interventions import Intervention
from curta.problems.operations import Answer
from curta.problems.problem import Problem
from curta.programs.user.run_snapshot import refusal
from curta.report.comparison import write_comparison
from curta.report.notebook import PictureFile, Rows, find_pictures, slice_row
from curta.report.page import write_report
from curta.report.rendering import PagePart
from curta.report.summary import counted, hardest
from curta.report.tables import of_comparison, of_run, statistics_of
from curta.runs import checkpoints, comparison, folders, interrupts, life, ownership
from curta.runs.comparison_spec import Row
from curta.runs.folders import Folder
from curta.runs.info import Stage
from curta.runs.record import Show
from curta.runs.session import Session
from curta.runs.summary import slice_summary
from curta.training import background


class Run(Session):
    """One run: a folder, the members trained in it, and its report.

    With `num_recurrences` they are asked and evaluated with that many, not the recipe's.
    """

    def __repr__(self) -> str:
        return f"<Run {printable(self.name)}: {_described(self._facts)}>"

    def _facts(self) -> list[str]:
        """Its status, what it was trained on, and exact match of the least seed's worst slice."""
        info, found = self.folder.read_info(), self.folder.read_evaluation()
        least = min(hardest(found.lengths if found else ()), default=None)
        return [
            info.status,
            counted(len(info.seeds), "seed"),
            f"{info.recipe} of {spanned(info.trained_digits, 'digit')}",
            *([] if least is None else [f"worst slice {cell(least)}"]),
        ]

    @property
    def report(self) -> Path:
        return self.folder.path / "report.html"

    def find_pictures(self) -> dict[str, PictureFile]:
        """The report's pictures: `learning`, `lengths`, `grid`, `probes/NAME`."""
        return find_pictures(self.folder.path)

    @property
    def evaluations(self) -> list[str]:
        """The names of the evaluations beside the recipe's own, such as `digits-500`."""
        return self.folder.evaluation_names()

    def read_rows(self, evaluation: str = "") -> Rows:
        """The evaluation, a row for each operator, size and slice: median, least, greatest.

        It is the recipe's, or one of `evaluations` by its name. Sizes that were left out have
        a row without figures.
        """
        found = self.folder.read_evaluation(evaluation)
        if found is None:
            return Rows()
        rows = [slice_row(slice_summary(row)) for row in found.lengths]
        return Rows([*rows, *map(slice_row, found.unevaluated)])

    def _repr_html_(self) -> str:
        about = f"Run {self.name}: {self.folder.read_info().status}, seeds {self.seeds}"
        return self.read_rows()._repr_html_(about)

    def complete(
        self,
        show: Show = lambda progress: None,
        say: Callable[[str], None] = lambda what: None,
    ) -> None:
        """Does what is missing: trains, and whatever was wanted to follow."""
        self.run_stages(lambda stage: self.run_stage(stage, show, say))

    def run_stages(self, run_stage: Callable[[Stage], None]) -> None:
        """Calls the function with each stage that is missing, in order; the run is owned meanwhile.

        Nothing follows a training that was interrupted, or of which no member is left.
        """
        if self.folder.read_info().wanted:
            self.prepare()
        with ownership.owned(self.folder.path):
            stages = self.missing()
            while stages:
                run_stage(stages[0])
                if not self.folder.read_info().over:
                    return
                again = stages[0] == "certifying" and self.goes_on()
                stages = self.missing() if again else stages[1:]

    def run_stage(
        self,
        stage: Stage,
        show: Show = lambda progress: None,
        say: Callable[[str], None] = lambda what: None,
    ) -> None:
        """Does one of them."""
        if stage == "training":
            self.train(show)
        elif stage == "evaluating":
            self.evaluate(say, report=False)
        elif stage == "certifying":
            self.certify(say, report=False)
        else:
            self.write_report()

    def prepare(self) -> None:
        """Begins what its certificate and its report need besides weights, while it trains."""
        background.begin(partial(importlib.import_module, "matplotlib.figure"))
        super().prepare()

    def read_statistics(self, evaluation: str = "") -> list[SliceStatistics]:
        """What the evaluation says of every member, and over them, with intervals.

        It is the recipe's, or one of `evaluations` by its name; empty as long as there is none.
        """
        return statistics_of(self.folder, evaluation)

    def read_tables(self, evaluation: str = "") -> dict[str, Table]:
        """Its tables by their names, such as `statistics`, each with `csv()` and `latex()`.

        They are of the recipe's evaluation, or of one of `evaluations` by its name.
        """
        return of_run(self.folder, evaluation)

    def paired(
        self,
        other: "Run",
        member: int | None = None,
        progress: Callable[[str], None] = lambda what: None,
        **changes: Any,
    ) -> Paired:
        """This run and another one, asked the same problems; nothing is written.

        They are those of this run's evaluation, with `changes` of it, as far as both can be asked
        them. With a `member` that one of each is compared problem by problem, as it is where both
        have only one. Raises UserError where they have no problems in common.
        """
        mine, its = (one._asked(member) for one in (self, other))
        settings = changed_evaluation(self.recipe.evaluation, changes)
        say = interrupts.checked(progress)
        names = folders.told_apart(self.folder.path, other.folder.path)
        return paired.paired(mine, its, names, settings, member, say)

    def _asked(self, member: int | None) -> EvaluatedRun:
        """What `paired` is given; UserError where new problems need code that is not known."""
        self._make_known()
        if not self.code_known:
            raise refusal(self.folder.read_code())
        if member is not None:
            self._member(member)
        return EvaluatedRun(self.recipe, self.load_models(), self.seeds)

    def evaluate(
        self,
        progress: Callable[[str], None] = lambda what: None,
        member: int | None = None,
        step: int | None = None,
        show_grid: suite.ShowGrid = lambda grid: None,
        report: bool = True,
        **changes: Any,
    ) -> Evaluation:
        """As `Session.evaluate`; of all members, the `report` is written anew."""
        if member is not None or not report:
            return super().evaluate(progress, member, step, show_grid, **changes)
        with ownership.owned(self.folder.path):
            found = super().evaluate(progress, None, step, show_grid, **changes)
            self.write_report()
        return found

    def certify(
        self, progress: Callable[[str], None] = lambda what: None, report: bool = True
    ) -> Certificate:
        """As `Session.certify`; the `report` is written anew."""
        if not report:
            return super().certify(progress)
        with ownership.owned(self.folder.path):
            found = super().certify(progress)
            self.write_report()
        return found

    def activations(
        self,
        problems: Sequence[str | Problem],
        sites: str | Sequence[str] = "*",
        interventions: Sequence[Intervention] = (),
        members: Sequence[int] | None = None,
    ) -> Activations:
        """Named arrays of what members calculate over the true texts of problems.

        `sites` are names or patterns, such as `layer.0.*` or `*.attention.weights`; without
        `recurrence.R.` a name stands for all recurrences. With interventions, as they are under
        these. By default of all members. Raises UserError for names and selections that there
        are not, and for more than fits into memory.
        """
        models, asked, numbers = self._looked_into(problems, interventions, members)
        return activations.find(
            *(models, asked, sites, interventions), run=self.name, step=self.step, members=numbers
        )

    def intervene(
        self,
        problems: Sequence[str | Problem],
        interventions: Sequence[Intervention],
        members: Sequence[int] | None = None,
    ) -> list[list[Answer | None]]:
        """What each member answers to each problem when it writes under interventions.

        None where what it wrote is no answer.
        """
        models, asked, _ = self._looked_into(problems, interventions, members)
        written = question.write_under(models, asked, interventions)
        return [
            [self.layout.answer(problem, text) for problem, text in zip(asked, mine, strict=True)]
            for mine in written
        ]

    def _looked_into(
        self,
        problems: Sequence[str | Problem],
        interventions: Sequence[Intervention],
        members: Sequence[int] | None,
    ) -> tuple[scoring.Models, list[Problem], list[int]]:
        """Some members, problems that they were trained on, and the members' numbers."""
        asked = self.accept(problems)
        self.accept([one.source for one in interventions if one.source])
        numbers = [self._member(one) for one in members or range(len(self.seeds))]
        return self.load_models().chosen(numbers), asked, numbers

    def write_report(self, out: Path | None = None, evaluation: str = "") -> Path:
        """Writes report.html and its pictures, by default into the run's folder; returns its path.

        Members calculate in it where a page can carry them. The report of one of `evaluations`
        lies beside that by default.
        """
        if out is None and not evaluation:
            with self.stage("reporting"):
                return self._write_report(self.folder.path)
        if out is not None:
            return self._write_report(out, evaluation)
        self.folder.read_evaluation(evaluation)
        with life.beside(self.folder):
            return self._write_report(self.folder.evaluations / evaluation, evaluation)

    def _write_report(self, out: Path, evaluation: str = "") -> Path:
        trained = checkpoints.latest(self.folder.checkpoints) is not None
        work = html.at_work([self.carried()]) if trained else PagePart()
        return write_report(self.folder.path, work, out, evaluation)

    def write_page(self, member: int = 0, out: Path | None = None) -> Path:
        """Writes a page in which one member calculates, by default into the run's folder.

        Raises UserError for a model that a page cannot carry.
        """
        return html.write_page(self.carried(), self.folder, member, out)

    def to_transformer_lens(self, member: int = 0) -> Any:
        """One member as a `TransformerBridge` of TransformerLens, with all hooks and a tokenizer.

        It calculates on the CPU what the member does, and shares nothing with the run. Raises
        UserError for a model that it cannot express, or where `curta[lens]` is not installed.
        """
        from curta.export import lens

        model = self.model(member)
        return lens.bridge(Exported(self.name, self.seeds[member], self.recipe, model, member))

    def carried(self) -> html.Carried:
        """All members, for a page to carry."""
        return html.carried(self.folder)._replace(recipe=self.recipe)


def _described(facts: Callable[[], list[str]]) -> str:
    """The facts as a line; that they cannot be read, whatever lies in the folder."""
    try:
        return ", ".join(map(printable, facts()))
    except (OSError, ValueError):  # UserError among them
        return "damaged"


class Comparison(comparison.Comparison):
    """Several runs under the same conditions, and their report."""

    session = Run

    def __repr__(self) -> str:
        return f"<Comparison {printable(self.name)}: {_described(self._facts)}>"

    def _facts(self) -> list[str]:
        """Its title, and how many of its runs are finished."""
        status = [Folder(path).read_info().status for path in self.find_folders().values()]
        return [
            self.spec.title,
            f"{status.count('finished')} of {counted(len(self.spec.rows), 'run')} finished",
            counted(len(self.spec.seeds), "seed"),
        ]

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    def find_pictures(self) -> dict[str, PictureFile]:
        """The report's pictures, `learning` and `lengths` among them."""
        return find_pictures(self.path)

    def read_rows(self) -> Rows:
        """The evaluations of all entries: median, least and greatest over the seeds."""
        return Rows(
            {"name": row.name} | figures
            for row in self.read_results().rows
            for figures in [*map(slice_row, row.lengths), *map(slice_row, row.unevaluated)]
        )

    def read_tables(self, evaluation: str = "") -> dict[str, Table]:
        """Its tables by their names, `comparison`, `statistics` and `seeds`; see `Run`'s."""
        return of_comparison(self.path, evaluation)

    def _repr_html_(self) -> str:
        return self.read_rows()._repr_html_(f"Comparison {self.name}: {self.spec.title}")

    def run_comparison(
        self,
        train: Callable[[Row, Session], None] = lambda row, run: run.train(),
        say: Callable[[str], None] = lambda what: None,
    ) -> bool:
        """As `comparison.Comparison.run_comparison`; the report is written at the end."""
        ended = super().run_comparison(train, say)
        if ended:
            self.conclude()
        return ended

    def conclude(self) -> None:
        """Writes what all its runs have found, whoever has trained them, and the report."""
        with ownership.owned(self.path):
            self.save()
            write_comparison(self.path)
