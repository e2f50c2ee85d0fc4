"""What `runs` lists: what there is, whether its files are whole, and how its jobs stand."""

import json
import shlex
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

import click
from rich.console import Group
from rich.live import Live
from rich.text import Text

from curta.config.errors import UserError, printable, unknown
from curta.config.table import Column, Table, cell, counted
from curta.frontends import listing
from curta.frontends.cli import arguments, display
from curta.frontends.cli.display import notice
from curta.frontends.listing import RunListing
from curta.runs import cluster, folders
from curta.runs.cluster import JobFolder, RunState, State

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
            raise UserError("nobody was there to be asked: --yes removes without asking") from None
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
    from curta.frontends.cli.training import show_comparison
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
    from curta.evaluation.expected import duration

    order, counts = get_args(State), Counter(row.state for row in rows)
    listed = ", ".join(f"{counts[state]} {state}" for state in order if counts[state])
    head = Text.assemble(
        (printable(folder.name), "bold"), f": {counted(len(rows), 'run')}: {listed}"
    )
    table = []
    for row in sorted(rows, key=lambda row: order.index(row.state)):
        word = row.stage if row.state == "running" and row.stage else row.state
        times = f", try {row.failures + 1}" if row.failures and row.state != "failed" else ""
        steps = f"{row.step:,}/{row.steps:,}" if row.steps else ""
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
