"""What `train`, `compare`, `evaluate`, `certify` and `runs` do with runs, and what they print."""

import json
import shlex
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from curta.config import limits, system
from curta.config.errors import UserError, printable, quoted, refuse_if, unknown
from curta.config.table import Column, Table, cell, counted, spanned
from curta.evaluation.results import Evaluation, agrees
from curta.frontends import api, listing
from curta.frontends.cli import arguments, display
from curta.frontends.cli.arguments import Destination
from curta.frontends.cli.display import Learning, Status, certificate_view, notice, show
from curta.frontends.listing import RunListing
from curta.problems.operations import operation_named
from curta.problems.problem import answer_text, parse
from curta.report import tables
from curta.report.compared import read_comparison
from curta.report.run_folder import read_run
from curta.report.sections import generalisation
from curta.runs import cluster, folders, interrupts
from curta.runs.cluster import JobFolder, RunState, State
from curta.runs.comparison_spec import Row
from curta.runs.info import Stage

if TYPE_CHECKING:
    from curta.runs.comparison import Comparison
    from curta.runs.run import Run


SUMS = (
    "9" * 1000 + "+1",
    "7+8",
    "999999999999999999999999+1",
    "31415926535897932384+27182818284590452353",
)


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
    from curta.evaluation.suite import duration, total
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
        ]
        if find_spec("starlette"):  # the extra `serve`
            steps.append(("serve", "all runs, and new ones, in a browser"))
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
    compared = read_comparison(comparison.path)
    for sentence in (*compared.conclusion(), compared.unlearned_note()):
        if sentence:
            notice(sentence)
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


def evaluate(
    name: str,
    trust: bool,
    member: int | None,
    step: int | None,
    recurrences: int | None,
    changes: dict[str, Any],
) -> int:
    """Evaluate a run, with changes of its evaluation, and print the results; the exit code."""
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


def evaluate_both(
    names: tuple[str, str], trust: bool, member: int | None, changes: dict[str, Any]
) -> int:
    """Evaluate two runs on the same problems, and print the test of their difference."""
    for name in names:
        folders.find(name)
    first, second = (api.load(name, trust=trust) for name in names)
    with Status() as status:
        comparison = first.paired(second, member, status.say, **changes)
    show(comparison, tables.paired_table)
    return 0


def check_certificate(name: str) -> int:
    """Check the certificate of a run by NumPy alone; the exit code is 1 if it is refused."""
    from curta.evaluation import check_certificate

    folder = folders.find(name)
    if folder.read_certificate() is None:
        raise UserError(f"run {name!r} has no certificate: `curta certify {name}` makes it")
    try:
        print("\n".join(check_certificate.check(folder.path)))
    except check_certificate.CheckFailedError as reason:
        print(f"refused: {reason}", file=sys.stderr)
        return 1
    return 0


def certify(name: str, trust: bool) -> int:
    """Certify a run, and print its certificate; the exit code is 1 where a window is wrong."""
    from curta.runs.run import program_layout

    run = api.load(name, trust=trust)
    with Status() as status:
        certificate = run.certify(status.say)
    show(certificate, lambda certificate: certificate_view(certificate, program_layout(run)))
    notice(f"Report: {run.folder.report}")
    return int(not certificate.perfect)


PAUSE = 2.0
"""Seconds between two looks at a job."""

STYLES = {
    "whole": "green", "missing": "yellow", "damaged": "bold red",
    "failed": "bold red", "running": "cyan", "finished": "green",
}  # fmt: skip
"""Of a file's state, or a run's."""


