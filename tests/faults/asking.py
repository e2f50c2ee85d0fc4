"""All that can be asked of a run, damaged or not: by commands, and by the pages of the server."""

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import jax
import numpy as np
from starlette.testclient import TestClient

from curta.frontends.serve.server import APP, HERE
from curta.runs import checkpoints
from tests.faults import places
from tests.faults.places import Reply

QUICK = (
    ("runs",), ("ask", "RUN", "copy 12"), ("show", "RUN", "copy 12"),
    ("train", "--resume", "RUN"),
    ("/",), ("/runs/RUN/live.html",), ("/runs/RUN/metrics.json",),
)  # fmt: skip
"""Each case asks all of these."""

SLOW = (
    ("evaluate", "RUN", "count=2", "digits=2"), ("report", "RUN"),
    ("probe", "RUN", "tokens"), ("certify", "RUN"), ("export", "RUN", "--to", "adderboard"),
    ("page", "RUN"), ("/runs/RUN/report.html",), ("/runs/RUN/page-0.html",),
)  # fmt: skip
"""And one of these."""


def ask(run: str, draw: random.Random) -> Iterator[tuple[tuple[str, ...], Reply]]:
    """Asks in a random order: the words, and what came of them."""
    several = [*QUICK, *draw.choice(SLOW)]
    draw.shuffle(several)
    for words in several:
        filled_in = [word.replace("RUN", run) for word in words]
        is_page = words[0].startswith("/")
        yield words, _get(filled_in[0]) if is_page else places.call(*filled_in)


def _get(path: str) -> Reply:
    """A page of the server: code 0, or 2 if it is refused."""
    try:
        with places.alarm():
            reply = TestClient(APP, f"http://{HERE}", follow_redirects=False).get(path)
    except places.HangError:
        return Reply(-1, "", "", f"hangs: {path}")
    except BaseException:
        return Reply(-1, "", "", places.short(path))
    code = {200: 0, 303: 0, 404: 2}.get(reply.status_code, reply.status_code)
    return Reply(code, reply.text, "refused" if code == 2 else "")


class Weights:
    """Which weights were saved by a run, and which of them were used since."""

    def __init__(self) -> None:
        self.saved: set[str] = set()
        self.used: list[tuple[int, str]] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Notes what is loaded."""
        real = checkpoints.load

        def load(folder: Path, step: int, *more: Any) -> Any:
            state = real(folder, step, *more)
            self.used.append((step, fingerprint(state)))
            return state

        with mock.patch.object(checkpoints, "load", load):
            yield

    @contextmanager
    def learned(self) -> Iterator[None]:
        """What is saved meanwhile may be used."""
        real = checkpoints.save

        def save(folder: Path, step: int, state: Any, *more: Any) -> None:
            real(folder, step, state, *more)
            self.saved.add(fingerprint(state))

        with mock.patch.object(checkpoints, "save", save):
            yield

    def complaint(self, newest: int, reply: Reply) -> str:
        """What is wrong with the weights that were used by a command; empty if nothing is."""
        used, self.used = self.used, []
        foreign = [step for step, weights in used if weights not in self.saved]
        if foreign:
            return f"used other weights as those of step {foreign}"
        older = [step for step, _ in used if step < newest]
        silent = older and not reply.err and not reply.code
        return f"used the weights of step {older} without a word" if silent else ""


def fingerprint(state: Any) -> str:
    """A hash of all arrays."""
    content = b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(state))
    return hashlib.sha256(content).hexdigest()
