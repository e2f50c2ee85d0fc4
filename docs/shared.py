"""What studies and benchmarks share: runs, figures, learning rates, tables, processes, times."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from statistics import median
from typing import Any

from curta.config import files
from curta.config.errors import UserError
from curta.config.table import decimal
from curta.frontends import api
from curta.runs import folders
from docs.evidence import ROOT

# Runs


@contextmanager
def scratch_runs() -> Iterator[None]:
    """Put runs into a new folder, which is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CURTA_RUNS"] = folder
        yield


def own_run(
    name: str,
    recipe: str,
    seeds: int | Sequence[int],
    changes: Mapping[str, Any],
    *,
    evaluate: bool = False,
) -> Any:
    """Return the run of that name, begun if there is none; UserError if its settings differ."""
    exists = name in folders.existing()
    run = api.load(name) if exists else api.begin(recipe, seeds, name, changes, evaluate=evaluate)
    expected = replace(api.resolve(recipe, changes), summary="")
    numbers = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if (replace(run.recipe, summary=""), list(run.seeds)) != (expected, numbers):
        raise UserError(f"run {name!r} is of other settings: remove it")
    return run


def finished(
    name: str, recipe: str, seeds: int | Sequence[int], changes: Mapping[str, Any] | None = None
) -> Any:
    """Return the run of that name, trained and evaluated as far as it is not.

    Raises UserError for a run of other settings or seeds, SystemExit if training is interrupted.
    """
    run = own_run(name, recipe, seeds, changes or {}, evaluate=True)
    run.complete()
    ended(run)
    return run


def trained(
    name: str, recipe: str, seeds: int | Sequence[int], changes: Mapping[str, Any]
) -> tuple[Any, float]:
    """Return the run of that name, trained as far as it is not, and its seconds of one core.

    The seconds are those of all processes that the training continued in.
    """
    run = own_run(name, recipe, seeds, changes)
    path = run.folder.path.with_name(f"{run.folder.path.name}.seconds.json")
    before = float(json.loads(path.read_text("utf-8"))) if path.exists() else 0.0
    if run.folder.read_info().over:
        return run, before
    begun, seconds = time.process_time(), before

    def note(progress: Any = None) -> None:
        nonlocal seconds
        seconds = round(before + time.process_time() - begun, 1)
        files.write(path, files.json_text(seconds))

    run.train(note)
    ended(run)
    note()
    return run, seconds


def ended(run: Any) -> None:
    """Raise SystemExit if a run was interrupted: its figures are no result yet."""
    if not run.folder.read_info().over:
        raise SystemExit(f"{run.name} was interrupted; the same command continues it")


def of_each_seed(
    name: str,
    recipe: str,
    seeds: Iterable[int],
    changes: Mapping[str, Any],
    measure: Callable[[Any], Any],
) -> Any:
    """Measure a run `NAME-SEED` for each seed, so that an interruption loses one seed at most."""
    runs = (finished(f"{name}-{seed}", recipe, [seed], changes) for seed in seeds)
    return side_by_side([measure(run) for run in runs])


def side_by_side(figures: Sequence[Any]) -> Any:
    """Join the figures of runs of one seed each to those of one run: lists of members join.

    >>> side_by_side([{"steps": 9, "right": [0.5]}, {"steps": 9, "right": [1.0]}])
    {'steps': 9, 'right': [0.5, 1.0]}
    """
    first = figures[0]
    if isinstance(first, dict):
        return {key: side_by_side([figure[key] for figure in figures]) for key in first}
    if not isinstance(first, list):
        assert all(figure == first for figure in figures), f"seeds differ in {figures}"
        return first
    if first and isinstance(first[0], dict):
        return [side_by_side(rows) for rows in zip(*figures, strict=True)]
    return [value for figure in figures for value in figure]


# Figures of a run's members


def evaluated(run: Any) -> Any:
    """Return the evaluation in a run's folder, or a new one if there is none."""
    exists = "evaluating" in run.folder.read_info().done
    return run.folder.read_evaluation() if exists else run.evaluate(report=False)


