"""Curta from Python: `curta.train` and `curta.load`."""

from collections.abc import Mapping, Sequence
from typing import Any

from . import devices, runs
from . import recipe as recipes
from .errors import UserError
from .loop import Show
from .session import Run


def train(
    recipe: str = "addition",
    seeds: int | Sequence[int] = 1,
    run: str | None = None,
    overrides: Mapping[str, Any] | None = None,
    show: Show = lambda progress: None,
    evaluate: bool = True,
) -> Run:
    """Trains a recipe, by name or by path, and examines what was learned.

    `seeds` is a count, for seeds 0, 1, ..., or the seeds themselves; one member
    is trained for each. `overrides` maps `"section.field"` to values.
    """
    begun = begin(recipe, seeds, run, overrides or {})
    begun.train(show)
    if evaluate and begun.folder.info["status"] == "finished":
        begun.evaluate()
    return begun


def begin(
    recipe: str, seeds: int | Sequence[int], name: str | None, overrides: Mapping[str, Any]
) -> Run:
    """A new run, not yet trained."""
    fields = recipes.with_overrides(recipes.read(recipe), overrides)
    resolved = recipes.parse(fields, where=f"recipe {recipe!r}")
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not chosen or len(set(chosen)) < len(chosen):
        raise UserError(f"at least one seed is needed, and each only once, not {chosen}")
    if not all(-(2**31) <= seed < 2**31 for seed in chosen):
        raise UserError(f"a seed is a whole number of at most 31 bits, not one of {chosen}")
    devices.configure()
    return Run(runs.create(resolved, recipe, chosen, name))


def load(run: str, loops: int | None = None) -> Run:
    """A run by its name in the runs folder, or by its path.

    A looped model can be asked and examined with another number of `loops`.
    """
    devices.configure()
    return Run(runs.find(run), loops)
