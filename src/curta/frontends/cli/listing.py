"""What lies in the runs folder: `curta runs` lists it, `curta rm` removes some of it."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import click

from curta.config.errors import UserError, printable
from curta.config.table import Cells, Column, Table, cell
from curta.frontends.cli import options

if TYPE_CHECKING:
    from curta.evaluation.results import Evaluation
    from curta.runs.info import RunInfo


@dataclass(frozen=True)
class Listed:
    """A run as it is listed; of a damaged one the name, and what is wrong."""

    name: str
    recipe: str = ""
    operators: tuple[str, ...] = ()
    seeds: int = 0
    status: str = "damaged"
    created: str = ""
    rows: int = 0
    hardest: float | None = None
    problem: str = ""


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--recipe", metavar="R", help="Only runs of this recipe.")
@click.option("--operator", metavar="O", help="Only runs that know this operator.")
@click.option("--status", metavar="S", help="Only runs of this status, such as finished.")
@options.evaluation
@options.as_json
@options.tables
def runs(
    names: tuple[str, ...],
    recipe: str | None,
    operator: str | None,
    status: str | None,
    evaluation: str,
    as_json: bool,
) -> int:
    """List the runs.

    NAME is a run's, or a pattern such as 'addition-*'.
    """
    from curta.frontends.cli.display import notice
    from curta.runs import folders

    here = _matching(folders.existing(), names)
    wanted = {"recipe": recipe, "status": status}
    asked = {name: value for name, value in wanted.items() if value is not None}
    found = [listed(name, evaluation) for name in here]
    found = [one for one in found if all(getattr(one, name) == asked[name] for name in asked)]
    found = [one for one in found if operator is None or operator in one.operators]
    compared = [] if asked or operator else _matching(folders.comparisons(), names)
    if as_json:
        print(json.dumps([vars(one) for one in found]))
        return 0
    if not (found or compared):
        print(_nothing(any((names, asked, operator))))
    notice(_table(found) if found else None)
    notice(f"comparisons: {', '.join(map(printable, compared))}" if compared else None)
    return 0


@click.command()
@click.argument("names", nargs=-1, required=True, type=options.NAME, metavar="RUN...")
@click.option("--yes", is_flag=True, help="Do not ask.")
def rm(names: tuple[str, ...], yes: bool) -> int:
    """Remove runs, or comparisons with all their runs; asks first.

    RUN is a name or a path. What a process works on is not removed.
    """
    from curta.frontends.cli.display import notice
    from curta.runs import removal

    paths = [removal.path_of(name) for name in dict.fromkeys(names)]
    shown = ", ".join(printable(path) for path in paths)
    if not yes and not _agreed(f"Remove {shown}? This cannot be undone."):
        notice("Nothing was removed.")
        return 1
    for path in paths:
        removal.remove(path)
        notice(f"Removed {printable(path)}")
    return 0


def listed(name: str, evaluation: str = "") -> Listed:
    """What the files of a run say; what is wrong with them instead, whatever lies there."""
    from curta.runs import folders, metrics

    try:
        folder = folders.find(name)
        info = folder.read_info()
        metrics.read_last(folder.metrics, len(info.seeds))
        there = not evaluation or evaluation in folder.evaluation_names()
        return _of(name, info, folder.read_evaluation(evaluation) if there else None)
    except (OSError, ValueError) as error:  # UserError among them
        return Listed(name, problem=str(error))


def _of(name: str, info: "RunInfo", found: "Evaluation | None") -> Listed:
    medians = [statistics.median(row.exact_match) for row in (found.lengths if found else ())]
    return Listed(
        name, info.recipe, tuple(info.operators), len(info.seeds), info.status, info.created,
        len(medians), min(medians, default=None),
    )  # fmt: skip


def _matching(known: Sequence[str], patterns: Sequence[str]) -> list[str]:
    if not patterns:
        return list(known)
    return [name for name in known if any(fnmatchcase(name, one) for one in patterns)]


def _nothing(filtered: bool) -> str:
    from curta.runs import folders

    where = repr(str(folders.root()))
    if filtered:
        return f"no such runs in {where}: `curta runs` lists all"
    return f"no runs in {where} yet: train one with `curta train`"


def _agreed(question: str) -> bool:
    try:
        return click.confirm(question, err=True)
    except click.Abort:
        raise UserError("nobody was there to be asked: --yes removes without asking") from None


def _table(rows: Sequence[Listed]) -> Table:
    columns = [
        *(Column(name, text=printable, words=True, fold=True) for name in ("run", "recipe")),
        Column("seeds", text=lambda count: f"{count or ''}"),
        Column("status", text=printable, words=True, fold=True,
               style=lambda status, row: "" if row[1] else "red"),
        Column("evaluation (median)", "hardest", kept=False, text=_hardest, words=True),
        Column("hardest", shown=False),
        Column("rows", shown=False),
    ]  # fmt: skip
    return Table("", columns, [_row(row) for row in rows])


def _row(row: Listed) -> Cells:
    return [
        row.name, row.recipe, row.seeds, row.problem or row.status, (row.hardest, row.rows),
        row.hardest, row.rows,
    ]  # fmt: skip


def _hardest(found: tuple[float | None, int]) -> str:
    share, rows = found
    among = "the only row" if rows == 1 else f"the hardest of {rows} rows"
    return "" if share is None else f"{cell(share)} in {among}"
