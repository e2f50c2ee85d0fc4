"""What each command does: a few calls, and something printed."""

import json
from typing import TYPE_CHECKING, Any

import click

from curta.config import limits, system
from curta.config.errors import UserError, printable, unknown
from curta.config.table import counted
from curta.frontends.cli import options
from curta.frontends.cli.comparing import resume_comparison
from curta.frontends.cli.on import On, hand_over, takes_on
from curta.frontends.cli.options import COUNT
from curta.frontends.cli.processes import shared
from curta.frontends.cli.stages import complete, generalised, show_evaluation

if TYPE_CHECKING:
    from curta.frontends.run import Run

SUMS = ("7+8", "999999999999999999999999+1", "31415926535897932384+27182818284590452353")


@click.command(cls=options.Open, further=options.fields)
@click.argument("recipe", type=options.NAME, default="addition")
@click.option("--run", metavar="NAME", help="Name of the run (the recipe's, numbered).")
@click.option("--seeds", type=options.SEEDS, default=1, metavar="N", help=options.SEEDS_HELP)
@click.option("--track", metavar="T,U", help="Trackers, of tensorboard, wandb, trackio.")
@click.option("--project", default="", metavar="[TEAM/]NAME", help="Project of wandb or trackio.")
@click.option("--tags", default="", metavar="A,B", help="Tags that wandb gives the run.")
@click.option("--online", is_flag=True, help="Let wandb send while the run goes on.")
@click.option("--no-evaluation", is_flag=True, help="Do not evaluate what was learned.")
@shared
@takes_on
def train(
    recipe: str,
    run: str | None,
    seeds: int | list[int],
    track: str | None,
    project: str,
    tags: str,
    online: bool,
    no_evaluation: bool,
    on: On | None,
    **overrides: Any,
) -> int:
    """Train a recipe, evaluate it and write a report.

    RECIPE is its name or path, or a program's file, such as gcd.py.
    """
    from curta.frontends.api import begin
    from curta.runs.info import Tracking

    tracking = Tracking(project, tuple(filter(None, tags.split(","))), online)
    begun = begin(recipe, seeds, run, overrides, track or (), not no_evaluation, tracking)
    return _complete(begun, on)


def _complete(run: "Run", on: On | None) -> int:
    """Does what is missing of a run, here or elsewhere."""
    if on is None:
        return complete(run)
    return hand_over(on, run.folder.path, [run.name])


@click.command()
@options.run
@options.trust
@click.option(
    "--steps",
    type=options.Bounded(1, limits.STEPS),
    metavar="N",
    help="Train a finished run on, until it has N steps.",
)
@shared
@takes_on
def resume(run: str, trust: bool, steps: int | None, on: On | None) -> int:
    """Go on with a run that was interrupted: trains, evaluates and reports what is missing."""
    from curta.frontends.api import extend, load
    from curta.runs.folders import is_comparison

    if is_comparison(run):
        if trust or steps:
            option = "--trust" if trust else "--steps"
            raise UserError(f"{option} is for a single run, and {run!r} is a comparison")
        return resume_comparison(run, on)
    found = extend(run, steps, trust) if steps else load(run, trust=trust)
    if not found.missing():
        print(
            f"{printable(found.name)} is finished: {counted(found.recipe.training.steps, 'step')}"
        )
        return 0
    return _complete(found, on)


DEMO = {"evaluation.digits": (20, 1000), "evaluation.count": 20}
"""An evaluation that takes a second."""


@click.command()
def demo() -> int:
    """Train the default recipe and see what it can do."""
    from curta.frontends.api import begin
    from curta.frontends.cli.display import answer_line, console

    run = begin("addition", 1, None, DEMO, evaluate=True)
    code = complete(run)
    if code:
        return code
    from rich.text import Text

    from curta.problems.problem import parse

    hard = ("9" * 1000 + "+1", *SUMS)
    for text, written in zip(hard, run.write(hard), strict=True):
        problem = parse(text)
        console().print(answer_line(problem, run.layout.answer(problem, written)))
    command = f'{" ".join(system.command())} ask {run.name} "12+34"'
    console().print(Text.assemble("\nAsk it yourself: ", (command, "bold")))
    return 0


