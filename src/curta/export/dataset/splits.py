"""The problems of each split of a data set, as streams without memory.

A task with a table holds problems out by their places in the table's order. Elsewhere problems
are drawn, and a hash of the operands determines the split, so every draw of a problem lands
there, in this export and in any other.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, UInt

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.sections import EvaluationSettings
from curta.config.task import Task, shares
from curta.evaluation.evaluation_set import drawn, slices
from curta.layouts import Layout, layout_named
from curta.layouts.program import ProgramLayout
from curta.problems import task_sizes, tasks
from curta.problems.digits import NumberBatch
from curta.problems.problem import Problem, widths
from curta.problems.problem_table import fingerprint
from curta.programs.machine import sampling

SPLITS = TRAIN, VALIDATION, TEST_ID, TEST_OOD = "train", "validation", "test_id", "test_ood"

BUCKETS = 32
"""Buckets of drawn problems: one each for validation, test and other layouts."""

HELD = (VALIDATION, TEST_ID, TEST_OOD)
"""The splits of the first buckets; all other buckets are trained on."""

TOKENS = 1 << 19
"""Tokens of a batch's texts."""

PATIENCE = 200
"""Batches without a problem of the split after which the split counts as empty."""


@dataclass(frozen=True)
class Source:
    """The first `rows` problems of a task in one split, written in a layout."""

    task: Task
    layout: Layout
    split: str
    rows: int
    seed: int = 0
    places: range | None = None
    """Their places in the order of the task's table, if it has one."""

    @property
    def size(self) -> int:
        """Problems of one batch: a power of two, no larger than needed.

        The drawn problems depend on it, so it never changes.
        """
        bounds = self.layout.bounds(self.task.operator, task_sizes.widest(self.task))
        needed = self.rows if self.split == TRAIN else self.rows * BUCKETS
        return 1 << max(5, min(14, (TOKENS // bounds.total).bit_length() - 1, needed.bit_length()))

    def batches(self) -> Iterator[list[Problem]]:
        """Yield the split's problems, batch by batch; without end where they are drawn.

        Raises UserError if the split has hardly any problems.
        """
        task, size = self.task, self.size
        if self.places is not None:
            table = tasks.table(task)
            for start in range(0, len(self.places), size):
                places = jnp.array(self.places[start : start + size], jnp.int32)
                pairs = np.asarray(table.pairs(places)).tolist()
                yield [Problem(task.operator, tuple(pair), task.base) for pair in pairs]
            return
        barren = 0
        for operands, bucket in self._drawn(size):
            trained = bucket >= len(HELD)
            mine = trained if self.split == TRAIN else bucket == HELD.index(self.split)
            barren = 0 if mine.any() else barren + 1
            if barren > PATIENCE:
                raise UserError(
                    f"the task {task.operator!r} has too few different problems for a split"
                    f" {self.split!r} of its own"
                )
            yield [
                Problem(task.operator, operands[place], task.base) for place in np.flatnonzero(mine)
            ]

    def _drawn(self, size: int) -> Iterator[tuple[list[tuple[int, ...]], np.ndarray]]:
        """Yield operands and the bucket of each problem, batch by batch, without end.

        Problems of a program are drawn and recorded on the host, as in training.
        """
        task, layout = self.task, self.layout
        if isinstance(layout, ProgramLayout):
            assert layout.recorder is not None
            program = layout.recorder.programs[task.operator]
            name = f"data {self.seed} {self.split} {task.operator}"
            every = sampling.drawn(program, task_sizes.sizes(task), name, task.special)
            while True:
                operands = list(itertools.islice(every, size))
                yield operands, np.asarray(fingerprint(tasks.as_numbers(operands)) % BUCKETS)
        for number in itertools.count():
            key = jax.random.key(0)
            for number_part in (number, self.seed, SPLITS.index(self.split)):
                key = jax.random.fold_in(key, number_part)
            numbers, bucket = _draw(task, size, key)
            problems = tasks.as_problems(task.operator, numbers)
            yield [problem.operands for problem in problems], np.asarray(bucket)


@partial(jax.jit, static_argnums=(0, 1))
def _draw(task: Task, size: int, key: PRNGKeyArray) -> tuple[NumberBatch, UInt[Array, " batch"]]:
    numbers = tasks.draw(task, key, size)
    return numbers, fingerprint(numbers) % BUCKETS


def sources(recipe: Recipe, layout: Layout, rows: int, seed: int) -> dict[str, list[Source]]:
    """Return the sources of each split, a task and a layout each; `rows` in all are to train on.

    Raises UserError if a table has, or holds out, too few problems, or a fixed set has no table.
    """
    for task in recipe.tasks:  # a hash would take some of a set that is drawn from training
        if task.rows and not task.values:
            raise UserError(
                f"task.rows {task.rows:,} of {task.operator}: a data set has no fixed set without"
                " task.values; give --task.rows 0"
            )
    others = [layout_named(name) for name in recipe.evaluation.layouts]
    held = (recipe.training.validation, recipe.evaluation.held_out)
    by_split: dict[str, list[Source]] = {split: [] for split in SPLITS}
    for task, share in zip(recipe.tasks, shares(recipe.tasks, rows), strict=True):
        for split, count in zip(SPLITS, (share, *held), strict=False):
            by_split[split].append(_source(task, layout, split, count, seed, held))
        by_split[TEST_OOD] += [_source(task, o, TEST_OOD, held[1], seed, held) for o in others]
    return by_split


def beyond(task: Task, layout: Layout, settings: EvaluationSettings) -> Iterator[list[Problem]]:
    """Yield the evaluation's problems that are larger than any of training, by size and slice."""
    for size in settings.sizes(task.operator):
        for slice_name in slices(layout, task.operator):
            selection = (slice_name, size, settings.count, settings.seed)
            every = drawn(layout, task.operator, *selection)
            if larger := [problem for problem in every if larger_than_trained(task, problem)]:
                yield larger


def larger_than_trained(task: Task, problem: Problem) -> bool:
    """Return whether training can never draw the problem, since it is too large."""
    if task.values:
        return max(problem.operands) > task.values[1]
    if len(problem.operands) > len(task_sizes.widest(task)):
        return True
    return any(
        width > most for width, most in zip(widths(problem), task_sizes.widest(task), strict=False)
    )


def _source(
    task: Task, layout: Layout, split: str, rows: int, seed: int, held: tuple[int, int]
) -> Source:
    """Return a split's source; from a table, with places that no other split has."""
    layout.accept(task.operator, task_sizes.widest(task))
    if not task.values:
        return Source(task, layout, split, rows, seed)
    if split == TRAIN:
        places = tasks.trained(task)
        if rows > len(places):
            raise UserError(
                f"the table of {task.operator} has {len(places):,} problems to train on,"
                f" not {rows:,}: ask for fewer --rows"
            )
        return Source(task, layout, split, rows, seed, places[:rows])
    if task.held_out < sum(held):
        raise UserError(
            f"task.held_out {task.held_out:,} of {task.operator}: validation and test take"
            f" {held[0]:,} + {held[1]:,} of them"
        )
    table, places = tasks.table(task), range(0)
    for name, count in ((VALIDATION, held[0]), (TEST_ID, held[1]), (TEST_OOD, rows)):
        places = table.held_range(places.stop, count)  # which begins where no pair is parted
        if name == split:
            break
    return Source(task, layout, split, len(places), seed, places)
