"""What programs wrote, as training is given it: distinct windows, or whole texts.

Every member has problems of its own, a function of its seed alone. Under a window with one
attention layer the loss over texts is a weighted sum over distinct windows, so these are what is
trained on: `uniform`, each as often as any other, or by `frequency`, which is training on the
texts. Encodings that see all earlier tokens are given whole texts.
"""

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int, UInt

from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.layouts import Layout, ShapeBounds, Text
from curta.layouts.program import ProgramLayout
from curta.model.positions import encoding
from curta.problems import task_sizes, tasks
from curta.problems.problem import Problem
from curta.programs.machine.machine import cells_of
from curta.programs.machine.program import Text as Recorded
from curta.programs.machine.recording import Recording, WindowTable, recorded_windows
from curta.programs.machine.sampling import drawn
from curta.training import background
from curta.training.windows import NEVER, TrainingWindows

TOGETHER = 2_000
"""Problems that are recorded before their windows are looked at."""

MULTIPLE = 1024
"""Lists of windows are filled up to a multiple of this."""

WRONG = 4
"""In a round of repair every WRONGth window drawn is one that was wrong when it began."""

HELD_OUT = 0x68656C64
"""Salt for the draw of held-out windows, beside the member's seed."""


class Data(NamedTuple):
    """What training draws from: alike for all members, and each member's own.

    Of windows: rows and what follows them; for each member, stacked, which of them it was shown,
    how many, and, by frequency, the share of its texts' tokens up to each, of 2^32. Of texts:
    nothing; for each member a `Text` for each task.
    """

    shared: Any = ()
    own: Any = ()


def training_windows(
    recipe: Recipe,
    layout: ProgramLayout,
    seeds: Sequence[int],
    listed: tuple[Int[np.ndarray, "windows cells"], Int[np.ndarray, " windows"]] | None = None,
) -> TrainingWindows:
    """Return the windows that training shows each member: from its problems and from the list.

    Of the listed ones it is not shown `training.held_out_windows`, drawn by its seed.
    """
    tables = [windows_met(recipe, layout, seed) for seed in seeds]
    every = [*([listed] if listed else []), *((table.rows, table.targets) for table in tables)]
    # In the order of their content, so that a member draws the same whoever is trained beside it.
    rows, first = np.unique(np.concatenate([rows for rows, _ in every]), axis=0, return_index=True)
    targets = np.concatenate([targets for _, targets in every])[first]
    windows = TrainingWindows(rows, targets, np.full((len(seeds), len(rows)), NEVER, np.int16))
    if recipe.training.sampling == "frequency":
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
                for task in recipe.tasks
                for operands in problems(recipe, layout, task, seed)
            ]
            windows.examples |= {int(number[n]): texts[table.example[n]] for n in new}
        windows.since[member, in_list] = 0
        rng = np.random.default_rng([seed & 0xFFFFFFFF, HELD_OUT])
        held_out = round(recipe.training.held_out_windows * len(in_list))
        windows.since[member, rng.choice(in_list, held_out, replace=False)] = NEVER
    return windows


def recorded(
    recipe: Recipe,
    layout: Layout,
    seeds: Sequence[int],
    windows: TrainingWindows | None = None,
    step: int = 0,
) -> tuple[Data, tuple[ShapeBounds, ...]]:
    """The training data of these members, and room for the longest text of each task.

    `windows` are the members', where they are known already; without them they are those of
    the members' problems. There is no data where problems are drawn on the device. A training
    that goes on at a `step` after its last one may show windows that were met since.
    """
    if not isinstance(layout, ProgramLayout):
        return Data(), tuple(
            layout.bounds(task.operator, task_sizes.widest(task)) for task in recipe.tasks
        )
    if isinstance(recipe.positions, Window):
        windows = windows or training_windows(recipe, layout, seeds)
        known = step < recipe.training.steps
        room = bool(recipe.round_steps)
        return window_data(windows, 0, room=room, known=known), ()
    return _texts(recipe, layout, seeds)


