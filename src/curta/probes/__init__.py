"""Probes: what trained members have learned. A new probe is one file and one line here."""

import dataclasses
import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.config import files, typed
from curta.config.errors import Registry, UserError
from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.programs.user import userfiles
from curta.programs.user.userfiles import watched
from curta.runs import folders, ownership

if TYPE_CHECKING:
    from curta.probes.base import Probe, ProbeTable
    from curta.runs.run import Run

PROBES: "Registry[type[Probe]]" = Registry(
    "probe",
    {
        "single-digits": "curta.probes.behaviour:SingleDigits",
        "commutativity": "curta.probes.behaviour:Commutativity",
        "patterns": "curta.probes.behaviour:Patterns",
        "carry-chains": "curta.probes.behaviour:CarryChains",
        "operand-range": "curta.probes.behaviour:OperandRange",
        "longer": "curta.probes.behaviour:Longer",
        "recurrences": "curta.probes.behaviour:Recurrences",
        "top-k": "curta.probes.logits:Top",
        "attention": "curta.probes.attention:AttentionShares",
        "counterfactual": "curta.probes.counterfactual:Counterfactual",
        "ablation": "curta.probes.ablation:Ablation",
        "patching": "curta.probes.patching:Patching",
        "logit-lens": "curta.probes.logits:LogitLens",
        "direct-logits": "curta.probes.logits:DirectLogits",
        "linear": "curta.probes.linear:Linear",
        "neuron": "curta.probes.neuron:Neuron",
        "tokens": "curta.probes.tokens:TokenPaths",
        "fourier": "curta.probes.fourier:Fourier",
    },
)

SECONDS = 3600.0
"""Time limit of a user's probe."""

TAKEN = ("help", "json", "as_json", "member", "trust", "run", "probe")
"""Option names that the command itself uses."""


def probe_named(name: str) -> "type[Probe]":
    """Return the probe of that name, or the one in a user's file; UserError if there is none."""
    from curta.probes.base import Probe

    if not name.endswith(".py"):
        PROBES.check(name)
        return PROBES[name]
    file = userfiles.load(name)
    probes = [candidate for candidate in file.classes() if issubclass(candidate, Probe)]
    if len(probes) != 1 or not dataclasses.is_dataclass(probes[0]):
        raise UserError(f"{file.name}: a probe is one frozen dataclass that extends Probe")
    (probe,) = probes
    if not hasattr(probe, "name") or not hasattr(probe, "summary") or inspect.isabstract(probe):
        raise UserError(f"{file.name}: a probe has name, summary and examine(subject)")
    if probe.name in PROBES:
        raise UserError(f"{file.name}: {probe.name!r} is a probe of Curta's own")
    for field in dataclasses.fields(probe):
        if "says" not in field.metadata:
            raise UserError(f"{file.name}: write {field.name} = option(default, 'what it is')")
        if field.name in TAKEN:
            raise UserError(
                f"{file.name}: every probe has an option {field.name}: choose another name"
            )
    return probe


def options(name: str) -> list[tuple[str, str, type, Any]]:
    """Return name, help, type and default of each option of a probe."""
    return [
        (field.name, field.metadata["says"], field.metadata["kind"], field.default)
        for field in dataclasses.fields(probe_named(name))
    ]


def tasks_for(probe: "type[Probe]", recipe: Recipe) -> list[Task]:
    """Return the tasks of a recipe that a probe can examine."""
    if probe.unfit(recipe):
        return []
    return [task for task in recipe.tasks if probe.about(task)]


def examine(
    run: "Run", name: str, members: Sequence[int] | None = None, **options: Any
) -> "ProbeTable":
    """Examine members of a run, all by default; keyword arguments are the probe's options.

    Writes probes/NAME.json and returns its content. Raises UserError for a probe that does not
    apply to the run, a member that does not exist, or an invalid option.
    """
    from curta.probes.base import Finding, ProbeTable
    from curta.probes.subject import Subject

    kind = probe_named(name)
    probe, count = kind(**options), len(run.seeds)
    numbers = range(count) if members is None else members
    chosen = [folders.check_member(number, run.name, count) for number in numbers]
    tasks = tasks_for(kind, run.recipe)
    if not tasks:
        has = kind.unfit(run.recipe) or " ".join(task.operator for task in run.recipe.tasks)
        raise UserError(
            f"probe {kind.name!r} does not apply to run {run.name!r}:"
            f" it examines {kind.scope}, and the run has {has}"
        )
    subject = Subject(run, chosen, tasks)
    if kind.name in PROBES:
        finding = probe.examine(subject)
    else:
        path = Path(inspect.getfile(kind))
        with watched(path, seconds=SECONDS):  # a mistake in a user's file is reported with its line
            finding = probe.examine(subject)
            json.dumps(finding)
        if not isinstance(finding, Finding):
            raise UserError(f"{path.name}: examine(subject) gives no Finding")
    table = ProbeTable(
        probe=probe.name,
        summary=probe.summary,
        step=run.step,
        members=chosen,
        options={key: value for key, value in vars(probe).items() if value is not None},
        notes=list(finding.notes),
        columns=list(finding.columns),
        rows=finding.rows,
        picture=finding.picture,
    )
    with ownership.owned(run.folder.path):
        files.write(run.folder.probes / f"{table.probe}.json", typed.text(table))
    return table
