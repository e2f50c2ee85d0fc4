"""Probes: what trained members have learned. A new one is one file and one line here."""

import dataclasses
import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.registry import Registry
from curta.config.task import Task
from curta.probes.settings import SETTINGS, Options
from curta.programs.user import userfiles
from curta.programs.user.guarding import watched

if TYPE_CHECKING:
    from curta.probes.base import Finding, Probe
    from curta.probes.results import ProbeTable
    from curta.probes.subject import Subject
    from curta.runs.session import Session

PROBES: "Registry[type[Probe]]" = Registry(
    "probe",
    {
        "single-digits": "curta.probes.single_digits:SingleDigits",
        "commutativity": "curta.probes.commutativity:Commutativity",
        "patterns": "curta.probes.patterns:Patterns",
        "carry-chains": "curta.probes.carries:CarryChains",
        "operand-range": "curta.probes.values:OperandRange",
        "longer": "curta.probes.longer:Longer",
        "recurrences": "curta.probes.recurrences:Recurrences",
        "top-k": "curta.probes.top:Top",
        "attention": "curta.probes.attention:Attention",
        "counterfactual": "curta.probes.counterfactual:Counterfactual",
        "ablation": "curta.probes.ablation:Ablation",
        "patching": "curta.probes.patching:Patching",
        "logit-lens": "curta.probes.lens:LogitLens",
        "direct-logits": "curta.probes.direct:DirectLogits",
        "linear": "curta.probes.linear:Linear",
        "neuron": "curta.probes.neuron:Neuron",
        "tokens": "curta.probes.tokens:Tokens",
        "every-sum": "curta.probes.every_sum:EverySum",
        "fourier": "curta.probes.fourier:Fourier",
    },
)

TAKEN = ("help", "json", "as_json", "member", "trust", "run", "probe")
"""Names that the command itself has."""

SECONDS = 3600.0
"""How long a user's probe may take."""


def probe_named(name: str) -> "type[Probe]":
    """The probe of that name, or the one in a user's file; UserError if there is none."""
    if name.endswith(".py"):
        return _in_file(name)
    PROBES.check(name)
    return PROBES[name]


def _in_file(path: str) -> "type[Probe]":
    """The probe that a file defines; its name and its options must be its own."""
    from curta.probes.base import Probe

    file = userfiles.load(path)
    found = [one for one in file.classes() if issubclass(one, Probe)]
    if len(found) != 1 or not dataclasses.is_dataclass(found[0]):
        raise UserError(f"{file.name}: a probe is one frozen dataclass that extends Probe")
    missing = [field for field in ("name", "summary") if not hasattr(found[0], field)]
    if missing or inspect.isabstract(found[0]):
        raise UserError(f"{file.name}: a probe has name, summary and examine(subject)")
    if found[0].name in PROBES:
        raise UserError(f"{file.name}: {found[0].name!r} is a probe of Curta's own")
    _check_options(file.name, found[0])
    return found[0]


def _check_options(file: str, probe: "type[Probe]") -> None:
    """Raises UserError for a field that can be no option on the command line."""
    for field in dataclasses.fields(probe):
        if "says" not in field.metadata:
            raise UserError(f"{file}: write {field.name} = option(default, 'what it is')")
        if field.name in TAKEN:
            raise UserError(f"{file}: --{field.name} is what every probe has: choose another name")


def options(name: str) -> list[tuple[str, str, type, Any]]:
    """Name, help, type and default of each option of a probe."""
    holder = SETTINGS[name] if name in SETTINGS else probe_named(name)
    return [
        (field.name, field.metadata["says"], field.metadata["kind"], field.default)
        for field in dataclasses.fields(holder)
    ]


def tasks_for(probe: type[Options], recipe: Recipe) -> list[Task]:
    """The tasks of a recipe that a probe can examine."""
    if probe.unfit(recipe):
        return []
    return [task for task in recipe.tasks if probe.about(task)]


def examine(
    run: "Session", name: str, members: Sequence[int] | None = None, **options: Any
) -> "ProbeTable":
    """Puts a probe to members of a run, all by default; keyword arguments are its options.

    Returns what probes/NAME.json holds.
    """
    from curta.probes.results import save
    from curta.probes.subject import Subject

    kind = probe_named(name)
    probe, asked = kind(**options), _asked(run, members)
    tasks = tasks_for(kind, run.recipe)
    if not tasks:
        raise UserError(_refusal(run, kind))
    table = _table(run, probe, asked, _found(probe, Subject(run, asked, tasks)))
    save(run.folder, table)
    return table


def _found(probe: "Probe", subject: "Subject") -> "Finding":
    """What a probe finds; mistakes in a user's are told with their line."""
    from curta.probes.base import Finding

    if probe.name in PROBES:
        return probe.examine(subject)
    path = Path(inspect.getfile(type(probe)))
    with watched(path, SECONDS):
        found = probe.examine(subject)
        json.dumps(found)
    if not isinstance(found, Finding):
        raise UserError(f"{path.name}: examine(subject) gives no Finding")
    return found


def _asked(run: "Session", members: Sequence[int] | None) -> list[int]:
    """The members to ask; UserError for one that there is not."""
    every = range(len(run.seeds))
    for member in members or ():
        if member not in every:
            raise UserError(f"no member {member}: run {run.name!r} has 0 to {every[-1]}")
    return list(every if members is None else members)


def _refusal(run: "Session", probe: "type[Probe]") -> str:
    operators = " ".join(task.operator for task in run.recipe.tasks)
    has = probe.unfit(run.recipe) or operators
    return (
        f"probe {probe.name!r} does not apply to run {run.name!r}:"
        f" it examines {probe.scope}, and the run has {has}"
    )


def _table(run: "Session", probe: "Probe", members: list[int], found: "Finding") -> "ProbeTable":
    """What the file of a probe holds."""
    from curta.probes.results import ProbeTable

    options = {key: value for key, value in dataclasses.asdict(probe).items() if value is not None}
    return ProbeTable(
        probe=probe.name,
        summary=probe.summary,
        step=run.step,
        members=members,
        options=options,
        notes=list(found.notes),
        columns=list(found.columns),
        rows=found.rows,
        picture=found.picture,
    )
