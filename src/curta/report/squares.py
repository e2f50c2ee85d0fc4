"""Squared paper as an HTML table: a row for each role on a line, a column for each place."""

from collections.abc import Mapping

from curta.programs.machine import drawing
from curta.programs.machine.drawing import GAP, Block, Mark, Sheet
from curta.report.markup import Markup, element, heading_cells, join

NOTHING: Mapping[int, str] = {}


def paper(sheet: Sheet, caption: str, classes: Mapping[int, str] = NOTHING) -> Markup:
    """All blocks of a sheet; `classes` are those of single tokens, by their time."""
    drawn = (
        element("p", GAP) if block.name == GAP else _block(sheet, block, caption, classes)
        for block in sheet.blocks
    )
    return element("div", *drawn, class_="scroll", role="region", aria_label=caption, tabindex="0")


def _block(sheet: Sheet, block: Block, caption: str, classes: Mapping[int, str]) -> Markup:
    several = len(sheet.axes) > 1
    head = element(
        "tr", heading_cells(*sheet.axes[1:2], f"{sheet.axes[0]}"), heading_cells(*sheet.columns)
    )
    name = f"{caption}, {block.name}" if block.name else caption
    return element(
        "table",
        element("caption", name),
        element("thead", head),
        *(_line(line, len(sheet.columns), several, classes) for line in block.lines),
        class_="paper",
    )


def _line(line: drawing.Line, columns: int, several: bool, classes: Mapping[int, str]) -> Markup:
    """The rows of one line; nothing but a sign where lines are left out."""
    if line.name == GAP:
        return element("tbody", element("tr", element("td", GAP, colspan=f"{columns + 2}")))
    rows = drawing.ruled(line)
    first = element("th", line.name, scope="rowgroup", rowspan=f"{len(rows)}") if several else ""
    return element(
        "tbody",
        *(
            element(
                "tr",
                first if number == 0 and first else Markup(),
                element("th", role, scope="row", class_="role"),
                join(_square(mark, classes) for mark in marks),
            )
            for number, (role, marks) in enumerate(rows)
        ),
    )


def _square(mark: Mark | None, classes: Mapping[int, str]) -> Markup:
    if mark is None:
        return element("td")
    name = classes.get(mark.time)
    return element("td", mark.symbol, **({"class_": name} if name else {}))
