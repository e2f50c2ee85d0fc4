"""Curta from Python: `curta.train`, `curta.load`, `curta.probe`, `curta.compare`, ...

Names are looked at before JAX is imported, so that a mistyped one is refused at once.
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
    """Train a recipe, by name or by path, and evaluate the trained models.

    `recipe` may also be a user's program: its file, or its name once it is registered.

    `seeds` is a count, for seeds 0, 1, ..., or the seeds themselves; one member is trained for
    each. `settings` are fields of the recipe: `**{"model.width": 64}`. `track` names trackers
    that receive metrics and results: tensorboard, wandb, trackio; `project`, `tags` and `online`
    are for these, see `Tracking`.
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
    """A new run, not yet trained; `evaluate` if that, and a report, is to follow."""
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
    """Sets JAX up, which is imported only now."""
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
    """Write a recipe's problems as a data set of `rows` to train on, and those held out.

    `out` is a new folder, `form` "parquet", "jsonl" or "text". Raises UserError for a setting
    that says nothing of problems, such as `model.width`.
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
    """Return a run, by its name in the runs folder or by its path.

    A looped model can be asked and evaluated with another number of recurrences. With `trust`
    the code that came with the run is executed: a program's, a position encoding's.
    """
    folder = folders.find(run, trust)
    from curta.runs.run import Run

    _configure()
    return Run(folder, num_recurrences)


def extend(run: str, steps: int, trust: bool = False) -> "Run":
    """Return a finished run, by name or path, to be trained on to so many steps by `complete`.

    The schedule is recomputed for the new number of steps, so the learning rate may jump. Raises
    UserError for a run that cannot be trained on, or not here.
    """
    loaded, steps = load(run, trust=trust), operator.index(steps)
    from curta.model import model_cost
    from curta.programs.user.run_snapshot import refusal
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
    """Run one probe on a run, by default on all its members, and return its rows.

    Keyword arguments are its options, as `curta probe RUN NAME --help` lists them; its
    picture is then `run.find_pictures()["probes/NAME"]`.
    """
    return Rows(examine(run, name, members, **options).rows)


def examine(
    run: "Run", name: str, members: Sequence[int] | None = None, **options: Any
) -> ProbeTable:
    """What probes/NAME.json holds once the probe was put to the run; the report is written anew."""
    with ownership.owned(run.folder.path):
        findings = probes.examine(run, name, members, **options)
        run.write_report()
    return findings


def report(names: str | Sequence[str], out: str | Path | None = None, evaluation: str = "") -> Path:
    """Writes the report of a run, or one of several runs side by side; returns its path.

    A comparison stands for the runs in it, where it is the only name. `out` is a folder, by default
    the run's or the comparison's own; reports of several runs go to `reports` in the runs folder.
    They are of the recipes' evaluations, or of one with other settings by its name, such as
    `digits-500`.
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
    """All tables of a run, or of a comparison, by their names; from its files alone.

    They are of the recipe's evaluation, or of one with other settings by its name.
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
    """Train and evaluate several recipes under the same conditions, side by side.

    `entries` is the name or the path of a comparison, or a list of recipes, each with changes of
    its own: `"NAME: RECIPE field=value ..."`. `settings` hold for all entries that do not say
    otherwise; a field with several values takes each in turn: `**{"model.width": [16, 32]}`.
    Finished runs of such a comparison are kept.
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
    """A comparison, new or to be gone on with; nothing is trained yet."""
    spec = comparison_spec.plan(entries, settings, seeds)
    from curta.frontends import preflight
    from curta.runs.comparison import Comparison

    _configure()
    preflight.check_rows([row.recipe for row in spec.rows], len(spec.seeds))
    return Comparison.begin(spec, name)
