"""The report of a run: one HTML page that needs nothing but itself, and its figures as files."""

from __future__ import annotations

import tomllib
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from markupsafe import Markup

from curta.config import files
from curta.config.table import MISSING, cell
from curta.evaluation.statistics import Range, range_of
from curta.report import drawings, figures, sections
from curta.report.certificate import certificate_section
from curta.report.compared import ComparisonData, compared_of, exact_match_at, read_comparison
from curta.report.comparison_figures import draw_all
from curta.report.figures import COMPARISON_FIGURES, DESCRIPTIONS, svg_element, svg_file
from curta.report.rendering import PagePart, document, modules_text, render
from curta.report.run_folder import RunData, read_run
from curta.report.summary import listed
from curta.report.tables import gap_rows
from curta.runs.info import ComparisonResults

TITLES = {
    "work": "Let it calculate",
    "certificate": "Certificate",
    "results": "Exact match",
    "gaps": "Trained and held out",
    "splits": "Parts",
    "further": "Further evaluations",
    "grid": "Pairs of lengths",
    "errors": "Errors",
    "tables": "Whole tables",
    "named": "Named problems",
    "watched": "Over training",
    "learning": "Learning",
    "trails": "Vectors",
    "probes": "Probes",
    "examples": "Examples",
    "recipe": "Recipe",
}
"""The sections of a report in order: the name of the template, and the title in the contents."""

MOVING = ("heat", "player", "learned")
"""Classes of elements that the script of the same name animates."""


@dataclass(frozen=True)
class RunReport:
    """A run, and what its report shows: the sections of the page, and the drawings of its files."""

    run: RunData
    sections: dict[str, Any]
    """Those with data, by the name of the template."""
    drawings: dict[str, Markup]
    """By the name of the file."""


def write_report(
    folder: Path, work: PagePart | None = None, out: Path | None = None, evaluation: str = ""
) -> Path:
    """Write `report.html` and its figures as SVG files, by default into the run's folder.

    `work` is a model that calculates in the page, `evaluation` the name of a further evaluation to
    show in place of the recipe's.
    """
    report = report_run(folder, evaluation)
    return write_page(out or folder, render_report(report, work or PagePart()), report.drawings)


def write_page(folder: Path, text: str, drawn: Mapping[str, Markup]) -> Path:
    """Write `report.html` and its figures, each file replaced whole.

    Everything is rendered before: a report that cannot be rendered leaves the last one in place.
    """
    files.write(folder / "report.html", text.encode())
    for name, element in drawn.items():
        files.write(folder / f"{name}.svg", svg_file(element))
    return folder / "report.html"


def report_run(folder: Path, evaluation: str = "", prefix: str = "") -> RunReport:
    """Read a run and draw its figures, each once.

    `prefix` keeps the ids of figures apart on a page that shows several runs.
    """
    run = read_run(folder, evaluation)
    results, stopped, certificate = run.evaluation, run.info.stopped, run.folder.read_certificate()
    plots: dict[str, Any] = {}
    if run.metrics:
        curves = (run.metrics, stopped, run.counted_in_training)
        plots["learning"] = figures.learning_curves(*curves)
        plots["learning-linear"] = figures.learning_curves(*curves, log=False)
        plots["watched"] = figures.watched_curves(run.metrics, stopped)
        plots["watched-log"] = figures.watched_curves(run.metrics, stopped, log=True)
    if results.lengths:
        plots["lengths"] = figures.exact_match_by_length(results.lengths, run.trained)
        plots["held-out"] = figures.held_out_bars(results.lengths)
    for number, split in enumerate((split for split in results.splits if split.answers), 1):
        name = "answers" if number == 1 else f"answers-{number}"
        title = f"Answers of {split.operator}"
        plots[name] = figures.answer_histogram(split.answers, title)
    if certificate:
        growth = certificate.listing.growth
        plots["certificate"] = figures.window_growth(growth, certificate.windows)
    drawn = {
        name: svg_element(plot, f"{prefix}{name}", DESCRIPTIONS[name.rstrip("-0123456789")])
        for name, plot in plots.items()
        if plot is not None
    }
    probed = {
        name: svg_element(figures.draw(picture), f"{prefix}probe-{name}", picture["shows"])
        for name, probe in run.probes.items()
        if (picture := probe.picture)
    }
    grids, paths = drawings.grid_sections(run), drawings.trails_section(folder, run)
    answers = {name: plot for name, plot in drawn.items() if name.startswith("answers")}
    by_name: dict[str, Any] = {
        "certificate": certificate
        and certificate_section(certificate, run.folder, drawn.get("certificate")),
        "results": sections.results(results.lengths, run.info.seeds, drawn),
        "gaps": [(gap, gap_rows(gap)) for gap in results.gaps] or None,
        "splits": (results.splits, answers) if results.splits else None,
        "further": run.further or None,
        "grid": grids or None,
        "errors": results.lengths or None,
        "tables": results.tables or None,
        "named": results.named or None,
        "watched": (drawn["watched"], drawn["watched-log"]) if "watched" in drawn else None,
        "learning": sections.learning(run, drawn),
        "trails": paths,
        "probes": probed if run.probes else None,
        "examples": sections.examples(results.examples),
        "recipe": run.recipe or None,
    }
    drawn |= {grid["name"]: grid["drawing"] for grid in grids}
    drawn |= drawings.trails_files(paths) if paths else {}
    drawn |= {f"probes/{name}": plot for name, plot in probed.items()}
    by_name = {name: section for name, section in by_name.items() if section is not None}
    return RunReport(run, by_name, drawn)


def render_report(report: RunReport, work: PagePart) -> str:
    """Return the whole page as text."""
    by_name = ({"work": work.body} if work.body else {}) | report.sections
    body = render(
        "run/page.html",
        run=report.run,
        sentence=report.sections.get("certificate", {}).get("sentence", ""),
        sections=[
            (f"part-{name}", TITLES[name], f"run/{name}.html", section)
            for name, section in by_name.items()
        ],
    )
    title = f"{report.run.name}: training report"
    return document(title, [PagePart(body, work.style, work.script), *page_scripts(body)])


def page_scripts(body: Markup) -> list[PagePart]:
    """Return the scripts of the drawings that a page has."""
    return [
        PagePart(script=modules_text(("elements", "moving", name)))
        for name in MOVING
        if f'class="{name}"' in body
    ]


# The report of a comparison.


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
    commands = {" ".join(info.command) for info in infos if info.command}
    trainings = [row.settings.get("training", {}) for row in compared.results.rows]
    budgets = {f"{t['steps']:,} steps of {t['batch']:,}" for t in trainings if t}
    body = render(
        "comparison/page.html",
        results=compared.results,
        conclusion=compared.conclusion(),
        unlearned=compared.unlearned_note(),
        command=commands.pop() if len(commands) == 1 else None,
        budget=budgets.pop() if len(budgets) == 1 else "see Recipes side by side",
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
