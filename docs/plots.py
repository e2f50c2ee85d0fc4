"""Figures that studies show besides their tables, drawn from what is kept of them alone.

Every seed is a dot, and every round of a timing. Colours, sizes and axes are those of a report.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from curta.problems.sizes import AnswerHistogram
from curta.report import figures
from curta.report.figures import ALERT, BANDS, END, INK, MEDIAN, MUTED
from docs.price import BATCH, STEPS, order
from docs.profiling import WAYS, Profile, Roof
from docs.sizes import BEYOND
from docs.spaced import MATCHES, WORDS

COLOURS = (MEDIAN, END, ALERT)
"""Of contenders, measures, or counts of cores; there are never more of them."""


def spaced(numbers: Mapping[str, Any]) -> Figure:
    """Both matches of both spacings, a bar for each contender of docs/spaced.py that is kept."""
    spaces = {"id": "as in training", "ood": "elsewhere"}
    runs = {
        contender: {
            f"{words},\n{match}": numbers[name][spacing][measure]
            for measure, match in MATCHES.items()
            for spacing, words in spaces.items()
        }
        for name, contender in WORDS.items()
    }
    return figures.bar_chart(runs, "Held-out sums, by the spaces in them")


def sums(splits: Mapping[str, Any]) -> Figure:
    """How the sums of each part of the data of docs/spaced.py lie."""
    fields = AnswerHistogram.__dataclass_fields__
    histograms = [
        AnswerHistogram(name, **{field: of[field] for field in fields if field != "part"})
        for name, of in splits.items()
    ]
    return figures.answer_histogram(histograms, "Sums")


def sizes(numbers: Mapping[str, Any]) -> Figure:
    """Draw loss on held-out answers, and what is right out of range, by parameters."""
    counts = [of["parameters"] for of in numbers.values()]
    with figures.style():
        figure, (upper, lower) = figures.column(2, height=4.8)
        losses = [of["held-out loss"] for of in numbers.values()]
        draw_seeds(upper, counts, losses, MUTED, "loss, equal time")
        upper.set_yscale("log", nonpositive="clip")
        upper.set_title("Loss on held-out answers")
        for colour, measure in zip(COLOURS, ("exact match", "token accuracy"), strict=False):
            shares = [of["beyond"][measure] for of in numbers.values()]
            draw_seeds(lower, counts, shares, colour, measure)
        lower.set_title("Both operands {} to {}, trained on 0 to 99, equal time".format(*BEYOND))
        figures.percent_axis(lower)
        log_axis(lower, counts, [f"{count / 1e6:.1f}M" for count in counts])
        lower.set(xlabel="parameters")
        figures.legend(figure, upper, lower, columns=2)
    return figure


def draw_seeds(
    axes: Axes, counts: Sequence[int], seeds: Sequence[Sequence[float]], colour: str, words: str
) -> None:
    """A dot for each seed at each count, and a line through the medians."""
    middle = sorted(zip(counts, map(median, seeds), strict=True))
    axes.plot(*zip(*middle, strict=True), "-", color=colour, linewidth=1.8, label=words)
    dots = [(n, value) for n, values in zip(counts, seeds, strict=True) for value in values]
    look: Any = {"color": colour, "markersize": 4, "alpha": 0.6, "clip_on": False}
    axes.plot(*zip(*dots, strict=True), "o", **look)


def log_axis(axes: Axes, counts: Sequence[int], names: Sequence[str]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(counts, names)
    axes.set_xticks([], minor=True)


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


def price(numbers: Mapping[str, Sequence[Mapping[str, Any]]]) -> Figure:
    """Sums until right by what is given, the fewest above: a dot for each seed (docs/price.py)."""
    names, most = order(numbers), STEPS * BATCH
    with figures.style():
        figure, (axes,) = figures.column(1, height=0.9 + 0.22 * len(names))
        for line, name in enumerate(names):
            axes.axhline(line, color=MUTED, linewidth=0.4, alpha=0.5)
            for words, (colour, fill, matches) in KINDS.items():
                places = [seed["sums"] or NEVER * most for seed in numbers[name] if matches(seed)]
                look: Any = {"markerfacecolor": fill, "alpha": 0.7, "label": words}
                axes.plot(places, [line] * len(places), "o", color=colour, **look)
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.axvline(most, color=MUTED, linewidth=0.8, linestyle="--", label="the budget")
        name_lines(axes, names)
        axes.set(xlabel="sums shown until right")
        figures.legend(figure, axes, columns=1)
    return figure


def name_lines(axes: Axes, names: Sequence[str]) -> None:
    """Give each line of dots its name, the first one on top."""
    axes.set_yticks(range(len(names)), names)
    axes.grid(visible=False, axis="y")
    axes.invert_yaxis()


def looped(numbers: Mapping[str, Any]) -> Figure:
    """Exact match by recurrences, and the grid of each number of them (docs/looped.py).

    In a grid each cell is the median of the seeds; 1 digit is the first row and column.
    """
    names = sorted(numbers, key=int)
    half, counts = len(names) // 2, [int(name) for name in names]
    rows: list[Any] = [["curves"] * half, names[:half], names[half:]]
    with figures.style():
        figure = Figure(figsize=(figures.WIDTH, 6.6), layout="constrained")
        panels = figure.subplot_mosaic(rows)
        axes = panels["curves"]
        sizes = numbers[names[0]]["equal"]
        for colour, size in zip((MUTED, *COLOURS), sizes, strict=False):
            shares = [numbers[name]["equal"][size] for name in names]
            draw_seeds(axes, counts, shares, colour, f"two numbers of {size} digits")
        axes.set_xscale("log", base=2)
        axes.set_xticks(counts, names)
        axes.set(xlabel="recurrences, trained with 8")
        figures.percent_axis(axes)
        colours = ListedColormap([colour for *_, colour in BANDS])
        for name in names:
            lines, grid = figures.median_cells(numbers[name]["grid"]), panels[name]
            grid.grid(visible=False)
            image = grid.imshow(
                [[figures.band(share) for share in line] for line in lines],
                cmap=colours, vmin=-0.5, vmax=len(BANDS) - 0.5, origin="lower",
                interpolation="none",
            )  # fmt: skip
            ticks = range(3, len(lines), 4)
            grid.set_xticks(ticks, [str(tick + 1) for tick in ticks])
            grid.set_yticks(ticks, [str(tick + 1) for tick in ticks])
            grid.set_title(f"{name} recurrence{'s' * (name != '1')}")
            if name in (names[0], names[half]):
                grid.set_ylabel("digits of the first")
            if name == names[half + 1]:
                grid.set_xlabel("digits of the second")
        grids, label = [panels[name] for name in names], "exact match, median of the seeds"
        bar = figure.colorbar(image, ax=grids, shrink=0.8, label=label)
        bar.set_ticks(range(len(BANDS)), labels=[name for _, name, _ in BANDS])
        figures.legend(figure, axes, columns=2)
    return figure


def findings(numbers: Mapping[str, Any]) -> Figure:
    """What one instrument says of each model of docs/findings.py, every seed of it."""
    with figures.style():
        figure = Figure(figsize=(figures.WIDTH, 7.4), layout="constrained")
        parts, places, training = figure.subplots(3, height_ratios=(1.5, 1, 1))
        # right digits without each part, a dot for each seed
        without = numbers["window: curves"]
        for line, values in enumerate(without.values()):
            parts.plot(values, [line] * len(values), "o", color=INK, alpha=0.6, clip_on=False)
        name_lines(parts, list(without))
        parts.set(xlim=(0, 1), xlabel="right digits of sums of 10 digits, without that part")
        parts.set_title("Window model")
        # by place of the answer, each seed a line
        words = {
            "right": "the digit is right",
            "looked": "attention of the best head on its digits",
        }
        for colour, (name, label) in zip(COLOURS, words.items(), strict=False):
            for values in numbers["coupled: curves"][name]:
                places.plot(range(len(values)), values, color=colour, alpha=0.7, label=label)
        xlabel = "place of a digit in sums of 30 digits, trained on 10"
        places.set(xlabel=xlabel, ylim=(0.5, 1.02))
        places.set_title("Model with Position Coupling")
        # exact match over training, each seed a line
        watched = numbers["memoriser: curves"]
        for colour, name in zip((MUTED, ALERT), ("trained", "held out"), strict=True):
            look: Any = {"color": colour, "alpha": 0.8, "label": f"{name} problems"}
            for values in watched[name]:
                training.plot(watched["steps"], values, **look)
        figures.percent_axis(training)
        training.set(xlabel="step")
        training.set_title("Memoriser")
        figures.legend(figure, parts, places, training, columns=2)
    return figure


def roofline(profiles: Sequence[Profile], roofs: Sequence[Roof]) -> Figure:
    """Operations a second against operations a byte of each size, below what the cores can do.

    A roof rises with the memory's speed and stays at the cores'. A dot is a round, filled where
    layers are written out and hollow where in a loop.
    """
    with figures.style():
        figure, (axes,) = figures.column(1, height=4.2)
        for colour, roof in zip(COLOURS, roofs, strict=False):
            intensities = [profile.intensity(roof.cores) for profile in profiles]
            least, most = min(*intensities, roof.ridge), max(*intensities, roof.ridge)
            ends = (least / 2, roof.ridge, most * 2)
            words = f"most of {roof.cores} core{'s' * (roof.cores > 1)}"
            axes.plot(ends, [roof.at(end) / 1e9 for end in ends], color=colour, label=words)
            for profile, intensity in zip(profiles, intensities, strict=True):
                for way, fill in zip(WAYS, (colour, "none"), strict=True):
                    seconds = profile.steps(way, roof.cores)
                    paces = [profile.operations / second / 1e9 for second in seconds]
                    look: Any = {"color": colour, "markerfacecolor": fill, "markersize": 4}
                    axes.plot([intensity] * len(paces), paces, "o", **look)
        # each size's name below its slowest step on the fewest cores
        cores = roofs[0].cores
        for profile in profiles:
            slowest = max(second for way in WAYS for second in profile.steps(way, cores))
            point = (profile.intensity(cores), profile.operations / slowest / 1e9)
            look = {"textcoords": "offset points", "ha": "center", "color": MUTED}
            axes.annotate(profile.name, point, (0, -15), **look)
        labels = ("a step, layers written out", "a step, layers in a loop")
        for label, fill in zip(labels, (MUTED, "none"), strict=True):
            axes.plot([], [], "o", color=MUTED, markerfacecolor=fill, label=label)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.margins(y=0.15)
        axes.set(xlabel="operations for each byte that is moved", ylabel="GFLOP/s")
        figures.legend(figure, axes, columns=2)
    return figure