def held_out(run: Any) -> list[Any]:
    """Return the rows of an evaluation that are of held-out problems."""
    return [row for row in evaluated(run).lengths if row.slice_name.startswith("held out")]


def shares_right(models: Any, problems: Any, digits: int | None = None) -> list[float]:
    """Return the share of problems that each member has right, rounded to so many digits."""
    from curta.evaluation.scoring import exact_match

    shares = exact_match(models, list(problems)).mean(axis=1)
    rounded: list[float] = (shares if digits is None else shares.round(digits)).tolist()
    return rounded


def sums_of(pairs: Iterable[tuple[int, ...]]) -> list[Any]:
    """Return the sums of these operands."""
    from curta.problems.problem import Problem

    return [Problem("+", pair) for pair in pairs]


def random_problems(operator: str, digits: tuple[int, ...], count: int) -> list[Any]:
    """Return random problems of that many digits, always the same."""
    from curta.problems import tasks

    return tasks.problems(operator, tasks.RANDOM, digits, count, 1)


def by_member(run: Any, field: str) -> list[list[Any]]:
    """Return what a field of the run's metrics was at each step that has it, by member."""
    rows = [row for row in run.folder.read_metrics() if getattr(row, field)]
    members = range(len(run.seeds))
    return [[getattr(row, field) for row in rows if row.member == member] for member in members]


def final_losses(run: Any) -> list[float | None]:
    """Return each member's mean training loss over the last tenth of steps; None if it diverged."""
    rows = [row for row in run.folder.read_metrics() if row.step > 0.9 * run.recipe.training.steps]
    members = range(len(run.seeds))
    losses = [[row.loss for row in rows if row.member == member] for member in members]
    return [None if not x or None in x else round(sum(x) / len(x), 6) for x in losses]


def grid_of(models: Any, recipe: Any, size: int, count: int) -> Any:
    """Return exact match of sums: members, digits of the first operand, and of the second."""
    import numpy as np

    from curta.evaluation import suite

    settings = replace(recipe.evaluation, grid=size, grid_count=count)
    rows = [suite.grid_row(models, "+", settings, first) for first in range(1, size + 1)]
    return np.stack([np.array(row) for row in rows], axis=1)


# Learning rates


