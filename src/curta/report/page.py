"""The report of a run: one HTML page that needs nothing but itself, and its figures as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from curta.config import files
from curta.report import charts, drawings, figures, sections
from curta.report.certificate import certificate_section
from curta.report.certified import Certified, headline
from curta.report.certified import read as read_certified
from curta.report.descriptions import DESCRIPTIONS
from curta.report.document import Part, document, own
from curta.report.images import svg_element, svg_file
from curta.report.rendering import render
from curta.report.run_folder import Run, read_run
from curta.report.tables.evaluation import gap_rows
from curta.report.watched import watched_curves

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
"""The parts of a report in their order, each a template, as its list of contents calls them."""

MOVING = ("heat", "player", "learned")
"""Classes of elements that a script of the same name brings to life."""


@dataclass(frozen=True)
class RunReport:
    """A run, and what its report shows: the parts of the page, and the drawings saved as files."""

    run: Run
    certified: Certified | None
    parts: dict[str, Any]
    """By the name of the part's template, where there is data."""
    drawings: dict[str, Markup]
    """By the name of the file."""


class Section(NamedTuple):
    """A section of a page: its id, its title in the contents, its template and its data."""

    id: str
    title: str
    template: str
    part: Any


def write_report(
    folder: Path, work: Part | None = None, out: Path | None = None, evaluation: str = ""
) -> Path:
    """Write `report.html` and its figures as SVG files, by default into the run's folder.

    `work` is a model that calculates in the page; `evaluation` the name of one that is shown in
    place of the recipe's.
    """
    report = report_run(folder, evaluation)
    return write_page(out or folder, render_report(report, work or Part()), report.drawings)


def write_page(folder: Path, text: str, drawn: Mapping[str, Markup]) -> Path:
    """Write `report.html` and its figures, each file replaced whole.

    All is rendered by now: a report that cannot be written leaves the last one as it was.
    """
    files.write(folder / "report.html", text.encode())
    for name, element in drawn.items():
        files.write(folder / f"{name}.svg", svg_file(element))
    return folder / "report.html"


def report_run(folder: Path, evaluation: str = "", prefix: str = "") -> RunReport:
    """Read a run and draw its figures, each once.

    `prefix` sets the ids of figures apart where a page has those of several runs.
    """
    run, certified = read_run(folder, evaluation), read_certified(folder)
    results, stopped = run.evaluation, run.info.stopped
    plots: dict[str, Any] = {}
    if run.metrics:
        curves = (run.metrics, stopped, run.counted_in_training)
        plots["learning"] = figures.learning_curves(*curves)
        plots["learning-linear"] = figures.learning_curves(*curves, log=False)
        plots["watched"] = watched_curves(run.metrics, stopped)
        plots["watched-log"] = watched_curves(run.metrics, stopped, log=True)
    if results.lengths:
        plots["lengths"] = figures.exact_match_by_length(results.lengths, run.trained)
        plots["held-out"] = figures.held_out_bars(results.lengths)
    counted = [split for split in results.splits if split.answers]
    for number, split in enumerate(counted, 1):
        name = "answers" if number == 1 else f"answers-{number}"
        title = f"Answers of {split.operator}"
        plots[name] = figures.answer_histogram(split.answers, title)
    if certified is not None:
        content = certified.content
        plots["certificate"] = figures.window_growth(content.listing.growth, content.windows)
    drawn = {
        name: svg_element(plot, f"{prefix}{name}", DESCRIPTIONS[name.rstrip("-0123456789")])
        for name, plot in plots.items()
        if plot is not None
    }
    probed = {
        name: svg_element(charts.draw(picture), f"{prefix}probe-{name}", picture["shows"])
        for name, probe in run.probes.items()
        if (picture := probe.picture)
    }
    grids, trails = drawings.grid_sections(run), drawings.read_trails(folder, run)
    moved = drawings.trails_section(trails, run.metrics) if trails else None
    answers = {name: plot for name, plot in drawn.items() if name.startswith("answers")}
    parts = {
        "certificate": certified and certificate_section(certified, drawn.get("certificate")),
        "results": sections.results(results.lengths, run.info.seeds, drawn),
        "gaps": [(gap, gap_rows(gap)) for gap in results.gaps] or None,
        "splits": (results.splits, answers) if results.splits else None,
        "further": sections.further(run.further),
        "grid": grids or None,
        "errors": sections.errors(results.lengths),
        "tables": results.tables or None,
        "named": results.named or None,
        "watched": (drawn["watched"], drawn["watched-log"]) if "watched" in drawn else None,
        "learning": sections.learning(run, drawn),
        "trails": moved,
        "probes": probed if run.probes else None,
        "examples": sections.examples(results.examples),
        "recipe": run.recipe or None,
    }
    drawn |= {grid.name: grid.drawing for grid in grids}
    drawn |= drawings.trails_files(moved) if moved else {}
    drawn |= {f"probes/{name}": plot for name, plot in probed.items()}
    parts = {name: part for name, part in parts.items() if part is not None}
    return RunReport(run, certified, parts, drawn)


def render_report(report: RunReport, work: Part) -> str:
    """Return the whole page as text."""
    parts = ({"work": work.body} if work.body else {}) | report.parts
    body = render(
        "run/page.html",
        run=report.run,
        sentence=headline(report.certified.content) if report.certified else "",
        sections=[
            Section(f"part-{name}", TITLES[name], f"run/{name}.html", part)
            for name, part in parts.items()
        ],
    )
    title = f"{report.run.name}: training report"
    return document(title, [Part(body, work.style, work.script), *moving(body)])


def moving(body: Markup) -> list[Part]:
    """Return the scripts of the drawings that a page has."""
    return [
        Part(script=own("moving.js") + own(f"{name}.js"))
        for name in MOVING
        if f'class="{name}"' in body
    ]
