"""What a process that is not process 0 does: its part of what that one begins. It writes nothing."""

import os
import traceback
from pathlib import Path

from curta.config.errors import UserError
from curta.programs.user import userfiles
from curta.runs import interrupts
from curta.runs.folders import Folder
from curta.runs.record import NoRecord
from curta.runs.session import Session
from curta.runs.team import Link, Message


def follow(link: Link) -> None:
    """Until process 0 ends this one; what is wrong is said by process 0.

    A signal is noted: a training that this process takes part in then ends with a checkpoint.
    """
    try:
        with interrupts.deferred():
            for message in link.messages():
                _WORK[message["do"]](link, message)
    except UserError as error:
        link.send(failed=str(error), code=2)
    except BaseException:
        link.send(failed=traceback.format_exc(), code=1)
    os._exit(1)


def _train(link: Link, message: Message) -> None:
    session = _session(message)
    state, call, _ = session.begun(message["step"])
    with interrupts.deferred() as noted:
        session.loop(call, NoRecord(), noted).run(state, message["step"], 0.0)


def _session(message: Message) -> Session:
    folder = Folder(Path(message["run"]))
    return Session(folder)


_WORK = {"training": _train}
