"""summary.json: what a run was and what was found, in one file; from the run's files alone."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from curta.config import files
from curta.config.recipe import Recipe, as_table
from curta.config.task import Task
from curta.model.model_cost import layers
from curta.problems import tasks
from curta.runs import checkpoints
from curta.runs.folders import Folder, layout_in

FORMAT = 1
"""Version of summary.json."""

FILE = "summary.json"


def write_summary(folder: Folder) -> None:
    """Writes the summary of a run that was examined."""
    content = json.dumps(summary(folder), indent=1, ensure_ascii=False, allow_nan=False)
    files.write(folder.path / FILE, content + "\n")


def summary(folder: Folder) -> dict[str, Any]:
    """The whole summary as it is written."""
    recipe, exam = folder.recipe, folder.evaluation
    return {
        "format": FORMAT,
        "run": _some(folder.info, "name", "recipe", "status", "created", "seeds", "structure"),
        "runtime": _some(folder.info, "versions", "device", "platform"),
        "data": _data(folder, recipe),
        "model": _model(folder, recipe),
        "hyperparameters": _some(as_table(recipe), "positions", "model", "optimizer", "training"),
        "training": _training(folder, recipe),
        "results": _results(exam),
        "named": exam.get("named", []),
    }


def spread(values: Sequence[float | None]) -> dict[str, Any]:
    """The value of every member that has one, and median, least and greatest of them."""
    every = [None if value is None or not math.isfinite(value) else value for value in values]
    known = [value for value in every if value is not None]
    if not known:
        return {"members": every}
    return {
        "members": every,
        "median": round(median(known), 6),
        "min": min(known),
        "max": max(known),
    }


def _some(table: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: table[key] for key in keys if key in table}


def _data(folder: Folder, recipe: Recipe) -> dict[str, Any]:
    """How problems are written, what each task draws, and its split as the exam counted it."""
    table = as_table(recipe)["task"]
    fields = table if isinstance(table, list) else [table]
    tasks = [
        _settings(own) | {"problems_a_step": share} | _rows(task)
        for own, share, task in zip(fields, recipe.shares, recipe.tasks, strict=True)
    ]
    layout = layout_in(folder)
    programs = {"programs": list(recipe.programs)} if recipe.programs else {}
    written = {"layout": layout.name, **programs, "vocabulary": layout.vocabulary}
    return written | {"tasks": tasks, "splits": folder.evaluation.get("splits", [])}


def _settings(task: dict[str, Any]) -> dict[str, Any]:
    """What a task is drawn by: where that is a table, digit counts mean nothing."""
    idle = ("digits",) if "values" in task else ("held_out", "rows", "split")
    return {key: value for key, value in task.items() if key not in idle}


def _rows(task: Task) -> dict[str, int]:
    """Rows of a task's table, and those that are trained on; none if it has no table."""
    if not task.values:
        return {}
    return {"table_rows": tasks.table(task).rows, "trained_rows": len(tasks.trained(task))}


def _model(folder: Folder, recipe: Recipe) -> dict[str, Any]:
    """Parameters of one member, shape by shape, and the file that holds all members."""
    every = layers(recipe, layout_in(folder), 0)
    shapes = {layer.name: list(layer.shape) for layer in every if layer.parameters}
    return _some(folder.info, "parameters") | {"shapes": shapes, "checkpoint": _checkpoint(folder)}


def _checkpoint(folder: Folder) -> dict[str, Any]:
    step = checkpoints.latest(folder.checkpoints)
    if step is None:
        return {}
    path = checkpoints.file_of(folder.checkpoints, step, "safetensors")
    return {"step": step, "file": f"checkpoints/{path.name}", "bytes": path.stat().st_size}


def _training(folder: Folder, recipe: Recipe) -> dict[str, Any]:
    """Times and steps, and where every member's figures ended and were best."""
    info, rows = folder.info, list(folder.metrics())
    mine = [[row for row in rows if row["member"] == m] for m in range(len(info["seeds"]))]
    steps = max((row["step"] for row in rows), default=0)
    best: dict[str, Callable[..., Any]] = {
        "loss": min, "exact": max, "validation_loss": min, "validation_exact": max
    }  # fmt: skip
    curves = {key: [_ends(own, key, choose) for own in mine] for key, choose in best.items()}
    return {
        "seconds": info.get("training_seconds"),
        "compile_seconds": info.get("compile_seconds"),
        "steps": steps,
        "steps_planned": recipe.training.steps,
        "problems": steps * recipe.training.batch,
        "stopped": info["stopped"],
    } | {key: found for key, found in curves.items() if any(found)}


def _ends(
    rows: Sequence[Mapping[str, Any]], key: str, choose: Callable[..., Any]
) -> dict[str, Any]:
    """The last and the best value of one member, and the step of each; empty if it has none."""
    found = [
        (row[key], row["step"])
        for row in rows
        if row.get(key) is not None and math.isfinite(row[key])
    ]
    if not found:
        return {}
    (last, at), (best, step) = found[-1], choose(found, key=lambda pair: pair[0])
    return {"last": last, "last_step": at, "best": best, "best_step": step}


def _results(exam: Mapping[str, Any]) -> dict[str, Any]:
    """The exam: figures of every row over the members, the grid in short, whole tables."""
    found: dict[str, Any] = {"lengths": [_row(row) for row in exam.get("lengths", [])]}
    if "grid" in exam:
        found["grid"] = _grid(exam["grid"])
    return found | _some(exam, "seed", "num_recurrences", "tables")


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    figures = ("exact", "token_accuracy", "perplexity")
    asked = _some(row, "operator", "size", "digits", "category", "count")
    return asked | {key: spread(row[key]) for key in figures if key in row}


def _grid(grid: Mapping[str, Any]) -> dict[str, Any]:
    cells = [[cell for row in member for cell in row] for member in grid["exact"]]
    means, lowest = ([round(of(own), 6) for own in cells] for of in (fmean, min))
    asked = _some(grid, "operator", "max_digits", "count")
    return asked | {"mean": spread(means), "lowest_cell": spread(lowest)}