@click.command()
@options.run
@options.trust
@click.option("--digits", metavar="20,100", help="Digit counts (the recipe's).")
@click.option(
    "--grid",
    type=options.Bounded(1, limits.GRID),
    metavar="N",
    help="Grid of digits x digits up to N.",
)
@click.option(
    "--table",
    type=options.Bounded(1, limits.TABLE),
    metavar="N",
    help="Count all problems up to N.",
)
@click.option("--member", type=options.MEMBER, metavar="M", help="One member only; saves nothing.")
@click.option("--step", type=options.STEP, metavar="N", help="An earlier checkpoint (the newest).")
@click.option(
    "--all-sizes",
    is_flag=True,
    default=None,
    help="Also sizes longer than one at which all is wrong.",
)
@click.option("--count", type=COUNT, metavar="N", help="Problems of each slice.")
@click.option("--seed", type=options.SEED, metavar="S", help="Seed of the problems.")
@options.recurrences
@options.as_json
@options.tables
@shared
def evaluate(
    run: str,
    trust: bool,
    digits: str | None,
    member: int | None,
    step: int | None,
    recurrences: int | None,
    as_json: bool,
    **sizes: int | None,
) -> int:
    """Evaluate a trained run.

    With other settings than the recipe's, what is found is kept beside the run's own evaluation.
    """
    from curta.config.typed import as_json as to_json
    from curta.evaluation.results import agrees
    from curta.frontends.api import load
    from curta.frontends.cli.display import Status, notice
    from curta.runs.evaluations import named

    found = load(run, recurrences, trust)
    changes: dict[str, Any] = {"digits": options.sizes(digits), **sizes}
    changes = {name: value for name, value in changes.items() if value is not None}
    with Status() as status:
        made = found.evaluate(status.say, member, step, status.show_grid, **changes)
    if as_json:
        print(json.dumps(to_json(made)))
        return 0 if agrees(made.lengths) else 1
    show_evaluation(made, found.seeds if member is None else [found.seeds[member]])
    generalised(found)
    if not found.code_known:
        notice("These are problems that the run has kept: its program's code was not run (--trust)")
    if made.changes:
        notice(f"Kept beside the recipe's own: {named(made.changes)}")
    if member is None:
        notice(f"Report: {found.report}")
    return 0 if agrees(made.lengths) else 1


@click.command(cls=options.Open, further=options.of_probe)
@options.run
@click.argument("probe", type=options.NAME, required=False)
@options.trust
@click.option("--member", type=options.MEMBER, metavar="M", help="One member only (all).")
@options.as_json
@options.tables
def probe(
    run: str, probe: str | None, trust: bool, member: int | None, as_json: bool, **asked: Any
) -> int:
    """Look into what a trained run has learned.

    PROBE is one of Curta's, or a file with one; without it, they are listed.
    """
    from curta.probes import PROBES

    if probe is None:
        if as_json or member is not None:
            raise UserError("--member and --json need a probe: leave them out for a list")
        from curta.frontends.cli.display import notice, probes_list
        from curta.runs.folders import find

        folder = find(run)
        if trust:
            folder.trust()
        notice(probes_list(folder.state_recipe()))
        return 0
    if not probe.endswith(".py"):
        PROBES.check(probe)
    from curta.config.typed import as_json as to_json
    from curta.frontends.api import examine, load
    from curta.frontends.cli.display import Status, notice
    from curta.report.tables.comparison import probe as table_of

    found = load(run, trust=trust)
    members = None if member is None else [member]
    with Status() as status:
        status.say(probe)
        table = examine(found, probe, members, **asked)
    if as_json:
        print(json.dumps(to_json(table)))
        return 0
    notice(table_of(table))
    notice(f"Report: {found.report}")
    return 0


@click.command()
@click.argument("name", type=options.NAME, required=False)
def recipes(name: str | None) -> int:
    """List the recipes, or say what to do with the one of a NAME."""
    from curta.config.recipe import shipped, shipped_names

    if name is not None:
        if name not in shipped_names():
            raise unknown("recipe", name, shipped_names(), "curta recipes")
        print(f"{name}: {shipped(name).get('summary', '')}")
        print(f"Train it: curta train {name}. Its fields: curta train {name} --help")
        return 0
    widest = max(map(len, shipped_names()))
    for name in shipped_names():
        print(f"{name:{widest}} {shipped(name).get('summary', '')}")
    return 0


@click.command()
@options.run
@options.trust
@options.as_json
@options.tables
def certify(run: str, trust: bool, as_json: bool) -> int:
    """List all windows of a program and evaluate every member on them.

    The exit code is 1 where a window is wrong, or the list is not one of a function.
    """
    from curta.config.typed import as_json as to_json
    from curta.frontends.api import load
    from curta.frontends.cli.display import Status, certificate, notice
    from curta.programs.user.kept import refusal

    trained = load(run, trust=trust)
    if not trained.code_known:
        raise refusal(trained.folder.read_code())
    if not trained.certifiable:
        raise UserError(f"run {trained.name!r} is of no program under a window: nothing to certify")
    with Status() as status:
        found = trained.certify(status.say)
    if as_json:
        print(json.dumps(to_json(found)))
    else:
        notice(certificate(found, trained.program))
        notice(f"Report: {trained.report}")
    return int(not found.perfect)
