"""The report of a comparison: one HTML page, and its figures as SVG files."""

from __future__ import annotations

import tomllib
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from curta.config.table import MISSING, cell
from curta.report.compared import ComparisonData, compared_of, exact_match_at, read_comparison
from curta.report.comparison_figures import draw_all
from curta.report.figures import COMPARISON_FIGURES, svg_element
from curta.report.page import RunReport, page_scripts, report_run, write_page
from curta.report.rendering import PagePart, document, render
from curta.report.summary import Range, listed, range_of
from curta.report.tables import gap_rows
from curta.runs.info import ComparisonResults


def write_comparison(folder: Path) -> Path:
    """Write the report of a comparison into its folder."""
    return _write(folder, read_comparison(folder), {}, PagePart())


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
    return _write(folder, compared, reports, work)


def _write(
    folder: Path, compared: ComparisonData, reports: Mapping[str, RunReport], work: PagePart
) -> Path:
    """Write the page, and its figures for which there is data."""
    plots: dict[str, dict[str, Markup]] = {kind: {} for kind in COMPARISON_FIGURES}
    for name, figure in draw_all(compared).items():
        kind = name.partition("-")[0]
        element = svg_element(figure, name.replace(".", "-"), COMPARISON_FIGURES[kind])
        plots[kind][name] = element
    recipes = {} if reports else {name: run.recipe for name, run in compared.runs.items()}
    columns = [(operator, size) for operator, sizes in compared.sizes.items() for size in sizes]
    rows = [
        (row, [exact_match_at(row, *column) for column in columns]) for row in compared.results.rows
    ]
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
    seeds = compared.results.seeds
    members = f"{len(seeds)} ({listed(seeds)})"
    if any(info.seeds != seeds for info in infos):
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
    )
    title = f"{compared.results.title}: comparison"
    page = document(title, [PagePart(body, work.style, work.script), *page_scripts(body)])
    return write_page(folder, page, ChainMap(*plots.values()))


def _slices(compared: ComparisonData) -> dict[str, Any] | None:
    """Return by operator and entry a row for each slice.

    A row is the slice's name, the problems of its largest size, and a range or reason per size.
    """
    present = {summary.slice_name for row in compared.results.rows for summary in row.lengths}
    tables: dict[str, dict[str, list[tuple[str, int, list[Range | str]]]]] = {}
    for operator, sizes in compared.sizes.items():
        tables[operator] = {}
        for row in compared.results.rows:
            rows = tables[operator][row.name] = []
            mine = [summary for summary in row.lengths if summary.operator == operator]
            for name in dict.fromkeys(summary.slice_name for summary in mine):
                slices = [summary for summary in mine if summary.slice_name == name]
                only = replace(row, lengths=slices)
                cells = [exact_match_at(only, operator, size) for size in sizes]
                rows.append((name, max(summary.count for summary in slices), cells))
    return {"present": present, "tables": tables} if present else None


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
