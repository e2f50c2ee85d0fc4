"""Figures with their range, and tables of them."""

import argparse
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from docs.shared import markdown


@dataclass(frozen=True)
class Spread:
    """Median, lowest and highest of repeated measurements."""

    median: float
    low: float
    high: float
    bold: bool = False
    """As a page prints it: ratios are."""

    @classmethod
    def of(cls, values: Sequence[float], scale: float = 1.0, bold: bool = False) -> "Spread":
        scaled = [scale * value for value in values]
        return cls(statistics.median(scaled), min(scaled), max(scaled), bold)

    def __str__(self) -> str:
        text = short(self.median)
        if self.low != self.high:
            text += f" ({short(self.low)} to {short(self.high)})"
        return f"**{text}**" if self.bold else text


Row = list[str | Spread]
"""The cells of one line."""


def short(value: float) -> str:
    """Three significant digits, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


@dataclass(frozen=True)
class Table:
    """A titled table that prints as Markdown."""

    title: str
    text: str
    head: list[str]
    rows: list[Row]

    def __str__(self) -> str:
        lines = "\n".join(markdown(self.head, (list(map(str, row)) for row in self.rows)))
        return "\n\n".join(filter(None, [f"## {self.title}", self.text.strip(), lines])) + "\n"


def explained(text: str | None) -> str:
    """What a module says of itself after its first line."""
    return (text or "").partition("\n\n")[2]


def main(tables: Callable[[bool], Iterable[Table]]) -> None:
    """Prints a benchmark's tables; `--quick` only shows that it runs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    for table in tables(parser.parse_args().quick):
        print(table)
