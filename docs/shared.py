"""What scripts of docs and benchmarks share: runs to be thrown away, tables, a chunk of steps."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from curta.config import files
from curta.config.table import decimal


@contextmanager
def scratch_runs() -> Iterator[None]:
    """Runs lie in a new folder from here on, which is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CURTA_RUNS"] = folder
        yield


def finished(
    name: str, recipe: str, seeds: int | Sequence[int], changes: Mapping[str, Any] | None = None
) -> Any:
    """The run of that name in the runs folder, trained and evaluated as far as it is not.

    Raises UserError for a run of other settings or seeds, SystemExit if training was broken off.
    """
    run = own_run(name, recipe, seeds, changes or {}, evaluate=True)
    run.complete()
    ended(run)
    return run


def finished_seeds(
    name: str, recipe: str, seeds: Iterable[int], changes: Mapping[str, Any] | None = None
) -> list[Any]:
    """As `finished`, a run for each seed, so that a training broken off loses one seed at most."""
    return [finished(f"{name}-{seed}", recipe, [seed], changes) for seed in seeds]


def evaluated(run: Any) -> Any:
    """The evaluation in a run's folder, or a new one if there is none."""
    known = "evaluating" in run.folder.read_info().done
    return run.folder.read_evaluation() if known else run.evaluate(report=False)


def side_by_side(found: Sequence[Any]) -> Any:
    """The findings of runs of one seed each as those of one run: lists of members are joined.

    >>> side_by_side([{"steps": 9, "right": [0.5]}, {"steps": 9, "right": [1.0]}])
    {'steps': 9, 'right': [0.5, 1.0]}
    """
    first = found[0]
    if isinstance(first, dict):
        return {key: side_by_side([one[key] for one in found]) for key in first}
    if not isinstance(first, list):
        assert all(one == first for one in found), f"seeds differ in {found}"
        return first
    if first and isinstance(first[0], dict):
        return [side_by_side(rows) for rows in zip(*found, strict=True)]
    return [value for one in found for value in one]


def own_run(
    name: str,
    recipe: str,
    seeds: int | Sequence[int],
    changes: Mapping[str, Any],
    *,
    evaluate: bool = False,
) -> Any:
    """The run of that name, begun if there is none; UserError for one of other settings."""
    from curta.config.errors import UserError
    from curta.frontends import api
    from curta.runs import folders

    known = name in folders.existing()
    run = api.load(name) if known else api.begin(recipe, seeds, name, changes, evaluate=evaluate)
    wanted = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if (_told(run.recipe), list(run.seeds)) != (_told(api.resolve(recipe, changes)), wanted):
        raise UserError(f"run {name!r} is of other settings: remove it")
    return run


def _told(recipe: Any) -> Any:
    """A recipe without its summary, which says nothing to a training."""
    return replace(recipe, summary="")


def ended(run: Any) -> None:
    """Raises SystemExit if a run was broken off: what it knows by then is no result."""
    if not run.folder.read_info().over:
        raise SystemExit(f"{run.name} was broken off; the same command goes on with it")


def spread(values: Iterable[float], digits: int = 3) -> str:
    """Median, least and greatest, or what all share: [1, 2, 4] is 2.0 (1.0 to 4.0)."""
    return _spread(values, partial(decimal, digits=digits))


def spread_of_losses(values: Iterable[float]) -> str:
    """The same of losses, whose first three digits count: 0.00520, 1.61."""
    return _spread(values, "{:#.3g}".format)


def _spread(values: Iterable[float], shown: Callable[[float], str]) -> str:
    found = sorted(values)
    least, middle, most = (shown(value) for value in (found[0], median(found), found[-1]))
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

    data, bounds = records.training_data(recipe, layout, seeds)
    mesh = trainer.training_mesh(recipe, len(seeds))
    state = trainer.shard(trainer.init(recipe, layout, jnp.asarray(seeds)), mesh)
    call = trainer.compile_steps(recipe, trainer.TaskLayout(layout, bounds), mesh)
    return call, state, trainer.place_data(change(data), mesh)


def on_one_core() -> None:
    """Binds this process to the last of its cores: seconds are those of one core."""
    os.environ["CURTA_CORES"] = "1"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    from curta.training import devices

    devices.configure()


def affordable(name: str, changes: Mapping[str, Any], budget: float, chunk: int = 100) -> int:
    """How many steps, in chunks, fit so many seconds of this process: at the fastest of five."""
    import jax.numpy as jnp

    from curta.frontends import api
    from curta.layouts.texts import layout_of

    recipe = api.resolve(name, changes)
    call, state, data = prepared(recipe, layout_of(recipe), [0])
    paces = []
    for first in range(0, 6 * chunk, chunk):
        begun = time.process_time()
        state, found = call(state, data, jnp.int32(first), jnp.int32(chunk))
        found.loss.block_until_ready()
        paces.append(time.process_time() - begun)
    return int(budget / min(paces[1:])) * chunk


class Spent:
    """Seconds of one core that a run's training took, in all processes that it went on in."""

    def __init__(self, run: Any) -> None:
        self.path = run.folder.path.with_name(f"{run.folder.path.name}.seconds.json")
        self.before, self.begun = _read(self.path), time.process_time()
        self.over = run.folder.read_info().over

    def keep(self, progress: Any = None) -> float:
        """What they are by now, written down for a training that goes on in another process."""
        if self.over:
            return self.before
        seconds = round(self.before + time.process_time() - self.begun, 1)
        files.write(self.path, files.json_text(seconds))
        return seconds


def _read(path: Path) -> float:
    return float(json.loads(path.read_text("utf-8"))) if path.exists() else 0.0
