"""The report of a comparison: one HTML page, and its figures as SVG files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from curta.evaluation.results import Gap, SliceSummary
from curta.report.compared import (
    Compared,
    compared_of,
    hardest,
    read_comparison,
    slices_of,
    why_missing,
)
from curta.report.comparison_figures import draw_all
from curta.report.descriptions import DESCRIPTIONS
from curta.report.document import Part, document
from curta.report.images import svg_element
from curta.report.page import RunReport, Section, moving, report_run, write_page
from curta.report.rendering import render
from curta.report.summary import MISSING, Range, cell, counted, finite, listed, range_of
from curta.report.tables.evaluation import gap_rows
from curta.runs.info import ComparisonResults, ComparisonRow

KINDS = {
    "map": "map", "by": "by", "lengths": "compared lengths", "learning": "compared learning",
}  # fmt: skip
"""The kinds of figures, with the names of their descriptions."""

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

RangeOrReason = Range | str
"""Exact match over members, or why there is none."""


class SliceRow(NamedTuple):
    """One slice of an entry, and the problems of its largest size."""

    name: str
    problems: int
    cells: list[RangeOrReason]


class EntryGap(NamedTuple):
    """An entry's problems of one operator, and the exact match of its members on each kind."""

    entry: str
    gap: Gap
    kinds: dict[str, Range]


class Slices(NamedTuple):
    """The names of all slices; by operator and entry a row for each slice."""

    present: set[str]
    tables: dict[str, dict[str, list[SliceRow]]]


class Differences(NamedTuple):
    """For every field that is not the same everywhere, its value in each run; how many are."""

    names: list[str]
    differing: dict[str, list[str]]
    same: int


def write_comparison(folder: Path) -> Path:
    """Write the report of a comparison into its folder."""
    return _write(folder, read_comparison(folder), {}, Part())


def write_together(
    folder: Path,
    results: ComparisonResults,
    folders: Mapping[str, Path],
    work: Part,
    evaluation: str = "",
) -> Path:
    """Write one report of runs that lie anywhere, with all that the report of each has.

    `folders` are those of its rows by their names, `work` is the models that calculate in the
    page. `evaluation` names one to show in place of the recipes'.
    """
    compared = compared_of(results, folders, evaluation)
    reports = {
        name: report_run(folders[name], evaluation, f"run-{number}-")
        for number, name in enumerate(compared.runs)
    }
    return _write(folder, compared, reports, work)


def _write(folder: Path, compared: Compared, reports: Mapping[str, RunReport], work: Part) -> Path:
    drawn = draw_comparison(compared)
    return write_page(folder, render_comparison(compared, drawn, reports, work), drawn)


def draw_comparison(compared: Compared) -> dict[str, Markup]:
    """Return the figures for which there is data, by the names of their files."""
    return {
        name: svg_element(
            figure, name.replace(".", "-"), DESCRIPTIONS[KINDS[name.partition("-")[0]]]
        )
        for name, figure in draw_all(compared).items()
    }


