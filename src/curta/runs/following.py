"""What any process but process 0 does: its part of what that one begins. It writes nothing."""

import os
import traceback
from pathlib import Path
from typing import NoReturn

from curta.config import typed
from curta.config.errors import UserError
from curta.config.sections import Evaluation
from curta.evaluation import suite
from curta.runs import interrupts
from curta.runs.folders import Folder
from curta.runs.partial_evaluation import EvaluatedPart
from curta.runs.session import Session
from curta.runs.team import Link, Message


def follow(link: Link) -> NoReturn:
    """Until process 0 ends this one; what is wrong is said by process 0.

    A signal is noted: a training that this process takes part in then ends with a checkpoint.
    """
    try:
        with interrupts.deferred():
            while message := link.receive():
                _WORK[message["do"]](link, message)
    except UserError as error:
        link.send(failed=str(error), code=2)
    except BaseException:
        link.send(failed=traceback.format_exc(), code=1)
    os._exit(1)


def _train(link: Link, message: Message) -> None:
    """The same steps as process 0."""
    session, step = _session(message), message["step"]
    with interrupts.deferred() as noted:
        loop, state, _ = session.loop(step, None, noted)
        loop.run(state, step, 0.0)


def _evaluate(link: Link, message: Message) -> None:
    """The parts that process 0 gives this one."""
    session = _session(message)
    models = session.at(message["step"])
    settings = typed.parse(Evaluation, message["settings"], "process 0", "the evaluation")
    finds = suite.parts(session.recipe, models, settings)
    while (name := link.receive()["part"]) is not None:
        link.send(part=typed.text(EvaluatedPart("", name, finds[name]())))


def _session(message: Message) -> Session:
    """The run; what process 0 has executed of its code is executed here too."""
    folder = Folder(Path(message["run"]))
    if message["trust"]:
        folder.trust()
    return Session(folder, message.get("recurrences"))


_WORK = {"training": _train, "evaluating": _evaluate}
