"""Options and help of the commands that train, examine and list runs.

Each imports its implementation when it is called, so that its help appears at once.
"""

import functools
import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import click

from curta.config import limits, system
from curta.config.errors import Notice, UserError, quoted, refuse_if
from curta.frontends.cli import arguments
from curta.frontends.cli.arguments import command, destination, option


def on_all_processes(function: Callable[..., int]) -> Callable[..., int]:
    """Let srun or mpirun begin a command that trains on several processes, with the same words.

    Process 0 alone prints. In the others, only the line of an error is printed.
    """

    @functools.wraps(function)
    def on_processes(**options: Any) -> int:
        process = system.process()
        if process.count == 1:
            return function(**options)
        output = sys.stdout
        output.flush()
        # What libraries print goes nowhere, so process 0 prints to a copy of its output.
        number = os.open(os.devnull, os.O_WRONLY) if process.index else os.dup(1)
        sys.stdout = os.fdopen(number, "w", encoding=output.encoding, errors=output.errors)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if process.index:
            warnings.simplefilter("ignore", Notice)
        import jax

        from curta.training import devices, processes

        devices.configure()
        devices.join(process)
        try:
            with processes.peers():
                code = function(**options)
        except processes.PeerError as error:
            print(f"curta: {error}", file=sys.stderr)
            return 1
        jax.distributed.shutdown()
        return code

    return on_processes


RESUME_HELP = (
    "Go on with a run, or a comparison, that was interrupted;"
    " with training.steps=N train a finished run on."
)
AGAINST_HELP = "Evaluate two runs on the same problems, and test the difference."

RESUMED = ("--resume", "--trust", "--on", "--cluster", "--wait", "training.steps")
"""Options and settings that a resumed training takes."""

STEP = click.IntRange(1, limits.INT32)


DEMO = {"evaluation.digits": (20, 1000), "evaluation.count": 20}
"""An evaluation that takes a second, for `curta train` without a word."""


@command()
@on_all_processes
def train(
    words: Annotated[tuple[str, ...], arguments.words("[RECIPE] [FIELD=VALUE]...")],
    run: Annotated[str | None, option("Name of the run (the recipe's, numbered).", "NAME")],
    seeds: arguments.SeedsOption,
    resume: Annotated[str | None, option(RESUME_HELP, "RUN")],
    trust: arguments.Trust,
    no_evaluation: Annotated[bool, option("Do not evaluate the trained models.")],
    track: Annotated[str | None, option("Trackers, of tensorboard, wandb, trackio.", "T,U")],
    project: Annotated[str | None, option("Project of wandb or trackio.", "[TEAM/]NAME")],
    tags: Annotated[str | None, option("Tags that wandb gives the run.", "A,B")],
    online: Annotated[bool, option("Let wandb send while the run goes on.")],
    on: arguments.On,
    cluster: arguments.ClusterFile,
    wait: arguments.Wait,
) -> int:
    """Train a recipe, evaluate it and write a report.

    RECIPE is its name or path, or a program's file, such as gcd.py; FIELD=VALUE changes it:
    model.width=64. `curta show RECIPE --fields` lists the fields. Without arguments it
    trains the recipe addition and adds a few large numbers.
    """
    from curta.frontends import api
    from curta.frontends.cli import training
    from curta.runs.cluster import check_system
    from curta.runs.info import Tracking

    names, settings = arguments.split(words)
    if place := destination(on, cluster, wait, settings):
        check_system(place.system)
    recipe = arguments.at_most_one(names, "recipe")
    if resume is not None:
        for word in (*map(quoted, names), *arguments.on_command_line(), *settings):
            if word not in RESUMED:
                raise UserError(f"--resume goes on with a run as it was begun: leave out {word}")
        steps = arguments.values(settings).get("training.steps")
        return training.go_on(resume, trust, steps, place)
    refuse_if(trust, "--trust is for --resume RUN: a recipe's files are executed anyway")
    is_demo = recipe is None and not settings and place is None and not no_evaluation
    begun = api.begin(
        recipe or "addition",
        seeds or 1,
        run,
        DEMO if is_demo else arguments.values(settings),
        track or (),
        not no_evaluation,
        Tracking(project or "", tuple(filter(None, (tags or "").split(","))), online),
    )
    return training.complete(begun, place, is_demo)


