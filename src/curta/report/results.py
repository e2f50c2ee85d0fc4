"""The measured part of a report: tables and figures of exact match, every member shown."""

from collections.abc import Iterator
from itertools import groupby
from statistics import fmean, median

from .markup import Markup, cells, details, element, figure, heading_cells, join, table
from .run_folder import Generated, Grid, Length, Run
from .summary import MISSING, counted, percent, span

_CATEGORIES = {
    "random": "random: all digits drawn at random",
    "unequal": "unequal: operands of different lengths",
    "carry": "carry: long chains of carries",
}


def headline(run: Run) -> Markup:
    """The result at the longest length, by its weakest category and member."""
    rows = run.evaluation["lengths"]
    if not rows:
        return Markup()
    longest = max(row["digits"] for row in rows)
    exact = [row["exact"] for row in rows if row["digits"] == longest]
    text = (
        f"At {counted(longest, 'digit')}, the longest operands evaluated, exact match is "
        f"{percent(min(map(median, exact)))}% for the median member in the hardest category "
        f"and {percent(min(map(min, exact)))}% for the weakest member in any category."
    )
    return element("p", text, class_="headline")


def results(run: Run, plot: Markup | None) -> Markup:
    """Exact match by length and category, as a table and as a figure."""
    if plot is None:
        return Markup()
    return element(
        "section",
        element("h2", "Exact match by operand length"),
        element("p", _explanation(run)),
        results_table(run),
        figure(plot, _lengths_caption(run), "lengths.png"),
    )


def results_table(run: Run) -> Markup:
    """A row for every length and category; a column for every member."""
    rows = sorted(run.evaluation["lengths"], key=lambda row: row["digits"])
    members = max(len(row["exact"]) for row in rows)
    caption = "Exact match in percent by operand length, category and member"
    return table(caption, _results_head(run, members), _results_body(rows))


def grid(run: Run, plot: Markup | None) -> Markup:
    """Exact match by the lengths of both operands."""
    data = run.evaluation.get("grid")
    if plot is None or data is None:
        return Markup()
    return element(
        "section",
        element("h2", "Exact match for every pair of operand lengths"),
        figure(plot, _grid_caption(run, data), "grid.png"),
        details("The grid of every member", _grid_table(data)),
    )


def _explanation(run: Run) -> str:
    """How the numbers of the table were obtained."""
    present = dict.fromkeys(row["category"] for row in run.evaluation["lengths"])
    named = "; ".join(_CATEGORIES.get(category, category) for category in present)
    text = (
        "A problem counts only if every digit of its answer is right. "
        f"Categories: {named}. “Generated” repeats part of the problems with the model writing "
        "its answer from its own output; “agrees” says whether both ways gave the same answers."
    )
    return f"{text} † Training of this member stopped early." if run.stopped else text


def _lengths_caption(run: Run) -> str:
    text = "Exact match against operand length: every member and their median."
    return f"{text} Shaded: trained on {span(run.trained)}." if run.trained else text


def _results_head(run: Run, members: int) -> Iterator[Markup]:
    yield element(
        "tr",
        element("td", colspan="3"),
        element("th", "All members", class_="group first", colspan="3", scope="colgroup"),
        element("th", "Generated", class_="group first", colspan="4", scope="colgroup"),
        element("th", "Member", class_="group first", colspan=str(members), scope="colgroup"),
    )
    names = [f"{member}†" if member in run.stopped else f"{member}" for member in range(members)]
    yield element(
        "tr",
        heading_cells("Digits"),
        element("th", "Category", class_="word", scope="col"),
        heading_cells("Problems", "Median", "Min", "Max", "Median", "Min", "Problems", "Agrees"),
        heading_cells(*names),
    )


def _results_body(rows: list[Length]) -> Iterator[Markup]:
    """Rows in groups of equal length, whose first cell names the length once."""
    for digits, group in groupby(rows, key=lambda row: row["digits"]):
        same = list(group)
        name = element("th", f"{digits:,}", scope="rowgroup", rowspan=str(len(same)))
        for index, row in enumerate(same):
            yield element("tr", Markup() if index else name, _results_row(row))


def _results_row(row: Length) -> Markup:
    exact = row["exact"]
    return join(
        [
            element("th", row["category"], class_="word", scope="row"),
            cells(f"{row['count']:,}"),
            *map(share, (median(exact), min(exact), max(exact))),
            _generated(row.get("generated")),
            *map(share, exact),
        ]
    )


def _generated(found: Generated | None) -> Markup:
    """What real generation confirmed, or a gap where it was not tried."""
    if found is None:
        return cells(*[MISSING] * 4)
    exact = found["exact"]
    agrees = element("td", "yes") if found["agrees"] else element("td", "no", class_="miss")
    count = cells(f"{found['count']:,}")
    return join([share(median(exact)), share(min(exact)), count, agrees])


def share(value: float) -> Markup:
    """A cell with a share in percent, set off where it is less than all."""
    return cells(percent(value)) if value >= 1 else element("td", percent(value), class_="miss")


def _grid_caption(run: Run, data: Grid) -> str:
    text = (
        f"Median over members of the exact match on {counted(data['count'], 'problem')} "
        f"per cell and member. {_lowest(data)}"
    )
    return f"{text} Framed: trained on {span(run.trained)}." if run.trained else text


def _lowest(data: Grid) -> str:
    """The worst cell of any member, which a median over members would hide."""
    found = [(*_worst_cell(data, member), member) for member in range(len(data["exact"]))]
    value, first, second, member = min(found)
    return (
        f"The lowest cell of any member is {percent(value)}%: "
        f"member {member}, {first} by {second} digits."
    )


def _worst_cell(data: Grid, member: int) -> tuple[float, int, int]:
    """Value and operand lengths of the lowest cell of a member."""
    digits = data["digits"]
    return min(
        (value, first, second)
        for first, row in zip(digits, data["exact"][member], strict=True)
        for second, value in zip(digits, row, strict=True)
    )


def _grid_table(data: Grid) -> Markup:
    head = element(
        "tr", heading_cells("Member", "Mean", "Perfect cells", "Lowest cell", "At digits")
    )
    rows = (_grid_row(data, member) for member in range(len(data["exact"])))
    return table("Exact match of every member over the grid, in percent", [head], rows)


def _grid_row(data: Grid, member: int) -> Markup:
    values = [value for row in data["exact"][member] for value in row]
    perfect = sum(value >= 1 for value in values)
    lowest, first, second = _worst_cell(data, member)
    return element(
        "tr",
        element("th", f"{member}", scope="row"),
        share(fmean(values)),
        cells(f"{perfect:,} of {len(values):,}"),
        share(lowest),
        cells(f"{first} by {second}"),
    )
