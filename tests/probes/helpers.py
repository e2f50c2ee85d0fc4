"""What tests of probes share: subjects, and the rows of a finding."""

from typing import Any

import jax
import numpy as np

from curta.config.task import Task
from curta.evaluation.scoring import Models
from curta.model.transformer import Transformer
from curta.probes.base import Finding, Probe
from curta.probes.subject import Subject
from curta.problems.problem import Problem, parse
from curta.runs.run import Run


class ModelSubject(Subject):
    """Models without a run."""

    def __init__(self, models: Models, *tasks: Task) -> None:
        self.members, self.tasks = list(range(models.members)), list(tasks)
        self.models, self.layout = models, models.layout

    def problem(self, text: str | None) -> Problem:
        return parse(str(text))


def subject(run: Run, *members: int) -> Subject:
    return Subject(run, list(members) or range(len(run.seeds)), run.recipe.tasks)


def examined(probe: Probe, run: Run, *members: int) -> Finding:
    """What a probe finds, checked to be as the contract has it."""
    finding = probe.examine(subject(run, *members))
    assert finding.rows
    for row in finding.rows:
        assert set(finding.columns) <= set(row)
    assert finding.picture["panels"]
    return finding


def rows_of(probe: Probe, models: Models, task: Task) -> list[dict[str, Any]]:
    return probe.examine(ModelSubject(models, task)).rows


def only(finding: Finding, **wanted: Any) -> list[dict[str, Any]]:
    """The rows with these values."""
    return [row for row in finding.rows if all(row[k] == v for k, v in wanted.items())]


def answers(run: Run, exam: list[Problem], member: int) -> list[Any]:
    """What is read in the texts that a member writes, all at once."""
    texts = run.write(exam, member)
    return [run.layout.answer(p, text) for p, text in zip(exam, texts, strict=True)]


def generated(run: Run, exam: list[Problem]) -> np.ndarray:
    """Whether each member's own writing ends in the right answer: members by problems."""
    by_member = [answers(run, exam, member) for member in (0, 1)]
    return np.array([[a == p.truth for a, p in zip(m, exam, strict=True)] for m in by_member])


def alone(model: Transformer) -> Models:
    """One member."""
    return Models(jax.tree.map(lambda leaf: leaf[None], model), model.layout, 1)
