"""Commands that train and evaluate: `train`, `compare`, `evaluate`, `certify`."""

import functools
import os
import shlex
import statistics
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click
from rich.text import Text

from curta.config import limits, system
from curta.config.errors import Notice, UserError, printable, quoted, refuse_if
from curta.config.table import cell, counted, spanned
from curta.evaluation.results import Evaluation, agrees
from curta.frontends import api
from curta.frontends.cli import arguments, display
from curta.frontends.cli.arguments import Destination, command, destination, option
from curta.frontends.cli.display import Learning, Status, notice, show
from curta.frontends.cli.paper import certificate_view
from curta.frontends.cli.runs import follow
from curta.problems.operations import operation_named
from curta.problems.problem import answer_text, parse
from curta.report import tables
from curta.report.run_folder import read_run
from curta.report.sections import generalisation
from curta.runs import cluster, comparison_spec, folders, interrupts
from curta.runs.comparison_spec import Row
from curta.runs.info import Stage, Tracking

if TYPE_CHECKING:
    from curta.runs.comparison import Comparison
    from curta.runs.run import Run


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

SUMS = (
    "9" * 1000 + "+1",
    "7+8",
    "999999999999999999999999+1",
    "31415926535897932384+27182818284590452353",
)


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
    model.width=64. `curta show RECIPE --fields` lists the fields. Without any, the recipe
    addition is trained, and adds a few large numbers.
    """
    names, settings = arguments.split(words)
    place = destination(on, cluster, wait, settings)
    recipe = arguments.at_most_one(names, "recipe")
    if resume is not None:
        for word in (*map(quoted, names), *arguments.on_command_line(), *settings):
            if word not in RESUMED:
                raise UserError(f"--resume goes on with a run as it was begun: leave out {word}")
        return go_on(resume, trust, arguments.values(settings).get("training.steps"), place)
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
    return complete(begun, place, is_demo)


def go_on(name: str, trust: bool, steps: Any, place: Destination | None) -> int:
    """Go on with a run, to more `steps` if these are given, or with a comparison.

    `COMPARISON/ROW` is a run of a comparison, begun or not.
    """
    from curta.runs import life

    is_single = trust or steps is not None
    comparison, _, row = name.rpartition("/")
    is_row = bool(comparison) and folders.is_comparison(comparison) and not is_single
    if is_row or folders.is_comparison(name):
        if is_single:
            option = "--trust" if trust else "training.steps"
            raise UserError(f"{option} is for a single run, and {name!r} is a comparison")
        if system.process().count > 1:
            raise UserError("several processes train one run; runs of a comparison take --on slurm")
        from curta.runs.comparison import Comparison
        from curta.training import devices

        devices.configure()
        if not is_row:
            return run_comparison(Comparison.load(name), place)
        loaded = Comparison.load(comparison, only=row)
        refuse_if(not loaded.spec.rows, f"comparison {comparison!r} has no run {row!r}")
        run = loaded.begin_run(loaded.spec.rows[0])
    elif steps is None:
        run = api.load(name, trust=trust)
    elif not isinstance(steps, int) or not 1 <= steps <= limits.STEPS:
        raise UserError(f"training.steps must be 1 to {limits.STEPS:,} (got {quoted(steps)})")
    else:
        run = api.extend(name, steps, trust)
    if not life.missing(run.folder, run.recipe):
        print(f"{printable(run.name)} is finished: {counted(run.recipe.training.steps, 'step')}")
        return 0
    return complete(run, place)


def complete(run: "Run", place: Destination | None = None, is_demo: bool = False) -> int:
    """Do what is missing of a run, here or elsewhere, and print the results; the exit code."""
    if place is not None:
        return hand_over(place, run.folder.path, [run.name])
    from curta.evaluation.expected import duration, total
    from curta.runs import life

    training, digits = run.recipe.training, run.folder.read_info().trained_digits
    example = "window" if run.recipe.positions.name == "window" else "problem"
    missing = life.missing(run.folder, run.recipe)
    evaluates = folders.has_code(run.layout) and "evaluating" in missing
    seconds = total(run.recipe, run.layout, len(run.seeds)) if evaluates else 0.0
    opening = Text.assemble(
        (printable(run.name), "bold"),
        f": {printable(run.recipe.summary)}\n",
        f"training {counted(len(run.seeds), 'member')} on {spanned(digits, 'digit')},",
        f" {counted(training.steps, 'step')} of {counted(training.batch, example)}",
        f"\nevaluation: about {duration(seconds)}" if seconds > display.SILENT else "",
    )
    notice(opening)
    codes, name = [0], run.folder.argument
    try:
        run.complete(run_stage=lambda stage: codes.append(run_stage(run, stage)))
        interrupts.check()
    except interrupts.Interrupted as signal:
        notice(f"Interrupted; saved. Go on with: curta train --resume {name}")
        return signal.code
    certificate = run.folder.read_certificate()
    if certificate is not None and certificate.wrong_seeds:
        seeds, members = certificate.wrong_seeds, certificate.members
        notice(
            f"WRONG: seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))} on"
            f" {'up to ' * (len(seeds) > 1)}{max(member.wrong for member in members):,} of"
            f" {certificate.windows:,} windows, after"
            f" {counted(max(len(member.rounds) for member in members), 'round')} of repair;"
            f" `curta certify {name}` shows them"
        )
        return 1
    if run.folder.read_info().status == "finished":
        for text, tokens in zip(SUMS, run.write(SUMS), strict=True) if is_demo else ():
            answer = run.layout.answer(problem := parse(text), tokens)
            answered = None if answer is None else answer_text(answer)
            notice(display.answer_line(text, answered, answer == problem.truth))
        example = shlex.quote(operation_named(run.recipe.tasks[0].operator).example)
        steps = [
            (f"ask {name} {example}", "let it calculate"),
            (f"page {name}", "watch it write, in a browser"),
            (f"probe {name}", "look inside"),
            ("serve", "all runs, and new ones, in a browser"),
        ]
        if not run.folder.evaluation.exists():
            steps.insert(0, (f"evaluate {name}", "ask it problems of many sizes"))
        display.next_steps(*steps)
    return max(codes)


def run_stage(run: "Run", stage: Stage) -> int:
    """Carry out a stage of a run's life and print its results; the exit code."""
    from curta.runs.run import program_layout

    if stage == "training":
        with Learning(run) as learning:
            run.train(learning.show)
        show_generalisation(run)
        info = run.folder.read_info()
        for member, step in info.stopped.items():
            notice(f"seed {run.seeds[member]} stopped: its loss was not finite at step {step}")
        if info.status == "stopped":
            raise UserError(
                f"no member of run {run.name!r} is left: try a lower optimizer.learning_rate"
            )
    elif stage == "evaluating":
        with Status() as status:
            evaluation = run.evaluate(status.say, show_grid=status.show_grid, report=False)
        return show_evaluation(evaluation, run.seeds)
    elif stage == "certifying":
        with Status() as status:
            certificate = run.certify(status.say, report=False)
        notice(certificate_view(certificate, program_layout(run)))
    else:
        notice(f"Report: {run.write_report()}")
    return 0


