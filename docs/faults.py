"""The table of docs/reliability.md, of what `make faults` has counted."""

from collections.abc import Iterable

from docs.evidence import Json, Results
from docs.shared import markdown

HEADS = ("campaign", "cases", "failures", "seconds")


def tables(results: Results) -> dict[str, Iterable[str]]:
    return {"faults": markdown(HEADS, map(_row, results.read("faults").items()))}


def _row(named: tuple[str, Json]) -> list[str]:
    name, figures = named
    counted = (figures["cases"], len(figures["failures"]), figures["seconds"])
    return [f"`{name}`", *(f"{count:,}" for count in counted)]
