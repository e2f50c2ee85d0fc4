"""The report of a comparison: one HTML page, and its figures as PNG and SVG files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from curta.evaluation.results import Gap, SliceSummary
from curta.report import bands, gaps, phases, swept
from curta.report.compared import (
    Compared,
    compared_of,
    hardest,
    read_comparison,
    slices_of,
    why_missing,
)
from curta.report.differences import differences
from curta.report.document import Part, document
from curta.report.images import inline_svg
from curta.report.page import Section, Shown, moving, parts, show, write_page
from curta.report.rendering import render
from curta.report.run_folder import Run
from curta.report.summary import MISSING, Range, counted, finite, listed, range_of
from curta.runs.results import ComparisonResults, ComparisonRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DESCRIPTIONS = {
    "map": "Heat map of the median exact match out-of-distribution by two things that were varied; "
    "the number in a cell is how many members are right throughout.",
    "by": "Loss at the end of training and exact match, in-distribution and out-of-distribution, "
    "of every member, with their median as a line and their range as a band.",
    "lengths": "Exact match in the hardest slice against operand length: a panel for each "
    "entry, the median over members as a line and their range as a band.",
    "learning": "Loss and exact match on training problems against training step: a row of "
    "panels for each entry, the median over members as a line and their range as a band.",
}
"""What each kind of figure shows, for readers who cannot see it."""

STATES = (
    {name: name for name in ("interrupted", "failed", "stopped")}
    | {
        "waiting": "not trained yet",
        "created": "not trained yet",
        "training": "in training",
        "finished": "not evaluated",
    }
    | dict.fromkeys(("evaluating", "certifying", "reporting"), "in evaluation")
)
"""What stands for an evaluation that has not taken place."""

Cell = Range | str
"""Exact match over members, or why there is none."""


class SliceRow(NamedTuple):
    """One slice of an entry, and the problems of its largest size."""

    name: str
    problems: int
    cells: list[Cell]


class GapRow(NamedTuple):
    """An entry's problems of one operator, and what its members know of each kind."""

    entry: str
    gap: Gap
    kinds: dict[str, Range]


class Slices(NamedTuple):
    """The names of all slices; by operator and entry a row for each slice."""

    present: set[str]
    tables: dict[str, dict[str, list[SliceRow]]]


class Article(NamedTuple):
    """All that the report of one run has, but for its figures as files."""

    run: Run
    parts: dict[str, Any]


def write_comparison(folder: Path) -> Path:
    """Writes the report of a comparison into its folder."""
    return _write(folder, read_comparison(folder), {}, Part())


def write_together(
    folder: Path,
    results: ComparisonResults,
    folders: Mapping[str, Path],
    work: Part,
    evaluation: str = "",
) -> Path:
    """Writes one report of runs that lie anywhere, and all that the report of each has.

    `folders` are those of its rows by their names, `work` is the models that calculate in the
    page. `evaluation` names one to show in place of the recipes'.
    """
    compared = compared_of(results, folders, evaluation)
    shown = {name: show(folders[name], evaluation) for name in compared.runs}
    return _write(folder, compared, shown, work)


def _write(folder: Path, compared: Compared, runs: Mapping[str, Shown], work: Part) -> Path:
    plots = draw(compared)
    return write_page(folder, render_comparison(compared, plots, runs, work), plots)


def draw(compared: Compared) -> dict[str, Figure]:
    """The figures for which there is data, by the name of their file."""
    evaluated = any(row.lengths for row in compared.rows)
    plots = _swept(compared) if compared.results.swept and evaluated else {}
    if len(compared.rows) > bands.PANELS:
        return plots
    if evaluated:
        for number, operator in enumerate(compared.sizes, 1):
            name = "lengths" if len(compared.sizes) == 1 else f"lengths-{number}"
            plots[name] = bands.lengths(compared, operator)
    if any(run.metrics for run in compared.runs.values()):
        plots["learning"] = bands.learning(compared)
    return plots


def _swept(compared: Compared) -> dict[str, Figure]:
    """A map where two things were varied, and curves, unless they are more than have colours."""
    found = phases.found(compared)
    plots = {} if found is None else {"map": phases.draw(found)}
    entries = {row.entry for row in compared.rows}
    return plots | ({} if len(entries) > len(swept.SERIES) else swept.draw(compared))


def render_comparison(
    compared: Compared, plots: dict[str, Figure], runs: Mapping[str, Shown], work: Part
) -> str:
    """The whole page as text."""
    found = enumerate(_sections(compared, plots, runs, work))
    known = [run.info for run in compared.runs.values()]
    body = render(
        "comparison/page.html",
        results=compared.results,
        sizes=compared.sizes,
        members=_members(compared),
        several=compared.several,
        devices=list(dict.fromkeys(info.device for info in known)),
        sections=[Section(f"part-{number}", *one) for number, one in found if one[-1]],
        STATES=STATES,
    )
    title = f"{compared.results.title}: comparison"
    return document(title, [Part(body, work.style, work.script), *moving(body)])


