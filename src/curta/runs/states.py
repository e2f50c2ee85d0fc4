"""The members' state at a step of a run: initial, or as a checkpoint has it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from curta.config.errors import UserError, notify
from curta.config.recipe import Recipe
from curta.runs import checkpoints, metrics
from curta.runs.folders import Folder

if TYPE_CHECKING:
    from curta.layouts import Layout
    from curta.training.trainer import Member


def at(
    folder: Folder, recipe: Recipe, layout: "Layout", seeds: Sequence[int], step: int
) -> "Member":
    """Return all members, stacked: initial ones for step 0, else those of a checkpoint."""
    import jax
    import jax.numpy as jnp

    from curta.training import trainer

    if not step:
        return trainer.init(recipe, layout, jnp.asarray(seeds))
    like = jax.eval_shape(lambda: trainer.init(recipe, layout, jnp.asarray(seeds)))
    owner = checkpoints.owner(recipe, list(seeds), step)
    state: Member = checkpoints.load(folder.checkpoints, step, like, owner)
    return state


def member_weights(folder: Folder, recipe: Recipe) -> list[dict[str, np.ndarray]]:
    """Return the weights of every member by their path, as of the newest whole checkpoint.

    They are those with which the member did best on validation, where the run keeps these.
    """
    step, seeds = newest(folder), folder.read_info().seeds
    arrays = checkpoints.arrays(folder.checkpoints, step, checkpoints.owner(recipe, seeds, step))
    members = []
    for member in range(len(seeds)):
        has_best = ".best.score" in arrays and arrays[".best.score"][member] >= 0
        prefix = ".best.model." if has_best else ".model."
        members.append(
            {
                name.removeprefix(prefix): array[member]
                for name, array in arrays.items()
                if name.startswith(prefix)
            }
        )
    return members


def newest(folder: Folder) -> int:
    """Return the step of the newest checkpoint that is whole; UserError if there is none."""
    step = _newest_whole(folder)
    if step is None:
        raise UserError(
            f"run {folder.name!r} has no checkpoint yet:"
            f" `curta train --resume {folder.address}` trains it"
        )
    return step


def going_on(folder: Folder) -> tuple[int, float]:
    """Return the step to train on from, and the seconds until then; drop what is of later steps.

    Raises UserError if there were checkpoints, and there are none any more.
    """
    from curta.runs import embedding_history

    info, step = folder.read_info(), _newest_whole(folder)
    if step is None and info.checkpoint:
        raise UserError(
            f"run {folder.name!r} was trained to step {info.checkpoint}, but its checkpoints are"
            " gone: put them back, or train anew under another name"
        )
    seconds = metrics.cut(folder.metrics, step or 0)
    embedding_history.cut(folder.history, step or 0)
    if step is not None and step > info.checkpoint:
        # the process was gone after it had written the checkpoint, and before run.json
        stopped = info.stopped | checkpoints.stopped(folder.checkpoints, step)
        folder.update(checkpoint=step, stopped=stopped, training_seconds=round(seconds, 3))
    return step or 0, seconds


def _newest_whole(folder: Folder) -> int | None:
    """As `checkpoints.newest_whole`; a line says so if the newest one saved is gone."""
    newest, saved = checkpoints.latest(folder.checkpoints), folder.read_info().checkpoint
    if newest is not None and newest < saved:
        notify(f"run {folder.name!r} was trained to step {saved}, but the checkpoint is gone")
    return checkpoints.newest_whole(folder.checkpoints)
