"""What the authors of the five earlier systems report; nothing of it was measured here.

docs/results/sources.json holds it by source, so that tables with a source beside a recipe are
made from files on both sides.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from docs.evidence import Results
from docs.shared import markdown

HEADS = ("source", "figure", "reported")


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Every figure of every source."""
    return {"sources": markdown(HEADS, _rows(results.read("sources")))}


def _rows(found: dict[str, Any]) -> Iterator[list[str]]:
    for source, figures in found.items():
        for figure, value in figures.items():
            yield [source, figure, shown(value)]


def shown(value: Any) -> str:
    """A figure, several in order, or several by name."""
    if isinstance(value, dict):
        return ", ".join(f"{name}: {shown(one)}" for name, one in value.items())
    if isinstance(value, list):
        return ", ".join(map(shown, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
