"""The training data of programs: distinct windows, or whole texts.

Each member has its own problems, which depend only on its seed. With positions `window` and one
attention layer, the loss over texts is a weighted sum over distinct windows, so members train on
these. They are drawn uniformly, or by frequency, which equals training on the texts. Encodings that
see all earlier tokens train on whole texts.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from curta.config import system
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.layouts import Layout, ShapeBounds, Text
from curta.layouts.program import ProgramLayout
from curta.model.positions import encoding
from curta.problems import task_sizes, tasks
from curta.problems.problem import Problem
from curta.programs.machine.machine import cells_of
from curta.programs.machine.program import RecordedText
from curta.programs.machine.recording import Recording, WindowTable, recorded_windows
from curta.programs.machine.sampling import drawn
from curta.training.windows import NEVER, TrainingWindows, WindowRows, WindowTargets

RECORDED_AT_ONCE = 2_000
"""The number of problems to record before counting their windows."""

MULTIPLE = 1024
"""Arrays of windows are padded to a multiple of this."""

REPAIRED_EVERY = 4
"""In repair, one in this many drawn windows was wrong when this round or an earlier one began."""

HELD_OUT = 0x68656C64
"""Salt, besides the member's seed, for the draw of held-out windows."""


class Data(NamedTuple):
    """The data from which training draws; empty if problems are drawn on the device."""

    shared: Any = ()
    """For windows, their rows and targets; nothing for texts."""
    by_member: Any = ()
    """Stacked by member. For texts, a `Text` of each task. For windows, the numbers of the member's
    windows, their count, and for drawing by frequency the thresholds of a 32-bit draw, else None.
    """


def training_windows(
    recipe: Recipe,
    layout: Layout,
    seeds: Sequence[int],
    listed: tuple[WindowRows, WindowTargets] | None = None,
    closed: Collection[str] = (),
) -> TrainingWindows:
    """Return the windows that each member trains on: those of its problems, and of the list.

    `listed` has the rows and targets of a certificate's list. A share of it, `held_out_windows`, is
    held out from training, drawn by the member's seed. The list has all windows of the `closed`
    operators, so their problems are recorded only to count how often each window occurs.
    """
    counts = recipe.training.sampling == "frequency"
    recorded = [task for task in recipe.tasks if counts or task.operator not in closed]
    tables = [windows_met(recipe, layout, recorded, seed) for seed in seeds]
    sources = [*([listed] if listed else []), *((table.rows, table.targets) for table in tables)]
    # Sorted by content, so that a member draws the same windows whichever others train with it.
    all_rows = np.concatenate([rows for rows, _ in sources])
    rows, first = np.unique(all_rows, axis=0, return_index=True)
    targets = np.concatenate([targets for _, targets in sources])[first]
    windows = TrainingWindows(rows, targets, np.full((len(seeds), len(rows)), NEVER, np.int16))
    if counts:
        windows.counts = np.ones(windows.since.shape, np.int64)
    in_list = np.sort(windows.index.find(listed[0])) if listed else np.zeros(0, np.int64)
    for member, (seed, table) in enumerate(zip(seeds, tables, strict=True)):
        number = windows.index.find(table.rows)
        windows.since[member, number] = 0
        if windows.counts is not None:
            windows.counts[member, number] = table.counts
        if listed is None:
            continue
        new = np.flatnonzero(~np.isin(number, in_list))
        if len(new):
            texts = [
                Problem(task.operator, operands, layout.base(task.operator))
                for task in recorded
                for operands in problems(recipe, layout, task, seed)
            ]
            windows.examples |= {int(number[n]): texts[table.example[n]] for n in new}
        windows.since[member, in_list] = 0
        rng = np.random.default_rng([seed & 0xFFFFFFFF, HELD_OUT])
        held_out = round(recipe.training.held_out_windows * len(in_list))
        windows.since[member, rng.choice(in_list, held_out, replace=False)] = NEVER
    return windows


