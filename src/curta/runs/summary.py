"""summary.json: what a run was and what was found, in one file; from the run's files alone."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from curta.config import files, typed
from curta.config.recipe import Recipe, as_table
from curta.config.task import Task
from curta.evaluation.results import (
    Evaluation,
    Grid,
    SliceResult,
    SliceSummary,
    SummaryStatistics,
)
from curta.evaluation.statistics import six
from curta.layouts import Layout
from curta.model.model_cost import layers
from curta.problems import tasks
from curta.runs import checkpoints
from curta.runs.folders import Folder, layout_in
from curta.runs.info import Metric
from curta.runs.results import (
    CheckpointFile,
    Column,
    DataSummary,
    Ends,
    EvaluationSummary,
    GridSummary,
    ModelSummary,
    Summary,
    TaskSummary,
    TrainingSummary,
)

FILE = "summary.json"

SECTIONS = ("positions", "model", "optimizer", "training")
"""Of the recipe, which are repeated as they are."""


def write_summary(folder: Folder) -> None:
    """Writes the summary of a run that was evaluated."""
    files.write(folder.path / FILE, typed.text(summary(folder), indent=1))


def summary(folder: Folder) -> Summary:
    """The whole summary as it is written."""
    recipe, info, found = folder.read_recipe(), folder.read_info(), folder.read_evaluation()
    layout, table = layout_in(folder), as_table(recipe)
    return Summary(
        run=info.at_rest(),
        data=_data(recipe, layout, found),
        model=_model(folder, recipe, layout),
        hyperparameters={name: table[name] for name in SECTIONS},
        training=_training(folder.read_metrics(), recipe, len(info.seeds)),
        results=_results(found) if found else EvaluationSummary([]),
        named=list(found.named) if found else [],
    )


def summary_statistics(values: Sequence[float | None]) -> SummaryStatistics:
    """The value of every member that has one, and median, least and greatest of them."""
    every = [None if value is None or not math.isfinite(value) else value for value in values]
    known = [value for value in every if value is not None]
    if not known:
        return SummaryStatistics(every)
    return SummaryStatistics(every, six(median(known)), min(known), max(known))


def slice_summary(row: SliceResult) -> SliceSummary:
    """A row of the evaluation, with its figures over the members."""
    return SliceSummary(
        operator=row.operator,
        size=row.size,
        digits=row.digits,
        slice_name=row.slice_name,
        count=row.count,
        exact_match=summary_statistics(row.exact_match),
        token_accuracy=summary_statistics(row.token_accuracy),
        perplexity=summary_statistics(row.perplexity),
    )


def _data(recipe: Recipe, layout: Layout, found: Evaluation | None) -> DataSummary:
    """How problems are written, what each task draws, and its split as it was counted."""
    table = as_table(recipe)["task"]
    fields = table if isinstance(table, list) else [table]
    return DataSummary(
        layout=layout.name,
        vocabulary=list(layout.vocabulary),
        tasks=[
            _task(task, own, share)
            for task, own, share in zip(recipe.tasks, fields, recipe.shares, strict=True)
        ],
        splits=list(found.splits) if found else [],
        programs=tuple(recipe.programs),
    )


_OF_TABLES = ("held_out", "twins_together", "rows", "split")
"""What a task without a table, of which problems are drawn anew, does not read."""


def _task(task: Task, settings: Mapping[str, Any], share: int) -> TaskSummary:
    """What a task is drawn by: where that is a table, digit counts mean nothing."""
    drawn = ("held_out", "twins_together") if task.rows else _OF_TABLES
    idle = ("digits",) if "values" in settings else drawn
    kept = {key: value for key, value in settings.items() if key not in idle}
    if not task.values:
        return TaskSummary(kept, share, trained_rows=task.rows or None)
    return TaskSummary(kept, share, tasks.table(task).rows, len(tasks.trained(task)))


def _model(folder: Folder, recipe: Recipe, layout: Layout) -> ModelSummary:
    every = layers(recipe, layout, 0)
    shapes = {layer.name: list(layer.shape) for layer in every if layer.parameters}
    return ModelSummary(shapes, _checkpoint(folder))


def _checkpoint(folder: Folder) -> CheckpointFile | None:
    """The newest of which both files are there."""
    for step in reversed(checkpoints.steps(folder.checkpoints)):
        path = checkpoints.file_of(folder.checkpoints, step, "safetensors")
        if path.is_file():
            return CheckpointFile(step, f"checkpoints/{path.name}", path.stat().st_size)
    return None


def _training(rows: Sequence[Metric], recipe: Recipe, members: int) -> TrainingSummary:
    mine = [[row for row in rows if row.member == m] for m in range(members)]
    steps = max((row.step for row in rows), default=0)
    return TrainingSummary(
        steps=steps,
        steps_planned=recipe.training.steps,
        problems=steps * recipe.training.batch,
        loss=_column(mine, lambda row: row.loss, min),
        exact_match=_column(mine, lambda row: row.exact_match, max),
        validation_loss=_column(mine, lambda row: row.validation_loss, min),
        validation_exact_match=_column(mine, lambda row: row.validation_exact_match, max),
    )


def _column(
    members: Sequence[Sequence[Metric]],
    value: Callable[[Metric], float | None],
    best: Callable[..., tuple[float, int]],
) -> Column:
    """The ends of one figure; of no member if none has any."""
    found = tuple(_ends([(value(row), row.step) for row in rows], best) for rows in members)
    return found if any(found) else ()


def _ends(
    values: Sequence[tuple[float | None, int]], choose: Callable[..., tuple[float, int]]
) -> Ends | None:
    """The last and the best value, each with its step; None if there is no value."""
    found = [(one, step) for one, step in values if one is not None and math.isfinite(one)]
    if not found:
        return None
    return Ends(*found[-1], *choose(found, key=lambda pair: pair[0]))


def _results(found: Evaluation) -> EvaluationSummary:
    """Figures of every row over the members, grids in short, whole tables."""
    return EvaluationSummary(
        lengths=[slice_summary(row) for row in found.lengths],
        grids=tuple(map(_grid, found.grids)),
        tables=found.tables,
        gaps=found.gaps,
        unevaluated=found.unevaluated,
        seed=found.seed,
        num_recurrences=found.num_recurrences,
    )


def _grid(grid: Grid) -> GridSummary:
    cells = [[cell for row in member for cell in row] for member in grid.exact_match]
    means, lowest = ([six(of(own)) for own in cells] for of in (fmean, min))
    return GridSummary(
        operator=grid.operator,
        max_digits=grid.max_digits,
        count=grid.count,
        mean=summary_statistics(means),
        lowest_cell=summary_statistics(lowest),
    )
