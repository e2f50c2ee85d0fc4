"""How many operands the problems of a task have, and how many digits these have."""

from itertools import zip_longest

from curta.config.task import Span, Task
from curta.problems.operations import Operation, operation_named
from curta.problems.problem import Problem, widths
from curta.problems.sizes import Sizes


def operation(task: Task) -> Operation:
    """Return the operation of a task; UserError for an unknown operator."""
    return operation_named(task.operator)


def counts(task: Task) -> Span:
    """Return the fewest and the most operands of a task."""
    least = 2 if task.values else operation(task).least
    return task.operands or (least, least)


def sizes(task: Task) -> Sizes:
    """Return bounds on the digit counts and the number of operands."""
    if task.values:
        low, high = (len(str(value)) for value in task.values)
        return Sizes((low, high), (low, high), counts(task))
    return Sizes(task.digits, task.second or task.digits, counts(task))


def spans(task: Task) -> tuple[Span, ...]:
    """Return bounds on the digit count of each operand.

    >>> spans(Task("//", digits=(1, 6), second=(1, 3)))
    ((1, 6), (1, 3))
    """
    return tuple(sizes(task).digits(place) for place in range(counts(task)[1]))


def span(*tasks: Task) -> Span:
    """Return the fewest and the most digits of any operand of these tasks.

    >>> span(Task("//", digits=(1, 6), second=(2, 3)), Task("-", digits=(4, 9)))
    (1, 9)
    """
    lows, highs = zip(*(bounds for task in tasks for bounds in spans(task)), strict=True)
    return min(lows), max(highs)


def widest(task: Task) -> tuple[int, ...]:
    """Return the highest digit count of each operand.

    >>> widest(Task("//", digits=(1, 6), second=(1, 3)))
    (6, 3)
    """
    return tuple(high for _, high in spans(task))


def larger_than_trained(task: Task, problem: Problem) -> bool:
    """Return whether training can never draw the problem, since it is too large."""
    if task.values:
        return max(problem.operands) > task.values[1]
    sizes = zip_longest(widths(problem), widest(task), fillvalue=0)
    return any(width > most for width, most in sizes)
