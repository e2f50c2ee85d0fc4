"""The report of a run: one HTML page that needs nothing but itself, and its figures as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from curta.config import files
from curta.report import certificate, certified, charts, figures, gaps, heat, splits, trails
from curta.report.descriptions import DESCRIPTIONS
from curta.report.document import Part, document, own
from curta.report.errors import errors
from curta.report.exact_match import further, results
from curta.report.examples import examples
from curta.report.images import inline_svg, png, svg
from curta.report.learning import learning
from curta.report.rendering import render
from curta.report.run_folder import Run, read_run
from curta.report.watched import watched_curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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
"""What a script of the same name makes alive."""


@dataclass(frozen=True)
class Shown:
    """A run with the figures that it has data for, by the names of their files."""

    run: Run
    trails: trails.Trails | None
    plots: Mapping[str, Figure]
    probes: Mapping[str, Figure]
    certified: certified.Certified | None = None


class Section(NamedTuple):
    """A section of a page: its id, its title in the contents, its template and what it shows."""

    id: str
    title: str
    template: str
    part: Any


def write_report(
    folder: Path, work: Part | None = None, out: Path | None = None, evaluation: str = ""
) -> Path:
    """Writes `report.html` and its figures as PNG and SVG files, by default into the run's folder.

    `work` is a model that calculates in the page; `evaluation` the name of one that is shown in
    place of the recipe's. Everything is rendered before the first
    file is touched, and every file is replaced whole: a report that cannot be written leaves
    the last one as it was.
    """
    shown = show(folder, evaluation)
    return write_page(out or folder, render_report(shown, work or Part()), _figures(shown))


def write_page(folder: Path, text: str, plots: Mapping[str, Figure]) -> Path:
    """Writes `report.html` and its figures; all is rendered before the first file is touched."""
    content = {"report.html": text.encode()}
    content |= {f"{name}.png": png(figure) for name, figure in plots.items()}
    content |= {f"{name}.svg": svg(figure) for name, figure in plots.items()}
    for name, data in content.items():
        files.write(folder / name, data)
    return folder / "report.html"


def show(folder: Path, evaluation: str = "") -> Shown:
    """Reads a run, and draws the figures that its report shows as they are."""
    run = read_run(folder, evaluation)
    plots: dict[str, Figure] = {}
    if run.metrics:
        asked = (run.metrics, run.info.stopped, run.counted_in_training)
        plots["learning"] = figures.learning_curves(*asked)
        plots["learning-linear"] = figures.learning_curves(*asked, log=False)
    for name, log in (("watched", False), ("watched-log", True)):
        figure = watched_curves(run.metrics, run.info.stopped, log)
        plots |= {name: figure} if figure is not None else {}
    if run.evaluation.lengths:
        plots["lengths"] = figures.exact_match_by_length(run.evaluation.lengths, run.trained)
        bars = splits.held_out_bars(run.evaluation.lengths)
        plots |= {"held-out": bars} if bars is not None else {}
    plots |= splits.histogram_figures(run.evaluation)
    proof = certified.read(folder)
    if proof is not None:
        plots["certificate"] = certificate.growth(proof.content)
    pictures = {name: one.picture for name, one in run.probes.items()}
    probes = {name: charts.draw(picture) for name, picture in pictures.items() if picture}
    return Shown(run, trails.read(folder, run), plots, probes, proof)


def _figures(shown: Shown) -> dict[str, Figure]:
    """All figures by the names of their files, those too that the page draws in its own way."""
    found = dict(shown.plots)
    for name, grid in heat.named_grids(shown.run).items():
        found[name] = figures.grid(grid, shown.run.trained)
    if shown.trails is not None:
        for plane, name in trails.FILES.items():
            found[name] = trails.figure(shown.trails, shown.run.metrics, plane)
    return found | {f"probes/{name}": plot for name, plot in shown.probes.items()}


def render_report(shown: Shown, work: Part) -> str:
    """The whole page as text."""
    found = ({"work": work.body} if work.body else {}) | parts(shown, "")
    sections = [
        Section(f"part-{name}", TITLES[name], f"run/{name}.html", part)
        for name, part in found.items()
    ]
    sentence = certified.headline(shown.certified.content) if shown.certified else ""
    body = render("run/page.html", run=shown.run, sentence=sentence, sections=sections)
    title = f"{shown.run.name}: training report"
    return document(title, [Part(body, work.style, work.script), *moving(body)])


def parts(shown: Shown, prefix: str) -> dict[str, Any]:
    """What each part of a run's report shows, by the name of its template, where there is data.

    `prefix` sets the ids of figures apart where a page has those of several runs.
    """
    run, plots = shown.run, _inlined(shown.plots, prefix)
    evaluation = run.evaluation
    found = {
        "certificate": certificate.section(shown.certified, plots.get("certificate")),
        "results": results(
            evaluation.lengths, run.info.seeds, plots.get("lengths"), plots.get("held-out")
        ),
        "gaps": gaps.section(evaluation.gaps),
        "splits": splits.section(evaluation, plots),
        "further": further(run.further),
        "grid": heat.sections(run) or None,
        "errors": errors(run),
        "tables": evaluation.tables or None,
        "named": evaluation.named or None,
        "watched": watched(plots),
        "learning": learning(run, plots.get("learning"), plots.get("learning-linear")),
        "trails": trails.section(shown.trails, run.metrics),
        "probes": _probes(shown, prefix) if run.probes else None,
        "examples": examples(evaluation.examples),
        "recipe": run.recipe or None,
    }
    return {name: part for name, part in found.items() if part is not None}


def watched(plots: Mapping[str, Markup]) -> tuple[Markup, Markup] | None:
    """The curves over steps, and over the logarithm of steps; None if nothing was watched."""
    return (plots["watched"], plots["watched-log"]) if "watched" in plots else None


def moving(body: Markup) -> list[Part]:
    """The scripts of what can be looked into and played, where there is any of it."""
    return [
        Part(script=own("moving.js") + own(f"{name}.js"))
        for name in MOVING
        if f'class="{name}"' in body
    ]


def _inlined(plots: Mapping[str, Figure], prefix: str) -> dict[str, Markup]:
    return {
        name: inline_svg(figure, f"{prefix}{name}", DESCRIPTIONS[name.rstrip("-0123456789")])
        for name, figure in plots.items()
    }


def _probes(shown: Shown, prefix: str) -> dict[str, Markup]:
    pictures = {name: found.picture for name, found in shown.run.probes.items()}
    said = {name: picture["shows"] for name, picture in pictures.items() if picture}
    return {
        name: inline_svg(figure, f"{prefix}probe-{name}", said[name])
        for name, figure in shown.probes.items()
    }
