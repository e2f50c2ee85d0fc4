"""Curta from Python: `curta.train`, `curta.load`, `curta.probe`, `curta.compare`, ...

Names are checked before JAX is imported, so that a mistyped one is refused at once.
"""

import operator
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta import probes
from curta.config import limits
from curta.config.errors import UserError, quoted
from curta.config.recipe import Recipe
from curta.config.table import Table
from curta.export.formats import format_named
from curta.model import recipes
from curta.probes.base import ProbeTable
from curta.programs.user.run_snapshot import refusal
from curta.report.rendering import Rows
from curta.report.tables import of_comparison, of_run
from curta.runs import comparison_spec, folders, ownership, trackers
from curta.runs.info import AS_USUAL, Tracking

if TYPE_CHECKING:
    from curta.export import dataset
    from curta.runs.comparison import Comparison
    from curta.runs.loop import Show
    from curta.runs.run import Run


def train(
    recipe: str = "addition",
    seeds: int | Sequence[int] = 1,
    run: str | None = None,
    *,
    show: "Show" = lambda progress: None,
    evaluate: bool = True,
    track: str | Sequence[str] = (),
    project: str = "",
    tags: Sequence[str] = (),
    online: bool = False,
    **settings: Any,
) -> "Run":
    """Train a recipe, then evaluate it, certify it where possible, and write its report.

    Example::

        run = curta.train("addition", seeds=4, **{"model.width": 64})

    Args:
        recipe: Name or path of a recipe, path of a Python file with a program, or name of a
            registered program.
        seeds: Number of seeds (0, 1, ...), or the seeds themselves. Each seed trains one member.
        run: Name of the run's folder; by default it is made from the recipe's name.
        show: Called with a `Progress` after every chunk of at most 100 steps.
        evaluate: If False, stop after training.
        track: Trackers that receive metrics and results: `tensorboard`, `wandb`, `trackio`.
        project: Project of the trackers; by default that of WANDB_PROJECT, or `curta`.
        tags: Tags of the run in the trackers.
        online: Let Weights & Biases upload during the run instead of later (`wandb sync`).
        settings: Fields of the recipe to change, by their full names.

    Returns:
        The finished run, or an interrupted one, which `curta train --resume` continues.

    Raises:
        UserError: An argument or a field of the recipe is invalid, or the models do not fit into
            memory.
    """
    tracking = Tracking(project, tuple(tags), online)
    begun = begin(recipe, seeds, run, settings, track, evaluate, tracking)
    begun.complete(show)
    return begun


def begin(
    recipe: str,
    seeds: int | Sequence[int],
    name: str | None,
    overrides: Mapping[str, Any],
    track: str | Sequence[str] = (),
    evaluate: bool = False,
    tracking: Tracking = AS_USUAL,
) -> "Run":
    """Create a run without training it; with `evaluate`, evaluation and report are to follow."""
    names = trackers.checked(track, tracking)
    resolved = resolve(recipe, overrides)
    chosen = folders.seeds_of(seeds)
    if name is not None:
        folders.checked(name)
    from curta.frontends import preflight
    from curta.layouts.texts import layout_of
    from curta.model import model_cost
    from curta.runs import life
    from curta.runs.run import Run
    from curta.training import processes, trainer

    _configure()
    model_cost.check(resolved, len(chosen))
    trainer.training_mesh(resolved, len(chosen))
    layout = layout_of(resolved)
    if evaluate:
        resolved = preflight.affordable(resolved, layout, len(chosen), overrides)
    preflight.check_evaluation(resolved, layout, evaluate)
    stages = life.after_training(resolved) if evaluate else ()
    path = None
    if processes.is_first():
        path = folders.create(resolved, layout, recipe, chosen, name, stages, names, tracking).path
    folder = folders.Folder(Path(processes.from_first(path and str(path))))
    return Run(folder, recipe=resolved, layout=layout)


