"""Data sets: a recipe's problems as files, with splits that do not overlap.

The problems of each split are streams without memory. A task with a table holds problems out by
their places in the table's order. Elsewhere problems are drawn, and a hash of the operands
determines the split, so every draw of a problem lands there, in this export and in any other.

The held-out splits are written first and their problems remembered, so that every training row is
looked up among them as it is written: overlaps are counted, not inferred. Nothing else is held in
memory, however many rows there are.
"""

import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PRNGKeyArray, UInt

from curta.config import files
from curta.config.errors import UserError, optional_module
from curta.config.recipe import Recipe, dump
from curta.config.sections import EvaluationSettings
from curta.config.task import Task, shares
from curta.evaluation.evaluation_set import drawn, slices
from curta.evaluation.scoring import right_text
from curta.export.formats import FORMATS, DataRow, format_named, row_writer
from curta.layouts import Layout, layout_named
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.problems import task_sizes, tasks
from curta.problems.arithmetic import NumberBatch
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, answer_text
from curta.problems.problem_table import fingerprint
from curta.programs.machine import sampling, store
from curta.report.rendering import render_text
from curta.runs.folders import seeds_of
from curta.runs.provenance import versions

__all__ = ["FORMATS", "SPLITS", "Summary", "write"]

SPLITS = TRAIN, VALIDATION, TEST_ID, TEST_OOD = "train", "validation", "test_id", "test_ood"

BUCKETS = 32
"""Buckets of drawn problems: one each for validation, test and other layouts."""

HELD = (VALIDATION, TEST_ID, TEST_OOD)
"""The splits of the first buckets; all other buckets are trained on."""

TOKENS = 1 << 19
"""Tokens of a batch's texts."""

PATIENCE = 200
"""Batches without a problem of the split after which the split counts as empty."""

ROUND = 1 << 16
"""Rows in which the tasks of a recipe are mixed."""

FITS = 18
"""Digits that any 64-bit integer holds."""

MEANING = {
    TRAIN: "drawn as the recipe trains",
    VALIDATION: "drawn alike, held out",
    TEST_ID: "drawn alike, held out from both",
    TEST_OOD: "larger than any in training, or written otherwise: the recipe's `[evaluation]`",
}
"""The card's description of each split."""

ShowShare = Callable[[str, float], None]
"""Called with the name of a split, and the share of it that is written, from 0 to 1."""

WrittenProblems = list[tuple[Problem, Layout]]
"""Problems, each with the layout in which it is written."""


@dataclass
class Summary:
    """The sizes of a data set's splits, and the overlaps between them."""

    rows: Counter[str] = field(default_factory=Counter)
    """The number of rows of each split."""
    overlaps: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By pair of splits, the number of rows of the first that occur in the second."""

    @property
    def overlap(self) -> int:
        """The number of all such rows, 0 in a sound data set."""
        return self.overlaps.total()


@dataclass(frozen=True)
class DataColumns:
    """The columns of a data set.

    `decimal` numbers are strings; with `several`, answers are lists of numbers. Texts of a
    `program` have columns for its tokens, their roles and their squares.
    """

    decimal: bool
    several: bool
    program: ProgramLayout | None = None

    @classmethod
    def of(cls, recipe: Recipe, layout: Layout) -> "DataColumns":
        """Return columns that hold every number of the recipe's splits."""
        decimal, several = False, False
        for task in recipe.tasks:
            operation, base = OPERATIONS[task.operator], layout.base(task.operator)
            evaluated = recipe.evaluation.sizes(task.operator)
            sizes = (tasks.as_size(size, task.operator) for size in evaluated)
            for size in (task_sizes.widest(task), *sizes):
                answers = operation.widths(size)
                decimal = decimal or base ** max(*size, *answers) > 10**FITS
                several = several or len(answers) > 1
            decimal = decimal or operation.pointed or not operation.bounded
        return cls(decimal, several, layout if isinstance(layout, ProgramLayout) else None)

    def row(self, problem: Problem, layout: Layout) -> DataRow:
        """Return a problem as a row; UserError where a program writes another answer."""

        def number(value: Any) -> Any:
            if isinstance(value, tuple):
                return list(map(number, value))
            if self.decimal or isinstance(value, Fraction):
                return answer_text(value if isinstance(value, Fraction) else int(value))
            return int(value)

        row: DataRow = {
            "prompt": "",
            "completion": "",
            "operator": problem.operator,
            "operands": number(problem.operands),
            "answer": number(problem.truth),
        }
        if not self.program:
            completion = layout.completion(problem) + layout.end_sign
            return row | {"prompt": layout.prompt(problem), "completion": completion}
        tokens, prompt = right_text(layout, problem)
        machine = self.program.machine
        squares = machine.positions(np.array(tokens)).T.tolist()
        return row | {
            "prompt": layout.decode(tokens[:prompt]),
            "completion": layout.decode(tokens[prompt:]),
            "prompt_tokens": prompt,
            "tokens": tokens,
            "roles": [machine.roles[role].name for role in machine.role[tokens]],
            **{f"square_{axis}": line for axis, line in zip(machine.axes, squares, strict=True)},
        }


