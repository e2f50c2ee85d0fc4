"""A run in short: figures over its members, and all of it as tables for JSON."""

import math
from collections.abc import Sequence
from operator import itemgetter
from statistics import median
from typing import TYPE_CHECKING, Any

from curta.config import typed
from curta.config.recipe import Recipe, as_table
from curta.evaluation.results import SliceResult, SliceSummary, SummaryStatistics
from curta.evaluation.statistics import round_share
from curta.runs.folders import Folder

if TYPE_CHECKING:
    from curta.layouts import Layout


def summary_statistics(values: Sequence[float | None]) -> SummaryStatistics:
    """Return the value of every member that has one, and median, least and greatest of them."""
    members = [None if value is None or not math.isfinite(value) else value for value in values]
    finite = [value for value in members if value is not None]
    if not finite:
        return SummaryStatistics(members)
    return SummaryStatistics(members, round_share(median(finite)), min(finite), max(finite))


def slice_summary(row: SliceResult) -> SliceSummary:
    """Return a row of the evaluation with its figures over the members."""
    return SliceSummary(
        **row.slice_fields,
        exact_match=summary_statistics(row.exact_match),
        token_accuracy=summary_statistics(row.token_accuracy),
        perplexity=summary_statistics(row.perplexity),
    )


def summary(folder: Folder, recipe: Recipe, layout: "Layout") -> dict[str, Any]:
    """Return what a run is and what was found, as tables and lists of plain values.

    `training` has each member's last, least and greatest value of each figure, with the steps;
    `results` is None as long as the run is not evaluated.
    """
    from curta.model.model_cost import layers

    info, evaluation, rows = folder.read_info(), folder.read_evaluation(), folder.read_metrics()
    by_member = [[row for row in rows if row.member == m] for m in range(len(info.seeds))]
    results = evaluation and typed.as_json(evaluation) | {
        "lengths": [typed.as_json(slice_summary(row)) for row in evaluation.lengths]
    }
    return {
        "run": typed.as_json(info.at_rest()),
        "recipe": as_table(recipe),
        "layout": layout.name,
        "vocabulary": list(layout.vocabulary),
        "shapes": {
            layer.name: list(layer.shape) for layer in layers(recipe, layout, 0) if layer.parameters
        },
        "training": {
            figure: [
                _ends([(getattr(row, figure), row.step) for row in rows_of_member])
                for rows_of_member in by_member
            ]
            for figure in ("loss", "exact_match", "validation_loss", "validation_exact_match")
        },
        "results": results,
    }


def _ends(points: Sequence[tuple[float | None, int]]) -> dict[str, tuple[float, int]] | None:
    """Return the last, the least and the greatest value, each with its step; None without any."""
    finite = [(value, step) for value, step in points if value is not None and math.isfinite(value)]
    if not finite:
        return None
    value_of = itemgetter(0)
    return {
        "last": finite[-1],
        "min": min(finite, key=value_of),
        "max": max(finite, key=value_of),
    }