def _configure() -> None:
    """Import JAX and set it up."""
    from curta.training import devices

    devices.configure()


def resolve(recipe: str, overrides: Mapping[str, Any]) -> Recipe:
    """Return a recipe, by name or path, with fields changed; every field is checked."""
    return recipes.resolve(recipe, overrides, where=f"recipe {recipe!r}")


def data(
    recipe: str,
    rows: int,
    out: str | Path,
    form: str = "parquet",
    seed: int = 0,
    show: "dataset.ShowShare" = lambda split, share: None,
    **settings: Any,
) -> "dataset.Summary":
    """Write a recipe's problems as a data set with splits that do not overlap.

    The splits are `train`, `validation`, `test_id` (the sizes of training) and `test_ood` (larger
    sizes, or other layouts).

    Example::

        curta.data("addition", rows=100_000, out="sums")

    Args:
        recipe: Name or path of a recipe, or a program.
        rows: Number of training rows.
        out: Folder to create.
        form: File format: `parquet`, `jsonl` or `text`.
        seed: Seed from which problems are drawn.
        show: Called with a split's name and the share of it that is written, from 0 to 1.
        settings: Fields of the recipe to change.

    Raises:
        UserError: An argument is invalid, or a setting does not affect problems, such as
            `model.width`.
    """
    format_named(form)
    limits.check_path(str(out))
    if not 1 <= rows <= limits.ROWS:
        raise UserError(f"--rows must be 1 to {limits.ROWS:,}, not {quoted(rows)}")
    for path in settings:
        recipes.check_data_field(path)
    resolved = recipes.resolve(recipe, settings, f"recipe {recipe!r}", needs=recipes.DATA_NEEDS)
    from curta.export import dataset

    _configure()
    return dataset.write(resolved, rows, Path(out), form, seed, show)


def load(run: str, num_recurrences: int | None = None, trust: bool = False) -> "Run":
    """Load a run.

    Args:
        run: Name of the run in the runs folder, or path of its folder.
        num_recurrences: Number of times a looped model applies its blocks, if not as trained.
        trust: Execute the Python files that came with the run: a program or a position encoding.
            Read such files first if they are not yours.

    Raises:
        UserError: There is no such run, or its files are damaged.
    """
    folder = folders.find(run, trust)
    from curta.runs.run import Run

    _configure()
    return Run(folder, num_recurrences)


def extend(run: str, steps: int, trust: bool = False) -> "Run":
    """Give a finished run more training steps; `complete` then carries them out.

    The schedule is recomputed for the new number of steps, so the learning rate may jump.

    Example::

        curta.extend("addition", steps=3_000).complete()

    Args:
        run: Name or path of a finished run.
        steps: New number of steps, counted from the first one.
        trust: Execute the Python files that came with the run.

    Raises:
        UserError: The run cannot be extended: for instance, it belongs to a comparison, was
            imported, or was trained beyond its last step by repair.
    """
    loaded, steps = load(run, trust=trust), operator.index(steps)
    from curta.model import model_cost
    from curta.runs import life
    from curta.training import processes, trainer

    if processes.is_first():
        recipe, members = life.extended_recipe(loaded.folder, steps), len(loaded.seeds)
        if not folders.has_code(loaded.layout):
            raise refusal(loaded.folder.read_code())
        trackers.checked(loaded.folder.read_info().track)
        model_cost.check(recipe, members)
        trainer.training_mesh(recipe, members)
        life.extend(loaded.folder, steps)
    processes.from_first(None)
    return load(run)


def probe(run: "Run", name: str, members: Sequence[int] | None = None, **options: Any) -> Rows:
    """Run a probe and return its table; the run's report then shows it, too.

    The picture of the probe is `run.find_pictures()["probes/NAME"]`.

    Args:
        run: A trained run.
        name: Name of the probe; `curta probe` lists all.
        members: Numbers of the members to examine; all by default.
        options: Options of the probe, as `curta probe RUN NAME --help` lists them.

    Returns:
        One dictionary for each row, with the same keys.

    Raises:
        UserError: There is no such probe or option, or the probe does not fit the model.
    """
    return Rows(examine(run, name, members, **options).rows)