def list_runs(patterns: Sequence[str]) -> None:
    """Print the runs whose names match, and the comparisons and jobs among them."""

    def matches(name: str) -> bool:
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    listings: list[RunListing] = []
    for name in filter(matches, folders.existing()):
        try:
            listings.append(listing.row((name,), folders.find(name).path))
        except UserError as error:
            listings.append(RunListing((name,), None, str(error)))
    compared = list(filter(matches, folders.comparisons()))
    if not (listings or compared or arguments.form()):
        where = repr(str(folders.root()))
        print(f"no such runs in {where}: `curta runs` lists all" if patterns
              else f"no runs in {where} yet: train one with `curta train`")  # fmt: skip
    if listings or arguments.form():
        notice(runs_table(listings))
    if arguments.form():
        return
    if compared:
        notice(f"comparisons: {', '.join(map(printable, compared))}")
    for name in [*compared, *(row.name[0] for row in listings)]:
        folder = JobFolder(folders.root() / name)
        if not folder.exists:
            continue
        try:
            job, counts = folder.read(), Counter(row.state for row in cluster.read_states(folder))
        except UserError as error:
            notice(f"job {printable(name)}: {printable(error)}")
            continue
        states = ", ".join(f"{count} {state}" for state, count in counts.items())
        submitted = f"{job.on}, submitted {printable(job.submitted)}"
        notice(f"job {printable(name)}: {submitted}: {states}")


def runs_table(listings: Sequence[RunListing]) -> Table:
    """Return a row for each run; as JSON with all that a program may want to know."""
    rows = []
    for row in listings:
        about: tuple[Any, ...] = ("", [], 0, "damaged", "")
        if (info := row.info) is not None:
            about = (info.recipe, info.operators, len(info.seeds), info.status, info.created)
        among = "the only row" if row.slices == 1 else f"the hardest of {row.slices} rows"
        hardest = "" if row.evaluated is None else f"{cell(row.evaluated)} in {among}"
        status = info.status if info else row.error
        numbers = (row.slices, row.evaluated)
        rows.append([row.name[0], *about, *numbers, row.error, status, hardest])
    of_json = ("status", "created", "rows", "hardest", "problem")
    columns = [
        Column("run", "name", printable, words=True, fold=True),
        Column("recipe", text=printable, words=True, fold=True),
        Column("operators", on_screen=False),
        Column("seeds", text=lambda count: f"{count or ''}"),
        *(Column(name, on_screen=False) for name in of_json),
        Column("status", text=printable, words=True, fold=True, in_csv=False,
               style=lambda status, row: "red" if row[-3] else ""),
        Column("evaluation (median)", words=True, in_csv=False),
    ]  # fmt: skip
    return Table("", columns, rows)


def show_run(name: str) -> int:
    """Print which files of a run or comparison are not whole, and how its job stands."""
    from curta.runs.verify import verify

    files = verify(name)
    damaged = [part for part in files if part.state != "whole"]
    job: JobFolder | None = None
    with suppress(UserError):
        job, _ = find_job(name)
    rows = cluster.read_states(job) if job else []
    code = int(bool(damaged) or _has_failed(rows))
    if arguments.form():
        job_rows = [asdict(row) for row in rows]
        print(json.dumps({"files": [asdict(part) for part in files], "job": job_rows}))
        return code
    for part in damaged:
        about = f": {printable(part.about)}" if part.about else ""
        line = Text.assemble((f"{part.state:8}", STYLES[part.state]), printable(part.name), about)
        display.console().print(line, soft_wrap=True)
    whole = len(files) - len(damaged)
    notice(f"{printable(name)}: {'all ' * (not damaged)}{whole} files are whole")
    if job is not None:
        notice(job_view(job, rows))
    return code


def remove_runs(names: Sequence[str], yes: bool) -> int:
    """Remove runs, or comparisons with all their runs; what a process works on stays."""
    paths = [folders.removable(name) for name in dict.fromkeys(names)]
    if not yes:
        listed = ", ".join(printable(path) for path in paths)
        try:
            agreed = click.confirm(f"Remove {listed}? This cannot be undone.", err=True)
        except click.Abort:
            raise UserError(
                "cannot ask, as there is no terminal: --yes removes without asking"
            ) from None
        if not agreed:
            notice("Nothing was removed.")
            return 1
    for path in paths:
        folders.remove(path)
        notice(f"Removed {printable(path)}")
    return 0


# Jobs: runs that were handed over with --on.