def training_data(
    recipe: Recipe,
    layout: Layout,
    seeds: Sequence[int],
    windows: TrainingWindows | None = None,
    step: int = 0,
) -> tuple[Data, tuple[ShapeBounds, ...]]:
    """Return the training data of the members, and bounds on the texts of each task.

    `windows` are the members' windows, by default those of their problems; windows have no bounds.
    Published layouts have no data, since problems are drawn on the device. If training resumes in a
    round of repair, at a `step` after its last one, windows added since may be included.
    """
    if layout.machine is None:
        return Data(), tuple(
            layout.bounds(task.operator, task_sizes.widest(task)) for task in recipe.tasks
        )
    if isinstance(recipe.positions, Window):
        windows = windows or training_windows(recipe, layout, seeds)
        skip_met = step < recipe.training.steps
        return window_data(windows, 0, room=bool(recipe.round_steps), skip_met=skip_met), ()
    assert isinstance(layout, ProgramLayout)
    assert layout.recorder is not None
    by_task, bounds_by_task = [], []
    for task in recipe.tasks:
        texts = [
            [layout.recorder.record(task.operator, o) for o in problems(recipe, layout, task, seed)]
            for seed in seeds
        ]
        bounds = layout.room_for([text for member_texts in texts for text in member_texts])
        encoding(recipe, layout).check(bounds, training=True)
        padded = [padded_texts(member_texts, bounds.total, layout.end) for member_texts in texts]
        by_task.append(Text(*(jnp.stack(columns) for columns in zip(*padded, strict=True))))
        bounds_by_task.append(bounds)
    return Data((), tuple(by_task)), tuple(bounds_by_task)


def problems(
    recipe: Recipe, layout: Layout, task: Task, seed: int, most: int | None = None
) -> list[tuple[int, ...]]:
    """Return the operands of a member's problems of one task, at most `most` of them.

    If the task has a table, they are drawn from it without repetition.
    """
    weights = sum(other.weight for other in recipe.tasks)
    count = max(1, round(recipe.training.problems * task.weight / weights))
    if not task.values:
        count = count if most is None else min(most, count)
        return list(islice(draw(layout, task, f"training {seed}"), count))
    rng, rows = np.random.default_rng(seed & 0xFFFFFFFF), tasks.trained(task)
    places = rows.start + rng.choice(len(rows), min(count, len(rows)), replace=False)
    pairs = np.asarray(tasks.table(task).pairs(jnp.asarray(places)))
    return [tuple(pair) for pair in pairs.tolist()][:most]


def draw(layout: Layout, task: Task, purpose: str) -> Iterator[tuple[int, ...]]:
    """Yield random operands of a program's task without end; each purpose gets its own."""
    assert layout.recorder is not None
    program = layout.recorder.programs[task.operator]
    return drawn(program, task_sizes.sizes(task), f"{purpose} {task.operator}", task.special)


def validation(recipe: Recipe, layout: Layout, task: Task) -> list[Problem]:
    """Return the validation problems of a task, in the base in which they are written."""
    count, base = recipe.training.validation, layout.base(task.operator)
    if base == 10 or task.values:
        return tasks.validation(task, count)
    operands = islice(draw(layout, task, "validation"), count)
    return [Problem(task.operator, values, base) for values in operands]


def trained_rows(
    recipe: Recipe, layout: Layout, task: Task, seeds: Sequence[int]
) -> Bool[np.ndarray, " rows"]:
    """Return for each row of a task's table whether any member trains on it."""
    if layout.machine is None:
        return tasks.trained_rows(task)
    rows = tasks.table(task)
    trained = np.zeros(rows.rows, bool)
    for seed in seeds:
        trained[rows.row_of(np.array(problems(recipe, layout, task, seed)))] = True
    return trained