def problems(
    recipe: Recipe, layout: ProgramLayout, task: Task, seed: int, most: int | None = None
) -> list[Any]:
    """The operands of a member's problems of one task, or of so many of them."""
    if task.values:
        return _of_table(recipe, task, seed)[:most]
    assert layout.recorder is not None
    program = layout.recorder.programs[task.operator]
    count = _count_of(recipe, task) if most is None else min(most, _count_of(recipe, task))
    name = f"training {seed} {task.operator}"
    return list(islice(drawn(program, task_sizes.sizes(task), name, task.special), count))


def validation(recipe: Recipe, layout: Layout, task: Task) -> list[Problem]:
    """Problems to watch the training by, in the base in which they are written."""
    count, base = recipe.training.validation, layout.base(task.operator)
    if base == 10 or task.values:
        return tasks.validation(task, count)
    assert isinstance(layout, ProgramLayout)
    assert layout.recorder is not None
    program = layout.recorder.programs[task.operator]
    name = f"validation {task.operator}"
    every = drawn(program, task_sizes.sizes(task), name, task.special)
    return [Problem(task.operator, operands, base) for operands in islice(every, count)]


def _count_of(recipe: Recipe, task: Task) -> int:
    """Its share of all problems."""
    whole = sum(one.weight for one in recipe.tasks)
    return max(1, round(recipe.training.problems * task.weight / whole))


def _of_table(recipe: Recipe, task: Task, seed: int) -> list[Any]:
    """Rows of the table that are trained on, each at most once."""
    assert task.values
    rng, rows = np.random.default_rng(seed & 0xFFFFFFFF), tasks.trained(task)
    count = min(_count_of(recipe, task), len(rows))
    places = rows.start + rng.choice(len(rows), count, replace=False)
    pairs = tasks.table(task).pairs(jnp.asarray(places))
    return [tuple(pair) for pair in np.asarray(pairs).tolist()]


def trained_rows(
    recipe: Recipe, layout: Layout, task: Task, seeds: Sequence[int]
) -> Bool[np.ndarray, " rows"]:
    """Of each row of a task's table, whether a member is trained on it.

    Of a program these are the rows that were recorded for one of them.
    """
    if not isinstance(layout, ProgramLayout):
        return tasks.trained_rows(task)
    rows = tasks.table(task)
    trained = np.zeros(rows.rows, bool)
    for seed in seeds:
        trained[rows.row_of(np.array(_of_table(recipe, task, seed)))] = True
    return trained


def windows_met(recipe: Recipe, layout: ProgramLayout, seed: int) -> WindowTable:
    """Return the distinct windows of a member's problems, with how often it met each."""
    assert layout.recorder is not None
    cells = cells_of(layout.windows)
    table = WindowTable(cells)
    counting = background.begin(lambda: None)
    for task in recipe.tasks:
        mine = problems(recipe, layout, task, seed)
        for start in range(0, len(mine), TOGETHER):
            texts = [
                layout.recorder.record(task.operator, operands)
                for operands in mine[start : start + TOGETHER]
            ]
            counting.result()
            counting = background.begin(partial(_count, table, layout, texts))
    counting.result()
    return table


def _count(table: WindowTable, layout: ProgramLayout, texts: Sequence[Recorded]) -> None:
    """Enters the windows of some texts; numpy, so that others can be recorded meanwhile."""
    for part in Recording.of(texts).parts(1 << 20):
        table.add(recorded_windows(layout.machine, part, layout.windows))


