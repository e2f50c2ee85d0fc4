"""The report of a run: one HTML page that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from .. import files
from . import figures, probed, results, sections
from .examples import examples
from .images import inline_svg, png
from .markup import Markup, element, join
from .named import named
from .run_folder import Run, read_run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write_report(folder: Path) -> Path:
    """Writes `report.html` and its figures as PNG files into a run folder.

    Everything is rendered before the first file is touched, and every file is
    replaced whole: a report that cannot be written leaves the last one as it was.
    """
    run = read_run(folder)
    plots, probes = draw(run), probed.draw(run)
    page = render(run, plots, probes).encode()
    pictures = {f"{name}.png": png(figure) for name, figure in plots.items()}
    pictures |= {f"{probed.FOLDER}/{name}.png": png(figure) for name, figure in probes.items()}
    for name, content in {**pictures, "report.html": page}.items():
        files.write(folder / name, content)
    return folder / "report.html"


def draw(run: Run) -> dict[str, Figure]:
    """The figures for which the run has data, by the name of their file."""
    plots: dict[str, Figure] = {}
    if run.metrics:
        plots["learning"] = figures.learning_curves(run.metrics, run.stopped)
    if run.evaluation["lengths"]:
        plots["lengths"] = figures.exact_by_length(run.evaluation, run.trained)
    if run.evaluation.get("grid"):
        plots["grid"] = figures.grid(run.evaluation, run.trained)
    return plots


def render(run: Run, plots: dict[str, Figure], probes: dict[str, Figure]) -> str:
    """The whole page as text."""
    shown = {
        name: inline_svg(figure, name, sections.DESCRIPTIONS[name])
        for name, figure in plots.items()
    }
    found = {
        name: inline_svg(figure, f"probe-{name}", run.probes[name]["picture"]["shows"])
        for name, figure in probes.items()
    }
    return page(f"{run.name}: training report", _body(run, shown, found))


def page(title: str, body: Markup) -> str:
    """A page that stands on its own, under a policy that allows its stylesheet alone."""
    style = _resource("style.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return Template(_resource("page.html")).substitute(
        title=element("title", title),
        style=style,
        style_hash=f"sha256-{digest}",
        body=body,
    )


def _body(run: Run, plots: dict[str, Markup], probes: dict[str, Markup]) -> Markup:
    main = element(
        "main",
        results.results(run, plots.get("lengths")),
        results.grid(run, plots.get("grid")),
        results.tables(run),
        named(run),
        sections.learning(run, plots.get("learning")),
        probed.section(run, probes),
        examples(run),
        sections.recipe(run),
    )
    return join([sections.header(run), main, sections.footer()])


def _resource(name: str) -> str:
    """A file of this package; text, so that line ends are those a browser hashes."""
    return resources.files("curta.report").joinpath(name).read_text(encoding="utf-8")
