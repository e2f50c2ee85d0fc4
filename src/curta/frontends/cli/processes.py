"""One command on many processes, begun by srun or mpirun.

All of them are given the same words. Process 0 carries the command out, and is the only one that
prints; the others do their part of its training and evaluation.
"""

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from curta.config import launched
from curta.config.launched import Process


def shared(command: Callable[..., int]) -> Callable[..., int]:
    """A command that several processes can carry out together."""

    @functools.wraps(command)
    def on_processes(**given: Any) -> int:
        process = launched.process()
        if process.count == 1:
            return command(**given)
        return _together(process, lambda: command(**given))

    return on_processes


def _together(process: Process, command: Callable[[], int]) -> int:
    """The command's exit code in process 0; in the others nothing follows."""
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
