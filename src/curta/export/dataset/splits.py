"""Which problems a data set has, and in which of its splits: streams that remember nothing.

A task with a table holds problems out by their places in the table's order. Elsewhere
problems are drawn, and a hash of the operands says to which split a problem belongs, so
every draw of it lands there, in this export and in any other.
"""

import itertools
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.sections import Evaluation
from curta.config.task import Task, shares
from curta.evaluation.evaluation_set import drawn, slices
from curta.export.dataset.columns import Columns, Written
from curta.layouts import Layout, layout_named
from curta.layouts.program import ProgramLayout
from curta.problems import task_sizes, tasks
from curta.problems.arithmetic import ARITHMETIC
from curta.problems.digits import Numbers
from curta.problems.problem import Problem, widths
from curta.problems.problem_table import Table, fingerprint
from curta.programs.machine import sampling

SPLITS = TRAIN, VALIDATION, TEST_ID, TEST_OOD = "train", "validation", "test_id", "test_ood"

BUCKETS = 32
"""Parts of the drawn problems: one each is held out for validation, test and other writing."""

HELD = (VALIDATION, TEST_ID, TEST_OOD)
"""What the first buckets are held out for; all others are trained on."""

TOKENS = 1 << 19
"""Tokens that are written at once: more do not fit into the caches."""

T = TypeVar("T")


class Batch(NamedTuple):
    """A batch of problems as arrays, and the bucket of each."""

    written: Written
    bucket: Int[Array, " batch"]


