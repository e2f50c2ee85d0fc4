"""The map of two things that were varied: which cell has which run, and what is drawn of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from matplotlib.colors import to_hex

from curta.report import comparison_figures as compare
from curta.report import figures
from curta.report.compared import Compared, read_comparison

from . import sample

MEMBERS = [[1.0, 1.0, 0.5], [0.0, 0.2, 0.1], [1.0, 1.0, 1.0]]
"""Exact match beyond training of the cells' members; the fourth cell is not evaluated."""


def crossed(folder: Path, swept: list[str], names: list[tuple[str, dict[str, Any]]]) -> Compared:
    """A comparison of so many rows, entries and changes, whose members are as in `MEMBERS`."""
    sample.write_comparison(folder)
    content = json.loads((folder / "comparison.json").read_text())
    first, content["swept"], content["rows"] = content["rows"][-1], swept, []
    for number, (entry, changes) in enumerate(names):
        row = first | {"name": f"{number}", "changes": changes, "entry": entry}
        mine = MEMBERS[number : number + 1]
        row["lengths"] = [
            one | {"exact_match": one["exact_match"] | {"members": values}}
            for one in first["lengths"]
            for values in mine
        ]
        content["rows"].append(row)
    sample.write_json(folder / "comparison.json", content)
    return read_comparison(folder)


def problems(*entries: str) -> list[tuple[str, dict[str, Any]]]:
    return [(entry, {"training.problems": count}) for entry in entries for count in (30, 3000)]


@pytest.fixture
def map_of_entries(tmp_path: Path) -> compare.PhaseMap:
    found = compare.phase_map(crossed(tmp_path, ["training.problems"], problems("all", "less")))
    assert found is not None
    return found


def test_lines_are_entries_and_columns_what_is_swept(
    map_of_entries: compare.PhaseMap,
) -> None:
    lines, columns, label, cells = map_of_entries
    assert (lines, columns, label) == (["all", "less"], ["30", "3,000"], "training.problems")
    assert cells == [MEMBERS[:2], [MEMBERS[2], []]]


def test_without_entries_the_first_field_makes_the_lines(tmp_path: Path) -> None:
    changes = [{"model.width": w, "optimizer.name": n} for w in (16, 32) for n in ("adam", "sgd")]
    paths = ["model.width", "optimizer.name"]
    found = compare.phase_map(crossed(tmp_path, paths, [("", change) for change in changes]))
    assert found is not None
    assert (found.lines, found.columns) == (["16", "32"], ["adam", "sgd"])


@pytest.mark.parametrize(
    ("swept", "entries"),
    [([], ("a", "b")), (["training.problems"], ("",)), (["training.problems"], ("a",))],
    ids=["no sweep", "one field", "one entry"],
)
def test_there_is_no_map_of_one_thing(
    tmp_path: Path, swept: list[str], entries: tuple[str, ...]
) -> None:
    assert compare.phase_map(crossed(tmp_path, swept, problems(*entries))) is None


def test_cells_have_the_colour_of_their_median_and_the_number_of_perfect_members(
    map_of_entries: compare.PhaseMap,
) -> None:
    axes, bar = compare.draw_map(map_of_entries).axes
    (image,) = axes.images
    colours = {(x, y): image.to_rgba(image.get_array())[y, x] for x in (0, 1) for y in (0, 1)}
    perfect, least = (figures.BANDS[number][2] for number in (-1, 0))
    assert to_hex(colours[0, 1]) == to_hex(colours[0, 0]) == perfect
    assert to_hex(colours[1, 1]) == least
    assert colours[1, 0][3] == 0  # nothing is known
    texts = {text.get_position(): text.get_text() for text in axes.texts}
    assert texts == {(0, 1): "2", (1, 1): "0", (0, 0): "3"}
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["less", "all"]
    assert bar.get_ylabel().startswith("exact match out-of-distribution")