@command("json")
def compare(
    words: Annotated[tuple[str, ...], arguments.words("[ENTRY]... [FIELD=VALUE]...")],
    run: Annotated[str | None, option("Name of its folder (made from its entries).", "NAME")],
    seeds: arguments.SeedsOption,
    on: arguments.On,
    cluster: arguments.ClusterFile,
    wait: arguments.Wait,
) -> int:
    """Train several recipes side by side, or one with several values of a field.

    A single ENTRY is the name or path of a comparison; without any, those that come with the
    program are listed. Else entries are recipes, '[NAME: ]RECIPE [FIELD=VALUE ...]', each with its
    own changes. A field with several values takes each in turn:

    \b
      curta compare addition model.width=16,32,64
      curta compare addition 'RoPE: addition positions.name=rope model.role_embeddings=false'
    """
    from curta.frontends import api
    from curta.frontends.cli import training
    from curta.runs import comparison_spec
    from curta.runs.cluster import check_system

    entries, settings = arguments.split(words)
    if not entries:
        for name in (*settings, *arguments.on_command_line()):
            raise UserError(f"{name} needs a comparison, or recipes, to be about")
        for name in comparison_spec.names():
            print(f"{name:20} {comparison_spec.read(name).title}")
        return 0
    if place := destination(on, cluster, wait, settings):
        check_system(place.system)
    begun = api.begin_comparison(entries, arguments.values(settings), seeds, run)
    return training.run_comparison(begun, place)


@command(*arguments.FORMS)
def evaluate(
    words: Annotated[tuple[str, ...], arguments.words("RUN [FIELD=VALUE]...")],
    trust: arguments.Trust,
    against: Annotated[str | None, option(AGAINST_HELP, "RUN")],
    member: Annotated[int | None, option("One member only; saves nothing.", "M")],
    step: Annotated[int | None, option("An earlier checkpoint (the newest).", "N", STEP)],
    recurrences: arguments.Recurrences,
) -> int:
    """Evaluate a trained run.

    FIELD=VALUE changes the recipe's [evaluation]: digits=20,100 count=500 grid=40 table=999
    all_sizes=true. The result is then kept beside the run's own evaluation.
    """
    from curta.frontends.cli import training

    if system.process().index:  # process 0 alone carries it out
        return 0
    names, settings = arguments.split(words)
    name = arguments.at_most_one(names, "run")
    if name is None:
        raise UserError("which run? curta evaluate RUN; `curta runs` lists all")
    changes = evaluation_changes(settings)
    if against is not None:
        for flag, value in (("--step", step), ("--recurrences", recurrences)):
            refuse_if(value is not None, f"{flag} is for one run: leave it out with --against")
        return training.evaluate_both((name, against), trust, member, changes)
    return training.evaluate(name, trust, member, step, recurrences, changes)


def evaluation_changes(settings: dict[str, str]) -> dict[str, Any]:
    """Return fields of the evaluation, `digits` or `evaluation.digits`, with their values.

    A single size, or problem, is a list of one.
    """
    short = {field.removeprefix("evaluation."): text for field, text in settings.items()}
    changes = arguments.values(short)
    for field in ("digits", "named", "layouts"):
        if field in changes and not isinstance(changes[field], list | dict):
            changes[field] = [changes[field]]
    return changes


@command("json")
def certify(
    run: arguments.Run,
    trust: arguments.Trust,
    check: Annotated[bool, option("Check the certificate that is there, by NumPy alone.")],
) -> int:
    """List all windows of a program and evaluate every member on them.

    The exit code is 1 where a window is wrong, or the list is not that of a function.
    """
    from curta.frontends.cli import training

    return training.check_certificate(run) if check else training.certify(run, trust)