@dataclass(frozen=True)
class Source:
    """The first `rows` problems of a task that belong to one split, written in a layout."""

    task: Task
    layout: Layout
    split: str
    rows: int
    seed: int = 0
    places: range | None = None
    """Where they stand in the order of the task's table, if it has one."""

    @cached_property
    def size(self) -> int:
        """Problems of one batch: a power of two that fits, and no larger than is needed."""
        bounds = self.layout.bounds(self.task.operator, task_sizes.widest(self.task))
        needed = self.rows if self.split == TRAIN else self.rows * BUCKETS
        return 1 << max(5, min(14, (TOKENS // bounds.total).bit_length() - 1, needed.bit_length()))

    def tables(self, columns: Columns) -> Iterator[Any]:
        """The split's problems, batch by batch, without end."""
        for written, mine in self.batches():
            yield columns.of_arrays(written, mine, self.task.operator, self.layout)

    def batches(self) -> Iterator[tuple[Written, Bool[np.ndarray, " batch"]]]:
        """Batches as NumPy's arrays, without end, and which problems belong to the split."""
        devices = jax.devices()[: -(-self.rows // self.size)]  # each compiles a program of its own
        seed = (self.seed, SPLITS.index(self.split))
        start = 0 if self.places is None else self.places.start

        def begin(number: int) -> Batch:
            count = jnp.array([start + number * self.size, number, *seed], jnp.int32)
            where = devices[number % len(devices)]
            return _written(self.task, self.layout, self.size, jax.device_put(count, where))

        for number, found in enumerate(_ahead(begin, len(devices) + 1)):
            written, bucket = jax.tree.map(np.asarray, found)
            yield written, self._mine(bucket, number)

    def _mine(self, bucket: Int[np.ndarray, " batch"], number: int) -> Bool[np.ndarray, " batch"]:
        if self.places is not None:
            return number * self.size + np.arange(self.size) < len(self.places)
        if self.split == TRAIN:
            return np.asarray(bucket >= len(HELD))
        return np.asarray(bucket == HELD.index(self.split))


@dataclass(frozen=True)
class Recorded(Source):
    """Problems that a program writes: drawn and recorded on the host, as training does it."""

    def tables(self, columns: Columns) -> Iterator[Any]:
        for number, values in enumerate(self._values()):
            bucket = np.zeros(len(values), np.int32)
            if self.places is None:
                bucket = np.asarray(fingerprint(tasks.as_numbers(values)) % BUCKETS).astype(
                    np.int32
                )
            mine = [values[i] for i in np.flatnonzero(self._mine(bucket, number))]
            problems = [Problem(self.task.operator, operands, self.task.base) for operands in mine]
            yield columns.of_problems(problems, self.layout)

    def _values(self) -> Iterator[list[tuple[int, ...]]]:
        """Operands, batch by batch, without end."""
        if self.task.values:
            yield from self._from_table(tasks.table(self.task))
        assert isinstance(self.layout, ProgramLayout)
        assert self.layout.recorder is not None
        program = self.layout.recorder.programs[self.task.operator]
        name = f"data {self.seed} {self.split} {self.task.operator}"
        every = sampling.drawn(program, task_sizes.sizes(self.task), name, self.task.special)
        while True:
            yield list(itertools.islice(every, self.size))

    def _from_table(self, table: Table) -> Iterator[list[tuple[int, ...]]]:
        assert self.places is not None
        for start in itertools.count(self.places.start, self.size):
            places = np.minimum(np.arange(start, start + self.size), table.rows - 1)
            pairs = np.asarray(table.pairs(jnp.asarray(places, jnp.int32)))
            yield [tuple(pair) for pair in pairs.tolist()]


def sources(recipe: Recipe, own: Layout, rows: int, seed: int) -> dict[str, list[Source]]:
    """For each split its sources, a task and a layout each; `rows` in all are to train on.

    UserError if a table has, or holds out, too few problems, or if a fixed set has no table.
    """
    _check_rows(recipe)
    others = [layout_named(name) for name in recipe.evaluation.layouts]
    held = (recipe.training.validation, recipe.evaluation.held_out)
    found: dict[str, list[Source]] = {split: [] for split in SPLITS}
    for task, share in zip(recipe.tasks, shares(recipe.tasks, rows), strict=True):
        for split, count in zip(SPLITS, (share, *held), strict=False):
            found[split].append(_source(task, own, split, count, seed, held))
        found[TEST_OOD] += [_source(task, o, TEST_OOD, held[1], seed, held) for o in others]
    return found


def _check_rows(recipe: Recipe) -> None:
    """A fixed set that is drawn has no splits: a hash would take some of it from training."""
    for task in recipe.tasks:
        if task.rows and not task.values:
            raise UserError(
                f"task.rows {task.rows:,} of {task.operator}: a data set has no fixed set without"
                " task.values; give --task.rows 0"
            )


def beyond(task: Task, layout: Layout, settings: Evaluation) -> Iterator[list[Problem]]:
    """The evaluation's problems that are larger than any of training, by size and slice."""
    for size in settings.sizes(task.operator):
        for slice_name in slices(layout, task.operator):
            asked = (slice_name, size, settings.count, settings.seed)
            every = drawn(layout, task.operator, *asked)
            if larger := [problem for problem in every if larger_than_trained(task, problem)]:
                yield larger


def larger_than_trained(task: Task, problem: Problem) -> bool:
    """Whether training can never draw the problem, since an operand, or their number, is more."""
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
    layout.accept(task.operator, task_sizes.widest(task))
    kind = Recorded if isinstance(layout, ProgramLayout) else Source
    if not task.values:
        return kind(task, layout, split, rows, seed)
    places = _places(task, split, rows, held)
    return kind(task, layout, split, len(places), seed, places)


def _places(task: Task, split: str, rows: int, held: tuple[int, int]) -> range:
    """Where a split's problems stand in the table; none of them twice."""
    if split == TRAIN:
        most = len(tasks.trained(task))
        if rows > most:
            raise UserError(
                f"the table of {task.operator} has {most:,} problems to train on,"
                f" not {rows:,}: ask for fewer --rows"
            )
        return tasks.trained(task)[:rows]
    if task.held_out < sum(held):
        raise UserError(
            f"task.held_out {task.held_out:,} of {task.operator}: validation and test take"
            f" {held[0]:,} + {held[1]:,} of them"
        )
    table, places = tasks.table(task), range(0)
    for name, count in ((VALIDATION, held[0]), (TEST_ID, held[1]), (TEST_OOD, rows)):
        places = table.held_range(places.stop, count)
        if name == split:
            break
    return places


def _ahead(begin: Callable[[int], T], depth: int) -> Iterator[T]:
    """begin(0), begin(1), ..., of which `depth` have always been begun before they are asked for.

    The device calculates them while the host is busy with an earlier one.
    """
    waiting = deque(begin(number) for number in range(depth))
    for number in itertools.count(depth):
        first = waiting.popleft()
        waiting.append(begin(number))
        yield first


@partial(jax.jit, static_argnums=(0, 1, 2))
def _written(task: Task, layout: Layout, size: int, count: Int[Array, " 4"]) -> Batch:
    """A batch on the device; `count` is the first place in a table, or what to draw from."""
    if not task.values:
        keys = [jax.random.key(0), *count[1:]]
        numbers = tasks.draw(task, reduce(jax.random.fold_in, keys), size)
    else:
        places = jnp.minimum(count[0] + jnp.arange(size), tasks.table(task).rows - 1)
        numbers = tasks.table(task).numbers(places)
    answer = ARITHMETIC[task.operator].answer(numbers)
    text = layout.tokens(
        task.operator, numbers, layout.bounds(task.operator, task_sizes.widest(task))
    )
    answer = answer._replace(numbers=_small(answer.numbers))
    text = text._replace(tokens=text.tokens.astype(jnp.uint8))
    bucket = (fingerprint(numbers) % BUCKETS).astype(jnp.int32)
    return Batch(Written(_small(numbers), answer, text), bucket)


def _small(numbers: Numbers) -> Numbers:
    """Digits as bytes: what the host reads is a quarter as much."""
    return numbers._replace(digits=numbers.digits.astype(jnp.uint8))
