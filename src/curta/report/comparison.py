"""The report of a comparison: one HTML page, and its figures as PNG and SVG files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from curta.config import files
from curta.evaluation.results import SliceSummary, SummaryStatistics
from curta.report import bands, sections, swept
from curta.report.compared import (
    Compared,
    compared_of,
    hardest,
    range_of,
    read_comparison,
    slices_of,
)
from curta.report.differences import differences
from curta.report.document import Part, document
from curta.report.images import inline_svg
from curta.report.markup import (
    Markup,
    cells,
    demoted,
    details,
    element,
    figure,
    heading_cells,
    join,
    table,
)
from curta.report.page import Shown, at_work, contents, moving, parts, pictures, placed, show
from curta.report.slices import slice_list
from curta.report.summary import MISSING, counted, duration, finite, listed, percent
from curta.runs.results import ComparisonResults, ComparisonRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DESCRIPTIONS = {
    "learning": "Loss and exact match on training problems against training step: a row of "
    "panels for each entry, the median over members as a line and their range as a band.",
    "lengths": "Exact match in the hardest slice against operand length: a panel for each "
    "entry, the median over members as a line and their range as a band.",
    "by": "Loss at the end of training and exact match, within and beyond the lengths of "
    "training, of every member, with their median as a line and their range as a band.",
}
"""What each kind of figure shows, for readers who cannot see it."""

_STATES = {"waiting": "not trained yet", "training": "in training", "interrupted": "interrupted",
           "stopped": "stopped", "finished": "not evaluated"}  # fmt: skip
"""What stands for an evaluation that has not taken place."""


def write_comparison(folder: Path) -> Path:
    """Writes the report of a comparison into its folder."""
    return _write(folder, read_comparison(folder), {}, Part())


def write_together(
    folder: Path, results: ComparisonResults, folders: Mapping[str, Path], work: Part
) -> Path:
    """Writes one report of runs that lie anywhere, and all that the report of each has.

    `folders` are those of its rows by their names, and
    `work` is the models that calculate in the page.
    """
    compared = compared_of(results, folders)
    return _write(folder, compared, {name: show(folders[name]) for name in compared.runs}, work)


def _write(folder: Path, compared: Compared, runs: Mapping[str, Shown], work: Part) -> Path:
    """Writes `report.html` and its figures; all is rendered before a file is touched."""
    plots = draw(compared)
    content = {"report.html": render(compared, plots, runs, work).encode()} | pictures(plots)
    for name, data in content.items():
        files.write(folder / name, data)
    return folder / "report.html"


def draw(compared: Compared) -> dict[str, Figure]:
    """The figures for which there is data, by the name of their file."""
    evaluated = any(row.lengths for row in compared.rows)
    plots = _swept(compared) if compared.results.swept and evaluated else {}
    if len(compared.rows) > bands.PANELS:
        return plots
    if evaluated:
        for number, operator in enumerate(compared.sizes, 1):
            name = "lengths" if len(compared.sizes) == 1 else f"lengths-{number}"
            plots[name] = bands.lengths(compared, operator)
    if any(run.metrics for run in compared.runs.values()):
        plots["learning"] = bands.learning(compared)
    return plots


def _swept(compared: Compared) -> dict[str, Figure]:
    """What was found against the models' size, and against each value that was swept."""
    found = {f"by-{path}": swept.by_value(compared, path) for path in compared.results.swept}
    return {"by-parameters": swept.by_size(compared)} | found


def render(
    compared: Compared, plots: dict[str, Figure], runs: Mapping[str, Shown], work: Part
) -> str:
    """The whole page as text."""
    shown = {name: _figure(plot, name) for name, plot in plots.items()}
    found = {
        "Results": _results(compared),
        "Let them calculate": at_work(work),
        "Swept values": join(_section("What the swept values do", "by", shown)),
        "By length": join(_section("Exact match by length", "lengths", shown)),
        "By slice": _details(compared),
        "Learning": join(_section("Learning curves", "learning", shown)),
        "Side by side": differences(compared),
        "Recipes": Markup() if runs else _recipes(compared),
    }
    found |= {name: _alone(number, one) for number, (name, one) in enumerate(runs.items())}
    present = {f"part-{number}": pair for number, pair in enumerate(found.items()) if pair[1]}
    main = element("main", *(placed(at, part) for at, (_, part) in present.items()))
    links = contents({at: title for at, (title, _) in present.items()})
    body = join([_header(compared), links, main, _footer()])
    title = f"{compared.results.title}: comparison"
    return document(title, [Part(body, work.style, work.script), *moving(body)])


