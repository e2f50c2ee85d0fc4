"""What was handed over to a cluster: `curta jobs` shows it, follows it, and ends it."""

import json
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from curta.config import system
from curta.config.errors import UserError, printable, unknown
from curta.frontends.cli import options

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from curta.runs.cluster.job import JobFolder
    from curta.runs.cluster.states import RunState

PAUSE = 2.0
"""Seconds between two looks."""


@click.command()
@click.argument("name", required=False, type=options.NAME)
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--cancel", is_flag=True, help="End what is at work, and what waits.")
@click.option("--logs", is_flag=True, help="Print what its runs, or these, have printed.")
@click.option("--wait", is_flag=True, help="Follow to the end, and write the comparison.")
@options.as_json
def jobs(
    name: str | None, runs: tuple[str, ...], cancel: bool, logs: bool, wait: bool, as_json: bool
) -> int:
    """Show how runs stand that were handed over with --on.

    NAME is that of a run or a comparison; without one, all are listed. On a terminal the table is
    live: Ctrl-C ends the looking, not the work.
    """
    chosen = [word for word, is_given in _words(cancel, logs, wait) if is_given]
    if name is None and chosen:
        raise UserError(f"--{chosen[0]} needs a name: `curta jobs` lists all")
    if len(chosen) > 1:
        raise UserError(f"--{chosen[0]} and --{chosen[1]}: give one of them")
    if as_json and (logs or cancel):
        raise UserError(f"--json and --{chosen[0]}: give one of them")
    if runs and not logs:
        raise UserError(f"only --logs is of single runs, such as {runs[0]!r}")
    if name is None:
        return _list(as_json)
    folder = _found(name)
    if logs:
        return _print_logs(folder, runs)
    if cancel:
        return _cancel(folder)
    return _print_json(folder) if as_json and not wait else follow(folder.path, wait, as_json)


def _words(cancel: bool, logs: bool, wait: bool) -> list[tuple[str, bool]]:
    return [("cancel", cancel), ("logs", logs), ("wait", wait)]


def follow(path: Path, to_the_end: bool, as_json: bool = False) -> int:
    """Shows how all runs stand, on a terminal until they are over; then writes the comparison.

    Elsewhere once, unless the end is waited for. The exit code is 1 where a run is not finished
    that will not go on.
    """
    from rich.live import Live

    from curta.frontends.cli.display import console
    from curta.runs.cluster import states
    from curta.runs.cluster.job import JobFolder

    folder, live = JobFolder(path), console().is_terminal and not as_json
    found = states.read(folder)
    going = not states.is_over(found)
    with Live(console=console(), transient=True) if live else nullcontext() as screen:
        while not states.is_over(found) and (live or to_the_end):
            if screen is not None:
                screen.update(_view(folder, found), refresh=True)
            time.sleep(PAUSE)
            found = states.read(folder)
    _show(folder, found, as_json, write=states.is_over(found) and (going or to_the_end))
    return _exit_code(found)


def _exit_code(found: "Sequence[RunState]") -> int:
    """1 where a run is not finished that will not go on."""
    return int(any(one.state in ("failed", "cancelled") for one in found))


def _show(folder: "JobFolder", found: "list[RunState]", as_json: bool, write: bool) -> None:
    """Prints how all stand, and of a comparison that is over what was found."""
    from curta.frontends.cli.display import notice
    from curta.runs.folders import COMPARISON

    if not as_json:
        notice(_view(folder, found))
    if write and (folder.path / COMPARISON).exists():
        _write(folder, as_json)
    elif as_json:
        print(_as_json(found))


def _write(folder: "JobFolder", as_json: bool) -> None:
    """Writes comparison.json and the report, and prints what they say."""
    from curta.frontends.cli.stages import show_comparison
    from curta.frontends.run import Comparison
    from curta.training import devices

    devices.configure()
    made = Comparison.load(str(folder.path))
    made.conclude()
    show_comparison(made, as_json)


def _view(folder: "JobFolder", found: "Sequence[RunState]") -> "RenderableType":
    """A line of counts, and a line for each run; those first that want to be looked at."""
    from typing import get_args

    from rich.console import Group
    from rich.text import Text

    from curta.report.summary import counted
    from curta.runs.cluster.states import State

    order = get_args(State)
    counts = Counter(one.state for one in found)
    told = ", ".join(f"{counts[state]} {state}" for state in order if counts[state])
    rows = sorted(found, key=lambda one: order.index(one.state))
    head = Text.assemble(
        (printable(folder.name), "bold"), f": {counted(len(found), 'run')}: {told}"
    )
    return Group(head, _table(rows))


