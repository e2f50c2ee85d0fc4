"""What a notebook shows of a folder: pictures, and rows as tables."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curta.evaluation.results import SliceSummary, UnevaluatedSize
from curta.report.rendering import render


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
    if isinstance(row, UnevaluatedSize):
        place = {"operator": row.operator, "size": row.size, "slice": "not evaluated"}
        return place | dict.fromkeys(("count", "median", "min", "max"))
    match = row.exact_match
    place = {"operator": row.operator, "size": row.size, "slice": row.slice_name}
    figures = {"median": match.median, "min": match.min, "max": match.max}
    return place | {"count": row.count} | figures
