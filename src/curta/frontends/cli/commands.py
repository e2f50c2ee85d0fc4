"""Options and help of the commands.

Each imports its implementation when it is called, so that its help appears at once.
"""

import functools
import os
import re
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import click

from curta.config import files, limits, system
from curta.config.errors import (
    Notice,
    UserError,
    escape_unprintable,
    optional_module,
    quoted,
    refuse_if,
    unknown,
)
from curta.frontends.cli import arguments
from curta.frontends.cli.arguments import NAME, command, destination, option


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
    project: Annotated[
        str | None, option("Project of wandb or trackio; TEAM/ is optional.", "TEAM/NAME")
    ],
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
    from curta.frontends.cli import running
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
        return running.go_on(resume, trust, steps, place)
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
    return running.complete(begun, place, is_demo)


NEGATIVE = re.compile(r"-\s*[0-9]+\s*[^0-9\s]")
"""The start of a problem whose first operand is negative: a wrong problem, not an option."""


class _Ask(click.Command):
    """A command that takes `-3+5` for a problem, so that the complaint is about the operand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" not in args:
            problems = [word for word in args if NEGATIVE.match(word)]
            args = [word for word in args if not NEGATIVE.match(word)]
            args += ["--", *problems] if problems else []
        return super().parse_args(ctx, args)


@command(kind=_Ask)
def ask(
    words: Annotated[tuple[str, ...], arguments.argument("[RUN] [PROBLEM]...", None, nargs=-1)],
    trust: arguments.Trust,
    file: Annotated[str | None, option("One problem a line; - reads standard input.", "F", NAME)],
    trace: Annotated[bool, option("Show the model's own writing.")],
    member: arguments.Member,
    recurrences: arguments.Recurrences,
) -> int:
    """Let a trained model calculate each PROBLEM, such as 12+34.

    Without RUN the newest trained run answers that knows the operator. Without a problem it
    answers what you type, line by line.
    """
    from curta.frontends.cli import ask as asking
    from curta.runs import folders

    # The first word is a run unless it is written as a problem: `12+34`, `-3+5`, `gcd 12,8`.
    is_named = bool(words) and not re.match(r"[-\s]*[0-9]|[a-z]+ +[0-9]", words[0])
    if words and not is_named:
        limits.check_path(words[0])
        is_named = any(Path(at, words[0], "run.json").exists() for at in (".", folders.root()))
    run, problems = (words[0], list(words[1:])) if is_named else (None, list(words))
    if problems and file is not None:
        raise UserError("give problems, such as 12+34, or --file F, not both")
    converses = not problems and file is None and sys.stdin.isatty()
    if not problems and not converses:
        file = file or "-"
    lines = None if converses else problems
    return asking.print_answers(run, lines, file, trust, trace, member, recurrences)


SHOWN = "[RECIPE|RUN|FILE] [PROBLEM] [FIELD=VALUE]..."


@command()
def show(
    words: Annotated[tuple[str, ...], arguments.words(SHOWN)],
    trust: arguments.Trust,
    fields: Annotated[bool, option("Every field with its value, and what it is.")],
    steps: Annotated[bool, option("The problem token by token.")],
    window: Annotated[bool, option("What each role sees.")],
    layers: Annotated[bool, option("The model's layers, and their cost.")],
    table: Annotated[bool, option("What a certified run has learned, as Python.")],
    member: arguments.Member,
) -> None:
    """List the recipes, or show how one writes a problem, its fields or its layers.

    RECIPE is a recipe's name or path, a run, or a program's file; PROBLEM is such as 123+45, by
    default an example. Where a recipe and a run have one name, it is the recipe: give the run's
    path, such as runs/addition.
    """
    from curta.frontends.cli import results

    names, settings = arguments.split(words)
    if not names:
        for word in (*arguments.on_command_line(), *settings):
            raise UserError(f"{word} needs a recipe: curta show RECIPE")
        results.list_recipes()
        return
    views = {"fields": fields, "steps": steps, "window": window, "layers": layers, "table": table}
    view = arguments.only_option(views)
    name, text = names[0], arguments.at_most_one(names[1:], "problem")
    refuse_if(view == "steps" and text is None, "--steps needs a problem, such as 12+34")
    if view in ("fields", "window", "table") and text is not None:
        raise UserError(f"--{view} is of all problems: leave out the problem")
    if view == "table":
        print(results.learned_algorithm(name, member), end="")
        return
    changes = arguments.values(settings)
    recipe, folder = results.find_recipe(name, trust, changes, checked=view != "fields")
    if view == "fields":
        results.show_fields(recipe)
    else:
        results.show_problem(name, recipe, folder, view, text)


@command("json")
def check(
    program: Annotated[str | None, arguments.argument("[PROGRAM]", required=False)],
    new: Annotated[str | None, option("Write a first one to NAME.py.", "NAME", arguments.NAME)],
) -> int:
    """Check a program: its answers, its windows, its moves.

    PROGRAM is a file with programs, such as gcd.py, or the name of a program, a recipe or a run.
    """
    from curta.frontends.cli import results

    if new is not None:
        if program is not None or arguments.form():
            raise UserError("--new writes a program: leave out all else")
        results.write_program(new)
        return 0
    if program is None:
        raise UserError("check which program? curta check gcd.py; --new NAME writes a first one")
    return results.check_program(program)


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
    from curta.frontends.cli import running

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
        return running.evaluate_both((name, against), trust, member, changes)
    return running.evaluate(name, trust, member, step, recurrences, changes)


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
    from curta.frontends.cli import running

    return running.check_certificate(run) if check else running.certify(run, trust)


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
    from curta.frontends.cli import running
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
    return running.run_comparison(begun, place)


USAGE = "RUN [PROBE] [PROBLEM]... [OPTION=VALUE]..."


class _Probe(click.Command):
    """The command `probe`, whose help for one probe lists the options of that probe."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names, _ = arguments.split(ctx.meta.get("curta.words", [])[1:])
        name = names[1] if len(names) > 1 else ""
        if not name or name.startswith("-") or name == arguments.ACTIVATIONS:
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
    from curta.frontends.cli import results

    names, texts = arguments.split(words)
    refuse_if(not names, "which run? curta probe RUN [PROBE]; `curta runs` lists all")
    if len(names) == 1:
        if texts or set(arguments.on_command_line()) - {"--trust"}:
            raise UserError("--member, --json and options need a probe: leave them out for a list")
        results.list_probes(names[0], trust)
        return
    run, name, *problems = names
    if name == arguments.ACTIVATIONS:
        results.activations(run, problems, texts, trust, member, recurrences, out)
        return
    if problems:
        raise UserError(f"probe {name!r} draws its problems itself: leave out {problems[0]!r}")
    if out is not None or recurrences is not None:
        raise UserError("--out and --recurrences are for the probe 'activations'")
    results.examine(run, name, texts, trust, member)