def write(
    recipe: Recipe,
    rows: int,
    out: Path,
    form: str = "parquet",
    seed: int = 0,
    show: ShowShare = lambda split, share: None,
) -> Summary:
    """Write `rows` problems to train on, and the recipe's other splits, to a new folder.

    Raises UserError if it exists, if pyarrow is missing, or if there are too few problems.
    """
    kind, layout = format_named(form), layout_of(recipe)
    columns, summary = DataColumns.of(recipe, layout), Summary()
    if kind.line is None:
        optional_module("pyarrow", "data")
    if rows < len(recipe.tasks):
        raise UserError(f"--rows must be at least {len(recipe.tasks)}, not {rows}")
    by_split = sources(recipe, layout, rows, *seeds_of([seed]))
    together = all(task.twins_together for task in recipe.tasks)
    with files.new_folder(out) as folder:
        (folder / "data").mkdir()
        held: dict[str, set[str]] = {}  # the problems of splits that are written already
        for split in (*SPLITS[1:], TRAIN):
            expected = sum(source.rows for source in by_split[split])
            groups: Iterator[WrittenProblems] = mixed(by_split[split])
            if split == TEST_OOD:
                larger = (
                    [(problem, layout) for problem in problems]
                    for task in recipe.tasks
                    for problems in beyond(task, layout, recipe.evaluation)
                )
                groups = itertools.chain(larger, groups)
            split_keys, summary.rows[split] = set[str](), 0
            with row_writer(kind, folder / "data" / f"{split}.{kind.suffix}") as append:
                for group in filter(None, groups):
                    append([columns.row(problem, by) for problem, by in group])
                    keys = [key(problem) for problem, _ in group]
                    summary.rows[split] += len(group)
                    for other, theirs in held.items():
                        summary.overlaps[split, other] += sum(each in theirs for each in keys)
                    if summary.overlap and together:
                        ((split_name, other), count), *_ = summary.overlaps.most_common()
                        raise RuntimeError(f"{count} problems of {split_name} are in {other} too")
                    split_keys.update(keys if split != TRAIN else ())
                    show(split, min(1.0, summary.rows[split] / max(expected, 1)))
            held |= {split: split_keys} if split_keys else {}
        files.write(folder / "recipe.toml", dump(recipe))
        if columns.program is not None:
            machine = store.dump(columns.program.machine, columns.program.windows)
            files.write(folder / "machine.json", json.dumps(machine, ensure_ascii=False) + "\n")
        card = render_text(
            "export/dataset.md",
            recipe=recipe,
            layout=layout,
            summary=summary,
            columns=columns,
            form=form,
            seed=seed,
            meaning=MEANING,
            suffix=kind.suffix,
            version=versions()["curta"],
            buckets=BUCKETS,
            held=len(HELD),
            apart=any(task.held_out and not task.twins_together for task in recipe.tasks),
        )
        files.write(folder / "README.md", card)
    return summary


def key(problem: Problem) -> str:
    """Return equal keys for equal problems; the order of operands counts only if it matters."""
    operands = list(map(answer_text, problem.operands))
    if OPERATIONS[problem.operator].commutes:
        operands.sort()
    return " ".join([problem.operator, *operands])


# The problems of each split.


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

    def batches(self) -> Iterator[list[Problem]]:
        """Yield the split's problems, batch by batch; without end where they are drawn.

        Raises UserError if the split has hardly any problems.
        """
        # A batch is a power of two, no larger than needed. The drawn problems depend on it, so it
        # never changes.
        task = self.task
        bounds = self.layout.bounds(task.operator, task_sizes.widest(task))
        needed = self.rows if self.split == TRAIN else self.rows * BUCKETS
        most = (TOKENS // bounds.total).bit_length() - 1
        size = 1 << max(5, min(14, most, needed.bit_length()))
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
                    f"the task {task.operator!r} has too few different problems to fill a"
                    f" split {self.split!r}"
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
            if larger := [each for each in every if task_sizes.larger_than_trained(task, each)]:
                yield larger


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


def mixed(of: list[Source]) -> Iterator[WrittenProblems]:
    """Yield groups of about ROUND problems with every source's share, in random order."""
    rounds = math.ceil(sum(source.rows for source in of) / ROUND)
    streams = [itertools.chain.from_iterable(source.batches()) for source in of]
    for number in range(rounds):
        group = [
            (problem, source.layout)
            for source, stream in zip(of, streams, strict=True)
            for problem in itertools.islice(
                stream, source.rows * (number + 1) // rounds - source.rows * number // rounds
            )
        ]
        if len(of) > 1:
            order = np.random.default_rng(number).permutation(len(group))
            group = [group[place] for place in order]
        yield group
