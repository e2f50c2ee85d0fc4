"""One command on many processes: begun by `--processes`, srun or mpirun.

All of them are given the same words. Process 0 carries the command out, and is the only one that
prints; the others do their part of its training and evaluation.
"""

import functools
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import click

from curta.config import launched
from curta.config.errors import UserError
from curta.config.launched import Process
from curta.frontends.cli.options import Bounded
from curta.runs import interrupts

MOST = 1024
"""Processes of one machine."""

WORDS = "curta.words"
"""Where click's context has the words of the command line."""

GRACE = 3.0
"""Seconds that processes have to end by themselves once one of them has."""

TICK = 0.02
"""Seconds between two looks at whether a process has ended."""

GONE = "`curta resume` goes on from the last checkpoint"


def shared(command: Callable[..., int]) -> Callable[..., int]:
    """A command that several processes can carry out together, with the option `--processes`."""

    @click.option(
        "--processes", type=Bounded(1, MOST), metavar="N", show_default=False,
        help="Processes of this machine that share the work (1; under srun or mpirun all theirs).",
    )  # fmt: skip
    @functools.wraps(command)
    def on_processes(processes: int | None, **given: Any) -> int:
        if processes is not None and given.get("on") is not None:
            raise UserError("--processes is of this machine's own work: leave it out with --on")
        process = launched.process()
        if process.count == 1 and (processes or 1) > 1:
            return launch(int(processes or 1), click.get_current_context().meta[WORDS])
        if process.count == 1 or processes == 1:
            return command(**given)
        if processes not in (None, process.count):
            raise UserError(
                f"--processes {processes}: {process.count} were begun already, leave it out"
            )
        return _together(process, lambda: command(**given))

    return on_processes


def _together(process: Process, command: Callable[[], int]) -> int:
    """The command's exit code in process 0; in the others nothing follows."""
    if process.address:
        threading.Thread(target=_end_with_launcher, daemon=True).start()
    _redirect(process)
    from curta.runs import following, team
    from curta.training import devices

    devices.configure()
    devices.join(process)
    if process.index:
        link = team.followed()
        os.dup2(1, 2)  # from now on process 0 says what is wrong
        following.follow(link)
    with team.led(process):
        return command()


def _redirect(process: Process) -> None:
    """Nothing of what libraries print comes out; what process 0 prints goes to a copy of it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if not process.index:
        before = sys.stdout
        before.flush()
        sys.stdout = os.fdopen(os.dup(1), "w", encoding=before.encoding, errors=before.errors)
    os.dup2(nowhere, 1)


def _end_with_launcher() -> None:
    """Ends this process with the one that began it, of which it has a pipe as standard input."""
    os.read(0, 1)
    os._exit(1)


def launch(count: int, words: Sequence[str]) -> int:
    """Begins so many processes with these words on this machine; the exit code of process 0.

    When one dies, so do the others. A signal is given to process 0, which ends them all.
    """
    address = f"127.0.0.1:{_free_port()}"
    children = [_begun(index, count, address, words) for index in range(count)]
    with _passed_on(children[0]):
        while children[0].poll() is None and not any(child.poll() for child in children):
            time.sleep(TICK)
        dead = next((n for n, child in enumerate(children) if child.returncode), 0)
        killed = _ended(children)
    if children[0].returncode >= 0 and not killed:
        return children[0].returncode
    line = f"process {dead} of {count} has ended ({_how(children[dead].returncode)}): {GONE}"
    print(f"curta: {line}", file=sys.stderr)
    return 1


def _begun(index: int, count: int, address: str, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """One of the processes, with its share of the cores, in a group that no Ctrl-C reaches."""
    command = [sys.executable, "-m", "curta", *words]
    given = os.environ | launched.environment(index, count, address)
    with _bound(index, count):
        return subprocess.Popen(command, env=given, stdin=subprocess.PIPE, start_new_session=True)


@contextmanager
def _bound(index: int, count: int) -> Iterator[None]:
    """What is begun meanwhile has its share of the cores; one at least, if need be with others."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    every = sorted(os.sched_getaffinity(0))
    first, last = (n * len(every) // count for n in (index, index + 1))
    os.sched_setaffinity(0, every[first:last] or [every[first]])
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def _passed_on(child: subprocess.Popen[bytes]) -> AbstractContextManager[None]:
    """Signals that are not ignored are given to the child."""
    return interrupts.given(interrupts.listened(), lambda number, _: child.send_signal(number))


def _ended(children: Sequence[subprocess.Popen[bytes]]) -> bool:
    """Waits for all; whether process 0 had to be killed, since it did not end by itself."""
    end = time.monotonic() + GRACE
    while time.monotonic() < end and any(child.poll() is None for child in children):
        time.sleep(TICK)
    killed = children[0].poll() is None
    for child in children:
        child.kill()
        child.wait()
    return killed


def _how(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port