ROW_COUNT = click.IntRange(1, limits.ROWS)
SEED, PORT = click.IntRange(0, limits.INT32), click.IntRange(0, 65_535)


@command()
def data(
    words: Annotated[tuple[str, ...], arguments.words("RECIPE [FIELD=VALUE]...")],
    rows: Annotated[int, option("Problems to train on.", "N", ROW_COUNT, required=True)],
    out: Annotated[Path, option("A new folder.", "DIR", required=True)],
    format: Annotated[str, option("parquet, jsonl or text.", "F", default="parquet")],
    seed: Annotated[int, option("Seed of the draws.", "S", SEED, default=0)],
) -> None:
    """Write a recipe's problems as a data set.

    Splits: train, validation, test_id (drawn alike, held out), test_ood (larger, or written
    otherwise, as the recipe's [evaluation] says). No problem stands in two of them.
    """
    from curta.frontends import api
    from curta.frontends.cli.display import Status, notice

    names, settings = arguments.split(words)
    recipe = arguments.at_most_one(names, "recipe")
    if recipe is None:
        raise UserError("no recipe named: curta data RECIPE; `curta show` lists all")
    begun, changes = time.perf_counter(), arguments.values(settings)
    with Status("writing") as status:
        say = lambda split, share: status.say(f"{split} {share:.0%}")
        summary = api.data(recipe, rows, out, format, seed, say, **changes)
    pace = sum(summary.rows.values()) / (time.perf_counter() - begun)
    counts = ", ".join(f"{split} {count:,}" for split, count in summary.rows.items())
    notice(f"rows: {counts}")
    notice(f"problems in more than one split: {summary.overlap}")
    notice(f"Data set: {out} ({pace:,.0f} rows a second)")


EVALUATION_HELP = "One with other settings, such as digits-500 (the recipe's)."


