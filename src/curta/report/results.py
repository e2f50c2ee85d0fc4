"""The measured part of a report: tables and figures of exact match, every member shown."""

from collections.abc import Iterator
from statistics import fmean, median

from curta.evaluation.results import Generated, Grid, SliceResult, WholeTable
from curta.problems.sizes import Split
from curta.report.heat import heat_map
from curta.report.markup import Markup, cells, details, element, figure, heading_cells, join, table
from curta.report.run_folder import Run
from curta.report.slices import slice_list
from curta.report.summary import (
    by_operator,
    by_size,
    counted,
    hardest,
    percent,
    perplexity,
    trained_on,
)

_SUMMARY = 12
"""Columns before those of the members."""


def headline(run: Run) -> Markup:
    """The result of every operator at its largest size, by its weakest slice and member."""
    rows = run.evaluation.lengths
    if not rows:
        return Markup()
    said = [_at_largest(operator, mine) for operator, mine in by_operator(rows).items()]
    text = "Exact match at the largest size of each operator, in its hardest slice:"
    return join([element("p", text, class_="headline"), element("ul", *said, class_="headline")])


def _at_largest(operator: str, rows: list[SliceResult]) -> Markup:
    """Of sizes with the same longest operand, the last one counts as the largest."""
    size, largest = list(by_size(rows).items())[-1]
    exact_match = hardest(largest)
    middle, worst = percent(median(exact_match)), percent(min(exact_match))
    found = f"{middle}% for the median member, {worst}% for the worst"
    return element("li", element("code", operator), f" at {size} digits: {found}")


def results(run: Run, plot: Markup | None) -> Markup:
    """Exact match by operator, size and slice, as a table and as a figure."""
    if plot is None:
        return Markup()
    return element(
        "section",
        element("h2", "Exact match by size of the operands"),
        figure(plot, _lengths_caption(run), "lengths.png, lengths.svg"),
        element("p", _explanation(run)),
        details("What the slices are", _slices(run)),
        results_table(run),
        *(element("p", _split(found)) for found in run.evaluation.splits),
    )


def results_table(run: Run) -> Markup:
    """A row for every operator, size and slice; a column for every member."""
    rows = run.evaluation.lengths
    members = len(rows[0].exact_match)
    caption = "Exact match in percent by operator, digits of the operands, slice and member"
    return table(caption, _results_head(run, members), _results_body(rows))


def named_grids(run: Run) -> dict[str, Grid]:
    """The grids by the names of their pictures: `grid`, `grid-2` of the next operator."""
    grids = run.evaluation.grids
    return {"grid" if n == 1 else f"grid-{n}": one for n, one in enumerate(grids, 1)}


def grids(run: Run, says: str) -> Markup:
    """Exact match by the lengths of both operands, an operator after the other."""
    return join(_grid(run, name, one, says) for name, one in named_grids(run).items())


def _grid(run: Run, name: str, data: Grid, says: str) -> Markup:
    plot = heat_map(run, data, says)
    operator = element("code", data.operator)
    return element(
        "section",
        element("h2", "Exact match of ", operator, " for every pair of operand lengths"),
        figure(plot, _grid_caption(run, data), f"{name}.png, {name}.svg"),
        details("The grid of every member", _grid_table(data)),
    )


def tables(run: Run) -> Markup:
    """How many problems of each table that was counted whole are right."""
    found = run.evaluation.tables
    if not found:
        return Markup()
    names = (f"Member {member}" for member in range(len(found[0].correct)))
    head = element("tr", heading_cells("Operator", "Operands", "Problems", *names))
    caption = "How many of all problems with two operands in a range each member has right"
    title = element("h2", "Every problem of a range")
    return element("section", title, table(caption, [head], map(_table_row, found)))


def _table_row(data: WholeTable) -> Markup:
    count = data.count
    counts = (
        element("td", f"{right:,}", **({} if right == count else {"class_": "miss"}))
        for right in data.correct
    )
    name = element("th", data.operator, scope="row")
    return element("tr", name, cells(f"0 to {data.limit:,}", f"{count:,}"), *counts)


def _explanation(run: Run) -> str:
    """How the numbers of the table were obtained."""
    sizes = {row.size for row in run.evaluation.lengths}
    text = "A problem counts only if all that the model writes is right, working and answer. "
    if any("/" in size for size in sizes):
        text += "“50/25” means 50 digits for the first operand and 25 for the other. "
    if any("x" in size for size in sizes):
        text += "“20x5” means 20 operands of 5 digits. "
    text += (
        "“Generated” repeats part of the problems with the model writing its answer from its own "
        "output; “agrees” says whether both ways found the same problems right. Below “Tokens” "
        "stand the share of right ones among all tokens that were to be written, and the "
        "perplexity of the right answer: 1 where every token is certain; medians over members."
    )
    return f"{text} † Training of this member stopped early." if run.info.stopped else text