def examine(
    run: "Run", name: str, members: Sequence[int] | None = None, **options: Any
) -> ProbeTable:
    """Run a probe, write `probes/NAME.json` and a new report; return the probe's table."""
    with ownership.owned(run.folder.path):
        findings = probes.examine(run, name, members, **options)
        run.write_report()
    return findings


def report(names: str | Sequence[str], out: str | Path | None = None, evaluation: str = "") -> Path:
    """Write the report of a run, a comparison, or several runs side by side; return its path.

    `out` is a folder, by default that of the run or the comparison; the report of several runs goes
    to `reports` in the runs folder. `evaluation` names an evaluation with other settings than the
    recipe's, such as `digits-500`.
    """
    words = [names] if isinstance(names, str) else list(names)
    place = None if out is None else Path(out)
    if len(words) == 1 and not folders.is_comparison(words[0]):
        return load(words[0]).write_report(place, evaluation)
    from curta.export.html.page import trained_at_work
    from curta.report.page import write_together
    from curta.runs import comparison

    if len(words) == 1:
        _configure()
        loaded = comparison.Comparison.load(words[0])
        paths, results = loaded.find_folders(), loaded.read_results(evaluation)
        default = loaded.path / folders.EVALUATIONS / evaluation if evaluation else loaded.path
    else:
        runs = [folders.find(name) for name in words]
        name = comparison_spec.of_all([*(run.name for run in runs), evaluation])
        _configure()
        paths, results = {run.name: run.path for run in runs}, comparison.beside(runs, evaluation)
        default = folders.root() / "reports" / name
    work = trained_at_work(map(folders.Folder, paths.values()))
    return write_together(place or default, results, paths, work, evaluation)


def tables(name: str, evaluation: str = "") -> dict[str, Table]:
    """Return all tables of a run or a comparison by name, read from its files alone.

    `evaluation` names an evaluation with other settings than the recipe's.
    """
    if folders.is_comparison(name):
        return of_comparison(folders.comparison_path(name), evaluation)
    return of_run(folders.find(name), evaluation)


def compare(
    entries: str | Sequence[str],
    seeds: int | Sequence[int] | None = None,
    run: str | None = None,
    **settings: Any,
) -> "Comparison":
    """Train and evaluate several recipes under the same conditions.

    Runs of the comparison that are already finished are not trained again.

    Example::

        both = curta.compare(["addition", "addition-plain"], seeds=8)
        widths = curta.compare("addition", **{"model.width": [16, 32, 64]})

    Args:
        entries: Name or path of a comparison, a recipe, or a list of recipes. An entry of the list
            may be named and changed: `"NAME: RECIPE field=value ..."`.
        seeds: Number of seeds, or the seeds themselves, the same for every entry. The default is 3,
            or what the comparison's file says.
        run: Name of the comparison's folder; by default it is made from the entries.
        settings: Fields to change in all entries that do not set them. A list of values makes one
            entry for each.

    Raises:
        UserError: An entry or a field is invalid, or the folder `run` holds other runs.
    """
    words = [entries] if isinstance(entries, str) else list(entries)
    comparison = begin_comparison(words, settings, seeds, run)
    comparison.run_comparison()
    return comparison


def begin_comparison(
    entries: Sequence[str],
    settings: Mapping[str, Any],
    seeds: int | Sequence[int] | None = None,
    name: str | None = None,
) -> "Comparison":
    """Create a comparison, or continue one that exists; nothing is trained yet."""
    spec = comparison_spec.plan(entries, settings, seeds)
    from curta.frontends import preflight
    from curta.runs.comparison import Comparison

    _configure()
    preflight.check_rows([row.recipe for row in spec.rows], len(spec.seeds))
    return Comparison.begin(spec, name)
