"""The contract of an exporter: which runs it can express, and how it writes one member.

Beside it is what formats share: the room that they have for problems, and models as plain data.
"""

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.evaluation.evaluation_set import refusal
from curta.evaluation.results import SliceSummary
from curta.layouts import Layout, ShapeBounds
from curta.layouts.program import ProgramLayout
from curta.model.transformer import Transformer
from curta.problems import task_sizes
from curta.problems.sizes import Sizes
from curta.problems.tasks import as_size
from curta.programs.machine import store
from curta.programs.machine.sampling import drawn
from curta.programs.machine.survey import Recorder
from curta.programs.machine.writing import limit_of
from curta.programs.user.run_snapshot import StoredTexts


@dataclass(frozen=True)
class Exported:
    """One member of a run with its origin and a summary of its evaluation."""

    run: str
    seed: int
    recipe: Recipe
    model: Transformer
    number: int = 0
    steps: int = 0
    """Steps of training; 0 if unknown."""
    rows: Sequence[SliceSummary] = ()
    """The evaluation's rows, with figures over all members of the run."""


class Exporter(ABC):
    """A format for other programs. Stateless; registered by name in `EXPORTERS`."""

    name: str
    summary: str
    file: str
    """Default name in a run's folder; `{member}` is the member's number."""

    def refuse(self, recipe: Recipe) -> str | None:
        """Return the field and value that the format cannot express; None if there is none."""
        return None

    @abstractmethod
    def write(self, member: Exported, out: Path) -> None:
        """Write the member to `out`, atomically."""


# The largest problems that an export accepts; it refuses all others in one line. The layout, the
# positions and the exported code each set a limit. A program under a window works at any length, so
# its export stops at `DIGITS` digits, or where texts become too long.

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
    """Return the most tokens of a text and the highest coordinate, None where there is no limit."""

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


# What formats have in common.


def machine_data(layout: Layout, rooms: Mapping[str, Room] | None = None) -> dict[str, Any] | None:
    """Return the machine of a program and its windows as JSON; None for a published layout.

    With `rooms`, each operator's format has the most `digits` and `operands` that it takes.
    """
    if not isinstance(layout, ProgramLayout):
        return None
    content = store.dump(layout.machine, layout.windows)
    for operator, room in (rooms or {}).items():
        content["formats"][operator] |= {"digits": room.digits, "operands": room.operands}
    return content


Tensors = dict[str, Float[np.ndarray, "..."]]
"""Tensors of a file, or weights of a model, by name."""


def weights_of(model: Any) -> Tensors:
    """Return every weight by its path, such as `attention.query`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(model)
    return {jax.tree_util.keystr(path)[1:]: np.asarray(leaf) for path, leaf in leaves}


def layout_table(layout: Layout) -> dict[str, Any]:
    """Return a layout's roles, and its automaton as tables by state and token."""
    roles = [
        {
            "name": role.name,
            "digit": role.digit,
            "broadcast": [axis in role.broadcast for axis in layout.axes],
        }
        for role in layout.roles
    ]
    return {
        "name": layout.name,
        "axes": len(layout.axes),
        "roles": roles,
        "automaton": layout.automaton.tables(),
    }
