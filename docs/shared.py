"""What scripts of docs and benchmarks share: runs to be thrown away, tables, a chunk of steps."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from statistics import median
from typing import Any


@contextmanager
def scratch_runs() -> Iterator[None]:
    """Runs lie in a new folder from here on, which is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CURTA_RUNS"] = folder
        yield


def finished(name: str, recipe: str, seeds: int, changes: Mapping[str, Any] | None = None) -> Any:
    """The run of that name in the runs folder, trained and evaluated as far as it is not."""
    from curta.frontends import api
    from curta.runs import folders

    known = name in folders.existing()
    run = api.load(name) if known else api.begin(recipe, seeds, name, changes or {}, evaluate=True)
    run.complete()
    return run


def spread(values: Iterable[float], digits: int = 3) -> str:
    """Median, least and greatest, or what all share: [1, 2, 4] is 2.0 (1.0 to 4.0)."""
    found = sorted(values)
    least, middle, most = (f"{v:.{digits}f}" for v in (found[0], median(found), found[-1]))
    return f"{middle} (all)" if least == most else f"{middle} ({least} to {most})"


def recipe_fields(name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """What a recipe says beyond its fields' defaults, but for its summary.

    So a field that recipes get later, at its default, parts no result from what it was asked for.
    """
    from curta.frontends import api

    found: dict[str, Any] = _chosen(api.resolve(name, changes))
    return {field: value for field, value in found.items() if field != "summary"}


def _chosen(part: Any) -> Any:
    """A section's name, and its fields that are not at their default."""
    if isinstance(part, tuple):
        return [_chosen(one) for one in part]
    if not is_dataclass(part):
        return part
    values = {field.name: (getattr(part, field.name), field.default) for field in fields(part)}
    return {
        name: _chosen(value)
        for name, (value, usual) in values.items()
        if name == "name" or value != usual
    }


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table."""
    yield _line(head)
    yield "|" + "---|" * len(head)
    yield from map(_line, rows)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def prepared(
    recipe: Any, layout: Any, seeds: Sequence[int], change: Callable[[Any], Any] = lambda data: data
) -> tuple[Any, Any, Any]:
    """A recipe's compiled chunk of steps, its first state and its data, which may be changed."""
    import jax.numpy as jnp

    from curta.training import records, trainer

    data, bounds = records.recorded(recipe, layout, seeds)
    mesh = trainer.training_mesh(recipe, len(seeds))
    state = trainer.shard(trainer.init(recipe, layout, jnp.asarray(seeds)), mesh)
    call = trainer.compiled(recipe, trainer.Written(layout, bounds), mesh)
    return call, state, trainer.placed(change(data), mesh)
