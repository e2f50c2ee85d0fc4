"""Learned by heart first, understood later: `make results-grokking`.

Sums modulo a prime are trained on a share of their table, and tested on the rest of it. The
recipes are `grokking-113`, a transformer of one layer as in Nanda et al. (arXiv 2301.05217), and
`grokking-97`, one of two layers as in Power et al. (arXiv 2201.02177); `CONFIGURATIONS` changes the
share of the table and the weight decay, and how long is trained.

Of each seed are kept: its curves (training, and problems that are held out), the first steps at
which 99 % of either are right, and the frequencies of the residues' vectors before the first step
and after the last, of the last layer's neurons and of the logits (probe `fourier`). Each seed is a
result of its own in docs/results/grokking.json. `python -m docs.grokking 97-50` measures one
configuration.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from curta.frontends import api
from curta.probes.base import read_probes
from curta.report import figures
from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, held_out, markdown, recipe_fields, spread

FILE = "grokking"
SEEDS = range(2)
ENOUGH = 0.99
"""Share of problems that counts as learned."""
TOP = 5
"""Frequencies whose share a table gives."""

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
    "sums", f"{ENOUGH:.0%} in training", f"{ENOUGH:.0%} held out", "held out, last ten checks",
    f"in {TOP} frequencies", "logits",
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
    """Return the curves of one seed, and the share of each frequency, from 1 on."""
    recipe, changes = CONFIGURATIONS[name]
    run = finished(f"grokking-{name}-seed-{seed}", recipe, [seed], changes)
    api.probe(run, "fourier")
    picture: Any = read_probes(run.folder)["fourier"].picture
    before, after, *_, neurons, logits = (panel["curves"][0] for panel in picture["panels"])
    (row,) = held_out(run)
    return {
        "curve": [
            [x.step, x.loss, x.exact_match, x.validation_loss, x.validation_exact_match]
            for x in run.folder.read_metrics()
            if x.validation_exact_match is not None
        ],
        "held out": row.exact_match[0],
        "problems": row.count,
        "before": before,
        "after": after,
        "neurons": neurons,
        "logits": logits,
        "seconds": run.folder.read_info().training_seconds,
    }


def tables(results: Results) -> dict[str, Iterable[str]]:
    rows = list[list[str]]()
    for name, seeds in of_seeds(results).items():
        steps = [in_order([reached(x["curve"], column) for x in seeds]) for column in (2, 4)]
        # The median of the last ten times that held-out problems were evaluated.
        late = (median(point[4] for point in seed["curve"][-10:]) for seed in seeds)
        shares = [spread((together_of(x[key]) for x in seeds), 2) for key in ("after", "logits")]
        rows.append([words(name), *steps, spread(late), *shares])
    return {FILE: markdown(HEAD, rows)}


def of_seeds(results: Results) -> dict[str, list[dict[str, Any]]]:
    """Return the figures of each seed of every configuration."""
    numbers = results.read(FILE)
    return {name: [numbers[f"{name}: seed {seed}"] for seed in SEEDS] for name in CONFIGURATIONS}


def words(name: str) -> str:
    """A configuration as people read it.

    >>> words("97-50-no-decay")
    'modulo 97, 50 % of the table, no decay'
    """
    modulus, share, *more = name.split("-")
    return ", ".join(
        [f"modulo {modulus}", f"{share} % of the table", *filter(None, [" ".join(more)])]
    )


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


def in_order(steps: Sequence[int | None]) -> str:
    """Return the steps of all seeds, in order.

    >>> in_order([1850, None, 900])
    '900, 1,850, never'
    """
    reached = sorted(step for step in steps if step is not None)
    return ", ".join([*(f"{step:,}" for step in reached), *["never"] * steps.count(None)])


def draw(results: Results) -> Figure:
    """Draw curves of every seed by configuration, and frequencies of the last one's embeddings."""
    seeds = of_seeds(results)
    with figures.style():
        figure = Figure(figsize=(figures.WIDTH, 1.5 * (len(seeds) + 2)), layout="constrained")
        panels = list(figure.subplots(len(seeds) + 2, squeeze=False)[:, 0])
        for axes, name in zip(panels, seeds, strict=False):
            _draw_curves(axes, name, seeds[name])
        last = list(seeds)[-1]
        for axes, state in zip(panels[-2:], ("before", "after"), strict=True):
            title = f"{words(last)}: embedding {state} training"
            curves = [seed[state] for seed in seeds[last]]
            points = [str(1 + place) for place in range(len(curves[0]))]
            names = [f"seed {seed}" for seed in SEEDS]
            figures.draw_stems(axes, {
                "form": "stems", "title": title, "across": "frequency", "curves": curves,
                "points": points, "names": names,
            })  # fmt: skip
            axes.set_title(title)
        figures.legend(figure, panels[0])
    return figure


def _draw_curves(axes: Axes, name: str, seeds: list[dict[str, Any]]) -> None:
    """Draw exact match by step, each seed a thin line: in training, and held out."""
    for column, label, colour in ((2, "training", figures.MUTED), (4, "held out", figures.ALERT)):
        for seed in seeds:
            steps, values = zip(*((p[0], p[column]) for p in seed["curve"]), strict=True)
            axes.plot(steps, values, color=colour, linewidth=0.9, alpha=0.8, label=label)
    figures.percent_axis(axes)
    axes.set_title(words(name))
    axes.set(xscale="log", xlabel="step")
    axes.xaxis.set_major_formatter("{x:,.0f}")


if __name__ == "__main__":
    main()
