"""Several runs under the same conditions: trained, evaluated, and put side by side.

runs/NAME/comparison.json   what is compared, and what was found
          ENTRY/            a run folder for each entry, like any other
          report.html       and its pictures

All that is needed to go on lies in comparison.json, so a comparison that was
interrupted continues where it was, and one may be given further entries later: a run
that is finished is never trained again.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from curta.config import files, typed
from curta.config.errors import UserError, unknown
from curta.config.recipe import Recipe, as_table
from curta.evaluation import expected
from curta.evaluation.evaluation_set import refusal
from curta.evaluation.results import UnevaluatedSize
from curta.layouts.texts import layout_of
from curta.model import recipes
from curta.model.positions import user
from curta.problems.tasks import as_size
from curta.programs.user import kept, userfiles
from curta.programs.user.userfiles import KeptFile
from curta.runs import folders, metrics, ownership
from curta.runs.comparison_spec import ComparisonSpec, Row
from curta.runs.folders import COMPARISON, Folder, read_comparison
from curta.runs.results import ComparisonResults, ComparisonRow
from curta.runs.session import Session
from curta.runs.summary import slice_summary, summary_statistics

Kind = TypeVar("Kind", bound="Comparison")


class Comparison:
    """A specification, and the folder that its runs lie in."""

    session: type[Session] = Session
    """What its runs are made as."""

    def __init__(self, path: Path, spec: ComparisonSpec, code: tuple[KeptFile, ...] = ()) -> None:
        self.path = path
        self.spec = spec
        self.code = code
        """The user's files that its recipes name; a run that has begun has its own."""

    @classmethod
    def begin(cls: type[Kind], spec: ComparisonSpec, name: str | None, base: str) -> Kind:
        """The comparison of that name if it has such runs, else a new one.

        Without a name it is called `base`, numbered if a folder of another content is called
        so. UserError if the folder that is named has another content.
        """
        if name is not None:
            if not _fits(path := folders.root() / folders.checked(name), spec):
                raise UserError(f"{name!r} exists already with other runs: choose another name")
            return cls(path, spec, _code(spec))
        paths = (folders.root() / one for one in folders.numbered(base))
        return cls(next(path for path in paths if _fits(path, spec)), spec, _code(spec))

    @classmethod
    def load(cls: type[Kind], name: str, only: str | None = None) -> Kind:
        """A comparison by its name in the runs folder, or by its path.

        With `only` it has a single row, by its run's folder, to be completed: the recipes of the
        others are not looked at, and may be broken.
        """
        path = folders.comparison_path(name)
        if not (path / COMPARISON).exists():
            raise unknown("comparison", name, folders.comparisons(), "curta runs")
        return cls(path, _spec(path, only), read_comparison(path).files)

    @property
    def name(self) -> str:
        return self.path.name

    def find_folders(self) -> dict[str, Path]:
        """The folders of its rows by their names, of those that have begun."""
        named = {row.name: self.path / row.folder for row in self.spec.rows}
        return {name: path for name, path in named.items() if (path / "run.json").exists()}

    def read_results(self, evaluation: str = "") -> ComparisonResults:
        """What is compared and what is known of it by now; what comparison.json holds.

        With the name of an `evaluation` it is that of each run in place of the recipe's.
        """
        return ComparisonResults(
            name=self.name,
            title=self.spec.title,
            summary=self.spec.summary,
            seeds=list(self.spec.seeds),
            swept=list(self.spec.swept),
            files=self.code,
            rows=[_row(row, self.path / row.folder, evaluation) for row in self.spec.rows],
        )

    def run_comparison(
        self,
        train: Callable[[Row, Session], None] = lambda row, run: run.train(),
        say: Callable[[str], None] = lambda what: None,
    ) -> bool:
        """Trains and evaluates what is not finished yet; False if it was interrupted."""
        self.path.mkdir(parents=True, exist_ok=True)
        with ownership.owned(self.path):
            known = self.save()
            for place, row in enumerate(self.spec.rows):
                if not self.complete(row, train, say):
                    return False
                found = _row(row, self.path / row.folder, "")
                if found != known.rows[place]:
                    known.rows[place] = found
                    self._write(known)
        return True

    def save(self) -> ComparisonResults:
        """Writes what is compared, and what is known of it by now, which is given back."""
        self.path.mkdir(parents=True, exist_ok=True)
        with ownership.owned(self.path):
            for one in filter(None, (userfiles.known(kept.file) for kept in self.code)):
                files.write(self.path / one.tag, one.content)
            found = self.read_results()
            self._write(found)
        return found

    def _write(self, found: ComparisonResults) -> None:
        files.write(self.path / COMPARISON, typed.text(found, indent=1))

    def pace(self) -> expected.Pace:
        """How far it is at each row that is not finished, from now on."""
        folders = self.find_folders()
        left = [row for row in self.spec.rows if not _is_finished(folders.get(row.name))]
        members = len(self.spec.seeds)
        parts = [expected.whole(row.name, placed(row.recipe), members) for row in left]
        return expected.Pace(parts)

    def complete(
        self, row: Row, train: Callable[[Row, Session], None], say: Callable[[str], None]
    ) -> bool:
        """Trains and evaluates a row, as far as that is missing; False if it was interrupted."""
        run = self._run(row)
        if "training" in run.missing():
            train(row, run)
        if not run.folder.read_info().over:
            return False
        if "evaluating" in run.missing():
            run.evaluate(lambda what: say(f"{row.name}: {what}"))
        return True

    def _run(self, row: Row) -> Session:
        """The row's run, begun if it is not yet there."""
        if not (self.path / row.folder / "run.json").exists():
            seeds, inside = self.spec.seeds, self.path
            recipe, layout = placed(row.recipe), layout_of(row.recipe)
            made = folders.create(
                recipe, layout, row.source, seeds, row.folder, ("evaluating",), inside=inside
            )
            return self.session(made)
        run = self.session(folders.find(str(self.path / row.folder)))
        if not (run.code_known and user.is_known(run.recipe.positions)):
            called = run.folder.address
            raise UserError(
                f"run {called!r} has code of its own that is not known here: read it, and then"
                f" `curta train --resume {called} --trust`"
            )
        if (run.recipe, run.seeds) != (placed(row.recipe), self.spec.seeds):
            raise UserError(f"{str(run.folder.path)!r} is not the run that {COMPARISON} says it is")
        return run