def search_rates(
    file: str,
    name: str,
    changed: Callable[[float, int], tuple[str, dict[str, Any]]],
    rates: Sequence[float],
    budget: float,
    chunk: int = 100,
) -> dict[str, Any]:
    """Return the steps that fit a budget of seconds, and each rate's loss after a tenth of them.

    `changed` gives recipe and changes for a rate and so many steps. The run is of the last rate.
    """
    steps, losses = affordable(*changed(rates[0], 100 * chunk), budget, chunk), {}
    for rate in rates:
        recipe, changes = changed(rate, steps // 10)
        run, _ = trained(slug(file, name, "search", str(rate)), recipe, [0], changes)
        (losses[str(rate)],) = final_losses(run)
    parameters, layers = run.folder.read_info().parameters, run.recipe.model.num_layers
    return {"steps": steps, "rates": losses, "parameters": parameters, "layers": layers}


def best_rate(losses: Mapping[str, float | None]) -> float:
    """Return the learning rate with the least training loss, of those that did not diverge."""
    return float(min((loss, rate) for rate, loss in losses.items() if loss is not None)[1])


def slug(*words: str) -> str:
    """Return a run's name: `slug("ladder", "RoPE, as meant")` is `ladder-rope-as-meant`."""
    return "-".join(re.findall("[a-z0-9]+", " ".join(words).lower()))


def recipe_fields(name: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a recipe says beyond the defaults of its fields, without its summary.

    So a field that recipes get later, at its default, does not outdate a result.
    """
    content: dict[str, Any] = beyond_defaults(api.resolve(name, changes))
    return {field: value for field, value in content.items() if field != "summary"}


def beyond_defaults(section: Any) -> Any:
    """Return a section of a recipe as data, without the fields that have their defaults."""
    if isinstance(section, tuple):
        return [beyond_defaults(entry) for entry in section]
    if not is_dataclass(section):
        return section
    return {
        field.name: beyond_defaults(value)
        for field in fields(section)
        for value in [getattr(section, field.name)]
        if field.name == "name" or value != field.default
    }


# Tables


def spread(values: Iterable[float], digits: int = 3) -> str:
    """Return median and range, or the one value of all."""
    return spread_of(values, lambda value: decimal(value, digits))


def spread_of_losses(values: Iterable[float]) -> str:
    """Do the same for losses, with three significant digits: 0.00520, 1.61."""
    return spread_of(values, "{:#.3g}".format)


def spread_of_counts(values: Iterable[float]) -> str:
    """Do the same for counts."""
    return spread_of(values, "{:,.0f}".format)


def spread_of(values: Iterable[float], form: Callable[[float], str]) -> str:
    """Return median and range, each value in that form."""
    ordered = sorted(values)
    low, middle, high = (form(value) for value in (ordered[0], median(ordered), ordered[-1]))
    return middle if low == high else f"{middle} ({low}\N{EN DASH}{high})"


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(row)} |"


# Processes and times


def elsewhere(function: str, *arguments: Any, **environment: str) -> Any:
    """Call `module:name` in a process of its own, with JSON arguments; return its JSON result."""
    module, _, name = function.partition(":")
    code = f"import json, sys; from {module} import {name}; "
    code += f"print('\\n' + json.dumps({name}(*json.loads(sys.argv[1]))))"
    command = [sys.executable, "-c", code, json.dumps(arguments)]
    done = subprocess.run(
        command, env=os.environ | environment, cwd=ROOT, stdout=subprocess.PIPE, text=True,
        check=True,
    )  # fmt: skip
    return json.loads(done.stdout.splitlines()[-1])


def timed(calls: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each call, taken in turn, after a first round that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(1 + rounds):
        for name, call in calls.items():
            begun = time.perf_counter()
            call()
            seconds[name].append(time.perf_counter() - begun)
    return {name: each[1:] for name, each in seconds.items()}


def prepared(
    recipe: Any,
    layout: Any,
    seeds: Sequence[int],
    change: Callable[[Any], Any] = lambda data: data,
    vectorised: bool | None = None,
    recorded: Sequence[int] | None = None,
) -> tuple[Any, Any, Any]:
    """Return a recipe's compiled chunk of steps, its first state and its (changed) data.

    The data are those of the seeds, or of the `recorded` ones.
    """
    import jax.numpy as jnp

    from curta.training import records, trainer

    data, bounds = records.training_data(recipe, layout, recorded or seeds)
    mesh = trainer.training_mesh(recipe, len(seeds))
    state = trainer.shard(trainer.init(recipe, layout, jnp.asarray(seeds)), mesh)
    call = trainer.compile_steps(recipe, bounds, mesh, vectorised)
    return call, state, trainer.place_data(change(data), mesh)


def on_one_core() -> None:
    """Bind this process to the last of its cores, so that seconds are those of one core."""
    os.environ["CURTA_CORES"] = "1"
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    from curta.training import devices

    devices.configure()


def affordable(name: str, changes: Mapping[str, Any], budget: float, chunk: int = 100) -> int:
    """Return how many steps, in chunks, fit so many seconds, at the fastest pace of five."""
    import jax.numpy as jnp

    from curta.layouts.texts import layout_of

    recipe = api.resolve(name, changes)
    call, state, data = prepared(recipe, layout_of(recipe), [0])
    paces = []
    for first in range(0, 6 * chunk, chunk):
        begun = time.process_time()
        state, metrics = call(state, data, jnp.int32(first), jnp.int32(chunk))
        metrics.loss.block_until_ready()
        paces.append(time.process_time() - begun)
    return int(budget / min(paces[1:])) * chunk
