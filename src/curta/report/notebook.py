"""What a notebook shows of a folder: pictures, and rows as tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curta.evaluation.results import SliceSummary, UnevaluatedSize
from curta.report.rendering import render
from curta.report.summary import Range


@dataclass(frozen=True)
class PictureFile:
    """An SVG file, which a notebook draws."""

    path: Path

    def _repr_svg_(self) -> str:
        return self.path.read_text("utf-8")


class Rows(list[dict[str, Any]]):
    """Rows of a table, all with the same keys, which a notebook draws as a table."""

    def _repr_html_(self, about: str = "") -> str:
        """Return the table as HTML, below a line `about` it."""
        return render("notebook.html", rows=self, about=about)


def find_pictures(folder: Path) -> dict[str, PictureFile]:
    """Return the pictures of a report by name, those of probes as `probes/NAME`."""
    paths = sorted([*folder.glob("*.svg"), *folder.glob("probes/*.svg")])
    return {
        path.relative_to(folder).with_suffix("").as_posix(): PictureFile(path) for path in paths
    }


def slice_row(row: SliceSummary | UnevaluatedSize) -> dict[str, Any]:
    """Return operator, size, slice, count and exact match of a row; without figures if left out."""
    place = {"operator": row.operator, "size": row.size, "slice": "not evaluated"}
    if isinstance(row, UnevaluatedSize):
        return place | dict.fromkeys(("count", *Range._fields))
    ends = {name: getattr(row.exact_match, name) for name in Range._fields}
    return place | {"slice": row.slice_name, "count": row.count} | ends
