"""Figures that studies show besides their tables, drawn from what is kept of them alone.

Every seed is a dot, and every round of a timing. Colours, sizes and axes are those of a report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

from curta.problems.sizes import AnswerHistogram
from curta.report.figures import (
    ALERT,
    BANDS,
    END,
    INK,
    MEDIAN,
    MUTED,
    WIDTH,
    answer_histogram,
    band,
    bar_chart,
    column,
    legend,
    median_cells,
    percent_axis,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from docs.profiling import Profile, Roof

COLOURS = (MEDIAN, END, ALERT)
"""Of contenders, measures, or counts of cores; there are never more of them."""


def spaced(numbers: Mapping[str, Any]) -> Figure:
    """Both matches of both spacings, a bar for each contender of docs/spaced.py that is kept."""
    from docs.spaced import MATCHES, WORDS

    runs = {
        contender: {
            f"{words},\n{match}": numbers[name][spacing][measure]
            for measure, match in MATCHES.items()
            for spacing, words in SPACES.items()
        }
        for name, contender in WORDS.items()
    }
    return bar_chart(runs, "Held-out sums, by the spaces in them")


SPACES = {"id": "as in training", "ood": "elsewhere"}


def sums(splits: Mapping[str, Any]) -> Figure:
    """How the sums of each part of the data of docs/spaced.py lie."""
    fields = AnswerHistogram.__dataclass_fields__
    histograms = [
        AnswerHistogram(name, **{field: of[field] for field in fields if field != "part"})
        for name, of in splits.items()
    ]
    return answer_histogram(histograms, "Sums")


def sizes(numbers: Mapping[str, Any]) -> Figure:
    """Draw loss on held-out answers, and what is right out of range, by parameters."""
    from docs.sizes import BEYOND

    counts = [of["parameters"] for of in numbers.values()]
    with style():
        figure, (upper, lower) = column(2, height=4.8)
        losses = [of["held-out loss"] for of in numbers.values()]
        _draw_sizes(upper, dict(zip(counts, losses, strict=True)), MUTED, "loss, equal time")
        upper.set_yscale("log", nonpositive="clip")
        upper.set_title("Loss on held-out answers")
        for colour, measure in zip(COLOURS, ("exact match", "token accuracy"), strict=False):
            shares = {of["parameters"]: of["beyond"][measure] for of in numbers.values()}
            _draw_sizes(lower, shares, colour, measure)
        lower.set_title("Both operands {} to {}, trained on 0 to 99, equal time".format(*BEYOND))
        percent_axis(lower)
        lower.set_xscale("log")
        lower.set_xticks(counts, [f"{count / 1e6:.1f}M" for count in counts])
        lower.set_xticks([], minor=True)
        lower.set(xlabel="parameters")
        legend(figure, upper, lower, columns=2)
    return figure


def ranges(numbers: Mapping[str, Any], held_out: Mapping[str, Sequence[float]]) -> Figure:
    """Draw what is right in and out of range by how many pairs were trained on."""
    counts = [of["pairs in training"] for of in numbers.values()]
    lines = {"held out, in range": [held_out[name] for name in numbers]}
    for span, words in RANGES.items():
        lines[words] = [of["range"][span] for of in numbers.values()]
    for measure, words in LONGER.items():
        lines[words] = [of["longer"][measure] for of in numbers.values()]
    with style():
        figure, (axes,) = column(1, height=3.2)
        for colour, (words, shares) in zip((INK, MUTED, *COLOURS), lines.items(), strict=False):
            _draw_sizes(axes, dict(zip(counts, shares, strict=True)), colour, words)
        axes.set_xscale("log")
        names = [f"{count:,}\n({name})" for count, name in zip(counts, numbers, strict=True)]
        axes.set_xticks(counts, names)
        axes.set_xticks([], minor=True)
        axes.set(xlabel="pairs trained on (their operands)")
        axes.set_title("Exact match in range and beyond")
        percent_axis(axes)
        legend(figure, axes, columns=2)
    return figure


RANGES = {"L to 2L, one beyond": "one operand L to 2L", "L to 2L, both beyond": "both L to 2L"}
LONGER = {"exact match": "both one digit longer", "token accuracy": "token accuracy there"}
"""What the picture of ranges shows, L being the first number that training did not have."""


def _draw_sizes(
    axes: Axes, series: Mapping[int, Sequence[float]], colour: str, words: str | None = None
) -> None:
    """A dot for each seed, and a line through the medians."""
    middle = {count: median(values) for count, values in sorted(series.items())}
    axes.plot(list(middle), list(middle.values()), "-", color=colour, linewidth=1.8, label=words)
    dots = [(count, value) for count, values in series.items() for value in values]
    axes.plot(
        *zip(*dots, strict=True), "o", color=colour, markersize=4, alpha=0.6, clip_on=False
    )  # fmt: skip


def price(numbers: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """Sums until right by what is given, the fewest above: a dot for each seed (docs/price.py)."""
    from docs.price import BATCH, STEPS, order

    names, most = order(numbers), STEPS * BATCH
    with style():
        figure, (axes,) = column(1, height=0.9 + 0.22 * len(names))
        for line, name in enumerate(names):
            axes.axhline(line, color=MUTED, linewidth=0.4, alpha=0.5)
            for words, (colour, fill, matches) in KINDS.items():
                places = [seed["sums"] or NEVER * most for seed in numbers[name] if matches(seed)]
                lines = [line] * len(places)
                axes.plot(
                    places, lines, "o", color=colour, markerfacecolor=fill, alpha=0.7, label=words
                )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.axvline(most, color=MUTED, linewidth=0.8, linestyle="--")
        axes.set_yticks(range(len(names)), names)
        axes.grid(visible=False, axis="y")
        axes.invert_yaxis()
        axes.set(xlabel="sums shown until right")
        legend(figure, axes, columns=1)
    return figure


NEVER = 1.5
"""Where seeds stand that were never right, as a multiple of the budget."""

KINDS: Mapping[str, tuple[str, str, Callable[[Mapping[str, Any]], bool]]] = {
    "a seed": (MEDIAN, MEDIAN, lambda seed: bool(seed["sums"]) and not longer(seed)),
    "a seed that is right on sums of 100 digits too": (END, END, lambda seed: longer(seed)),
    "a seed that was not right within the budget": (ALERT, "none", lambda seed: not seed["sums"]),
}
"""What is said of a dot, its colour, its fill, and which seeds it is of."""


def longer(seed: Mapping[str, Any]) -> bool:
    """Return whether a seed that was right is so on nearly all sums of a hundred digits."""
    return bool(seed["sums"]) and seed["lengths"]["100"] >= 0.99


def looped(numbers: Mapping[str, Any]) -> Figure:
    """Exact match by recurrences, and the grid of each number of them (docs/looped.py)."""
    from matplotlib.figure import Figure

    recurrences = sorted(numbers, key=int)
    half = len(recurrences) // 2
    rows: list[Any] = [[CURVES] * half, recurrences[:half], recurrences[half:]]
    with style():
        figure = Figure(figsize=(WIDTH, 6.6), layout="constrained")
        panels = figure.subplot_mosaic(rows)
        _draw_recurrences(panels[CURVES], {name: numbers[name]["equal"] for name in recurrences})
        for name in recurrences:
            image = _draw_grid(panels[name], numbers[name]["grid"])
            panels[name].set_title(f"{name} recurrence{'s' * (name != '1')}")
        grids = [panels[name] for name in recurrences]
        label = "exact match, median of the seeds"
        bar = figure.colorbar(image, ax=grids, shrink=0.8, label=label)
        bar.set_ticks(range(len(BANDS)), labels=[name for _, name, _ in BANDS])
        legend(figure, panels[CURVES], columns=2)
    return figure


CURVES = "curves"


def _draw_recurrences(axes: Axes, series: Mapping[str, Mapping[str, Sequence[float]]]) -> None:
    """A line for each size through the medians, a dot for each seed."""
    sizes = list(next(iter(series.values())))
    for colour, size in zip((MUTED, *COLOURS), sizes, strict=False):
        of = {int(name): equal[size] for name, equal in series.items()}
        _draw_sizes(axes, of, colour, f"two numbers of {size} digits")
    axes.set_xscale("log", base=2)
    axes.set_xticks([int(name) for name in series], list(series))
    axes.set(xlabel="recurrences asked")
    percent_axis(axes)


def _draw_grid(axes: Axes, members: Sequence[Sequence[Sequence[float]]]) -> AxesImage:
    """Median of the seeds by the digits of both numbers; 1 digit is the first row and column."""
    from matplotlib.colors import ListedColormap

    lines = median_cells(members)
    axes.grid(visible=False)
    image = axes.imshow(
        [[band(share) for share in line] for line in lines],
        cmap=ListedColormap([colour for *_, colour in BANDS]),
        vmin=-0.5, vmax=len(BANDS) - 0.5, origin="lower", interpolation="none",
    )  # fmt: skip
    ticks = range(3, len(lines), 4)
    axes.set_xticks(ticks, [str(tick + 1) for tick in ticks])
    axes.set_yticks(ticks, [str(tick + 1) for tick in ticks])
    return image


def findings(numbers: Mapping[str, Any]) -> Figure:
    """What one instrument says of each model of docs/findings.py, every seed of it."""
    from matplotlib.figure import Figure

    draws: dict[str, Callable[[Axes, Any], None]] = {
        "window": _draw_parts, "coupled": _draw_places, "memoriser": _draw_training,
    }  # fmt: skip
    with style():
        figure = Figure(figsize=(WIDTH, 7.4), layout="constrained")
        panels = list(figure.subplots(3, height_ratios=(1.5, 1, 1)))
        for axes, (model, draw) in zip(panels, draws.items(), strict=True):
            draw(axes, numbers[f"{model}: curves"])
        legend(figure, *panels, columns=2)
    return figure


def _draw_parts(axes: Axes, series: Mapping[str, Sequence[float]]) -> None:
    """Right digits without each part, a dot for each seed."""
    for line, values in enumerate(series.values()):
        axes.plot(values, [line] * len(values), "o", color=INK, alpha=0.6, clip_on=False)
    axes.set_yticks(range(len(series)), list(series))
    axes.grid(visible=False, axis="y")
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel="right digits of sums of 10 digits, without that part")
    axes.set_title("Window model")


def _draw_places(axes: Axes, series: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """By place of the answer, each seed a line."""
    words = {"right": "the digit is right", "looked": "attention of the best head on its digits"}
    for colour, (part, label) in zip(COLOURS, words.items(), strict=False):
        for values in series[part]:
            axes.plot(range(len(values)), values, color=colour, alpha=0.7, label=label)
    axes.set(xlabel="place of a digit in sums of 30 digits, trained on 10", ylim=(0.5, 1.02))
    axes.set_title("Model with Position Coupling")


def _draw_training(axes: Axes, series: Mapping[str, Any]) -> None:
    """Exact match over training, each seed a line."""
    for colour, name in zip((MUTED, ALERT), ("trained", "held out"), strict=True):
        for values in series[name]:
            axes.plot(series["steps"], values, color=colour, alpha=0.8, label=f"{name} problems")
    percent_axis(axes)
    axes.set(xlabel="step")
    axes.set_title("Memoriser")


def roofline(profiles: Sequence[Profile], roofs: Sequence[Roof]) -> Figure:
    """Operations a second against operations a byte of each size, below what the cores can do."""
    with style():
        figure, (axes,) = column(1, height=4.2)
        for colour, roof in zip(COLOURS, roofs, strict=False):
            _draw_roof(axes, roof, [of.intensity(roof.cores) for of in profiles], colour)
            for of in profiles:
                _draw_steps(axes, of, roof.cores, colour)
        for of in profiles:
            _name(axes, of, roofs[0].cores)
        for way, filled in FILLED.items():
            fill = MUTED if filled else "none"
            axes.plot([], [], "o", color=MUTED, markerfacecolor=fill, label=WAYS[way])
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.margins(y=0.15)
        axes.set(xlabel="operations for each byte that is moved", ylabel="GFLOP/s")
        legend(figure, axes, columns=2)
    return figure


FILLED = {"written out": True, "loop": False}
WAYS = {"written out": "a step, layers written out", "loop": "a step, layers in a loop"}
"""How the two ways through the layers are drawn, and what the legend calls them."""


def _draw_roof(axes: Axes, roof: Roof, intensities: Sequence[float], colour: str) -> None:
    """The line that rises with the memory's speed and stays at the cores'."""
    ends = (min(*intensities, roof.ridge) / 2, roof.ridge, max(*intensities, roof.ridge) * 2)
    words = f"most of {roof.cores} core{'s' * (roof.cores > 1)}"
    axes.plot(ends, [roof.at(end) / 1e9 for end in ends], color=colour, label=words)


def _draw_steps(axes: Axes, of: Profile, cores: int, colour: str) -> None:
    """A dot for each round, filled where layers are written out and hollow where in a loop."""
    for way, filled in FILLED.items():
        paces = [of.operations / seconds / 1e9 for seconds in of.steps(way, cores)]
        places, fill = [of.intensity(cores)] * len(paces), colour if filled else "none"
        axes.plot(places, paces, "o", color=colour, markerfacecolor=fill, markersize=4)


def _name(axes: Axes, of: Profile, cores: int) -> None:
    """The size's name below its slowest step on so many cores."""
    slowest = max(second for way in FILLED for second in of.steps(way, cores))
    axes.annotate(
        of.name, (of.intensity(cores), of.operations / slowest / 1e9), (0, -15),
        textcoords="offset points", ha="center", color=MUTED,
    )  # fmt: skip
