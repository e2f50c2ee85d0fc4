"""Learned by heart first, understood later: `make results-grokking`.

Sums modulo a prime are trained on a share of their table, and asked the rest of it. The recipes are
`grokking-113`, a transformer of one layer as in Nanda et al. (arXiv 2301.05217), and `grokking-97`,
one of two layers as in Power et al. (arXiv 2201.02177); `CONFIGURATIONS` changes the share of the
table and the weight decay, and how long is trained.

Of each seed are kept: its curves (training, and problems that are held out), the first steps at
which 99 % of either are right, and the frequencies of the residues' vectors before the first step
and after the last, of the last layer's neurons and of the logits (probe `fourier`). Each seed is a
result of its own in docs/results/grokking.json. `python -m docs.grokking 97-50` measures one
configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import TYPE_CHECKING, Any

from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, markdown, recipe_fields, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from curta.runs.info import Metric

FILE = "grokking"
SEEDS = range(2)
ENOUGH = 0.99
"""Share of problems that counts as learned."""
TOP = 5
"""Frequencies whose share is told."""

LONGER = {"training.steps": 12_000, "optimizer.warmup": 10 / 12_000}
CONFIGURATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "97-70": ("grokking-97", {"task.held_out": 2823, "evaluation.held_out": 1800}),
    "97-50": ("grokking-97", {}),
    "97-50-no-decay": ("grokking-97", {"optimizer.weight_decay": 0.0}),
    "97-30": ("grokking-97", {"task.held_out": 6586} | LONGER),
    "113-30": ("grokking-113", {}),
}
"""Recipe and changes by modulus, and by the percentage of the table that is trained on.

