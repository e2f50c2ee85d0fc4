"""The report of a comparison: one HTML page, and its figures as SVG files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup

from curta.evaluation.results import SliceSummary
from curta.report.compared import (
    ComparisonData,
    compared_of,
    hardest,
    read_comparison,
    slices_of,
    why_missing,
)
from curta.report.comparison_figures import draw_all
from curta.report.descriptions import DESCRIPTIONS
from curta.report.figures import svg_element
from curta.report.page import RunReport, page_scripts, report_run, write_page
from curta.report.rendering import PagePart, document, render
from curta.report.summary import MISSING, Range, cell, counted, finite, listed, range_of
from curta.report.tables import gap_rows
from curta.runs.info import ComparisonResults, ComparisonRow

KINDS = {
    "map": "map", "by": "by", "lengths": "compared lengths", "learning": "compared learning",
}  # fmt: skip
"""The kinds of figures, and the names of their descriptions."""

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
"""What stands in place of an evaluation that has not taken place."""


def write_comparison(folder: Path) -> Path:
    """Write the report of a comparison into its folder."""
    compared = read_comparison(folder)
    drawn = draw_comparison(compared)
    return write_page(folder, render_comparison(compared, drawn, {}, PagePart()), drawn)


def write_together(
    folder: Path,
    results: ComparisonResults,
    folders: Mapping[str, Path],
    work: PagePart,
    evaluation: str = "",
) -> Path:
    """Write one report of runs from any folders, with everything that each run's report has.

    `folders` are the runs by the names of their rows, `work` is the models that calculate in the
    page, `evaluation` names a further evaluation to show in place of the recipe's.
    """
    compared = compared_of(results, folders, evaluation)
    reports = {
        name: report_run(folders[name], evaluation, f"run-{number}-")
        for number, name in enumerate(compared.runs)
    }
    drawn = draw_comparison(compared)
    return write_page(folder, render_comparison(compared, drawn, reports, work), drawn)


def draw_comparison(compared: ComparisonData) -> dict[str, Markup]:
    """Return the figures for which there is data, by the names of their files."""
    return {
        name: svg_element(
            figure, name.replace(".", "-"), DESCRIPTIONS[KINDS[name.partition("-")[0]]]
        )
        for name, figure in draw_all(compared).items()
    }


def render_comparison(
    compared: ComparisonData,
    drawn: Mapping[str, Markup],
    reports: Mapping[str, RunReport],
    work: PagePart,
) -> str:
    """Return the whole page as text."""
    plots = {
        kind: {name: plot for name, plot in drawn.items() if name.partition("-")[0] == kind}
        for kind in KINDS
    }
    recipes = {} if reports else {name: run.recipe for name, run in compared.runs.items()}
    columns = [(operator, size) for operator, sizes in compared.sizes.items() for size in sizes]
    rows = [(row, [_exact_match(row, *column) for column in columns]) for row in compared.rows]
    gaps = [
        (name, gap, {row.name: range_of(row.values) for row in gap_rows(gap)})
        for name, run in compared.runs.items()
        for gap in run.evaluation.gaps
    ]
    sections: list[tuple[str, str, Any]] = [
        ("Results", "comparison/results.html", rows),
        ("Let them calculate", "run/work.html", work.body),
        ("Map", "comparison/map.html", plots["map"]),
        ("Swept values", "comparison/swept.html", plots["by"]),
        ("By length", "comparison/lengths.html", plots["lengths"]),
        ("By slice", "comparison/slices.html", _slices(compared)),
        ("Trained and held out", "comparison/gaps.html", gaps),
        ("Learning", "comparison/learning.html", plots["learning"]),
        ("Side by side", "comparison/differences.html", _differences(compared)),
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
        sections=[(f"part-{n}", *section) for n, section in enumerate(sections) if section[-1]],
        STATES=STATES,
    )
    title = f"{compared.results.title}: comparison"
    return document(title, [PagePart(body, work.style, work.script), *page_scripts(body)])


def _exact_match(row: ComparisonRow, operator: str, size: str) -> Range | str:
    """Return exact match in the hardest slice of a size, or why there is none."""
    slices = slices_of(row, operator, size)
    if slices:
        return hardest(slices)
    reason = why_missing(row, operator, size)
    return reason or (MISSING if row.lengths else STATES[row.status])


def _slices(compared: ComparisonData) -> dict[str, Any] | None:
    """Return by operator and entry a row for each slice; one row where all slices are equal.

    A row is the slice's name, the problems of its largest size, and a range or reason per size.
    """
    present = {summary.slice_name for row in compared.rows for summary in row.lengths}
    if not present:
        return None
    tables: dict[str, dict[str, list[tuple[str, int, list[Range | str]]]]] = {}
    for operator, sizes in compared.sizes.items():
        tables[operator] = {}
        for row in compared.rows:
            slices: dict[str, dict[str, SliceSummary]] = {}
            for summary in row.lengths:
                if summary.operator == operator:
                    slices.setdefault(summary.slice_name, {})[summary.size] = summary
            rows = list[tuple[str, int, list[Range | str]]]()
            for name, by_size in slices.items():
                cells = list[Range | str]()
                for size in sizes:
                    match = by_size[size].exact_match if size in by_size else None
                    if match is None or match.median is None:
                        cells.append(_exact_match(row, operator, size))
                    else:
                        cells.append(range_of(finite(match.members)))
                rows.append((name, max(summary.count for summary in by_size.values()), cells))
            if len(rows) > 1 and all(cells == rows[0][2] for _, _, cells in rows):
                problems = sum(count for _, count, _ in rows)
                rows = [(f"all {counted(len(rows), 'slice')}", problems, rows[0][2])]
            tables[operator][row.name] = rows
    return {"present": present, "tables": tables}


def _differences(compared: ComparisonData) -> dict[str, Any] | None:
    """Return the fields in which recipes differ, with each run's value; None for a single run."""
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
    return {"names": list(recipes), "differing": differing, "same": len(every) - len(differing)}


def recipe_fields(recipe: str) -> dict[str, Any]:
    """Return the fields of a TOML recipe: `{"section.field": value, "task +.field": value}`."""
    fields: dict[str, Any] = {}
    for section, value in tomllib.loads(recipe).items():
        for table in value if isinstance(value, list) else [value]:
            name = f"{section} {table['operator']}" if section == "task" else section
            items = table.items() if isinstance(table, dict) else [("", table)]
            fields |= {f"{name}.{key}".rstrip("."): item for key, item in items}
    return fields
