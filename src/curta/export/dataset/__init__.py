"""Data sets: a recipe's problems as files, with splits that do not overlap.

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
from pathlib import Path
from typing import Any

import numpy as np

from curta.config import files
from curta.config.errors import UserError
from curta.config.recipe import Recipe, dump
from curta.config.registry import optional_module
from curta.evaluation.scoring import right_text
from curta.export.dataset.splits import (
    BUCKETS,
    HELD,
    SPLITS,
    TEST_ID,
    TEST_OOD,
    TRAIN,
    VALIDATION,
    Source,
    beyond,
    sources,
)
from curta.export.formats import FORMATS, DataRow, format_named, row_writer
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.problems import task_sizes
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, answer_text
from curta.problems.tasks import as_size
from curta.programs.machine import store
from curta.report.rendering import render_text
from curta.runs.folders import seeds_of
from curta.runs.provenance import versions

__all__ = ["FORMATS", "SPLITS", "Summary", "write"]

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

WrittenProblems = list[tuple[Problem, Layout]]
"""Problems, each with the layout in which it is written."""


@dataclass
class Summary:
    """The rows of each split, and how many of them occur in another split."""

    rows: Counter[str] = field(default_factory=Counter)
    overlaps: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def overlap(self) -> int:
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
            evaluated = (as_size(s, task.operator) for s in recipe.evaluation.sizes(task.operator))
            for size in (task_sizes.widest(task), *evaluated):
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
