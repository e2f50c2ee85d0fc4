"""What lies in the runs folder, and in short what is known of each run."""

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from curta.config.errors import UserError
from curta.export.html import page_refusal
from curta.runs import folders, metrics
from curta.runs.folders import Folder
from curta.runs.info import STAGES, RunInfo

POINTS = 40
"""Points of a sparkline, at most."""

Name = tuple[str, ...]
"""A run's name, or a comparison's and that of a run within it."""


@dataclass(frozen=True)
class Row:
    """One run in short; without `info` there is an `error` instead."""

    name: Name
    info: RunInfo | None
    error: str = ""
    summary: str = ""
    step: int = 0
    seconds: float | None = None
    learned: float | None = None
    """Exact match on the newest training problems, median over members."""
    evaluated: float | None = None
    """Exact match in the hardest row of the evaluation, median over members."""
    slices: int = 0
    curve: tuple[float, ...] = ()
    """Exact match on training problems, at moments spread evenly over its training."""
    calculates: bool = False
    """Whether there can be a page in which a member calculates."""

    @property
    def running(self) -> bool:
        """Whether its training is still to come, or it is being worked on."""
        return self.info is not None and self.info.status in ("created", *STAGES)

    @property
    def sparkline(self) -> str:
        """The points of its curve in a box of 100 x 24."""
        last = max(1, len(self.curve) - 1)
        return " ".join(
            f"{100 * number / last:.1f},{22 - 20 * share:.1f}"
            for number, share in enumerate(self.curve)
        )

    @property
    def score(self) -> float:
        """What a list is sorted by: of runs that are not evaluated, exact match in training."""
        known = self.evaluated if self.evaluated is not None else self.learned
        return -1.0 if known is None else known


@dataclass(frozen=True)
class Compared:
    """One comparison in short, and its runs as far as they are begun."""

    name: Name
    title: str
    entries: tuple[str, ...]
    """Folders of its runs; none where the comparison is damaged, which the title then says."""
    rows: tuple[Row, ...]

    @property
    def finished(self) -> int:
        return sum(row.info is not None and row.info.over for row in self.rows)


def run_folders() -> dict[Name, Path]:
    """The folder of every run, alone or in a comparison; all that may be asked for by name."""
    alone = {(name,): folders.root() / name for name in folders.existing()}
    inside = (
        {(*name, path.parent.name): path.parent for path in sorted(folder.glob("[!.]*/run.json"))}
        for name, folder in comparison_folders().items()
    )
    return alone | {name: path for entries in inside for name, path in entries.items()}


def comparison_folders() -> dict[Name, Path]:
    return {(name,): folders.root() / name for name in folders.comparisons()}


ORDERS: dict[str, Callable[[Row], Any]] = {
    "newest first": lambda row: row.info.created if row.info else "",
    "most exact first": lambda row: row.score,
    "longest first": lambda row: row.seconds or 0.0,
}
"""How a list may be sorted, the largest first; always after those that run."""


def sorted_rows(words: str = "", order: str = "") -> list[Row]:
    """Return the runs of no comparison: those that run first, then by an order of ORDERS.

    Only those that hold each of the words in their name, recipe, summary or status.
    """
    rows = [row(name, path) for name, path in run_folders().items() if len(name) == 1]

    def matches(one: Row) -> bool:
        about = [*one.name, one.summary, one.error]
        about += [one.info.recipe, one.info.status] if one.info else []
        text = " ".join(about).casefold()
        return all(word in text for word in words.casefold().split())

    newest = ORDERS["newest first"]
    chosen = sorted(filter(matches, rows), key=newest, reverse=True)
    chosen.sort(key=ORDERS.get(order, newest), reverse=True)
    return sorted(chosen, key=lambda row: not row.running)


def comparisons() -> list[Compared]:
    folders = run_folders()
    return [
        _compared(name, path, [row(own, at) for own, at in folders.items() if own[:-1] == name])
        for name, path in comparison_folders().items()
    ]


def row(name: Name, path: Path) -> Row:
    """What the files of a run say by now; one line instead if they are damaged."""
    try:
        folder = Folder(path)
        info = folder.read_info()
        last = metrics.read_last(folder.metrics, len(info.seeds))
        found = _evaluated(*_version(folder.evaluation))
        recipe = _recipe(*_version(folder.recipe))
    except (UserError, ValueError) as error:  # a date that is none, or a row without members
        return Row(name, None, str(error))
    return Row(
        name, info, "", str(recipe.get("summary", "")),
        max((line.step for line in last), default=0),
        max((line.seconds for line in last), default=None),
        _median([line.exact_match for line in last]), min(found, default=None), len(found),
        _curve(*_version(folder.metrics)),
        bool(info.checkpoint) and _calculates(recipe, info.parameters or 0),
    )  # fmt: skip


def _compared(name: Name, path: Path, rows: list[Row]) -> Compared:
    title, entries = _entries(*_version(path / folders.COMPARISON))
    begun = {row.name[-1]: row for row in rows}
    return Compared(name, title, entries, tuple(begun[one] for one in entries if one in begun))


Version = tuple[int, ...]


def _version(path: Path) -> tuple[Path, Version]:
    """A file, and what tells it from any other that ever has its name: read once, it holds."""
    if not path.exists():
        return path, ()
    about = path.stat()
    return path, (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns)


@lru_cache(4096)
def _evaluated(path: Path, written: Version) -> tuple[float, ...]:
    """Exact match in every row of the evaluation, median over members."""
    found = Folder(path.parent).read_evaluation()
    return tuple(median(row.exact_match) for row in found.lengths) if found else ()


@lru_cache(4096)
def _curve(path: Path, written: Version) -> tuple[float, ...]:
    """Exact match on training problems, at moments spread evenly; of any member."""
    rows = metrics.read_evenly(path, POINTS)
    return tuple(row.exact_match for row in rows if row.exact_match is not None)


@lru_cache(4096)
def _recipe(path: Path, written: Version) -> dict[str, Any]:
    """The fields of a recipe; none of one that is not there or cannot be read."""
    try:
        return tomllib.loads(Folder(path.parent).read_recipe_text())
    except (OSError, ValueError, RecursionError):
        return {}


def _calculates(recipe: dict[str, Any], parameters: int) -> bool:
    """Whether a page can calculate models of the recipe, of so many parameters."""
    match recipe:
        case {"positions": {"name": str(name)}}:
            return page_refusal(name, parameters) is None
    return False


@lru_cache(4096)
def _entries(path: Path, written: Version) -> tuple[str, tuple[str, ...]]:
    """Title of a comparison, and the folders of its entries in their order."""
    try:
        found = folders.read_comparison(path.parent)
    except UserError as error:
        return str(error), ()
    return found.title, tuple(row.run for row in found.rows)


def _median(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None and math.isfinite(value)]
    return median(known) if known else None