def render_comparison(
    compared: Compared, drawn: Mapping[str, Markup], reports: Mapping[str, RunReport], work: Part
) -> str:
    """Return the whole page as text."""
    plots = {
        kind: {name: plot for name, plot in drawn.items() if name.partition("-")[0] == kind}
        for kind in KINDS
    }
    recipes = {} if reports else {name: run.recipe for name, run in compared.runs.items()}
    columns = [(operator, size) for operator, sizes in compared.sizes.items() for size in sizes]
    rows = [(row, [_exact_match(row, *one) for one in columns]) for row in compared.rows]
    gaps = [
        EntryGap(name, gap, {row.name: range_of(row.values) for row in gap_rows(gap)})
        for name, run in compared.runs.items()
        for gap in run.evaluation.gaps
    ]
    titled: list[tuple[str, str, Any]] = [
        ("Results", "comparison/results.html", rows),
        ("Let them calculate", "run/work.html", work.body),
        ("Map", "comparison/map.html", plots["map"]),
        ("Swept values", "comparison/swept.html", plots["by"]),
        ("By length", "comparison/lengths.html", plots["lengths"]),
        ("By slice", "comparison/slices.html", _slices(compared)),
        ("Trained and held out", "comparison/gaps.html", gaps),
        ("Learning", "comparison/learning.html", plots["learning"]),
        ("Side by side", "comparison/differences.html", differences(compared)),
        ("Recipes", "comparison/recipes.html", recipes),
        *((name, "comparison/article.html", report) for name, report in reports.items()),
    ]
    infos = [run.info for run in compared.runs.values()]
    members = f"{len(compared.seeds)} ({listed(compared.seeds)})"
    if any(info.seeds != compared.seeds for info in infos):
        counts = [len(info.seeds) for info in infos]
        members = f"{min(counts)} to {max(counts)}"
    body = render(
        "comparison/page.html",
        results=compared.results,
        sizes=compared.sizes,
        members=members,
        several=compared.several,
        devices=list(dict.fromkeys(info.device for info in infos)),
        sections=[Section(f"part-{n}", *one) for n, one in enumerate(titled) if one[-1]],
        STATES=STATES,
    )
    title = f"{compared.results.title}: comparison"
    return document(title, [Part(body, work.style, work.script), *moving(body)])


def _exact_match(row: ComparisonRow, operator: str, size: str) -> RangeOrReason:
    """Return exact match in the hardest slice of a size."""
    slices = slices_of(row, operator, size)
    if slices:
        return hardest(slices)
    reason = why_missing(row, operator, size)
    return reason or (MISSING if row.lengths else STATES[row.status])


def _slices(compared: Compared) -> Slices | None:
    """Return a row for each slice, or one for all of them where they are equal."""
    present = {one.slice_name for row in compared.rows for one in row.lengths}
    if not present:
        return None
    tables: dict[str, dict[str, list[SliceRow]]] = {}
    for operator, sizes in compared.sizes.items():
        tables[operator] = {}
        for row in compared.rows:
            slices: dict[str, dict[str, SliceSummary]] = {}
            for one in row.lengths:
                if one.operator == operator:
                    slices.setdefault(one.slice_name, {})[one.size] = one
            rows = list[SliceRow]()
            for name, by_size in slices.items():
                cells = list[RangeOrReason]()
                for size in sizes:
                    match = by_size[size].exact_match if size in by_size else None
                    if match is None or match.median is None:
                        cells.append(_exact_match(row, operator, size))
                    else:
                        cells.append(range_of(finite(match.members)))
                rows.append(SliceRow(name, max(one.count for one in by_size.values()), cells))
            if len(rows) > 1 and all(one.cells == rows[0].cells for one in rows):
                name, problems = f"all {counted(len(rows), 'slice')}", sum(r.problems for r in rows)
                rows = [SliceRow(name, problems, rows[0].cells)]
            tables[operator][row.name] = rows
    return Slices(present, tables)


def differences(compared: Compared) -> Differences | None:
    """Return in which fields the recipes differ; None for a single one."""
    recipes = {name: recipe_fields(run.recipe) for name, run in compared.runs.items()}
    if len(recipes) < 2:
        return None

    def text(value: Any) -> str:
        if isinstance(value, dict):
            return ", ".join(f"{key} {cell(item)}" for key, item in value.items()) or MISSING
        return f"{value:g}" if isinstance(value, float) else cell(value) or MISSING

    every = dict.fromkeys(path for recipe in recipes.values() for path in recipe)
    values = {path: [text(recipe.get(path)) for recipe in recipes.values()] for path in every}
    differing = {path: texts for path, texts in values.items() if len(set(texts)) > 1}
    return Differences(list(recipes), differing, len(every) - len(differing))


def recipe_fields(recipe: str) -> dict[str, Any]:
    """Return the fields of a TOML recipe: `{"section.field": value, "task +.field": value}`."""
    fields: dict[str, Any] = {}
    for section, value in tomllib.loads(recipe).items():
        for one in value if isinstance(value, list) else [value]:
            name = f"{section} {one['operator']}" if section == "task" else section
            inner = one.items() if isinstance(one, dict) else [("", one)]
            fields |= {f"{name}.{key}".rstrip("."): item for key, item in inner}
    return fields