@command(*arguments.FORMS)
def report(
    runs: Annotated[tuple[str, ...], arguments.argument("RUN...", nargs=-1, required=True)],
    out: Annotated[Path | None, option("Folder to write it to.", "DIR")],
    evaluation: Annotated[str | None, option(EVALUATION_HELP, "E")],
) -> None:
    """Write the report of a run, or of several side by side; or print tables of one.

    The report lies in the run's folder; that of several, in `reports` of the runs folder.

    \b
      curta report RUN --csv                  which tables there are
      curta report RUN statistics --latex     one of them; also --csv, --json, or on the screen
      curta report RUN --csv --out DIR        all of them, a file each
    """
    from curta.config.table import Column, Table, counted
    from curta.frontends import api
    from curta.frontends.cli.display import notice
    from curta.runs import folders

    name, tables, form = runs[0], runs[1:], arguments.form()
    names = {*folders.names()}
    are_runs = all(
        run in names or Path(run).exists() or (folders.root() / run).exists() for run in runs
    )
    if form is None and (not tables or are_runs):
        notice(f"Report: {api.report(runs, out, evaluation or '')}")
        return
    available = api.tables(name, evaluation or "")
    for table in tables:
        if table not in available and form is None:
            raise unknown("run or table", table, [*names, *available])
        if table not in available:
            raise unknown("table", table, list(available), f"curta report {name} --csv")
    if out is not None:
        chosen, form = tables or tuple(available), form or "csv"
        for table in chosen:
            text = escape_unprintable(getattr(available[table], form)(), "\n")
            files.write(out / f"{table}.{'tex' if form == 'latex' else form}", text)
        notice(f"{counted(len(chosen), 'table')}: {out}")
        return
    for table in tables:
        notice(available[table])
    if not tables:
        heads = [Column("table", words=True), Column("rows"), Column("what it holds", words=True)]
        rows = [[key, len(table.rows), table.title] for key, table in available.items()]
        notice(Table("", heads, rows))


@command()
def page(
    run: arguments.Run,
    trust: arguments.Trust,
    member: arguments.Member,
    out: Annotated[Path | None, option("File (page-M.html in the run's folder).", "FILE")],
) -> None:
    """Write a page in which a trained model calculates."""
    from curta.export.html.page import write_page
    from curta.frontends.cli.display import notice
    from curta.runs import folders

    folder = folders.find(run, trust)
    notice(f"Page: {write_page(folder, member, out)}")
    notice("Next: open it in a browser, or send it to somebody: it is one file, without a network.")


@command()
def export(
    run: arguments.Run,
    trust: arguments.Trust,
    to: Annotated[str, option("adderboard, huggingface, onnx.", "FORM", required=True)],
    out: Annotated[Path | None, option("What to write (in the run's folder).", "PATH")],
    member: arguments.Member,
) -> None:
    """Write a trained model for other programs."""
    from curta.export import EXPORTERS, write
    from curta.frontends import api
    from curta.frontends.cli.display import notice

    EXPORTERS.check(to)
    trained = api.load(run, trust=trust)
    notice(f"{trained.name} for {to}: {write(trained, to, out, member)}")


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
    from curta.frontends.cli import running
    from curta.runs import folders

    actions = {"logs": logs, "wait": wait, "cancel": cancel, "remove": remove}
    action = arguments.only_option(actions)
    refuse_if(action and not names, f"--{action} needs a name: `curta runs` lists all")
    if action not in ("", "wait") and arguments.form():
        arguments.exclude("json", action)
    refuse_if(yes and not remove, "--yes is for --remove")
    if remove:
        return running.remove_runs(names, yes)
    is_pattern = any(re.search(r"[*?\[]", name) and name not in folders.names() for name in names)
    if not names or is_pattern or (len(names) > 1 and not action):
        running.list_runs(names)
        return 0
    name = arguments.at_most_one(names, "job")
    assert name is not None
    if not action:
        return running.show_run(name)
    job, row = running.find_job(name)
    if wait:
        return running.follow(job.path)
    return running.print_logs(job, row) if logs else running.cancel(job)


@command()
def serve(
    port: Annotated[int, option("0 is any that is free.", "N", PORT, default=8642)],
) -> int:
    """Show the runs in a browser, while they train, and begin new ones."""
    for library in ("starlette", "uvicorn"):
        optional_module(library, extra="serve")
    from curta.frontends.serve.server import serve as begin

    return begin(port)