def _alone(number: int, shown: Shown) -> Markup:
    """All that the report of one run has, as a part of this one; its files lie elsewhere."""
    own = [part for part in parts(shown, f"run-{number}-").values() if part]
    whole = join(map(demoted, [sections.header(shown.run), *own]))
    return element("article", Markup(re.sub(r'<span class="saved">.*?</span>', "", whole)))


def _figure(plot: Figure, name: str) -> Markup:
    kind = name.partition("-")[0]
    inner = inline_svg(plot, name.replace(".", "-"), DESCRIPTIONS[kind])
    return figure(inner, _CAPTIONS[kind], f"{name}.png, {name}.svg")


_CAPTIONS = {
    "learning": "Means over ten steps on the problems drawn during training, which differ "
    "where entries are trained on different problems. Grey: the medians of the other entries.",
    "lengths": "Every member in its hardest slice. Grey: the medians of the other entries. "
    "Shaded: operands as long as in training. A cross: the models have no positions there.",
    "by": "Small marks: every member; large ones: their median; shaded or drawn out: the "
    "least to the greatest. Exact match is the mean over the sizes and slices of the evaluation.",
}


def _section(title: str, kind: str, shown: dict[str, Markup]) -> Iterator[Markup]:
    mine = [plot for name, plot in shown.items() if name.partition("-")[0] == kind]
    if mine:
        yield element("section", element("h2", title), *mine)


def _header(compared: Compared) -> Markup:
    known = [run.info for run in compared.runs.values()]
    devices = dict.fromkeys(info.device for info in known)
    facts = {
        "Entries": str(len(compared.rows)),
        "Members of each (seeds)": _members(compared),
        "Device": ", ".join(devices) or MISSING,
    }
    items = [
        element("div", element("dt", name), element("dd", value)) for name, value in facts.items()
    ]
    summary = [element("p", compared.results.summary)] if compared.results.summary else []
    return element(
        "header",
        element("p", "Comparison", class_="kind"),
        element("h1", compared.results.title),
        *summary,
        *(element("p", note, class_="note", role="note") for note in _notes(compared)),
        element("dl", *items),
    )


def _members(compared: Compared) -> str:
    """How many there are and their seeds, or how few and how many where runs differ."""
    seeds = [run.info.seeds for run in compared.runs.values()]
    if all(mine == compared.seeds for mine in seeds):
        return f"{len(compared.seeds)} ({listed(compared.seeds)})"
    return f"{min(map(len, seeds))} to {max(map(len, seeds))}"


def _notes(compared: Compared) -> Iterator[str]:
    """What limits the comparison, before any number is read."""
    for row in compared.rows:
        if row.status == "stopped":
            yield f"{row.name}: every member stopped, its loss was no longer finite."
        elif row.status != "finished":
            yield f"{row.name}: {_STATES[row.status]}."
        elif row.stopped:
            gone = counted(len(row.stopped), "member")
            yield f"{row.name}: {gone} stopped early and count as they were then."


def _results(compared: Compared) -> Markup:
    text = (
        "Exact match in percent, each member in its hardest slice: the median over members, "
        "below it the least and the greatest. A problem counts only if all that the model "
        "writes is right. Training time is that of all members together."
    )
    columns = [(operator, size) for operator, sizes in compared.sizes.items() for size in sizes]
    body = (_result_row(compared, row, columns) for row in compared.rows)
    return element(
        "section",
        element("h2", "Results"),
        element("p", text),
        *_common_structure(compared),
        table("Cost, loss at the end and exact match", _head(compared), body),
        *_reasons(compared),
    )


def _head(compared: Compared) -> Iterator[Markup]:
    groups = (
        element("th", f"{operator} digits", class_="group first", colspan=f"{len(sizes)}",
                scope="colgroup")
        for operator, sizes in compared.sizes.items()
    )  # fmt: skip
    yield element("tr", element("td", colspan="5"), *groups)
    sizes = [size for sizes in compared.sizes.values() for size in sizes]
    heading = "Entry" if _one_structure(compared) else "Entry, and structure given to its model"
    yield element(
        "tr",
        element("th", heading, class_="word", scope="col"),
        heading_cells("Parameters", "Steps", "Time", "Loss", *sizes),
    )


