"""The runs and comparisons in the runs folder, each in short."""

import math
import os
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import Any

from curta.config.errors import UserError
from curta.config.recipe import lookup
from curta.runs import folders, metrics
from curta.runs.folders import Folder
from curta.runs.info import STAGES, RunInfo

POINTS = 40
"""Points of a sparkline, at most."""

Name = tuple[str, ...]
"""A run's name, or a comparison's and that of a run within it."""


@dataclass(frozen=True)
class RunListing:
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
    positions: str = ""
    """The name of its position encoding, if its recipe can be read."""

    @property
    def calculates(self) -> bool:
        """Whether there can be a page in which a member calculates."""
        from curta.export.html.page import page_refusal

        if self.info is None or not (self.info.checkpoint and self.positions):
            return False
        return page_refusal(self.positions, self.info.parameters or 0) is None

    @property
    def running(self) -> bool:
        """Whether its training is still to come, or it is being worked on."""
        return self.info is not None and self.info.status in ("created", *STAGES)

    @property
    def score(self) -> float:
        """Exact match when evaluated, or else on training problems; -1 if there is none."""
        return next((s for s in (self.evaluated, self.learned) if s is not None), -1.0)

    def holds(self, words: str, *more: str) -> bool:
        """Whether name, recipe, summary, status, error or `more` contain each of the words.

        Case does not matter.
        """
        texts = [*self.name, self.summary, self.error, *more]
        if self.info is not None:
            texts += [self.info.recipe, self.info.status]
        return all(word in " ".join(texts).casefold() for word in words.casefold().split())

    @property
    def sparkline(self) -> str:
        """The points of its curve in a box of 100 x 24."""
        last = max(1, len(self.curve) - 1)
        return " ".join(
            f"{100 * number / last:.1f},{22 - 20 * share:.1f}"
            for number, share in enumerate(self.curve)
        )


@dataclass(frozen=True)
class ComparisonListing:
    """A summary of one comparison, and of those of its runs that have begun."""

    name: Name
    title: str
    entries: tuple[str, ...]
    """Folders of its runs; none if the comparison is damaged, which the title then says."""
    rows: tuple[RunListing, ...]
    finished: int


def run_folders() -> dict[Name, Path]:
    """Return the folder of every run, alone or in a comparison: all that an address may name."""
    paths: dict[Name, Path] = {(name,): folders.root() / name for name in folders.existing()}
    for name, folder in comparison_folders().items():
        for path in sorted(folder.glob("[!.]*/run.json")):
            paths[*name, path.parent.name] = path.parent
    return paths


def comparison_folders() -> dict[Name, Path]:
    return {(name,): folders.root() / name for name in folders.comparisons()}


ORDERS: dict[str, Callable[[RunListing], Any]] = {
    "newest first": lambda row: row.info.created if row.info else "",
    "most exact first": lambda row: row.score,
    "longest first": lambda row: row.seconds or 0.0,
}
"""How a list may be sorted, the largest first; always after those that run."""


def sorted_rows(words: str = "", order: str = "") -> list[RunListing]:
    """Return the runs of no comparison: those that run first, then by an order of ORDERS.

    Only those that hold each of the words.
    """
    rows = [row(name, path) for name, path in run_folders().items() if len(name) == 1]
    rows = [listing for listing in rows if listing.holds(words)]
    newest = ORDERS["newest first"]
    rows.sort(key=newest, reverse=True)
    rows.sort(key=ORDERS.get(order, newest), reverse=True)
    return sorted(rows, key=lambda row: not row.running)


def comparisons(words: str = "") -> list[ComparisonListing]:
    """Return the comparisons, with those of their runs that hold each of the words.

    One is left out if none of its runs does, nor its name and title.
    """
    listings, paths = [], run_folders()
    for name, path in comparison_folders().items():
        try:
            spec = folders.read_comparison(path)
            title, entries = spec.title, tuple(row.run for row in spec.rows)
        except UserError as error:
            title, entries = str(error), ()
        begun = ((*name, entry) for entry in entries)
        every = [row(run, paths[run]) for run in begun if run in paths]
        finished = sum(row.info is not None and row.info.over for row in every)
        rows = tuple(row for row in every if row.holds(words, title))
        text = f"{name[0]} {title}".casefold()
        if rows or all(word in text for word in words.casefold().split()):
            listings.append(ComparisonListing(name, title, entries, rows, finished))
    return listings


def row(name: Name, path: Path) -> RunListing:
    """Return what the files of a run say by now; one line instead if they are damaged."""
    names = ("run.json", "recipe.toml", "metrics.jsonl", "evaluation.json")
    return _read_row(name, path, file_versions(path / name for name in names))


def file_versions(paths: Iterable[Path]) -> tuple[object, ...]:
    """Return what is another once one of these files is another, or is there no more."""
    stats = ((path, path.lstat()) for path in paths if os.path.lexists(path))
    return tuple(
        (path, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        for path, stat in stats
    )


@lru_cache(4096)
def _read_row(name: Name, path: Path, versions: tuple[object, ...]) -> RunListing:
    """Read a run, once for each of the versions of its files."""
    folder = Folder(path)
    try:
        info, evaluation = folder.read_info(), folder.read_evaluation()
        last = metrics.read_last(folder.metrics, len(info.seeds))
        curve = metrics.read_evenly(folder.metrics, POINTS)
        rows = [median(row.exact_match) for row in evaluation.lengths] if evaluation else []
    except (OSError, ValueError) as error:  # UserError too, a date that is none, no members
        return RunListing(name, None, str(error))
    try:
        recipe = tomllib.loads(folder.read_recipe_text())
    except (OSError, ValueError, RecursionError):
        recipe = {}
    positions = lookup(recipe, "positions.name")
    shares = [line.exact_match for line in last]
    learned = [share for share in shares if share is not None and math.isfinite(share)]
    return RunListing(
        name, info, "", str(recipe.get("summary", "")),
        max((line.step for line in last), default=0),
        max((line.seconds for line in last), default=None),
        median(learned) if learned else None, min(rows, default=None), len(rows),
        tuple(line.exact_match for line in curve if line.exact_match is not None),
        positions if isinstance(positions, str) else "",
    )  # fmt: skip
