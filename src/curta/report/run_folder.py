"""A run as a report has it: what its folder says, and what it was trained on."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from curta.evaluation.results import Evaluation, Span
from curta.probes import results as probes
from curta.probes.results import ProbeTable
from curta.runs.folders import Folder
from curta.runs.results import Metric, RunInfo

NOT_EVALUATED = Evaluation(seed=0, lengths=[], examples=[])


class Trained(NamedTuple):
    """The problems of one operator that were trained on; without `operands`, as many as usual."""

    first: Span
    others: Span
    operands: Span | None

    @property
    def lengths(self) -> Span:
        """Digits of the shortest and of the longest operand."""
        return min(self.first[0], self.others[0]), max(self.first[1], self.others[1])


@dataclass(frozen=True)
class Run:
    """A run as read from its folder; its evaluation has no lengths until there is one.

    `further` are evaluations with other settings.
    """

    info: RunInfo
    recipe: str
    metrics: list[Metric]
    evaluation: Evaluation
    further: list[Evaluation]
    probes: dict[str, ProbeTable]

    @property
    def name(self) -> str:
        return self.info.name

    @property
    def trained(self) -> dict[str, Trained]:
        """What was trained on, by operator: run.json knows only the widest range of all."""
        try:
            found = tomllib.loads(self.recipe).get("task", [])
        except tomllib.TOMLDecodeError:
            return {}
        tasks = found if isinstance(found, list) else [found]
        return {task["operator"]: _trained(task) for task in tasks}


def read_run(path: Path, evaluation: str = "") -> Run:
    """Reads the folder of a run; only `run.json` must exist.

    Its evaluation is the recipe's, or a further one by its name.
    """
    folder = Folder(path)
    others = [name for name in folder.evaluation_names() if name != evaluation]
    return Run(
        info=folder.read_info().at_rest(),
        recipe=folder.read_recipe_text(),
        metrics=folder.read_metrics(),
        evaluation=folder.read_evaluation(evaluation) or NOT_EVALUATED,
        further=[found for name in others if (found := folder.read_evaluation(name))],
        probes=probes.read(folder),
    )


def _trained(task: Mapping[str, Any]) -> Trained:
    """The recipe leaves out `second` and `operands` where they are as usual."""
    if "values" in task:
        low, high = (len(str(value)) for value in task["values"])
        return Trained((low, high), (low, high), None)
    first, others, operands = task["digits"], task.get("second"), task.get("operands")
    return Trained(_span(first), _span(others or first), _span(operands) if operands else None)


def _span(bounds: list[int]) -> Span:
    low, high = bounds
    return low, high