def _result_row(compared: Compared, row: ComparisonRow, columns: list[tuple[str, str]]) -> Markup:
    parameters, seconds = row.parameters, row.training_seconds
    structure = [] if _one_structure(compared) else [element("small", row.structure)]
    return element(
        "tr",
        element("th", row.name, *structure, class_="entry", scope="row"),
        cells(
            MISSING if parameters is None else f"{parameters:,}",
            MISSING if row.steps is None else f"{row.steps:,}",
            MISSING if seconds is None else duration(seconds),
        ),
        _loss(row.loss),
        *(_size_cell(row, operator, size) for operator, size in columns),
    )


def _one_structure(compared: Compared) -> bool:
    return len({row.structure for row in compared.rows}) == 1


def _common_structure(compared: Compared) -> Iterator[Markup]:
    """Said once where all entries have the same."""
    if _one_structure(compared):
        name = element("strong", "Structure given to every model: ")
        yield element("p", name, compared.rows[0].structure)


def _loss(loss: SummaryStatistics | None) -> Markup:
    if loss is None or loss.median is None:
        return cells(MISSING)
    return _ranged(f"{loss.median:.2g}", f"{loss.min:.2g}", f"{loss.max:.2g}")


def _size_cell(row: ComparisonRow, operator: str, size: str) -> Markup:
    slices = slices_of(row, operator, size)
    if slices:
        return _share(*hardest(slices))
    asked = {(unplaced.operator, unplaced.size) for unplaced in row.unplaced}
    if (operator, size) in asked:
        return element("td", "no positions", class_="none")
    return element("td", _STATES[row.status] if not row.lengths else MISSING, class_="none")


def _share(median: float, least: float, most: float) -> Markup:
    return _ranged(percent(median), percent(least), percent(most), miss=median < 1)


def _ranged(median: str, least: str, most: str, miss: bool = False) -> Markup:
    """A median, and below it the range, unless that is the same."""
    same = median == least == most
    ends = [] if same else [" ", element("small", f"{least} to {most}")]
    return element("td", median, *ends, **({"class_": "miss"} if miss else {}))


def _reasons(compared: Compared) -> Iterator[Markup]:
    """Why there are sizes that some models cannot be given."""
    said = [(row.name, one) for row in compared.rows for one in row.unplaced]
    if said:
        items = (
            element("li", element("strong", name), f" at {one.size} digits: {one.reason}")
            for name, one in said
        )
        yield details("Where there are no positions, and why", element("ul", *items))


def _details(compared: Compared) -> Markup:
    """Every slice, operator by operator."""
    present = {one.slice_name for row in compared.rows for one in row.lengths}
    if not present:
        return Markup()
    tables = [_slice_table(compared, operator) for operator in compared.sizes]
    return element(
        "section",
        element("h2", "Exact match by slice"),
        details("What the slices are", slice_list(present)),
        *tables,
    )


def _slice_table(compared: Compared, operator: str) -> Markup:
    sizes = compared.sizes[operator]
    names = (f"{size} digits" for size in sizes)
    head = element(
        "tr",
        heading_cells("Entry"),
        element("th", "Slice", class_="word", scope="col"),
        heading_cells("Count", *names),
    )
    body = [line for row in compared.rows for line in _slice_rows(row, operator, sizes)]
    return table(f"Exact match of {operator} in percent: median, least and greatest", [head], body)


def _slice_rows(row: ComparisonRow, operator: str, sizes: list[str]) -> Iterator[Markup]:
    mine = [one for one in row.lengths if one.operator == operator]
    slices = dict.fromkeys(one.slice_name for one in mine)
    entry = element("th", row.name, scope="rowgroup", rowspan=str(len(slices)))
    for index, name in enumerate(slices):
        found = {one.size: one for one in mine if one.slice_name == name}
        yield element(
            "tr",
            Markup() if index else entry,
            element("th", name, class_="word", scope="row"),
            cells(f"{max(one.count for one in found.values()):,}"),
            *(_slice_cell(row, operator, size, found) for size in sizes),
        )


def _slice_cell(
    row: ComparisonRow, operator: str, size: str, found: Mapping[str, SliceSummary]
) -> Markup:
    one = found.get(size)
    if one is None or one.exact_match.median is None:
        return _size_cell(row, operator, size)
    return _share(*range_of(finite(one.exact_match.members)))


def _recipes(compared: Compared) -> Markup:
    """Every recipe with all values that were used, as it can be run again."""
    shown = (
        details(f"{name}: recipe.toml", element("pre", element("code", run.recipe)))
        for name, run in compared.runs.items()
    )
    return element("section", element("h2", "Recipes"), *shown)


def _footer() -> Markup:
    text = "Written by Curta from comparison.json and the runs of its entries."
    return element("footer", element("p", text))
