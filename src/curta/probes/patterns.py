"""Single problems that tell more than random ones: the patterns that each operation names."""

from dataclasses import dataclass

from curta.config.task import Task
from curta.probes import settings
from curta.probes.base import Finding, Probe, Row
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.problems import task_sizes
from curta.problems.operations import Answer
from curta.problems.problem import Problem, answer_text


@dataclass(frozen=True)
class Patterns(settings.Patterns, Probe):
    def examine(self, subject: Subject) -> Finding:
        rows = [row for task in subject.tasks for row in _rows(subject, task)]
        panel: Panel = {
            "form": "heat",
            "title": "Answers",
            "across": "member",
            "down": "",
            "columns": [str(member) for member in subject.members],
            "rows": [f"{row['operator']} {row['pattern']}" for row in rows],
            "values": [row["verdicts"] for row in rows],
            "texts": [[_word(right) for right in row["verdicts"]] for row in rows],
            "exact_match": True,
        }
        shows = "What each member answers to each named problem: right, wrong, or not to be asked."
        columns = ("operator", "pattern", "problem", "truth", "right", "answers")
        return Finding(columns, rows, {"shows": shows, "panels": [panel]})


def _rows(subject: Subject, task: Task) -> list[Row]:
    """What the members write for themselves; problems without positions are not asked."""
    named = {
        name: Problem(task.operator, operands)
        for name, operands in task_sizes.operation(task).patterns.items()
    }
    asked = [problem for problem in named.values() if subject.fits([problem])]
    found = dict(zip(asked, zip(*subject.answers(asked), strict=True), strict=True))
    return [_row(task, name, p, found.get(p), len(subject.members)) for name, p in named.items()]


def _row(
    task: Task, name: str, problem: Problem, found: tuple[Answer | None, ...] | None, members: int
) -> Row:
    asked = {
        "operator": task.operator,
        "pattern": name,
        "problem": str(problem),
        "truth": answer_text(problem.truth),
    }
    if found is None:
        return asked | {"right": None, "answers": None, "verdicts": [None] * members}
    verdicts = [float(answer == problem.truth) for answer in found]
    answers = ["invalid" if answer is None else answer_text(answer) for answer in found]
    return asked | {"right": int(sum(verdicts)), "answers": answers, "verdicts": verdicts}


def _word(right: float | None) -> str:
    return "no room" if right is None else "right" if right else "wrong"
