"""The report of a run: one HTML page that needs nothing but itself, and its figures as files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from curta.config import files
from curta.report import certificate, certified, charts, figures, probed, results, sections, trails
from curta.report.document import Part, document, own
from curta.report.errors import errors
from curta.report.examples import examples
from curta.report.images import inline_svg, png, svg
from curta.report.markup import Markup, demoted, element, join
from curta.report.named import named
from curta.report.run_folder import Run, read_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACES = {
    "work": "Let it calculate",
    "certificate": "Certificate",
    "results": "Exact match",
    "grid": "Pairs of lengths",
    "errors": "Errors",
    "tables": "Whole tables",
    "named": "Named problems",
    "learning": "Learning",
    "trails": "Vectors",
    "probes": "Probes",
    "examples": "Examples",
    "recipe": "Recipe",
}
"""The parts of a report in their order, as they are called in its list of contents."""


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


def write_report(folder: Path, work: Part | None = None, out: Path | None = None) -> Path:
    """Writes `report.html` and its figures as PNG and SVG files, by default into the run's folder.

    `work` is a model that calculates in the page. Everything is rendered before the first
    file is touched, and every file is replaced whole: a report that cannot be written leaves
    the last one as it was.
    """
    shown = show(folder)
    content = {"report.html": render(shown, work or Part()).encode()} | pictures(_figures(shown))
    for name, data in content.items():
        files.write((out or folder) / name, data)
    return (out or folder) / "report.html"


def pictures(plots: Mapping[str, Figure]) -> dict[str, bytes]:
    """Figures as files, by the names of these."""
    drawn = {f"{name}.png": png(figure) for name, figure in plots.items()}
    return drawn | {f"{name}.svg": svg(figure) for name, figure in plots.items()}


def show(folder: Path) -> Shown:
    """Reads a run, and draws the figures that its report shows as they are."""
    run = read_run(folder)
    plots: dict[str, Figure] = {}
    if run.metrics:
        plots["learning"] = figures.learning_curves(run.metrics, run.info.stopped)
    if run.evaluation.lengths:
        plots["lengths"] = figures.exact_match_by_length(run.evaluation.lengths, run.trained)
    proof = certified.read(folder)
    if proof is not None:
        plots["certificate"] = certificate.growth(proof.content)
    return Shown(run, trails.read(folder, run), plots, probed.draw(run), proof)


def _figures(shown: Shown) -> dict[str, Figure]:
    """All figures by the names of their files, those too that the page draws in its own way."""
    found = dict(shown.plots)
    for name, grid in results.named_grids(shown.run).items():
        found[name] = figures.grid(grid, shown.run.trained)
    if shown.trails is not None:
        found["trails"] = charts.draw(trails.picture(shown.trails))
    return found | {f"{probed.FOLDER}/{name}": plot for name, plot in shown.probes.items()}


def render(shown: Shown, work: Part) -> str:
    """The whole page as text."""
    run, found = shown.run, parts(shown, "") | {"work": at_work(work)}
    main = [placed(f"part-{name}", found[name]) for name in PLACES if found[name]]
    links = {f"part-{name}": title for name, title in PLACES.items() if found[name]}
    header = sections.header(run, certificate.said(shown.certified))
    body = join([header, contents(links), element("main", *main), sections.footer()])
    title = f"{run.name}: training report"
    return document(title, [Part(body, work.style, work.script), *moving(body)])


def parts(shown: Shown, prefix: str) -> dict[str, Markup]:
    """The parts of a run's report but for the model at work; empty where there is no data.

    `prefix` sets the ids of figures apart where a page has those of several runs.
    """
    run, plots = shown.run, _inlined(shown.plots, prefix)
    return {
        "certificate": certificate.section(shown.certified, plots.get("certificate")),
        "results": results.results(run, plots.get("lengths")),
        "grid": results.grids(run, sections.DESCRIPTIONS["grid"]),
        "errors": errors(run),
        "tables": results.tables(run),
        "named": named(run),
        "learning": sections.learning(run, plots.get("learning")),
        "trails": trails.section(shown.trails, run.metrics),
        "probes": probed.section(run, _probes(shown, prefix)),
        "examples": examples(run),
        "recipe": sections.recipe(run),
    }


def at_work(work: Part) -> Markup:
    """The section in which a model calculates."""
    if not work.body:
        return Markup()
    return element("section", element("h2", PLACES["work"]), demoted(work.body))


def contents(links: Mapping[str, str]) -> Markup:
    """Where in the page its parts begin."""
    items = (element("li", element("a", title, href=f"#{name}")) for name, title in links.items())
    return element("nav", element("ul", *items), aria_label="Contents", class_="contents")


def placed(name: str, part: Markup) -> Markup:
    """A part that the list of contents leads to."""
    return element("div", part, id=name, class_="part")


def moving(body: Markup) -> list[Part]:
    """The scripts of what can be looked into and played, where there is any of it."""
    return [Part(script=own(f"{name}.js")) for name in MOVING if f'class="{name}"' in body]


def _inlined(plots: Mapping[str, Figure], prefix: str) -> dict[str, Markup]:
    return {
        name: inline_svg(figure, f"{prefix}{name}", sections.DESCRIPTIONS[name])
        for name, figure in plots.items()
    }


def _probes(shown: Shown, prefix: str) -> dict[str, Markup]:
    pictures = {name: found.picture for name, found in shown.run.probes.items()}
    said = {name: picture["shows"] for name, picture in pictures.items() if picture}
    return {
        name: inline_svg(figure, f"{prefix}probe-{name}", said[name])
        for name, figure in shown.probes.items()
    }