def show_generalisation(run: "Run") -> None:
    """Print for each seed from which step on it was right, where that was watched."""
    for line in generalisation(read_run(run.folder.path)):
        notice(line)


def show_evaluation(evaluation: Evaluation, seeds: list[int]) -> int:
    """Print an evaluation: as CSV or LaTeX its main table alone. Return the exit code."""
    if arguments.form() == "json":
        display.print_json(evaluation)
        return int(not agrees(evaluation.lengths))
    for_screen = arguments.form() is None
    notice(tables.exact_match_table(evaluation, seeds, collapsed=for_screen))
    if evaluation.gaps and for_screen:
        notice(tables.gap_table(evaluation.gaps, seeds))
    for grid in evaluation.grids:
        cells = [share for member in grid.exact_match for row in member for share in row]
        notice(
            f"grid of {grid.operator}, {grid.max_digits} x {grid.max_digits} digits,"
            f" {counted(grid.count, 'problem')} a cell, all members:"
            f" mean {cell(statistics.fmean(cells))}, lowest cell {cell(min(cells))}"
        )
    for split in evaluation.splits:
        notice(
            f"split of {split.operator}: {split.training:,} problems trained on,"
            f" {split.held_out:,} held out or drawn to test, {split.overlap:,} in both;"
            f" {split.mirrored:,} of the latter have their twin (2+1 of 1+2) in training"
        )
    for table in evaluation.tables:
        notice(
            f"all {table.count:,} problems of {table.operator} up to {table.limit:,}: correct "
            + " ".join(f"{correct:,}" for correct in table.correct)
        )
    if evaluation.named and for_screen:
        notice(tables.named_table(evaluation.named, seeds))
    return int(not agrees(evaluation.lengths))


