"""The section of a report for whatever probes were put to the run, each from its own file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from curta.probes.results import ProbeTable
from curta.report import charts
from curta.report.markup import Markup, cells, details, element, figure, heading_cells, join, table
from curta.report.run_folder import Run
from curta.report.summary import cell, listed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOLDER = "probes"
"""Where in a run's folder probes keep what they found, and their pictures lie."""


def draw(run: Run) -> dict[str, Figure]:
    """The picture of every probe that has one, by its name."""
    pictures = {name: found.picture for name, found in run.probes.items()}
    return {name: charts.draw(picture) for name, picture in pictures.items() if picture}


def section(run: Run, plots: Mapping[str, Markup]) -> Markup:
    """What every probe found."""
    if not run.probes:
        return Markup()
    found = (_found(name, found, plots.get(name)) for name, found in run.probes.items())
    return element("section", element("h2", "Probes"), *found)


def _found(name: str, found: ProbeTable, plot: Markup | None) -> Markup:
    notes = (element("p", note) for note in found.notes)
    shown, picture = Markup(), found.picture
    if plot is not None and picture is not None:
        shown = figure(plot, picture["shows"], f"{FOLDER}/{name}.png, {name}.svg")
    heading = element("h3", element("code", name), f": {found.summary}")
    return join([heading, element("p", _asked(found)), *notes, shown, _table(name, found)])


def _asked(found: ProbeTable) -> str:
    """Who was asked, when in training, and with which options."""
    members = found.members
    who = f"Member {members[0]}" if len(members) == 1 else f"Members {listed(members)}"
    options = ", ".join(f"{key} {cell(value)}" for key, value in found.options.items())
    return f"{who} as of step {found.step:,}{f'; {options}' if options else ''}."


def _table(name: str, found: ProbeTable) -> Markup:
    columns = found.columns
    head = element("tr", heading_cells(*columns))
    rows = (element("tr", cells(*(cell(row[column]) for column in columns))) for row in found.rows)
    caption = f"All that the probe {name} found"
    return details(f"All {len(found.rows):,} rows", table(caption, [head], rows))