def windows_met(recipe: Recipe, layout: Layout, of: Sequence[Task], seed: int) -> WindowTable:
    """Write a member's problems of some tasks, and return their windows with counts."""
    assert layout.recorder is not None
    table = WindowTable(cells_of(layout.windows))

    def count(texts: Sequence[RecordedText]) -> None:
        for chunk in Recording.of(texts).pieces(1 << 20):
            table.add(recorded_windows(layout.machine, chunk, layout.windows))

    # NumPy counts windows in the background while Python records further texts.
    counting = system.in_background(lambda: None)
    for task in of:
        operands = problems(recipe, layout, task, seed)
        for start in range(0, len(operands), RECORDED_AT_ONCE):
            chunk = operands[start : start + RECORDED_AT_ONCE]
            texts = [layout.recorder.record(task.operator, values) for values in chunk]
            counting.result()
            counting = system.in_background(partial(count, texts))
    counting.result()
    return table


def window_data(
    windows: TrainingWindows, number: int, *, room: bool = False, skip_met: bool = True
) -> Data:
    """Return the data of a round of repair; round 0 is training itself.

    With `room`, arrays have room for the windows that later rounds add, so that all rounds have the
    same shapes. With `skip_met`, windows that were added to the list after training began are left
    out, so that a resumed training has the shapes of an uninterrupted one.
    """
    total = len(windows.rows) - (windows.met if skip_met else 0)
    if room:
        places = total + total // (REPAIRED_EVERY - 1)
    else:
        places = int((windows.since >= 0).sum(axis=1).max())
    places += -places % MULTIPLE
    numbers_by_member, counts, shares = [], [], []
    for member, since in enumerate(windows.since):
        numbers = np.flatnonzero((since >= 0) & (since <= number))
        weights = np.ones(len(numbers))
        if windows.counts is not None:
            weights = windows.counts[member, numbers]
        # Include the windows of earlier rounds: if one or two windows get a quarter of all draws,
        # the weights move so far that other windows become wrong, even repaired ones.
        is_wrong = [wrong[member] for wrong in windows.wrong[:number]]
        if len(wrong := np.flatnonzero(np.any(is_wrong, axis=0))):
            # If 3 of 90 windows are wrong, they are repeated 10 times, in 30 of then 120 places.
            again = np.tile(wrong, len(numbers) // (REPAIRED_EVERY - 1) // len(wrong))
            weight = weights.sum() / (REPAIRED_EVERY - 1) / max(1, len(again))
            numbers = np.concatenate([numbers, again])
            weights = np.concatenate([weights, np.full(len(again), weight)])
        numbers_by_member.append(np.resize(numbers, places))
        counts.append(len(numbers))
        shares.append(np.pad(weights / weights.sum(), (0, places - len(numbers))))
    thresholds = None
    if windows.counts is not None:
        # Cumulative shares in units of 2^-32, to compare with random 32-bit words: 0.25 becomes
        # 1073741824. Random floats have 2^23 values, too few for 10 million tokens.
        limits = np.rint(np.cumsum(shares, axis=1) * 2.0**32)
        thresholds = jnp.asarray(np.minimum(limits, 2**32 - 1).astype(np.uint32))
    padding = -total % MULTIPLE
    rows = jnp.asarray(np.pad(windows.rows[:total], ((0, padding), (0, 0))), jnp.int32)
    targets = jnp.asarray(np.pad(windows.targets[:total], (0, padding)), jnp.int32)
    stacked = jnp.asarray(np.stack(numbers_by_member), jnp.int32)
    return Data((rows, targets), (stacked, jnp.asarray(counts, jnp.int32), thresholds))


def padded_texts(texts: Sequence[RecordedText], longest: int, fill: int) -> Text:
    """Return texts as the rows of one array, padded with `fill`.

    >>> padded_texts([([1, 2, 3], 2), ([4], 1)], longest=4, fill=0).tokens.tolist()
    [[1, 2, 3, 0], [4, 0, 0, 0]]
    """
    tokens = np.full((len(texts), longest), fill, np.int32)
    for row, (line, _) in zip(tokens, texts, strict=True):
        row[: len(line)] = line
    prompts = np.array([prompt for _, prompt in texts], np.int32)
    lengths = np.array([len(line) for line, _ in texts], np.int32)
    return Text(*map(jnp.asarray, (tokens, prompts, lengths)))
