"""What runs cost, as constants that were measured, and what follows from them for many.

The model is a sum. A run takes the start of a process and its stages; the first one on a machine
compiles what later ones find compiled. Runs on several nodes come in waves, of which the first
is of first runs. What a run of several members takes grows in a straight line with their number.
So nothing is said of nodes that wait for one file system, nor of a device beyond the members that
were tried on it.
"""

from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from curta.evaluation.expected import duration


@dataclass(frozen=True)
class Stages:
    """Seconds of one run, stage by stage."""

    preparing: float
    """Recipe, survey of programs, initial weights, the run's folder."""
    compiling: float
    training: float
    """What its stage takes besides: recording, steps, metrics, checkpoints."""
    evaluating: float = 0.0
    certifying: float = 0.0
    reporting: float = 0.0

    @property
    def total(self) -> float:
        return sum(vars(self).values())


@dataclass(frozen=True)
class Members:
    """What a step of so many members takes, on the device that was measured."""

    count: int
    step: float
    """Seconds."""
    memory: int
    """Bytes of the chunk of steps with the members vectorised, as its compiler plans it."""


@dataclass(frozen=True)
class Costs:
    """The constants of a recipe on a machine, as a file holds them."""

    FORMAT = 1

    recipe: str
    device: str
    platform: str
    """Such as cpu or gpu."""
    versions: dict[str, str]
    start: float
    """Seconds from the start of a process until all is imported and the device is there."""
    first: Stages
    """A run of one member, with nothing in the cache."""
    later: Stages
    """The same again."""
    several: Stages
    """The same with SEVERAL members, compiled before."""
    members: tuple[Members, ...]
    """One, and more."""
    steps: int
    operations: float
    """Floating-point operations of a step of one member, counted, not measured."""
    saving: float
    """Seconds of writing a checkpoint of one member."""
    saving_several: float
    """Of SEVERAL members."""
    checkpoint_bytes: int
    """Of one member."""
    checkpoints: int
    """How many a run writes, those that are replaced included."""
    run_bytes: int
    """Of the folder of a finished run."""
    run_files: int
    load: float | None = None
    """Processes that wanted a core while it was measured, in the mean; None if not known.

    More than there are cores, and every time here is too long.
    """


SEVERAL = 8
"""Members of the run that is held against one of a single member."""


class Table(NamedTuple):
    """A title, and rows of what it is and how much."""

    title: str
    rows: list[tuple[str, str]]


def constants(costs: Costs) -> Table:
    """Everything that was measured, as people read it."""
    rows = [("start of a process", _seconds(costs.start))]
    for what, stages in (
        ("first run", costs.first), ("later run", costs.later),
        (f"later run, {SEVERAL} members", costs.several),
    ):  # fmt: skip
        rows += [(f"{what}: {name}", _seconds(value)) for name, value in vars(stages).items()]
    for one in costs.members:
        rows.append((f"step of {_members(one.count)}", f"{1e3 * one.step:.2f} ms"))
        rows.append((f"memory of such steps, {_members(one.count)} at once", _bytes(one.memory)))
    rows += [
        ("checkpoint of one member", f"{_seconds(costs.saving)}, {costs.checkpoint_bytes:,} bytes"),
        (f"checkpoint of {SEVERAL} members", _seconds(costs.saving_several)),
        ("a finished run", f"{costs.run_bytes:,} bytes in {costs.run_files} files"),
    ]  # fmt: skip
    if costs.load is not None:
        rows.append(("processes that wanted a core meanwhile", f"{costs.load:.1f}"))
    return Table(f"{costs.recipe}, measured on {costs.device}", rows)


def of_runs(costs: Costs, runs: int, nodes: int) -> Table:
    """Many runs of one member, one at a time on each node."""
    first, later = (costs.start + stages.total for stages in (costs.first, costs.later))
    waves = ceil(runs / nodes)
    seconds = first + (waves - 1) * later
    replaced = costs.checkpoints * costs.checkpoint_bytes
    rows = [
        ("first run, later run", f"{_seconds(first)}, {_seconds(later)}"),
        ("waves", f"{waves:,}"),
        ("all runs", duration(seconds)),
        ("the same on one node", duration(first + (runs - 1) * later)),
        ("of a later run, start of the process", f"{costs.start / later:.0%}"),
        ("left on disk", f"{_bytes(runs * costs.run_bytes)}, {runs * costs.run_files:,} files"),
        ("checkpoints, those that are replaced included", _bytes(runs * replaced)),
    ]  # fmt: skip
    return Table(f"{runs:,} runs on {nodes:,} nodes", rows)


def of_population(costs: Costs, members: int) -> Table:
    """Members of one run on one device."""
    step, memory = (line(costs.members, name, members) for name in ("step", "memory"))
    saving = _grown(costs.saving, costs.saving_several, members)
    rows = [
        ("memory of the steps, members at once", _bytes(memory)),
        ("operations of a step", f"{members * costs.operations:.2g}"),
        (f"a step, as measured on {costs.platform}", _seconds(step)),
        (f"{costs.steps:,} steps of that", duration(costs.steps * step)),
        ("a checkpoint", f"{_bytes(members * costs.checkpoint_bytes)}, {_seconds(saving)}"),
    ]
    for name in ("evaluating", "certifying", "reporting"):
        one, several = (getattr(stages, name) for stages in (costs.later, costs.several))
        rows.append((name, duration(_grown(one, several, members))))
    return Table(f"{members:,} members on one device", rows)


def _grown(one: float, several: float, members: int) -> float:
    """Seconds for so many members, by those of one and of SEVERAL; never less than of one."""
    return one + (members - 1) * max(0.0, several - one) / (SEVERAL - 1)


def line(points: tuple[Members, ...], name: str, members: int) -> float:
    """What the straight line through the first and the last point says; it never falls.

    >>> line((Members(1, 2.0, 10), Members(5, 4.0, 50)), "memory", 11)
    110.0
    """
    first, last = points[0], points[-1]
    values = getattr(first, name), getattr(last, name)
    slope = max(0.0, (values[1] - values[0]) / (last.count - first.count))
    return float(values[1] + slope * (members - last.count))


def _bytes(count: float) -> str:
    """In the largest unit of which there is one.

    >>> _bytes(2_500_000_000), _bytes(183_557), _bytes(40)
    ('2.5 GB', '183.6 kB', '40.0 B')
    """
    for power, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= power:
            return f"{count / power:,.1f} {unit}"
    return f"{count:.1f} B"


def _members(count: int) -> str:
    return "one member" if count == 1 else f"{count:,} members"


def _seconds(seconds: float) -> str:
    """Three significant digits, down to a millisecond.

    >>> _seconds(0.0123), _seconds(4.5678), _seconds(1234.5)
    ('0.012 s', '4.57 s', '1,234 s')
    """
    if seconds >= 100:
        return f"{seconds:,.0f} s"
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds:.3f} s"
