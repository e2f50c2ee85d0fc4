"""The largest problems that an export accepts; it refuses all others in one line.

The layout, the positions and the exported code each set a limit. A program under a window works
at any length, so its export stops at `DIGITS` digits, or where texts become too long.
"""

from bisect import bisect_left
from functools import partial
from itertools import islice
from typing import NamedTuple

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.evaluation.evaluation_set import refusal
from curta.layouts import Layout, ShapeBounds
from curta.layouts.program import ProgramLayout
from curta.model.transformer import Transformer
from curta.problems import task_sizes
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem
from curta.problems.sizes import Sizes
from curta.problems.tasks import as_size
from curta.programs.machine.sampling import drawn
from curta.programs.machine.survey import Recorder
from curta.programs.machine.writing import limit_of
from curta.programs.user.run_snapshot import StoredTexts

DIGITS = 1_000
"""The most digits of an operand."""

TOKENS = 20_000
"""Tokens of a program's completion beyond which operands stay at the evaluated size."""

SPARE = 2
"""How much longer a program's completion may be than the longest recorded by `longest`."""

MOST = 1 << 24
"""Positions beyond which a limit counts as none."""

DRAWN, LEAST = 256, 4
"""Digits of the problems that `longest` records, and the fewest problems."""


class Room(NamedTuple):
    """Most digits of an operand, most operands, and the tokens of the longest completion."""

    digits: int
    operands: int
    tokens: int


def rooms(recipe: Recipe, model: Transformer, most: int = DIGITS) -> dict[str, Room]:
    """Return the room of every operator, for operands of at most `most` digits."""
    return {task.operator: _room(recipe, model, task, most) for task in recipe.tasks}


def _room(recipe: Recipe, model: Transformer, task: Task, most: int) -> Room:
    operator, layout = task.operator, model.layout
    sizes = [task_sizes.widest(task)] + [
        as_size(size, operator)
        for size in recipe.evaluation.sizes(operator)
        if refusal(recipe, operator, size) is None
    ]
    count, evaluated = max(map(len, sizes)), min(most, max(max(size) for size in sizes))
    completion, spare = partial(_completion, model, operator, count), 1
    if isinstance(layout, ProgramLayout):
        if layout.recorder is None or isinstance(layout.recorder, StoredTexts):
            return Room(evaluated, count, limit_of(evaluated * count))
        digits, tokens, spare = evaluated, completion(evaluated), SPARE
        while tokens is not None and digits < most and tokens <= TOKENS:
            longer = completion(min(2 * digits, most))
            if longer is None:
                break
            digits, tokens = min(2 * digits, most), longer
        if tokens is not None:
            return Room(digits, count, spare * tokens)
        most = evaluated - 1
    too_long = lambda digits: completion(digits) is None
    digits = bisect_left(range(1, most + 1), True, key=too_long)
    return Room(digits, count, spare * (completion(digits) or 0))


def _completion(model: Transformer, operator: str, count: int, digits: int) -> int | None:
    """Return the tokens of the longest completion; None if the model cannot hold it."""
    layout, size = model.layout, (digits,) * count
    try:
        layout.accept(operator, size)
        bounds = layout.bounds(operator, size)
        model.positions.check(bounds)
        recorder = layout.recorder
        if not isinstance(recorder, Recorder):
            return bounds.completion
        return max(bounds.completion, longest(recorder, operator, size))
    except UserError:
        return None


def longest(recorder: Recorder, operator: str, size: tuple[int, ...]) -> int:
    """Return the tokens of the longest completion among some problems up to a size.

    Half of them are the program's rare cases. The largest operands need not have the longest text:
    9//1 has a longer one than 99//99. Raises UserError for a text that is too long.
    """
    sizes = Sizes((1, size[0]), (1, size[-1]), (len(size), len(size)))
    problems = drawn(recorder.programs[operator], sizes, "longest", 0.5)
    few = islice(problems, max(LEAST, DRAWN // size[0]))
    texts = [recorder.record(operator, operands) for operands in few]
    return max(len(tokens) - prompt for tokens, prompt in texts)


def limits(model: Transformer) -> dict[str, int]:
    """Return the most tokens of a text and the highest coordinate, as far as they are limited."""

    def too_large(tokens: int, coordinate: int) -> bool:
        extents = ((0, coordinate),) * len(model.layout.axes)
        try:
            model.positions.check(ShapeBounds(tokens, 0, extents))
        except UserError:
            return True
        return False

    sizes = range(1, MOST + 1)
    most = {
        "longest_text": bisect_left(sizes, True, key=lambda size: too_large(size, 0)),
        "highest_coordinate": bisect_left(sizes, True, key=lambda size: too_large(1, size)),
    }
    return {name: size for name, size in most.items() if size < MOST}


def prompt_rules(layout: Layout, rooms: dict[str, Room]) -> dict[str, str]:
    """Return a sentence for each pattern of prompts of a layout, by regular expression.

    A program's prompts are checked as operands, and have no pattern.
    """
    from curta.export.huggingface.asking_curta import takes  # its package imports this module

    rules: dict[str, str] = {}
    if isinstance(layout, ProgramLayout):
        return rules
    for operator, room in rooms.items():
        pattern = layout.prompt_pattern(operator, room.digits, room.operands)
        if pattern is not None:
            least = OPERATIONS[operator].least
            example = layout.prompt(Problem(operator, (12, 34, 56, 78)[:least]))
            sentence = takes(operator, [10] * least, room.operands, room.digits)
            rules[pattern] = f"{sentence}, such as {example}"
    return rules