def _table(rows: "Sequence[RunState]") -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    view = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    for heading in ("run", "state"):
        view.add_column(heading, overflow="fold")
    for heading in ("step", "left"):
        view.add_column(heading, justify="right", no_wrap=True)
    view.add_column("", overflow="fold")
    for row in rows:
        view.add_row(printable(row.run), _state(row), *_progress(row), Text(printable(row.line)))
    return view


STYLES = {"failed": "bold red", "running": "cyan", "finished": "green"}


def _state(row: "RunState") -> "Text":
    """Its state, or the stage that it is in, and how often it has failed before."""
    from rich.text import Text

    word = row.stage if row.state == "running" and row.stage else row.state
    times = f", try {row.failures + 1}" if row.failures and row.state != "failed" else ""
    return Text(f"{word}{times}", STYLES.get(row.state, ""))


def _progress(row: "RunState") -> tuple[str, str]:
    """Such as `1,200/1,800` and `about 5 s`."""
    from curta.evaluation.expected import duration

    step = f"{row.step:,}/{row.steps:,}" if row.steps else ""
    return step, "" if row.seconds_left is None else duration(row.seconds_left)


def _found(name: str) -> "JobFolder":
    """The job that works on a run, or a comparison, of that name or path."""
    from curta.runs import folders
    from curta.runs.cluster.job import JobFolder

    is_here = system.is_path(name) or JobFolder(Path(name)).exists
    here = Path(name) if is_here else folders.root() / name
    folder = JobFolder(folders.of_comparison(here, name).resolve())
    if not folder.exists:
        raise unknown("job", name, _names(), "curta jobs")
    return folder


def _names() -> list[str]:
    """Of all runs and comparisons in the runs folder that were handed over."""
    from curta.runs import folders
    from curta.runs.cluster.job import JobFolder

    known = [*folders.comparisons(), *folders.existing()]
    return [name for name in known if JobFolder(folders.root() / name).exists]


def _list(as_json: bool) -> int:
    """A line for each job: where it is, since when, and how its runs stand."""
    from rich.table import Table

    from curta.frontends.cli.display import notice

    names = _names()
    if as_json:
        print(json.dumps(names))
        return 0
    if not names:
        print("no jobs yet: `curta sweep ... --on slurm` hands runs over")
        return 0
    view = Table("job", "on", "submitted", "runs")
    for name in names:
        view.add_row(printable(name), *_line(name))
    notice(view)
    return 0


def _line(name: str) -> tuple[str, str, str]:
    from curta.runs.cluster import states

    try:
        folder = _found(name)
        job = folder.read()
        counts = Counter(one.state for one in states.read(folder))
    except UserError as error:
        return "", "", printable(error)
    told = ", ".join(f"{count} {state}" for state, count in counts.items())
    return job.on, printable(job.submitted), told


def _print_json(folder: "JobFolder") -> int:
    from curta.runs.cluster import states

    found = states.read(folder)
    print(_as_json(found))
    return _exit_code(found)


def _as_json(found: "Sequence[RunState]") -> str:
    return json.dumps([vars(one) for one in found])


def _print_logs(folder: "JobFolder", runs: Sequence[str]) -> int:
    """What runs have printed; of all runs also what the tasks have printed that are of no run."""
    from curta.runs.cluster import states

    job = folder.read()
    for name in runs:
        if name not in job.runs:
            raise unknown(f"run of job {folder.name!r}", name, job.runs)
    logs = [folder.log(name) for name in runs or job.runs]
    tasks = [] if runs else range(len(job.tasks))
    logs += [path for number in tasks for path in states.task_logs(folder, job, number)]
    for path in logs:
        _print_log(path.name, folder.read_log(path))
    return 0


def _print_log(name: str, text: str) -> None:
    from rich.text import Text

    from curta.frontends.cli.display import notice

    if text.strip():
        notice(Text(f"{printable(name)}:", "bold"))
        notice(Text(text.rstrip()))


def _cancel(folder: "JobFolder") -> int:
    from curta.runs.cluster import queue

    queue.cancel(folder)
    name = printable(folder.name)
    print(f"{name} is cancelled: what is at work saves, and ends. Go on with: curta resume {name}")
    return 0
