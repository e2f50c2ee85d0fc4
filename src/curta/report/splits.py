"""The parts of a table: how their answers lie, and exact match in and out of distribution.

Both are drawn of what evaluation.json says, by a run's report and by the pages of docs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from curta.evaluation.results import HELD_OUT, Evaluation, SliceResult
from curta.problems.sizes import AnswerHistogram, Split
from curta.report.figures import (
    ALERT,
    END,
    INK,
    MEDIAN,
    MUTED,
    column,
    legend,
    percent_axis,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = (MUTED, MEDIAN, END, ALERT)
"""Colours of the parts of a table."""
RUNS = (MEDIAN, END, ALERT)
"""Colours of runs whose bars stand beside each other."""
BAR = 0.34
"""Width of a bar, of groups that stand 1 apart."""

Bars = Mapping[str, Sequence[float]]
"""Exact match of every member, by the group that its bar stands in."""


class Parts(NamedTuple):
    """The section on the parts of tables: their split, and the distribution of their answers."""

    splits: Sequence[Split]
    plots: Mapping[str, Markup]


def histogram_figures(evaluation: Evaluation) -> dict[str, Figure]:
    """How the answers of each operator lie, by the names of the figures' files."""
    drawn = [split for split in evaluation.splits if split.answers]
    names = ["answers" if n == 1 else f"answers-{n}" for n in range(1, len(drawn) + 1)]
    return {
        name: answer_histogram(split.answers, f"Answers of {split.operator}")
        for name, split in zip(names, drawn, strict=True)
    }


def section(evaluation: Evaluation, plots: Mapping[str, Markup]) -> Parts | None:
    """The section's data; None where no problems of a table were held out."""
    own = {name: plot for name, plot in plots.items() if name.partition("-")[0] == "answers"}
    return Parts(evaluation.splits, own) if evaluation.splits else None


def answer_histogram(parts: Sequence[AnswerHistogram], title: str) -> Figure:
    """The share of each part's answers in each bin, a line for each part."""
    with style():
        figure, (axes,) = column(1, height=2.8)
        for number, part in enumerate(parts):
            shares = [count / part.problems for count in part.counts]
            colour, width = PARTS[number % len(PARTS)], 1.2 + 0.5 * (len(parts) - number)
            axes.stairs(shares, part.edges, color=colour, linewidth=width, label=part.part)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set(xlabel="answer", ylim=(0, None))
        axes.set_title(f"{title}: share of each part in a bin", parse_math=False)
        legend(figure, axes, columns=2)
    return figure


def held_out_bars(rows: Sequence[SliceResult]) -> Figure | None:
    """Exact match of held-out problems, written as in training and in other ways.

    None where they were evaluated in the layout of training alone.
    """
    own = [row for row in rows if row.slice_name.partition(",")[0] == HELD_OUT]
    if len({row.slice_name for row in own}) < 2:
        return None
    several, bars = len({row.operator for row in own}) > 1, dict[str, Sequence[float]]()
    for row in own:
        other = row.slice_name.removeprefix(HELD_OUT).removeprefix(", ")
        name = other or "as in training"
        name = f"{row.operator}, {name}" if several else name
        bars[f"{name}:\nwhole text"] = row.exact_match
        bars[f"{name}:\nanswer"] = row.generated.exact_match
    return bar_chart({"": bars}, "Held-out problems, by how they are written")


def bar_chart(runs: Mapping[str, Bars], title: str) -> Figure:
    """A bar up to the median of each group and run, with a dot for each member."""
    groups = list(next(iter(runs.values())))
    with style():
        figure, (axes,) = column(1, height=3.2)
        for number, (words, bars) in enumerate(runs.items()):
            shift = BAR * (number - (len(runs) - 1) / 2)
            _draw_bars(axes, [bars[group] for group in groups], shift, RUNS[number], words)
        small = 8 if len(groups) > 4 else None
        axes.set_xticks(range(len(groups)), groups, fontsize=small, parse_math=False)
        axes.grid(visible=False, axis="x")
        axes.set_title(title)
        percent_axis(axes)
        legend(figure, axes, columns=2)
    return figure


def _draw_bars(
    axes: Axes, shares: Sequence[Sequence[float]], shift: float, colour: str, words: str
) -> None:
    seeds = len(shares[0])
    counted = f"{seeds} seed{'s' * (seeds > 1)}"
    label = f"{words}, {counted}" if words else f"median of {counted}" if seeds > 1 else ""
    places = [number + shift for number in range(len(shares))]
    middle = [median(values) for values in shares]
    axes.bar(places, middle, BAR - 0.04, color=colour, alpha=0.5, label=label or None)
    for place, values in zip(places, shares, strict=True):
        across = [place + 0.07 * (seed - (seeds - 1) / 2) for seed in range(seeds)]
        axes.plot(across, values, "o", color=INK, markersize=3.5, clip_on=False, label="each seed")