def _sections(
    compared: Compared, plots: dict[str, Figure], runs: Mapping[str, Shown], work: Part
) -> list[tuple[str, str, Any]]:
    """The title of each section in the contents, its template, and its data if there is any."""
    recipes = {} if runs else {name: run.recipe for name, run in compared.runs.items()}
    drawn = {kind: _figures(plots, kind) for kind in DESCRIPTIONS}
    return [
        ("Results", "comparison/results.html", _results(compared)),
        ("Let them calculate", "run/work.html", work.body),
        ("Map", "comparison/map.html", drawn["map"]),
        ("Swept values", "comparison/swept.html", drawn["by"]),
        ("By length", "comparison/lengths.html", drawn["lengths"]),
        ("By slice", "comparison/slices.html", _slices(compared)),
        ("Trained and held out", "comparison/gaps.html", _gaps(compared)),
        ("Learning", "comparison/learning.html", drawn["learning"]),
        ("Side by side", "comparison/differences.html", differences(compared)),
        ("Recipes", "comparison/recipes.html", recipes),
        *(
            (name, "comparison/article.html", Article(one.run, parts(one, f"run-{number}-")))
            for number, (name, one) in enumerate(runs.items())
        ),
    ]


def _figures(plots: dict[str, Figure], kind: str) -> dict[str, Markup]:
    """The figures of one kind, as parts of the page."""
    return {
        name: inline_svg(plot, name.replace(".", "-"), DESCRIPTIONS[kind])
        for name, plot in plots.items()
        if name.partition("-")[0] == kind
    }


def _members(compared: Compared) -> str:
    """How many there are and their seeds, or how few and how many where runs differ."""
    seeds = [run.info.seeds for run in compared.runs.values()]
    if all(mine == compared.seeds for mine in seeds):
        return f"{len(compared.seeds)} ({listed(compared.seeds)})"
    return f"{min(map(len, seeds))} to {max(map(len, seeds))}"


def _results(compared: Compared) -> list[tuple[ComparisonRow, list[Cell]]]:
    """Every entry with a cell for each size of each operator."""
    columns = [(operator, size) for operator, sizes in compared.sizes.items() for size in sizes]
    return [(row, [_exact_match(row, *one) for one in columns]) for row in compared.rows]


def _exact_match(row: ComparisonRow, operator: str, size: str) -> Cell:
    """In the hardest slice of a size."""
    slices = slices_of(row, operator, size)
    if slices:
        return hardest(slices)
    reason = why_missing(row, operator, size)
    return reason or (MISSING if row.lengths else STATES[row.status])


def _gaps(compared: Compared) -> list[GapRow]:
    """A row for each entry and operator of which it is known what was trained on."""
    return [
        GapRow(name, gap, {row.name: range_of(row.values) for row in gaps.rows(gap)})
        for name, run in compared.runs.items()
        for gap in run.evaluation.gaps
    ]


def _slices(compared: Compared) -> Slices | None:
    """Every slice, operator by operator; None where nothing was evaluated."""
    present = {one.slice_name for row in compared.rows for one in row.lengths}
    if not present:
        return None
    tables = {
        operator: {row.name: _slice_rows(row, operator, sizes) for row in compared.rows}
        for operator, sizes in compared.sizes.items()
    }
    return Slices(present, tables)


def _slice_rows(row: ComparisonRow, operator: str, sizes: list[str]) -> list[SliceRow]:
    """A row for each slice, or one for all of them where they are equal."""
    found: dict[str, dict[str, SliceSummary]] = {}
    for one in row.lengths:
        if one.operator == operator:
            found.setdefault(one.slice_name, {})[one.size] = one
    rows = [
        SliceRow(name, max(one.count for one in mine.values()),
                 [_slice_cell(row, operator, size, mine) for size in sizes])
        for name, mine in found.items()
    ]  # fmt: skip
    if len(rows) < 2 or any(one.cells != rows[0].cells for one in rows):
        return rows
    name = f"all {counted(len(rows), 'slice')}"
    return [SliceRow(name, sum(one.problems for one in rows), rows[0].cells)]


def _slice_cell(
    row: ComparisonRow, operator: str, size: str, found: Mapping[str, SliceSummary]
) -> Cell:
    one = found.get(size)
    if one is None or one.exact_match.median is None:
        return _exact_match(row, operator, size)
    return range_of(finite(one.exact_match.members))