# Several runs side by side.


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
    program are listed. Else entries are recipes, '[NAME: ]RECIPE [FIELD=VALUE ...]', each with
    changes of its own. A field with several values takes each in turn:

    \b
      curta compare addition model.width=16,32,64
      curta compare addition 'RoPE: addition positions.name=rope model.role_embeddings=false'
    """
    entries, settings = arguments.split(words)
    if not entries:
        for name in (*settings, *arguments.on_command_line()):
            raise UserError(f"{name} needs a comparison, or recipes, to be about")
        for name in comparison_spec.names():
            print(f"{name:20} {comparison_spec.read(name).title}")
        return 0
    place = destination(on, cluster, wait, settings)
    begun = api.begin_comparison(entries, arguments.values(settings), seeds, run)
    return run_comparison(begun, place)


def run_comparison(comparison: "Comparison", place: Destination | None) -> int:
    """Train and evaluate what is not finished, here or elsewhere, and print the results."""
    if place is not None:
        comparison.save()
        folders = [row.folder for row in comparison.spec.rows]
        return hand_over(place, comparison.path, folders)
    pace = comparison.pace()

    def train(row: Row, run: "Run") -> None:
        if arguments.form():
            return run.train()
        line = f" ({pace.at(row.name)}): {printable(row.recipe.summary)}"
        notice(Text.assemble((printable(row.name), "bold"), line))
        with Learning(run) as learning:
            return run.train(learning.show)

    try:
        with Status() as status:
            comparison.run_comparison(train, status.say)
        interrupts.check()
    except interrupts.Interrupted as signal:
        name = shlex.quote(printable(comparison.name))
        print(f"Interrupted; saved. Go on with: curta train --resume {name}", file=sys.stderr)
        return signal.code
    show_comparison(comparison)
    return 0


def show_comparison(comparison: "Comparison") -> None:
    """Print what a comparison found, and where its report is; as JSON the results alone."""
    show(comparison.read_results(), tables.comparison_table)
    notice(f"Report: {comparison.report}")
    name = shlex.quote(comparison.name)
    paths = [shlex.quote(f"{comparison.name}/{row.folder}") for row in comparison.spec.rows]
    pairs = [f"evaluate {' --against '.join(paths[:2])}"] if len(paths) > 1 else []
    display.next_steps(
        (f"report {name} --csv", "its tables"),
        *((words, "test a difference") for words in pairs),
        (f"page {paths[0]}", "watch one write, in a browser"),
    )


def hand_over(place: Destination, path: Path, runs: Sequence[str]) -> int:
    """Submit runs, by the names of their folders in `path`."""
    job = cluster.submit(path, runs, place.system, place.cluster)
    name, tasks = printable(path.name), counted(len(job.tasks), "task")
    notice(f"{name}: {counted(len(job.runs), 'run')} in {tasks}; curta runs {shlex.quote(name)}")
    return follow(path) if place.wait else 0


# Runs that are trained.


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
        for run_name in (name, against):
            folders.find(run_name)
        first, second = (api.load(run_name, trust=trust) for run_name in (name, against))
        with Status() as status:
            comparison = first.paired(second, member, status.say, **changes)
        show(comparison, tables.paired_table)
        return 0
    run = api.load(name, recurrences, trust)
    with Status() as status:
        evaluation = run.evaluate(status.say, member, step, status.show_grid, **changes)
    code = show_evaluation(evaluation, run.seeds if member is None else [run.seeds[member]])
    if arguments.form() == "json":
        return code
    show_generalisation(run)
    if not folders.has_code(run.layout):
        notice("These are problems that the run has kept: its program's code was not run (--trust)")
    if evaluation.changes:
        notice(f"Kept beside the recipe's own: {folders.evaluation_name(evaluation.changes)}")
    if member is None:
        notice(f"Report: {run.folder.report}")
    return code


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
    if check:
        from curta.evaluation import check_certificate

        folder = folders.find(run)
        if folder.read_certificate() is None:
            raise UserError(f"run {run!r} has no certificate: `curta certify {run}` makes it")
        try:
            print("\n".join(check_certificate.check(folder.path)))
        except check_certificate.CheckFailedError as reason:
            print(f"refused: {reason}", file=sys.stderr)
            return 1
        return 0
    from curta.runs.run import program_layout

    trained = api.load(run, trust=trust)
    with Status() as status:
        certificate = trained.certify(status.say)
    show(certificate, lambda certificate: certificate_view(certificate, program_layout(trained)))
    notice(f"Report: {trained.folder.report}")
    return int(not certificate.perfect)
