"""Exact match for every pair of operand lengths, as a map that tells the value of each cell.

It is drawn whole; the script `heat.js` adds what is under the pointer or chosen by keys, and
shows single members. Cells hold how many problems are right, so that nothing is rounded.
"""

from itertools import groupby

from curta.evaluation.results import Grid, Span
from curta.report.document import data
from curta.report.figures import BANDS, band, median_cells
from curta.report.markup import Markup, element
from curta.report.run_folder import Run, Trained

SIDE, LEFT, BELOW = 400, 52, 44
"""Of the map itself, and the room for the names of rows and columns."""
NAMED = 10
"""Most lengths that are named along an axis."""


def heat_map(run: Run, grid: Grid, says: str) -> Markup:
    """The map of the median, its legend, and the counts of every member."""
    digits, cells = grid.digits, median_cells(grid.exact_match)
    trained = run.trained.get(grid.operator)
    box = f"0 0 {LEFT + SIDE + 8} {SIDE + BELOW}"
    drawn = element(
        "svg",
        element("g", *_rows(cells), class_="cells", transform=_scaled(digits)),
        *(element("g", *_names(digits, down), class_="names") for down in (True, False)),
        _frame(digits, trained),
        viewBox=box, role="img", aria_label=says,
    )  # fmt: skip
    held = {
        "digits": digits,
        "count": grid.count,
        "edges": [edge for edge, _, _ in BANDS],
        "correct": _counts(grid),
    }
    return element("div", _legend(trained), drawn, data(held), class_="heat")


def _counts(grid: Grid) -> list[list[list[int]]]:
    """Problems that each member has right, by first and second operand's length."""
    count = grid.count
    return [
        [[round(share * count) for share in row] for row in member] for member in grid.exact_match
    ]


def _scaled(digits: list[int]) -> str:
    return f"translate({LEFT} 0) scale({SIDE / len(digits):.6g})"


def _rows(cells: list[list[float]]) -> list[Markup]:
    """The map from its upper edge down, where the longest first operands are."""
    return [_row(line, values) for line, values in enumerate(reversed(cells))]


def _row(line: int, values: list[float]) -> Markup:
    """One line of cells, neighbours of a colour as one."""
    parts, at = [], 0
    for level, same in groupby(map(band, values)):
        wide = len(list(same))
        place = {"x": f"{at}", "y": f"{line}", "width": f"{wide}", "height": "1"}
        parts.append(element("rect", class_=f"band-{level}", **place))
        at += wide
    return element("g", *parts)


def _names(digits: list[int], down: bool) -> list[Markup]:
    """Lengths along an axis, and what they are."""
    side, step = SIDE / len(digits), -(-len(digits) // NAMED)
    named = range(step - 1, len(digits), step)
    if down:
        return [
            *(_text(f"{digits[i]:,}", LEFT - 6, SIDE + 4 - (i + 0.5) * side, "end") for i in named),
            element(
                "text", "digits of the first operand", text_anchor="middle",
                transform=f"translate(13 {SIDE / 2}) rotate(-90)",
            ),
        ]  # fmt: skip
    return [
        *(_text(f"{digits[i]:,}", LEFT + (i + 0.5) * side, SIDE + 16, "middle") for i in named),
        _text("digits of the second operand", LEFT + SIDE / 2, SIDE + 36, "middle"),
    ]


def _text(text: str, x: float, y: float, anchor: str) -> Markup:
    return element("text", text, x=f"{x:.4g}", y=f"{y:.4g}", text_anchor=anchor)


def _frame(digits: list[int], trained: Trained | None) -> Markup:
    """Around the cells whose operands both have a length that was trained on."""
    if trained is None:
        return Markup()
    up, across = (_inside(digits, span) for span in (trained.first, trained.others))
    if not (up and across):
        return Markup()
    side = SIDE / len(digits)
    return element(
        "rect", class_="frame", x=f"{LEFT + across[0] * side:.5g}",
        y=f"{SIDE - (up[-1] + 1) * side:.5g}", width=f"{len(across) * side:.5g}",
        height=f"{len(up) * side:.5g}",
    )  # fmt: skip


def _inside(digits: list[int], span: Span) -> list[int]:
    return [index for index, length in enumerate(digits) if span[0] <= length <= span[1]]


def _legend(trained: Trained | None) -> Markup:
    bands = [
        element("li", element("span", class_=f"swatch band-{level}"), name)
        for level, (_, name, _) in enumerate(BANDS)
    ]
    framed = (
        [element("li", element("span", class_="swatch framed"), "trained on")] if trained else []
    )
    return element("ul", *bands, *framed, class_="bands", aria_label="Exact match")
