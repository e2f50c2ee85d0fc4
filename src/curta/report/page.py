"""The report of a run: one HTML page that needs nothing but itself, and its figures as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from curta.config import files
from curta.report import drawings, figures, sections
from curta.report.certificate import certificate_section
from curta.report.figures import DESCRIPTIONS, svg_element, svg_file
from curta.report.rendering import PagePart, document, modules_text, render
from curta.report.run_folder import RunData, read_run
from curta.report.tables import gap_rows

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
    """By the name of the template, where there is data."""
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
