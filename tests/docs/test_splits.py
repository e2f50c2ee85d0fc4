"""The table of how recipes divide their problems, against problems drawn and looked at."""

from curta.frontends import api
from curta.problems import tasks
from docs import splits
from docs.evidence import RESULTS


def rows() -> dict[str, list[list[str]]]:
    """The cells of each row, without the first, by every recipe that it names."""
    found: dict[str, list[list[str]]] = {}
    for line in list(splits.tables(RESULTS)["splits"])[2:]:
        names, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for name in names.split(", "):
            found.setdefault(name, []).append(cells)
    return found


def test_mirrored_sums_are_those_whose_other_order_is_drawn_from() -> None:
    (task,) = api.resolve("sources/range", {}).tasks
    out = {problem.operands for problem in tasks.held_out(task, range(task.held_out))}
    every = {(a, b) for a in range(50) for b in range(50)}
    mirrored = sum(pair[::-1] in every - out for pair in out)
    counts = ["`+`", f"{len(every - out):,}", f"{len(out):,}", str(mirrored), "2,110", "256"]
    assert rows()["`sources/range`"] == [counts]


def test_operators_that_are_split_alike_share_a_row() -> None:
    names = [cells[0] for cells in rows()["`sources/five-operations`"]]
    assert names == ["`+`, `*`", "`-`", "`//`, `%`"]