def window_data(
    windows: TrainingWindows, number: int, *, room: bool = False, known: bool = True
) -> Data:
    """Return the data of a round of repair, or of training for round 0.

    With `room` there are places for the windows that further rounds add, so that the shapes are
    those of all rounds. Only windows that were `known` when training began are laid out, so that
    one that is resumed has the same shapes whatever was met since.
    """
    laid_out = len(windows.rows) - (windows.met if known else 0)
    most = laid_out
    most = most + most // (WRONG - 1) if room else int((windows.since >= 0).sum(axis=1).max())
    most += -most % MULTIPLE
    places, counts, shares = [], [], []
    for member, since in enumerate(windows.since):
        mine = np.flatnonzero((since >= 0) & (since <= number))
        often = np.ones(len(mine)) if windows.counts is None else windows.counts[member, mine]
        wrong = np.flatnonzero(windows.wrong[number - 1][member]) if number else mine[:0]
        if len(wrong):
            # Of 90 windows 3 are wrong: each of these stands 10 more times, 30 of 120 places.
            again = np.tile(wrong, len(mine) // (WRONG - 1) // len(wrong))
            added = often.sum() / (WRONG - 1) / max(1, len(again))
            mine = np.concatenate([mine, again])
            often = np.concatenate([often, np.full(len(again), added)])
        places.append(np.resize(mine, most))
        counts.append(len(mine))
        shares.append(np.pad(often / often.sum(), (0, most - len(mine))))
    upto = None
    if windows.counts is not None:
        upto = jnp.asarray(_thresholds(np.cumsum(shares, axis=1)))
    spare = -laid_out % MULTIPLE
    rows = jnp.asarray(np.pad(windows.rows[:laid_out], ((0, spare), (0, 0))), jnp.int32)
    targets = jnp.asarray(np.pad(windows.targets[:laid_out], (0, spare)), jnp.int32)
    shown = jnp.asarray(np.stack(places), jnp.int32)
    return Data((rows, targets), (shown, jnp.asarray(counts, jnp.int32), upto))


def _thresholds(shares: Float[np.ndarray, "members places"]) -> UInt[np.ndarray, "members places"]:
    """Of 2^32 numbers, those below the n-th draw one of the first n.

    Draws in single precision are of 2^23 numbers: too few for 10 million tokens.

    >>> _thresholds(np.array([[0.0, 0.25, 1.0]])).tolist()
    [[0, 1073741824, 4294967295]]
    """
    return np.minimum(np.rint(shares * 2.0**32), 2**32 - 1).astype(np.uint32)


def _texts(
    recipe: Recipe, layout: ProgramLayout, seeds: Sequence[int]
) -> tuple[Data, tuple[ShapeBounds, ...]]:
    """The texts of each task, padded to the longest of all members'.

    Raises UserError for texts that the model has no positions for.
    """
    assert layout.recorder is not None
    own, each = [], []
    for task in recipe.tasks:
        texts = [
            [layout.recorder.record(task.operator, o) for o in problems(recipe, layout, task, seed)]
            for seed in seeds
        ]
        bounds = layout.room_for([text for mine in texts for text in mine])
        encoding(recipe, layout).check(bounds, training=True)
        own.append(_stacked([padded_texts(mine, bounds.total, layout.end) for mine in texts]))
        each.append(bounds)
    return Data((), tuple(own)), tuple(each)


def padded_texts(texts: Sequence[Recorded], longest: int, fill: int) -> Text:
    """Texts as the rows of one array.

    >>> padded_texts([([1, 2, 3], 2), ([4], 1)], longest=4, fill=0).tokens.tolist()
    [[1, 2, 3, 0], [4, 0, 0, 0]]
    """
    tokens = np.full((len(texts), longest), fill, np.int32)
    for row, (line, _) in zip(tokens, texts, strict=True):
        row[: len(line)] = line
    prompts = np.array([prompt for _, prompt in texts], np.int32)
    lengths = np.array([len(line) for line, _ in texts], np.int32)
    return Text(*(jnp.asarray(part) for part in (tokens, prompts, lengths)))


def _stacked(texts: Sequence[Text]) -> Text:
    return Text(*(jnp.stack(parts) for parts in zip(*texts, strict=True)))
