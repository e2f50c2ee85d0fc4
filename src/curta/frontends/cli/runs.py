"""The command `runs`: what there is, whether its files are whole, and how its jobs stand."""

import json
import re
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click
from rich.console import Group
from rich.text import Text

from curta.config.errors import UserError, printable, unknown
from curta.config.table import Column, Table, cell, counted
from curta.frontends.cli import arguments, display
from curta.frontends.cli.display import notice

if TYPE_CHECKING:
    from curta.frontends.listing import RunListing
    from curta.runs.cluster.job import JobFolder
    from curta.runs.cluster.states import RunState

PAUSE = 2.0
"""Seconds between two looks at a job."""

PART_STYLES = {"whole": "green", "missing": "yellow", "damaged": "bold red"}
STATE_STYLES = {"failed": "bold red", "running": "cyan", "finished": "green"}


@click.command()
@click.argument("names", nargs=-1, type=arguments.NAME, metavar="[NAME]...")
@click.option("--logs", is_flag=True, help="Print what the runs of a job have printed.")
@click.option("--wait", is_flag=True, help="Follow a job to its end, and write the comparison.")
@click.option("--cancel", is_flag=True, help="End what is at work for it, and what waits.")
@click.option("--remove", is_flag=True, help="Remove the runs, or comparisons; asks first.")
@click.option("--yes", is_flag=True, help="With --remove: do not ask.")
@arguments.as_json
def runs(
    names: tuple[str, ...],
    logs: bool,
    wait: bool,
    cancel: bool,
    remove: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """List the runs, or say how one of them stands.

    NAME is that of a run or a comparison: which of its files are whole, and how its job stands if
    it was handed over with --on. The exit code is 1 if a file is not whole, or a run of the job
    has failed. A pattern such as 'addition-*' lists the runs that match. Nothing is executed or
    changed.
    """
    options = {"logs": logs, "wait": wait, "cancel": cancel, "remove": remove}
    chosen = [name for name, is_given in options.items() if is_given]
    if chosen and not names:
        raise UserError(f"--{chosen[0]} needs a name: `curta runs` lists all")
    if len(chosen) > 1:
        raise UserError(f"--{chosen[0]} and --{chosen[1]}: give one of them")
    if as_json and chosen not in ([], ["wait"]):
        raise UserError(f"--json and --{chosen[0]}: give one of them")
    if yes and not remove:
        raise UserError("--yes is for --remove")
    if remove:
        return remove_runs(names, yes)
    is_pattern = any(
        re.search(r"[*?\[]", name) and name not in arguments.run_names() for name in names
    )
    if not names or is_pattern or (len(names) > 1 and not chosen):
        return list_runs(names, as_json)
    name = arguments.at_most_one(names, "job")
    assert name is not None
    if logs or cancel or wait:
        job, row = find_job(name)
        if logs:
            return print_logs(job, row)
        return follow(job.path, as_json) if wait else cancel_job(job)
    return show_run(name, as_json)


def list_runs(patterns: Sequence[str], as_json: bool) -> int:
    """Print the runs whose names match, and the comparisons and jobs among them."""
    from curta.runs import folders

    def matches(name: str) -> bool:
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    listings = [list_run(name) for name in folders.existing() if matches(name)]
    compared = [name for name in folders.comparisons() if matches(name)]
    if as_json:
        print(json.dumps([
            {
                "name": row.name[0],
                "recipe": row.info.recipe if row.info else "",
                "operators": row.info.operators if row.info else [],
                "seeds": len(row.info.seeds) if row.info else 0,
                "status": row.info.status if row.info else "damaged",
                "created": row.info.created if row.info else "",
                "rows": row.slices,
                "hardest": row.evaluated,
                "problem": row.error,
            }
            for row in listings
        ]))  # fmt: skip
        return 0
    if not (listings or compared):
        where = repr(str(folders.root()))
        print(f"no such runs in {where}: `curta runs` lists all" if patterns
              else f"no runs in {where} yet: train one with `curta train`")  # fmt: skip
    if listings:
        columns = [
            *(Column(name, text=printable, words=True, fold=True) for name in ("run", "recipe")),
            Column("seeds", text=lambda count: f"{count or ''}"),
            Column("status", text=printable, words=True, fold=True,
                   style=lambda status, row: "" if row[1] else "red"),
            Column("evaluation (median)", "hardest", text=_hardest, words=True),
        ]  # fmt: skip
        rows = [
            [
                row.name[0],
                row.info.recipe,
                len(row.info.seeds),
                row.info.status,
                (row.evaluated, row.slices),
            ]
            if row.info
            else [row.name[0], "", 0, row.error, (None, 0)]
            for row in listings
        ]
        notice(Table("", columns, rows))
    if compared:
        notice(f"comparisons: {', '.join(map(printable, compared))}")
    for name in [*compared, *(row.name[0] for row in listings)]:
        if line := _job_line(name):
            notice(f"job {printable(name)}: {line}")
    return 0


def list_run(name: str) -> "RunListing":
    """Return what the files of a run say; what is wrong with them if they cannot be read."""
    from curta.frontends.listing import RunListing, row
    from curta.runs import folders

    try:
        return row((name,), folders.find(name).path)
    except UserError as error:
        return RunListing((name,), None, str(error))


def _hardest(share_and_rows: tuple[float | None, int]) -> str:
    share, rows = share_and_rows
    among = "the only row" if rows == 1 else f"the hardest of {rows} rows"
    return "" if share is None else f"{cell(share)} in {among}"


def show_run(name: str, as_json: bool) -> int:
    """Print which files of a run or comparison are not whole, and how its job stands."""
    from curta.frontends.api import verify
    from curta.runs.cluster import states

    parts = verify(name)
    damaged = [part for part in parts if part.state != "whole"]
    try:
        job: JobFolder | None = find_job(name)[0]
    except UserError:
        job = None
    rows = states.read(job) if job else []
    code = int(bool(damaged) or _has_failed(rows))
    if as_json:
        job_rows = [vars(row) for row in rows]
        print(json.dumps({"files": [asdict(part) for part in parts], "job": job_rows}))
        return code
    for part in damaged:
        about = f": {printable(part.about)}" if part.about else ""
        style = PART_STYLES[part.state]
        line = Text.assemble((f"{part.state:8}", style), printable(part.name), about)
        display.console().print(line, soft_wrap=True)
    whole = len(parts) - len(damaged)
    notice(f"{printable(name)}: {'all ' * (not damaged)}{whole} files are whole")
    if job is not None:
        notice(job_view(job, rows))
    return code


def remove_runs(names: Sequence[str], yes: bool) -> int:
    """Remove runs, or comparisons with all their runs; what a process works on stays."""
    from curta.runs import folders

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


def find_job(name: str) -> "tuple[JobFolder, str]":
    """Return the job that works on a run or comparison, and the row that `JOB/ROW` names."""
    from curta.runs import folders
    from curta.runs.cluster.job import JobFolder

    def at(name: str) -> JobFolder:
        place = Path(name) if JobFolder(Path(name)).exists else folders.root() / name
        return JobFolder(place.resolve())

    job, (above, slash, row) = at(name), name.rpartition("/")
    if not job.exists and slash and at(above).exists:
        return at(above), row
    if not job.exists:
        jobs = [one for one in arguments.run_names() if JobFolder(folders.root() / one).exists]
        raise unknown("job", name, jobs, "curta runs")
    return job, ""


def _job_line(name: str) -> str:
    """Return where a job is, since when, and how its runs stand; empty if there is none."""
    from curta.runs import folders
    from curta.runs.cluster import states
    from curta.runs.cluster.job import JobFolder

    folder = JobFolder(folders.root() / name)
    if not folder.exists:
        return ""
    try:
        job, counts = folder.read(), Counter(row.state for row in states.read(folder))
    except UserError as error:
        return printable(error)
    listed = ", ".join(f"{count} {state}" for state, count in counts.items())
    return f"{job.on}, submitted {printable(job.submitted)}: {listed}"


def follow(path: Path, as_json: bool = False) -> int:
    """Follow a job to its end, on a terminal with a live table; then write the comparison.

    The exit code is 1 where a run has failed or was cancelled.
    """
    from rich.live import Live

    from curta.frontends.cli.training import show_comparison
    from curta.runs.cluster import states
    from curta.runs.cluster.job import JobFolder
    from curta.runs.comparison import Comparison
    from curta.runs.folders import COMPARISON
    from curta.training import devices

    folder, is_live = JobFolder(path), display.console().is_terminal and not as_json
    rows = states.read(folder)
    with Live(console=display.console(), transient=True) if is_live else nullcontext() as screen:
        while not states.is_over(rows):
            if screen is not None:
                screen.update(job_view(folder, rows), refresh=True)
            time.sleep(PAUSE)
            rows = states.read(folder)
    if not as_json:
        notice(job_view(folder, rows))
    if (folder.path / COMPARISON).exists():
        devices.configure()
        comparison = Comparison.load(str(folder.path))
        comparison.conclude()
        show_comparison(comparison, as_json)
    elif as_json:
        print(json.dumps([vars(row) for row in rows]))
    return int(_has_failed(rows))


def _has_failed(rows: "Sequence[RunState]") -> bool:
    return any(row.state in ("failed", "cancelled") for row in rows)


def job_view(folder: "JobFolder", rows: "Sequence[RunState]") -> Group:
    """Return a line of counts and a line for each run, those that need attention first."""
    from curta.evaluation.expected import duration
    from curta.runs.cluster.states import State

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
               style=lambda state, row: STATE_STYLES.get(state[0], "")),
        Column("step"),
        Column("left"),
        Column("", "line", printable, words=True, fold=True),
    ]  # fmt: skip
    return Group(head, Table("", columns, table))


def print_logs(folder: "JobFolder", row: str) -> int:
    """Print the log of a row; of all rows, also what its tasks have printed that is of no row."""
    from curta.runs.cluster import states

    job = folder.read()
    if row and row not in job.runs:
        raise unknown(f"run of job {folder.name!r}", row, job.runs)
    logs = [folder.of_run(name, "log") for name in ([row] if row else job.runs)]
    for number in range(0 if row else len(job.tasks)):
        logs += states.task_logs(folder, job, number)
    for path in logs:
        text = folder.read_log(path)
        if text.strip():
            notice(Text(f"{printable(path.name)}:", "bold"))
            notice(Text(text.rstrip()))
    return 0


def cancel_job(folder: "JobFolder") -> int:
    """End what is at work for a job, and what waits."""
    from curta.runs.cluster import queue

    queue.cancel(folder)
    name = printable(folder.name)
    print(
        f"{name} is cancelled: what is at work saves, and ends."
        f" Go on with: curta train --resume {name}"
    )
    return 0