def _split(found: Split) -> str:
    return (
        f"Of all problems of {found.operator}, {found.training:,} were trained on and "
        f"{found.held_out:,} held out; {found.overlap:,} are in both."
    )


def _slices(run: Run) -> Markup:
    return slice_list(row.slice_name for row in run.evaluation.lengths)


def _lengths_caption(run: Run) -> str:
    text = (
        "Exact match of every member in its hardest slice, and the median over members, "
        "against the digits of the longest operand."
    )
    return f"{text} Shaded: operands as long as in training." if run.trained else text


def _results_head(run: Run, members: int) -> Iterator[Markup]:
    yield element(
        "tr",
        element("td", colspan="3"),
        element("th", "All members", class_="group first", colspan="3", scope="colgroup"),
        element("th", "Tokens", class_="group first", colspan="2", scope="colgroup"),
        element("th", "Generated", class_="group first", colspan="4", scope="colgroup"),
        element("th", "Member", class_="group first", colspan=str(members), scope="colgroup"),
    )
    names = [
        f"{member}†" if member in run.info.stopped else f"{member}" for member in range(members)
    ]
    yield element(
        "tr",
        heading_cells("Digits"),
        element("th", "Slice", class_="word", scope="col"),
        heading_cells("Count", "Median", "Min", "Max", "Right, %", "Perplexity"),
        heading_cells("Min", "Count", "Agrees", "Tokens/s"),
        heading_cells(*names),
    )


def _results_body(rows: list[SliceResult]) -> Iterator[Markup]:
    """Below each operator its rows in groups of one size, whose first cell names it once."""
    for operator, mine in by_operator(rows).items():
        span = f"{_SUMMARY + len(mine[0].exact_match)}"
        name = element("th", operator, class_="operator", scope="rowgroup", colspan=span)
        yield element("tr", name)
        for size, same in by_size(mine).items():
            yield from _size_rows(size, same)


def _size_rows(size: str, rows: list[SliceResult]) -> Iterator[Markup]:
    name = element("th", size, scope="rowgroup", rowspan=str(len(rows)))
    for index, row in enumerate(rows):
        yield element("tr", Markup() if index else name, _results_row(row))


def _results_row(row: SliceResult) -> Markup:
    exact_match = row.exact_match
    return join(
        [
            element("th", row.slice_name, class_="word", scope="row"),
            cells(f"{row.count:,}"),
            *map(share, (median(exact_match), min(exact_match), max(exact_match))),
            _token_cells(row),
            _generated(row.generated),
            *map(share, exact_match),
        ]
    )


def _token_cells(row: SliceResult) -> Markup:
    """Medians over members of what was found token by token."""
    right, surprise = median(row.token_accuracy), median(row.perplexity)
    return join([share(right), cells(perplexity(surprise))])


def _generated(found: Generated) -> Markup:
    """What real generation confirmed, and how fast it wrote."""
    agrees = element("td", "yes") if found.agrees else element("td", "no", class_="miss")
    speed = cells(f"{found.tokens_per_second:,}")
    count = cells(f"{found.count:,}")
    return join([share(min(found.exact_match)), count, agrees, speed])


def share(value: float) -> Markup:
    """A cell with a share in percent, set off where it is less than all."""
    return cells(percent(value)) if value >= 1 else element("td", percent(value), class_="miss")


def _grid_caption(run: Run, data: Grid) -> str:
    text = (
        f"Median over members of the exact match on {counted(data.count, 'problem')} "
        f"per cell and member. {_lowest(data)}"
    )
    trained = run.trained.get(data.operator)
    return f"{text} Framed: trained on {trained_on(trained)}." if trained else text


def _lowest(data: Grid) -> str:
    """The worst cell of any member, which a median over members would hide."""
    found = [(*_worst_cell(data, member), member) for member in range(len(data.exact_match))]
    value, first, second, member = min(found)
    return (
        f"The lowest cell of any member is {percent(value)}%: "
        f"member {member}, {first} by {second} digits."
    )


def _worst_cell(data: Grid, member: int) -> tuple[float, int, int]:
    """Value and operand lengths of the lowest cell of a member."""
    digits = data.digits
    return min(
        (value, first, second)
        for first, row in zip(digits, data.exact_match[member], strict=True)
        for second, value in zip(digits, row, strict=True)
    )


def _grid_table(data: Grid) -> Markup:
    head = element(
        "tr", heading_cells("Member", "Mean", "Perfect cells", "Lowest cell", "At digits")
    )
    rows = (_grid_row(data, member) for member in range(len(data.exact_match)))
    return table("Exact match of every member over the grid, in percent", [head], rows)


def _grid_row(data: Grid, member: int) -> Markup:
    values = [value for row in data.exact_match[member] for value in row]
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