def _is_finished(path: Path | None) -> bool:
    return path is not None and Folder(path).read_info().status == "finished"


def beside(folders: Sequence[Folder], evaluation: str = "") -> ComparisonResults:
    """Runs that were trained on their own, as comparison.json has those of a comparison.

    Their evaluations are the recipes', or those of a name.
    """
    names = [folder.name for folder in folders]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"two of the runs are called {twice!r}: each is shown once, by its name")
    known = [folder.read_info() for folder in folders]
    rows = [
        Row(folder.name, info.recipe, {}, folder.read_recipe())
        for folder, info in zip(folders, known, strict=True)
    ]
    return ComparisonResults(
        name="-".join(names),
        title=", ".join(names),
        summary="",
        seeds=max((info.seeds for info in known), key=len),
        swept=[],
        rows=[
            _row(row, folder.path, evaluation) for row, folder in zip(rows, folders, strict=True)
        ],
    )


def refused(recipe: Recipe) -> list[UnevaluatedSize]:
    """The sizes of the evaluation at which models of this recipe have no positions."""
    asked = [
        (task.operator, size) for task in recipe.tasks for size in _sizes(recipe, task.operator)
    ]
    reasons = [(o, size, refusal(recipe, o, size)) for o, size in asked]
    return [
        UnevaluatedSize(operator=o, size=str(size), digits=max(as_size(size, o)), reason=r)
        for o, size, r in reasons
        if r is not None
    ]


