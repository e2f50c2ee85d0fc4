"""Comparisons: several runs, trained and evaluated under the same conditions.

runs/NAME/comparison.json   the entries and their results
          ENTRY/            a run folder for each entry, like any other
          report.html       and its pictures

comparison.json has all that is needed to continue. An interrupted comparison goes on where it
stopped, and entries can be added later: a finished run is never trained again.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.config import files, typed
from curta.config.errors import UserError, printable, unknown
from curta.config.recipe import Recipe, as_table
from curta.config.table import Table, counted
from curta.evaluation import suite
from curta.evaluation.evaluation_set import refusal
from curta.evaluation.results import UnevaluatedSize
from curta.layouts.texts import layout_of
from curta.model import recipes
from curta.model.positions import user
from curta.problems.tasks import as_size
from curta.programs.user import run_snapshot, userfiles
from curta.programs.user.userfiles import KeptFile
from curta.runs import folders, life, metrics, ownership
from curta.runs.comparison_spec import ComparisonSpec, Row
from curta.runs.folders import COMPARISON, Folder, read_comparison
from curta.runs.info import ComparisonResults, ComparisonRow, slice_summary, summary_statistics
from curta.runs.run import Run, Say, silent

if TYPE_CHECKING:
    from curta.report.rendering import PictureFile, Rows

Train = Callable[[Row, Run], None]
"""Trains the run of a row."""


class Comparison:
    """A comparison: its entries, the folder that holds their runs, and its report.

    Comparisons come from `curta.compare` and `Comparison.load`.
    """

    def __init__(self, path: Path, spec: ComparisonSpec, code: tuple[KeptFile, ...] = ()) -> None:
        self.path = path
        """The path of the comparison's folder."""
        self.spec = spec
        """The title, the seeds, and the recipe of each entry."""
        self.code = code
        """The Python files that the recipes name. Each run has its own copy once it has begun."""

    @classmethod
    def begin(cls, spec: ComparisonSpec, name: str | None = None) -> "Comparison":
        """Return the comparison of that name, or a new one if there is none; train nothing.

        Args:
            spec: The entries and seeds.
            name: Name of the folder; by default `spec.base`, numbered if that name is taken.

        Raises:
            UserError: The folder of that name holds other runs.
        """
        for chosen in folders.numbered(spec.base) if name is None else [folders.checked(name)]:
            if _fits(path := folders.root() / chosen, spec):
                break
        else:
            raise UserError(f"{name!r} exists already with other runs: choose another name")
        tags = sorted({tag for row in spec.rows for tag in run_snapshot.tags(row.recipe)})
        code = filter(None, map(userfiles.executed, tags))
        return cls(path, spec, tuple(KeptFile(file.tag, file.name, file.sha256) for file in code))

    @classmethod
    def load(cls, name: str, only: str | None = None) -> "Comparison":
        """Load a comparison.

        Args:
            name: Name of the comparison in the runs folder, or path of its folder.
            only: Load a single entry, by the name of its run's folder; the recipes of the others
                may then be invalid.

        Raises:
            UserError: There is no such comparison, or its files are damaged.
        """
        path = folders.comparison_path(name)
        if not (path / COMPARISON).exists():
            raise unknown("comparison", name, folders.comparisons(), "curta runs")
        return cls(path, _spec(path, only), read_comparison(path).files)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.path.name

    @property
    def report(self) -> Path:
        """The path of its report."""
        return self.path / "report.html"

    def __repr__(self) -> str:
        """Return its title, and how many of its runs are finished."""
        status = [Folder(path).read_info().status for path in self.find_folders().values()]
        return (
            f"<Comparison {printable(self.name)}: {printable(self.spec.title)},"
            f" {status.count('finished')} of {counted(len(self.spec.rows), 'run')} finished,"
            f" {counted(len(self.spec.seeds), 'seed')}>"
        )

    def _repr_html_(self) -> str:
        return self.read_rows()._repr_html_(f"Comparison {self.name}: {self.spec.title}")

    def find_folders(self) -> dict[str, Path]:
        """Return the folder of each run that has begun, by the name of its entry."""
        named = {row.name: self.path / row.folder for row in self.spec.rows}
        return {name: path for name, path in named.items() if (path / "run.json").exists()}

    def read_results(self, evaluation: str = "") -> ComparisonResults:
        """Return the entries and their results so far, as `comparison.json` has them.

        Args:
            evaluation: Name of an evaluation with other settings than the recipes', such as
                `digits-500`.
        """
        spec = self.spec
        rows = [_row(row, self.path / row.folder, evaluation) for row in spec.rows]
        return ComparisonResults(
            self.name, spec.title, spec.summary, spec.seeds, list(spec.swept), rows, self.code
        )

    def read_rows(self) -> "Rows":
        """Return the exact match of all entries, one row for each entry, operator, size and slice.

        Each row has the median, minimum and maximum over the seeds.
        """
        from curta.report.rendering import Rows, slice_row

        return Rows(
            {"name": row.name} | figures
            for row in self.read_results().rows
            for figures in [*map(slice_row, row.lengths), *map(slice_row, row.unevaluated)]
        )

    def read_tables(self, evaluation: str = "") -> dict[str, Table]:
        """Return the comparison's tables by name, such as `comparison` and `statistics`.

        Example::

            print(comparison.read_tables()["comparison"].latex())

        Args:
            evaluation: Name of an evaluation, as for `read_results`.
        """
        from curta.report.tables import of_comparison

        return of_comparison(self.path, evaluation)

    def find_pictures(self) -> "dict[str, PictureFile]":
        """Return the pictures of the report by name, such as `learning` and `lengths`."""
        from curta.report.rendering import find_pictures

        return find_pictures(self.path)

    def run_comparison(
        self, train: Train = lambda row, run: run.train(), say: Say = silent
    ) -> bool:
        """Train and evaluate every run that is not finished, and write the report.

        Args:
            train: Trains the run of an entry, for instance to draw its progress.
            say: Called with a few words about the evaluation that is running.

        Returns:
            False if it was interrupted, else True.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        with ownership.owned(self.path):
            self.save()
            for row in self.spec.rows:
                run = self.begin_run(row)
                if "training" in life.missing(run.folder, run.recipe):
                    train(row, run)
                if not run.folder.read_info().over:
                    return False
                if "evaluating" in life.missing(run.folder, run.recipe):

                    def say_of_row(progress: str, name: str = row.name) -> None:
                        say(f"{name}: {progress}")

                    run.evaluate(say_of_row)
                self.save()
            self.conclude()
        return True

    def save(self) -> None:
        """Write `comparison.json`: the entries and their results so far."""
        self.path.mkdir(parents=True, exist_ok=True)
        with ownership.owned(self.path):
            for file in filter(None, (userfiles.executed(code.file) for code in self.code)):
                files.write(self.path / file.tag, file.content)
            files.write(self.path / COMPARISON, typed.text(self.read_results(), indent=1))

    def conclude(self) -> None:
        """Write `comparison.json` and the report, from whatever runs are there."""
        from curta.report.page import write_comparison

        with ownership.owned(self.path):
            self.save()
            write_comparison(self.path)

    def pace(self) -> suite.Pace:
        """Return an estimate of the progress at each run that is still to be finished."""
        begun, seeds = self.find_folders(), len(self.spec.seeds)
        return suite.Pace(
            [
                suite.whole(row.name, placed(row.recipe), seeds)
                for row in self.spec.rows
                if row.name not in begun or Folder(begun[row.name]).read_info().status != "finished"
            ]
        )

    def begin_run(self, row: Row) -> Run:
        """Return the run of an entry, and create it if it does not exist.

        Raises:
            UserError: The run is of another recipe or other seeds, or needs code that is not
                trusted here.
        """
        path, recipe = self.path / row.folder, placed(row.recipe)
        if not (path / "run.json").exists():
            layout = layout_of(row.recipe)
            folder = folders.create(
                recipe, layout, row.source, self.spec.seeds, row.folder, ("evaluating",),
                inside=self.path,
            )  # fmt: skip
            return Run(folder, recipe=recipe, layout=layout)
        run = Run(folders.find(str(path)))
        if not (folders.has_code(run.layout) and user.is_known(run.recipe.positions)):
            raise UserError(
                f"run {run.folder.address!r} brings code that is not installed here: read it,"
                f" then type `curta train --resume {run.folder.argument} --trust`"
            )
        if (run.recipe, run.seeds) != (recipe, self.spec.seeds):
            raise UserError(f"{str(run.folder.path)!r} is not the run that {COMPARISON} says it is")
        return run


def beside(folders: Sequence[Folder], evaluation: str = "") -> ComparisonResults:
    """Return runs that were trained separately as the results of a comparison.

    `evaluation` names an evaluation with other settings than the recipes'.
    """
    names = [folder.name for folder in folders]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"two of the runs are called {twice!r}: each is shown once, by its name")
    infos = [folder.read_info() for folder in folders]
    rows = [
        _row(Row(folder.name, info.recipe, {}, folder.read_recipe()), folder.path, evaluation)
        for folder, info in zip(folders, infos, strict=True)
    ]
    seeds = max((info.seeds for info in infos), key=len)
    return ComparisonResults("-".join(names), ", ".join(names), "", seeds, [], rows)


def refused(recipe: Recipe) -> list[UnevaluatedSize]:
    """Return the sizes of the evaluation at which models of this recipe have no positions."""
    return [
        UnevaluatedSize(operator, str(size), max(as_size(size, operator)), reason)
        for operator in (task.operator for task in recipe.tasks)
        for size in recipe.evaluation.sizes(operator)
        if (reason := refusal(recipe, operator, size)) is not None
    ]


def placed(recipe: Recipe) -> Recipe:
    """Return the recipe with its evaluation reduced to what its models have positions for."""
    settings, operators = recipe.evaluation, [task.operator for task in recipe.tasks]
    fits = lambda size, operator: refusal(recipe, operator, size) is None
    changes: dict[str, Any] = {}
    if refused(recipe):
        digits = {o: tuple(s for s in settings.sizes(o) if fits(s, o)) for o in operators}
        changes["digits"] = {operator: sizes for operator, sizes in digits.items() if sizes}
    for field, size in (("grid", settings.grid), ("table", len(str(settings.table)))):
        if getattr(settings, field) and not all(fits(size, operator) for operator in operators):
            changes[field] = 0
    return replace(recipe, evaluation=replace(settings, **changes))


def _row(row: Row, path: Path, evaluation_name: str) -> ComparisonRow:
    """Return an entry, with its cost and results if its run has begun."""
    waiting = ComparisonRow(
        name=row.name,
        run=row.folder,
        recipe=row.source,
        changes=json.loads(json.dumps(row.changes, default=str)),
        structure=folders.structure(row.recipe),
        settings=as_table(row.recipe),
        status="waiting",
        lengths=[],
        unplaced=refused(row.recipe),
        entry=row.entry,
    )
    if not (path / "run.json").exists():
        return waiting
    folder = Folder(path)
    info, evaluation = folder.read_info(), folder.read_evaluation(evaluation_name)
    last = {line.member: line for line in metrics.read_last(folder.metrics, len(info.seeds))}
    lines = [last.get(member) for member in range(len(info.seeds))]
    return replace(
        waiting,
        status=info.status,
        steps=info.steps,
        parameters=info.parameters,
        training_seconds=info.training_seconds,
        stopped=info.stopped,
        loss=summary_statistics([line.loss if line else None for line in lines]),
        exact_match=summary_statistics([line.exact_match if line else None for line in lines]),
        lengths=[slice_summary(line) for line in evaluation.lengths] if evaluation else [],
        unevaluated=evaluation.unevaluated if evaluation else (),
    )


def _fits(path: Path, spec: ComparisonSpec) -> bool:
    """Return whether a folder is free, or holds a part of the specification."""
    if not (path / COMPARISON).exists():
        return not path.exists()
    stored, recipes_of = _spec(path), {row.folder: row.recipe for row in spec.rows}
    is_part = all(recipes_of.get(row.folder) == row.recipe for row in stored.rows)
    return is_part and stored.seeds == spec.seeds


def _spec(path: Path, only: str | None = None) -> ComparisonSpec:
    """Return the specification in comparison.json, or that of a single entry.

    Of the user's files, only those that were executed on this machine before are executed.
    """
    results, rows = read_comparison(path), []
    userfiles.remembered(path, results.files)
    for row in results.rows:
        if only not in (None, row.run):
            continue
        where = f"comparison {path.name!r}: {row.name!r}"
        recipes.check_kept(row.settings, where)
        recipe = recipes.parse(row.settings, where)
        rows.append(Row(row.name, row.recipe, row.changes, recipe, row.entry))
    title, summary, swept = results.title, results.summary, tuple(results.swept)
    return ComparisonSpec(title, summary, results.seeds, tuple(rows), swept, path.name)
