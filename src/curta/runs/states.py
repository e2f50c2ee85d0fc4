"""The members' state at a step of a run: as they begin, or as a checkpoint has them."""

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
    """All members, stacked: as they begin for step 0, else as of one of the checkpoints."""
    import jax
    import jax.numpy as jnp

    from curta.training import trainer

    if not step:
        return trainer.init(recipe, layout, jnp.asarray(seeds))
    like = jax.eval_shape(lambda: trainer.init(recipe, layout, jnp.asarray(seeds)))
    owner = checkpoints.owner(recipe, list(seeds), step)
    found: Member = checkpoints.load(folder.checkpoints, step, like, owner)
    return found


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
    """Step of the newest checkpoint that is whole; UserError if there is none."""
    _tell_gone(folder)
    step = checkpoints.newest_whole(folder.checkpoints)
    if step is None:
        raise UserError(
            f"run {folder.name!r} has no checkpoint yet:"
            f" `curta train --resume {folder.address}` trains it"
        )
    return step


def check_kept(folder: Folder, step: int) -> None:
    """Raises UserError if there is no checkpoint of that step."""
    known = checkpoints.steps(folder.checkpoints)
    if step not in known:
        raise UserError(
            f"run {folder.name!r} has no checkpoint of step {step:,}: there are"
            f" {', '.join(f'{one:,}' for one in known)}, as training.checkpoints says"
        )


def is_trained(folder: Folder, recipe: Recipe) -> bool:
    """Whether it has all steps of its recipe, or no member is left, and a whole checkpoint.

    Raises UserError as `check_recipe`.
    """
    check_recipe(folder, recipe)
    info = folder.read_info()
    end = recipe.training.steps if info.ended is None else info.ended
    over = info.over and (info.checkpoint >= end or not info.alive)
    return over and checkpoints.is_whole(folder.checkpoints, info.checkpoint)


def check_recipe(folder: Folder, recipe: Recipe) -> None:
    """Raises UserError if the run was made longer since its recipe was read."""
    if folder.read_recipe().training != recipe.training:
        raise UserError(f"run {folder.name!r} was extended since it was loaded: load it anew")


def going_on(folder: Folder) -> tuple[int, float]:
    """The step to train on from, and the seconds until then; what was written after it is dropped.

    Raises UserError if there were checkpoints, and there are none any more.
    """
    _tell_gone(folder)
    from curta.runs import embedding_history

    step, saved = checkpoints.newest_whole(folder.checkpoints), folder.read_info().checkpoint
    if step is None and saved:
        raise UserError(
            f"run {folder.name!r} was trained to step {saved}, but its checkpoints are gone:"
            " put them back, or train anew under another name"
        )
    seconds = metrics.cut(folder.metrics, step or 0)
    embedding_history.cut(folder.history, step or 0)
    if step is not None and step > saved:
        _enter(folder, step, seconds)
    return step or 0, seconds


def _enter(folder: Folder, step: int, seconds: float) -> None:
    """A checkpoint after which the process was gone before it stood in run.json."""
    found = folder.read_info().stopped | checkpoints.stopped(folder.checkpoints, step)
    folder.update(checkpoint=step, stopped=found, training_seconds=round(seconds, 3))


def _tell_gone(folder: Folder) -> None:
    """Says so if the newest checkpoint that was saved is not there any more."""
    found, saved = checkpoints.latest(folder.checkpoints), folder.read_info().checkpoint
    if found is not None and found < saved:
        notify(f"run {folder.name!r} was trained to step {saved}, but the checkpoint is gone")
