"""What a notebook shows of a folder: pictures as they are, tables as rows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from curta.evaluation.results import SliceSummary, UnevaluatedSize
from curta.report.rendering import render


@dataclass(frozen=True)
class Picture:
    """An SVG file, which a notebook draws."""

    path: Path

    def _repr_svg_(self) -> str:
        return self.path.read_text("utf-8")


class Rows(list[dict[str, Any]]):
    """Rows of a table, each with the same keys; a notebook draws the table."""

    def _repr_html_(self, about: str = "") -> str:
        """The table, below a line about what it is of."""
        return render("notebook.html", rows=self, about=about)


def find_pictures(folder: Path) -> dict[str, Picture]:
    """The pictures of a report by their names, those of probes as `probes/NAME`."""
    found = sorted([*folder.glob("*.svg"), *folder.glob("probes/*.svg")])
    return {path.relative_to(folder).with_suffix("").as_posix(): Picture(path) for path in found}


def slice_row(row: SliceSummary | UnevaluatedSize) -> dict[str, Any]:
    """What was asked in a row of an evaluation, and the exact match over the members.

    A size that was left out has no figures.
    """
    if isinstance(row, UnevaluatedSize):
        place = {"operator": row.operator, "size": row.size, "slice": "not evaluated"}
        return place | dict.fromkeys(("count", "median", "min", "max"))
    found = row.exact_match
    asked = {"operator": row.operator, "size": row.size, "slice": row.slice_name}
    figures = {"median": found.median, "min": found.min, "max": found.max}
    return asked | {"count": row.count} | figures