def placed(recipe: Recipe) -> Recipe:
    """The recipe without what its evaluation asks for and these models have no positions for."""
    return replace(recipe, evaluation=replace(recipe.evaluation, **_supported(recipe)))


def _supported(recipe: Recipe) -> dict[str, Any]:
    """The fields of the evaluation that have to be others for that."""
    spec, operators = recipe.evaluation, [task.operator for task in recipe.tasks]
    out = {(row.operator, row.size) for row in refused(recipe)}
    changes: dict[str, Any] = {}
    if out:
        fit = {o: [one for one in _sizes(recipe, o) if (o, str(one)) not in out] for o in operators}
        changes["digits"] = {o: tuple(sizes) for o, sizes in fit.items() if sizes}
    if spec.grid and any(refusal(recipe, o, spec.grid) for o in operators):
        changes["grid"] = 0
    widest = len(str(spec.table))
    if spec.table and any(refusal(recipe, o, widest) for o in operators):
        changes["table"] = 0
    return changes


def _sizes(recipe: Recipe, operator: str) -> tuple[int | str, ...]:
    return recipe.evaluation.sizes(operator)


def _row(row: Row, path: Path, evaluation: str) -> ComparisonRow:
    """A row of the specification, and what its run has found if it has begun."""
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
    begun = (path / "run.json").exists()
    return _found(waiting, Folder(path), evaluation) if begun else waiting


def _found(row: ComparisonRow, folder: Folder, name: str) -> ComparisonRow:
    """With what a run has found: its cost, its last training steps, its evaluation."""
    info, evaluation = folder.read_info(), folder.read_evaluation(name)
    lines = metrics.read_last(folder.metrics, len(info.seeds))
    loss = {line.member: line.loss for line in lines}
    exact_match = {line.member: line.exact_match for line in lines}
    members = range(len(info.seeds))
    return replace(
        row,
        status=info.status,
        steps=info.steps,
        parameters=info.parameters,
        training_seconds=info.training_seconds,
        stopped=info.stopped,
        loss=summary_statistics([loss.get(member) for member in members]),
        exact_match=summary_statistics([exact_match.get(member) for member in members]),
        lengths=[slice_summary(one) for one in evaluation.lengths] if evaluation else [],
        unevaluated=evaluation.unevaluated if evaluation else (),
    )


def _fits(path: Path, spec: ComparisonSpec) -> bool:
    """Whether the specification can be run in that folder: what is there is part of it."""
    if not path.exists():
        return True
    if not (path / COMPARISON).exists():
        return False
    there = _spec(path)
    mine = {row.folder: row.recipe for row in spec.rows}
    same = all(mine.get(row.folder) == row.recipe for row in there.rows)
    return same and there.seeds == spec.seeds


def _code(spec: ComparisonSpec) -> tuple[KeptFile, ...]:
    """The user's files that the recipes of a specification name, each once, by their tags."""
    tags = sorted({tag for row in spec.rows for tag in kept.tags(row.recipe)})
    found = filter(None, map(userfiles.known, tags))
    return tuple(KeptFile(one.tag, one.name, one.sha256) for one in found)


def _spec(path: Path, only: str | None = None) -> ComparisonSpec:
    """The specification that comparison.json holds, or one of a single run's folder.

    Of the user's files those are executed that were executed on this machine before.
    """
    found, where = read_comparison(path), f"comparison {path.name!r}"
    userfiles.remembered(path, found.files)
    rows = tuple(_specified(row, where) for row in found.rows if only in (None, row.run))
    return ComparisonSpec(found.title, found.summary, found.seeds, rows, tuple(found.swept))


def _specified(row: ComparisonRow, where: str) -> Row:
    named = f"{where}: {row.name!r}"
    recipes.check_kept(row.settings, named)
    recipe = recipes.parse(row.settings, named)
    return Row(row.name, row.recipe, row.changes, recipe, row.entry)