def find_job(name: str) -> tuple[JobFolder, str]:
    """Return the job that works on a run or comparison, and the row that `JOB/ROW` names."""
    above, _, last = name.rpartition("/")
    for job, row in ((name, ""), (above, last)) if above else ((name, ""),):
        for path in (Path(job), folders.root() / job):
            if JobFolder(path).exists:
                return JobFolder(path.resolve()), row
    jobs = [run for run in folders.names() if JobFolder(folders.root() / run).exists]
    raise unknown("job", name, jobs, "curta runs")


def cancel(folder: JobFolder) -> int:
    """End what is at work for a job, and what waits."""
    cluster.cancel(folder)
    address = printable(folder.name)
    print(
        f"{address} is cancelled: what is at work saves, and ends."
        f" Go on with: curta train --resume {shlex.quote(address)}"
    )
    return 0


def follow(path: Path) -> int:
    """Follow a job to its end, on a terminal with a live table; then write the comparison.

    The exit code is 1 where a run has failed or was cancelled.
    """
    from curta.runs.comparison import Comparison
    from curta.training import devices

    folder, as_json = JobFolder(path), bool(arguments.form())
    rows, is_live = cluster.read_states(folder), display.console().is_terminal and not as_json
    with Live(console=display.console(), transient=True) if is_live else nullcontext() as screen:
        while not all(row.over for row in rows):
            if screen is not None:
                screen.update(job_view(folder, rows), refresh=True)
            time.sleep(PAUSE)
            rows = cluster.read_states(folder)
    is_comparison = (folder.path / folders.COMPARISON).exists()
    if not as_json:
        notice(job_view(folder, rows))
    elif not is_comparison:
        print(json.dumps([asdict(row) for row in rows]))
    if is_comparison:
        devices.configure()
        comparison = Comparison.load(str(folder.path))
        comparison.conclude()
        show_comparison(comparison)
    return int(_has_failed(rows))


def _has_failed(rows: Sequence[RunState]) -> bool:
    return any(row.state in ("failed", "cancelled") for row in rows)


def job_view(folder: JobFolder, rows: Sequence[RunState]) -> Group:
    """Return a line of counts and a line for each run, those that need attention first."""
    from curta.evaluation.suite import duration

    order, counts = get_args(State), Counter(row.state for row in rows)
    listed = ", ".join(f"{counts[state]} {state}" for state in order if counts[state])
    head = Text.assemble(
        (printable(folder.name), "bold"), f": {counted(len(rows), 'run')}: {listed}"
    )
    table = []
    for row in sorted(rows, key=lambda row: order.index(row.state)):
        word = row.stage if row.state == "running" and row.stage else row.state
        times = f", try {row.failures + 1}" if row.failures and row.state != "failed" else ""
        steps = f"{min(row.step, row.steps):,}/{row.steps:,}" if row.steps else ""
        steps += f" + {row.step - row.steps:,} repair" if row.step > row.steps else ""
        left = "" if row.seconds_left is None else duration(row.seconds_left)
        table.append([row.run, (row.state, f"{word}{times}"), steps, left, row.line])
    columns = [
        Column("run", text=printable, words=True, fold=True),
        Column("state", text=lambda state: str(state[1]), words=True, fold=True,
               style=lambda state, row: STYLES.get(state[0], "")),
        Column("step"),
        Column("left"),
        Column("", "line", printable, words=True, fold=True),
    ]  # fmt: skip
    return Group(head, Table("", columns, table))


def print_logs(folder: JobFolder, row: str) -> int:
    """Print the log of a row; of all rows, also what its tasks have printed that is of no row."""
    job = folder.read()
    if row and row not in job.runs:
        raise unknown(f"run of job {folder.name!r}", row, job.runs)
    logs = [folder.of_run(name, "log") for name in ([row] if row else job.runs)]
    for number in range(0 if row else len(job.tasks)):
        logs += folder.task_logs(job, number)
    for path in logs:
        if text := cluster.read_log(path).rstrip():
            notice(Text(f"{printable(path.name)}:", "bold"))
            notice(Text(text))
    return 0