Of 9,409 sums modulo 97, 6,586 held out leave 30 %.
"""

HEAD = (
    "sums", "seeds", f"step of {ENOUGH:.0%} in training", f"step of {ENOUGH:.0%} held out",
    "held out, last ten checks", "held out at the end", f"in {TOP} frequencies before", "after",
    "of the neurons", "of the logits",
)  # fmt: skip


def main() -> None:
    options = arguments(__doc__, CONFIGURATIONS)
    for seed in SEEDS:
        for name in options.names:
            recipe, changes = CONFIGURATIONS[name]
            settings = {"recipe": recipe_fields(recipe, changes)}
            title, measure = f"{name}: seed {seed}", partial(measured, name, seed)
            RESULTS.keep(FILE, title, measure, [seed], settings, options)


def measured(name: str, seed: int) -> dict[str, Any]:
    """One seed: its curves, and the share of each frequency, from 1 on."""
    from curta.frontends import api
    from curta.probes import results as probed

    recipe, changes = CONFIGURATIONS[name]
    run = finished(f"grokking-{name}-seed-{seed}", recipe, [seed], changes)
    api.probe(run, "fourier")
    picture: Any = probed.read(run.folder)["fourier"].picture
    before, after, *_, neurons, logits = (panel["curves"][0] for panel in picture["panels"])
    (held_out,) = (
        row for row in run.folder.read_evaluation().lengths if row.slice_name == "held out"
    )
    return {
        "curve": [_point(line) for line in run.folder.read_metrics() if _is_validated(line)],
        "held out": held_out.exact_match[0],
        "problems": held_out.count,
        "before": before,
        "after": after,
        "neurons": neurons,
        "logits": logits,
        "seconds": run.folder.read_info().training_seconds,
    }


def _is_validated(line: Metric) -> bool:
    return line.validation_exact_match is not None


def _point(line: Metric) -> list[float | None]:
    """Step, loss and exact match in training, and of problems that are held out."""
    training = [line.step, line.loss, line.exact_match]
    return [*training, line.validation_loss, line.validation_exact_match]


def tables(results: Results) -> dict[str, Iterable[str]]:
    known = results.read(FILE)
    seeds = {name: of_seeds(known, name) for name in CONFIGURATIONS}
    rows = [_row(name, found) for name, found in seeds.items() if found]
    return {FILE: markdown(HEAD, rows)} if rows else {}


def of_seeds(known: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """What was found for each seed of a configuration that is kept."""
    titles = (f"{name}: seed {seed}" for seed in SEEDS)
    return [known[title] for title in titles if title in known]


def _row(name: str, seeds: list[dict[str, Any]]) -> list[str]:
    steps = [told([reached(one["curve"], column) for one in seeds]) for column in (2, 4)]
    held_out = [spread(map(late, seeds)), spread(one["held out"] for one in seeds)]
    together = [spread(together_of(one[part]) for one in seeds) for part in PARTS]
    return [words(name), str(len(seeds)), *steps, *held_out, *together]


def late(seed: Mapping[str, Any]) -> float:
    """Exact match on problems held out: the median of the last ten times that it was asked.

    >>> late({"curve": [[50, 0.1, 1.0, 0.2, 0.0], *[[n, 0.1, 1.0, 0.2, 1.0] for n in range(10)]]})
    1.0
    """
    return median(point[4] for point in seed["curve"][-10:])


def words(name: str) -> str:
    """A configuration as people read it.

    >>> words("97-50-no-decay")
    'modulo 97, 50 % of the table, no decay'
    """
    modulus, share, *more = name.split("-")
    return ", ".join(
        [f"modulo {modulus}", f"{share} % of the table", *filter(None, [" ".join(more)])]
    )


PARTS = ("before", "after", "neurons", "logits")


def together_of(shares: Sequence[float]) -> float:
    """The share that the largest frequencies have together.

    >>> together_of([0.1, 0.2, 0.0, 0.3, 0.1, 0.1, 0.2])
    0.9
    """
    return round(sum(sorted(shares)[-TOP:]), 6)


def reached(curve: Sequence[Sequence[float]], column: int) -> int | None:
    """The first step at which a share is enough; None if it never is.

    >>> reached([[50, 4.5, 0.1, 4.6, 0.0], [100, 0.1, 1.0, 3.0, 0.4]], 2)
    100
    """
    return next((int(point[0]) for point in curve if point[column] >= ENOUGH), None)


def told(steps: Sequence[int | None]) -> str:
    """The steps of all seeds, in order.

    >>> told([1850, None, 900])
    '900, 1,850, never'
    """
    known = sorted(step for step in steps if step is not None)
    return ", ".join([*(f"{step:,}" for step in known), *["never"] * steps.count(None)])


def draw(results: Results) -> Figure:
    """Curves of every seed by configuration, and the frequencies of the last one's embeddings."""
    from matplotlib.figure import Figure

    from curta.report import figures

    known = results.read(FILE)
    seeds = {name: found for name in CONFIGURATIONS if (found := of_seeds(known, name))}
    with figures.style():
        figure = Figure(figsize=(figures.WIDTH, 1.5 * (len(seeds) + 2)), layout="constrained")
        panels = list(figure.subplots(len(seeds) + 2, squeeze=False)[:, 0])
        for axes, (name, found) in zip(panels, seeds.items(), strict=False):
            _draw_curves(axes, name, found)
        last = list(seeds)[-1]
        for axes, part in zip(panels[-2:], PARTS, strict=False):
            _draw_waves(
                axes,
                f"{words(last)}: embedding {part} training",
                seeds[last],
                part,
            )
        figures.legend(figure, panels[0])
    return figure


def _draw_curves(axes: Axes, name: str, seeds: list[dict[str, Any]]) -> None:
    """Exact match by step, each seed a thin line: in training, and held out."""
    from curta.report import figures

    for column, label, colour in ((2, "training", figures.MUTED), (4, "held out", figures.ALERT)):
        for one in seeds:
            steps, values = zip(*((p[0], p[column]) for p in one["curve"]), strict=True)
            axes.plot(steps, values, color=colour, linewidth=0.9, alpha=0.8, label=label)
    figures.percent_axis(axes)
    axes.set_title(words(name))
    axes.set(xscale="log", xlabel="step")
    axes.xaxis.set_major_formatter("{x:,.0f}")


def _draw_waves(axes: Axes, title: str, seeds: list[dict[str, Any]], part: str) -> None:
    """The share of each frequency; seeds stand beside each other."""
    from curta.report import charts

    curves = [one[part] for one in seeds]
    charts.draw_stems(
        axes,
        {
            "form": "stems", "title": title, "across": "frequency", "curves": curves,
            "points": [str(1 + place) for place in range(len(curves[0]))],
            "names": [f"seed {seed}" for seed in SEEDS[: len(curves)]],
        },
    )  # fmt: skip
    axes.set_title(title)


if __name__ == "__main__":
    main()
