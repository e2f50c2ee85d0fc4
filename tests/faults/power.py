"""Power failures: a run is cut after any operation, rebuilt as a disk may hold it, and resumed."""

import random
import shutil
from pathlib import Path
from typing import Any

from curta.config.errors import UserError
from curta.runs import ownership
from curta.runs.folders import Folder
from tests.faults import places
from tests.faults.disk import Disk

NAME = "run"


def run(count: int, seed: int) -> places.Outcome:
    """`count` cuts, in turn of a training and of one that is resumed."""
    with places.workplace() as folder:
        recipe = places.recipe(folder)
        words = ("train", recipe, "--seeds", "2", "--run", NAME)
        first = recorded(folder / "first", words)
        whole = places.contents(folder / "first" / NAME)
        second = resumed(folder / "second", first)
        outcome = places.Outcome()
        for case, draw in places.chosen(count, seed):
            disk = (first, second)[case % 2]
            outcome.cases += 1
            try:
                _cut(outcome, f"{case}", disk, draw, seed, folder / "cut", words, whole)
            except Exception:
                outcome.failed(case, seed, places.short("the test itself"))
        return outcome


def recorded(runs: Path, words: tuple[str, ...]) -> Disk:
    """The operations of a command in its own folder of runs."""
    runs.mkdir(exist_ok=True)
    disk = Disk(runs)
    with places.runs_at(runs), disk.recorded():
        reply = places.call(*words)
    assert reply.code == 0, reply
    return disk


def resumed(runs: Path, first: Disk) -> Disk:
    """The operations of a resume, of a run that was cut off after its second checkpoint."""
    at = max(i for i, moment in enumerate(first.log) if "00000020.json" in moment.what)
    first.cut(at + 8, _All()).write(runs)
    return recorded(runs, ("train", "--resume", NAME))


class _All(random.Random):
    """Everything unsure is there."""

    def choice(self, options: Any) -> Any:
        return "all" if "all" in options else options[0]


def _cut(
    outcome: places.Outcome, case: str, disk: Disk, draw: random.Random, seed: int, runs: Path,
    words: tuple[str, ...], whole: dict[str, Any],
) -> None:  # fmt: skip
    """One power failure, and what comes of it."""
    shutil.rmtree(runs, ignore_errors=True)
    at = draw.randrange(len(disk.log))
    disk.cut(at, draw).write(runs)
    where = f"after {disk.log[at].what.rpartition('/')[2]} ({at} of {len(disk.log)})"
    with places.runs_at(runs):
        listed, begun = places.call("runs"), (runs / NAME).exists()
        claimed = begun and _finished(runs / NAME)
        if listed.complaint or (claimed and places.differences(runs / NAME, whole)):
            outcome.failed(case, seed, f"{where}: says it is whole, or {listed.complaint}")
        assert not ownership._HELD  # nothing of an earlier case is known
        reply = places.call(*(("train", "--resume", NAME) if begun else words))
    outcome.ended["resumed" if begun else "begun anew"] += 1
    wrong = reply.complaint or reply.err if reply.code else places.differences(runs / NAME, whole)
    if wrong:
        outcome.failed(case, seed, f"{where}: {wrong}")


def _finished(run: Path) -> bool:
    try:
        return Folder(run).read_info().status == "finished"
    except UserError:
        return False
