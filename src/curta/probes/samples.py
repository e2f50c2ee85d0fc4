"""Problems that probes ask where none is given."""

from collections.abc import Sequence

from curta.config.task import Task
from curta.evaluation import evaluation_set
from curta.layouts import Layout
from curta.problems import task_sizes, tasks
from curta.problems.problem import Problem


def sample(
    layout: Layout, task: Task, count: int, seed: int, digits: Sequence[int] | None = None
) -> list[Problem]:
    """Random problems in the layout's base, with so many digits, or the most in training."""
    size = task_sizes.widest(task) if digits is None else digits
    return evaluation_set.of_digits(layout, task.operator, tasks.RANDOM, size, count, seed)
