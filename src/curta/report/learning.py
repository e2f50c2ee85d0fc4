"""What a report says of training: its curves, and where every member stands."""

from typing import NamedTuple

from markupsafe import Markup

from curta.report.run_folder import Run
from curta.report.summary import MISSING
from curta.runs.info import Metric


class Member(NamedTuple):
    """A member's last record and last validation, and the step at which it stopped."""

    seed: int | str
    last: Metric
    validation: Metric | None
    stopped: int | None


class Learning(NamedTuple):
    """The curves, on both axes of the loss, and all members; `validated` if any validation is."""

    plot: Markup | None
    linear: Markup | None
    members: list[Member]
    validated: bool


def learning(run: Run, plot: Markup | None, linear: Markup | None) -> Learning:
    """The section's data; without plots while no step is recorded."""
    ordered = sorted(run.metrics, key=lambda line: (line.member, line.step))
    last = {line.member: line for line in ordered}
    validation = {line.member: line for line in ordered if line.validation_loss is not None}
    seeds, stopped = dict(enumerate(run.info.seeds)), run.info.stopped
    members = [
        Member(seeds.get(n, MISSING), line, validation.get(n), stopped.get(n))
        for n, line in last.items()
    ]
    return Learning(plot, linear, members, bool(validation))