@command("json")
def runs(
    names: Annotated[tuple[str, ...], arguments.argument("[NAME]...", nargs=-1)],
    logs: Annotated[bool, option("Print what the runs of a job have printed.")],
    wait: Annotated[bool, option("Follow a job to its end, and write the comparison.")],
    cancel: Annotated[bool, option("End what is at work for it, and what waits.")],
    remove: Annotated[bool, option("Remove the runs, or comparisons; asks first.")],
    yes: Annotated[bool, option("With --remove: do not ask.")],
) -> int:
    """List the runs, or say how one of them stands.

    For one NAME, a run or a comparison, it says which files are whole, and how its job stands if
    it was handed over with --on. The exit code is 1 if a file is damaged or missing, or a run of
    the job has failed. A pattern such as 'addition-*' lists the runs that match. Nothing is
    executed or changed.
    """
    from curta.frontends.cli import runs as inventory
    from curta.runs import folders

    actions = {"logs": logs, "wait": wait, "cancel": cancel, "remove": remove}
    action = arguments.only_option(actions)
    refuse_if(action and not names, f"--{action} needs a name: `curta runs` lists all")
    if action not in ("", "wait") and arguments.form():
        arguments.exclude("json", action)
    refuse_if(yes and not remove, "--yes is for --remove")
    if remove:
        return inventory.remove_runs(names, yes)
    is_pattern = any(re.search(r"[*?\[]", name) and name not in folders.names() for name in names)
    if not names or is_pattern or (len(names) > 1 and not action):
        inventory.list_runs(names)
        return 0
    name = arguments.at_most_one(names, "job")
    assert name is not None
    if not action:
        return inventory.show_run(name)
    job, row = inventory.find_job(name)
    if wait:
        return inventory.follow(job.path)
    return inventory.print_logs(job, row) if logs else inventory.cancel(job)


ACTIVATIONS = "activations"
USAGE = "RUN [PROBE] [PROBLEM]... [OPTION=VALUE]..."


class _Probe(click.Command):
    """The command `probe`, whose help for one probe lists the options of that probe."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names, _ = arguments.split(ctx.meta.get("curta.words", [])[1:])
        name = names[1] if len(names) > 1 else ""
        if not name or name.startswith("-") or name == ACTIVATIONS:
            return
        from curta.probes import options

        rows = [(f"{option}={default}", text) for option, text, _, default in options(name)]
        if rows:
            with formatter.section(f"Options of {name}"):
                formatter.write_dl(rows)


@command("json", kind=_Probe)
def probe(
    words: Annotated[tuple[str, ...], arguments.words(USAGE)],
    trust: arguments.Trust,
    member: Annotated[int | None, option("One member only (all).", "M")],
    recurrences: arguments.Recurrences,
    out: Annotated[Path | None, option("Of activations: write an .npz.", "FILE")],
) -> None:
    """Look into what a trained run has learned.

    PROBE is one of Curta's, or a file with one; without it, they are listed. `curta probe RUN
    PROBE --help` lists its options, which are given as count=500.

    \b
    The probe `activations` records what members calculate for each PROBLEM:
      sites=layer.0.*       which values, by name or pattern
      zero=SITE             and what the answers are with zeros in their place,
      mean=SITE             the mean over all tokens of the same role,
      resample=SITE         the values in another of the problems (seed=S),
      patch=SITE=PROBLEM    or those in a problem of your choice
    A SITE may select, and several are separated by semicolons:
      zero='layer.0.attention.heads:head=2,role=sum;final'
    """
    from curta.frontends.cli import probe as probing

    names, texts = arguments.split(words)
    refuse_if(not names, "which run? curta probe RUN [PROBE]; `curta runs` lists all")
    if len(names) == 1:
        if texts or set(arguments.on_command_line()) - {"--trust"}:
            raise UserError("--member, --json and options need a probe: leave them out for a list")
        probing.list_probes(names[0], trust)
        return
    run, name, *problems = names
    if name == ACTIVATIONS:
        probing.activations(run, problems, texts, trust, member, recurrences, out)
        return
    if problems:
        raise UserError(f"probe {name!r} draws its problems itself: leave out {problems[0]!r}")
    if out is not None or recurrences is not None:
        raise UserError("--out and --recurrences are for the probe 'activations'")
    probing.examine(run, name, texts, trust, member)
