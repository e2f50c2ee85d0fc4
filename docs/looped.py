"""Loops and lengths of the looped sibling: `make results-looped`.

Three seeds of `sources/looped-abacus-small`, asked with other numbers of recurrences than in
training, for every pair of lengths up to twice the longest of training. As in the source, digits'
indices are displaced in the evaluation, too, by as much as in training: there at random, anew
for every token, here by each of a few offsets, over which is averaged. Numbers that are long and
displaced far meet rows that no training did. The run is trained in the runs folder, or gone on
with.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from docs.evidence import Results, study
from docs.shared import finished, grid_of, markdown, recipe_fields, spread

NAME, RECIPE, SEEDS = "looped", "sources/looped-abacus-small", 3
RECURRENCES = (1, 2, 4, 8, 16, 32)
OFFSETS = (0, 6, 12, 18, 24)
CHANGES = {"evaluation.named": [], "training.named_at_checkpoints": False}
"""The named problems are left out here: they change no weight."""
SIZES, SHOWN, COUNT = (4, 8, 12, 16), (8,), 100


def main() -> None:
    grid = {"offsets": OFFSETS, "grid": max(SIZES), "count": COUNT}
    settings = lambda name: {"recipe": recipe_fields(RECIPE, CHANGES), **grid}
    study(__doc__, NAME, map(str, RECURRENCES), range(SEEDS), settings, measured)


def tables(results: Results) -> dict[str, Iterable[str]]:
    head = ["recurrences", "mean of the grid", *(f"{size} digits" for size in SHOWN)]
    rows = (
        [name, spread(figures["mean"]), *(spread(figures["equal"][str(s)]) for s in SHOWN)]
        for name, figures in results.read(NAME).items()
    )
    return {NAME: markdown(head, rows)}


def measured(recurrences: str) -> dict[str, Any]:
    """Exact match by member: the mean over the grid, and of two numbers of equal length."""
    run = finished(f"{NAME}-small", RECIPE, SEEDS, CHANGES)
    models = run.load_models()
    stacked = models.stacked.with_recurrences(int(recurrences))
    grids = []
    for offset in OFFSETS:
        positions = replace(stacked.positions, evaluation_offset=offset)
        displaced = replace(models, stacked=replace(stacked, positions=positions))
        grids.append(grid_of(displaced, run.recipe, max(SIZES), COUNT))
    shares = np.mean(grids, axis=0)  # members, first digits, second digits
    means = [grid.mean(axis=(1, 2)).round(4).tolist() for grid in grids]
    return {
        "mean": shares.mean(axis=(1, 2)).round(4).tolist(),
        "equal": {str(s): shares[:, s - 1, s - 1].round(4).tolist() for s in SIZES},
        "offsets": dict(zip(OFFSETS, means, strict=True)),
        "grid": shares.round(3).tolist(),
    }


if __name__ == "__main__":
    main()
