"""The whole evaluation of some models, as a recipe's evaluation section states it.

Exact match is measured by scoring; every evaluation also generates a sample token by token, and
reports whether both agree.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from curta.config.errors import UserError
from curta.config.positions import Window
from curta.config.recipe import Recipe, changed_evaluation
from curta.config.sections import EvaluationSettings
from curta.config.table import spanned
from curta.config.task import Task
from curta.evaluation import evaluation_set, results, scoring
from curta.evaluation.evaluation_set import drawn, drawn_slices, size_name, slices, within
from curta.evaluation.generation import MOST_NATS, compared, generate, readable_texts
from curta.evaluation.results import Evaluation, Example, Gap, Grid, Share, SliceResult
from curta.evaluation.scoring import Models, bucket, exact_match, room_for, rounded, scores
from curta.layouts import Layout
from curta.layouts.texts import layout_of
from curta.model import model_cost, recipes
from curta.problems import task_sizes, tasks
from curta.problems.operations import OPERATIONS, Operation, operation_named
from curta.problems.problem import Problem, widths
from curta.problems.problem_table import ProblemTable
from curta.problems.sizes import Split
from curta.problems.tasks import as_size
from curta.training import records

GridRow = list[list[float]]
"""A row of a grid: each member's exact match by digits of the second operand."""

TABLE_BLOCK = 8192
"""Problems of a whole table in one pass."""

Say = Callable[[str], None]

PartResult = list[SliceResult] | GridRow | list[Gap]
"""The result of a part of an evaluation: rows of a size, a row of a grid, or a gap."""

Find = Callable[[], PartResult]

ShowGrid = Callable[[Grid], None]
"""Called after each row of a grid, with the rows so far."""

Keep = Callable[[str, Find], Any]
"""Return the result of a part by its name, calling the function if it is not stored."""


def fresh(name: str, find: Find) -> PartResult:
    """Compute a part without storing it."""
    return find()


def settings_of(recipe: Recipe, layout: Layout, changes: Mapping[str, Any]) -> EvaluationSettings:
    """Return the recipe's section with fields changed; UserError for fields without effect."""
    settings = changed_evaluation(recipe.evaluation, changes)
    for path, error in recipes.unread(replace(recipe, evaluation=settings)).items():
        if path.removeprefix("evaluation.") in changes:
            raise error
    for name in settings.layouts:
        layout.other(name)
    for task in recipe.tasks:
        for size in settings.sizes(task.operator):
            layout.accept(task.operator, as_size(size, task.operator))
    return settings


def evaluate(
    recipe: Recipe,
    models: Models,
    settings: EvaluationSettings,
    say: Say,
    keep: Keep = fresh,
    show_grid: ShowGrid = lambda grid: None,
) -> Evaluation:
    """Measure exact match by size and slice, on held-out problems, grids, whole tables, examples.

    Once every member is wrong on all problems of a size, longer sizes are left out unless the
    settings have `all_sizes`, except those of training. Raises UserError for a grid, or a table, of
    a recipe without operators of two operands.
    """
    tabled = _operators(recipe, "table", settings.table, lambda operation: operation.takes(2))
    paired = _operators(recipe, "grid", settings.grid, lambda operation: operation.least == 2)

    def measure(name: str, find: Find) -> Any:
        say(name)
        return keep(name, find)

    lengths, unevaluated = list[SliceResult](), list[results.UnevaluatedSize]()
    for task in recipe.tasks:
        # Of each size so far, why longer ones are left out. That of the longest counts, and a size
        # that is shorter than any of training says nothing of longer ones.
        reasons = dict[tuple[int, ...], str]()
        fewest, most = task_sizes.span(task)[0], task_sizes.widest(task)
        for size in settings.sizes(task.operator):
            digits = as_size(size, task.operator)
            shorter = [reason for other, reason in reasons.items() if within(other, digits)]
            reason = shorter[-1] if shorter and not within(digits, most) else ""
            if reason and not settings.all_sizes:
                unevaluated.append(
                    results.UnevaluatedSize(task.operator, str(size), max(digits), reason)
                )
            else:
                find = partial(evaluate_size, models, task.operator, size, settings)
                rows: list[SliceResult] = measure(size_name(task.operator, size), find)
                lengths += rows
                wrong = min(digits) >= fewest and not any(any(row.exact_match) for row in rows)
                reason = f"every seed is wrong on every problem at {size} digits" if wrong else ""
            reasons[digits] = reason
    for task in recipe.tasks:
        if task.held_out:
            find = partial(
                evaluate_held_out, models, task, evaluation_set.watched(recipe), settings
            )
            lengths += measure(f"{task.operator}, held out", find)

    grids = list[Grid]()
    for operator in paired:
        cells = list[GridRow]()
        for first in range(1, settings.grid + 1):
            find_row = partial(grid_row, models, operator, settings, first)
            cells.append(measure(f"grid of {operator}: {first} of {settings.grid}", find_row))
            by_member = [list(rows) for rows in zip(*cells, strict=True)]
            counts = list(range(1, settings.grid + 1))
            grid = Grid(operator, settings.grid, counts, settings.grid_count, by_member)
            show_grid(grid)
        grids.append(grid)
    tables = [whole_table(models, operator, settings.table, say) for operator in tabled]
    examples = [
        example
        for task in recipe.tasks
        for size in settings.sizes(task.operator)[:1]
        for example in generate_examples(models, task.operator, size, settings)
    ]
    gaps, with_settings = list[Gap](), replace(recipe, evaluation=settings)
    for task in recipe.tasks:
        if models.seeds and evaluation_set.can_be_known(models.layout, task):
            find_gap = partial(measure_gap, models, with_settings, task)
            gaps += measure(f"{task.operator}, trained on and held out", find_gap)
    return Evaluation(
        seed=settings.seed,
        lengths=lengths,
        grids=tuple(grids),
        tables=tuple(tables),
        examples=examples,
        gaps=tuple(gaps),
        splits=tuple(_splits(recipe, models, settings)),
        unevaluated=tuple(unevaluated),
    )


def _splits(recipe: Recipe, models: Models, settings: EvaluationSettings) -> Iterator[Split]:
    """Yield how tables are divided, with the distribution of answers in each part.

    For a fixed set, yields the number of validation problems in it. For a program with unknown
    seeds, everything that may be trained on counts.
    """
    validated = evaluation_set.watched(recipe)
    for task in recipe.tasks:
        if task.held_out:
            seeds = models.seeds
            trained = records.trained_rows(recipe, models.layout, task, seeds) if seeds else None
            places = {"training": tasks.trained(task), "validation": range(validated)}
            places |= evaluation_set.held_out_places(task, validated, settings)
            answers = tasks.answer_histograms(task, places, trained)
            yield replace(tasks.split(task, trained), answers=answers)
        elif task.rows and not task.values and validated:
            yield tasks.set_split(task, tasks.validation(task, validated))


def _operators(
    recipe: Recipe, kind: str, limit: int, suits: Callable[[Operation], bool]
) -> list[str]:
    """Return the operators of a grid, or of a table; none if the limit is 0."""
    operators = [task.operator for task in recipe.tasks if suits(operation_named(task.operator))]
    if limit and not operators:
        raise UserError(f"a {kind} is of two operands, and this recipe has no such operator")
    return operators if limit else []


# The parts of an evaluation.


def evaluate_size(
    models: Models, operator: str, size: int | str, settings: EvaluationSettings
) -> list[SliceResult]:
    """Return exact match for each slice of the problems of one size, for each member."""
    sets = drawn_slices(models.layout, operator, size, settings.count, settings.seed)
    return _evaluated(models, sets, str(size), settings)


def evaluate_held_out(
    models: Models, task: Task, first: int, settings: EvaluationSettings
) -> list[SliceResult]:
    """Return exact match on problems that the task holds out, from place `first` of them on.

    Each other layout in the settings gets further held-out problems, written in that layout.
    """
    assert task.values is not None
    size, rows = "{}..{}".format(*task.values), list[SliceResult]()
    for slice_name, places in evaluation_set.held_out_places(task, first, settings).items():
        name = slice_name.removeprefix(results.HELD_OUT).removeprefix(", ")
        other = replace(models, layout=models.layout.other(name)) if name else models
        rows += _evaluated(other, {slice_name: tasks.held_out(task, places)}, size, settings)
    return rows


def grid_row(models: Models, operator: str, settings: EvaluationSettings, first: int) -> GridRow:
    """Measure all pairs whose first operand has `first` digits."""
    draw = partial(drawn, models.layout, operator, tasks.RANDOM, seed=settings.seed)
    # room for the largest problems, so that all rows are one program; in layouts that are not
    # linear a smaller problem may be longer
    bounds = room_for(models, draw(settings.grid, 1)) if models.layout.linear else None
    seconds = range(1, settings.grid + 1)
    samples = (draw(f"{first}/{second}", settings.grid_count) for second in seconds)
    problems = list(chain.from_iterable(samples))
    cells = exact_match(models, problems, bounds).reshape(models.members, len(seconds), -1)
    return [rounded(member) for member in cells.mean(axis=-1)]


def grid_place(name: str) -> tuple[str, int, int] | None:
    """Return operator, row and number of rows of a grid's part; None for another part.

    >>> grid_place("grid of + mod 97: 3 of 40"), grid_place("+, held out")
    (('+ mod 97', 3, 40), None)
    """
    place = re.fullmatch(r"grid of (.+): (\d+) of (\d+)", name)
    return None if place is None else (place[1], int(place[2]), int(place[3]))


def whole_table(models: Models, operator: str, limit: int, say: Say) -> results.WholeTable:
    """Count for each member the correct answers to all problems with operands from 0 to `limit`."""
    pairs = table_pairs(operator, limit)
    correct = np.zeros(models.members, np.int64)
    for start in range(0, len(pairs), TABLE_BLOCK):
        block = pairs[start : start + TABLE_BLOCK].tolist()
        problems = [Problem(operator, tuple(pair)) for pair in block]
        correct += exact_match(models, problems).sum(axis=1)
        say(f"all of {operator}: {min(1.0, (start + TABLE_BLOCK) / len(pairs)):.0%}")
    return results.WholeTable(operator, limit, len(pairs), correct.tolist())


def table_pairs(operator: str, limit: int) -> Int[np.ndarray, "problems 2"]:
    """Return all operands that have an answer, in a random order that is always the same."""
    table, operation = ProblemTable(operator, 0, limit), OPERATIONS[operator]
    pairs = np.asarray(table.pairs(jnp.arange(table.rows)))
    if operation.on_device:
        return pairs
    return pairs[[operation.refuse(pair) is None for pair in map(tuple, pairs.tolist())]]


def generate_examples(
    models: Models, operator: str, size: int | str, settings: EvaluationSettings
) -> list[Example]:
    """Return a few generated answers of every member."""
    sets = drawn_slices(models.layout, operator, size, 2, settings.seed + 1)
    problems = list(chain.from_iterable(sets.values()))
    pairs = [(member, problem) for member in range(models.members) for problem in problems]
    rows = readable_texts(models, pairs)
    return [
        Example(str(problem), problem.truth_text, row.answer, member, row.text, row.first_error)
        for (member, problem), row in zip(pairs, rows, strict=True)
    ]


def _evaluated(
    models: Models, sets: dict[str, list[Problem]], size: str, settings: EvaluationSettings
) -> list[SliceResult]:
    """Return a row for each slice of problems, all of one size."""
    every = [problem for problems in sets.values() for problem in problems]
    bounds = room_for(models, every)
    if models.memo is None:
        # compiles, so that only writing is timed
        warming = [(0, problem) for problem in every[: settings.generated or 1]]
        generate(models, warming, bounds, limited=True)
    digits = max(max(widths(problem)) for problem in every)
    all_scores, rows, begin = scores(models, every, bounds), list[SliceResult](), 0
    for name, problems in sets.items():
        part = all_scores.part(slice(begin, begin := begin + len(problems)))
        sample = problems[: settings.generated or 1]
        count, begun = len(sample), time.perf_counter()
        pairs = [(member, problem) for member in range(models.members) for problem in sample]
        texts = generate(models, pairs, bounds, limited=True)
        seconds = time.perf_counter() - begun
        sample_texts = [
            compared(models.layout, problem, tokens)
            for (_, problem), tokens in zip(pairs, texts, strict=True)
        ]
        # An answer may be right although its working is not.
        right = [
            (row.first_error is None, row.answer == problem.truth_text)
            for (_, problem), row in zip(pairs, sample_texts, strict=True)
        ]
        same, correct = np.moveaxis(np.reshape(right, (models.members, count, 2)), -1, 0)
        # The first wrong answer of each member; one that is not in the sample is generated.
        matches, errors = part.exact_match, list[results.WrongAnswer]()
        first = {m: int(np.argmin(match)) for m, match in enumerate(matches) if not match.all()}
        repeat = count if models.memo is None else 1  # as many as what is compiled writes
        pairs = [(m, problems[n]) for m, n in first.items() if n >= count for _ in range(repeat)]
        further = iter(readable_texts(models, pairs, bounds)[::repeat])
        for member, number in first.items():
            problem = problems[number]
            row = sample_texts[member * count + number] if number < count else next(further)
            if row.first_error is not None:
                place = row.answer, member, row.first_error
                errors.append(results.WrongAnswer(str(problem), problem.truth_text, *place))
        rows.append(
            SliceResult(
                operator=every[0].operator,
                size=size,
                digits=digits,
                slice_name=name,
                count=len(problems),
                exact_match=rounded(part.exact_match.mean(axis=1)),
                token_accuracy=rounded(part.token_accuracy),
                perplexity=np.exp(np.minimum(part.loss, MOST_NATS)).round(6).tolist(),
                generated=results.Generated(
                    count=count,
                    exact_match=rounded(correct.mean(axis=1)),
                    agrees=bool((same == part.exact_match[:, :count]).all()),
                    tokens_per_second=round(sum(map(len, texts)) / seconds),
                ),
                errors=errors,
            )
        )
    return rows


def measure_gap(models: Models, recipe: Recipe, task: Task) -> list[Gap]:
    """Return the gap of every member on a task; empty where problems cannot be told apart."""
    problems = evaluation_set.known_problems(recipe, models.layout, task, models.seeds)
    if problems is None:
        return []
    every = [*chain.from_iterable(problems.trained), *problems.held_out]
    bounds = room_for(models, every)

    def share(match: Bool[np.ndarray, "members problems"]) -> Share:
        return Share(match.shape[1], rounded(match.mean(axis=1)))

    trained = share(scoring.own_exact_match(models, problems.trained, bounds))
    held_out = share(exact_match(models, problems.held_out, bounds))
    twins = share(exact_match(models, problems.twins, bounds)) if problems.twins else None
    pairs = zip(trained.exact_match, held_out.exact_match, strict=True)
    gap = [round(ours - other, 6) for ours, other in pairs]
    values = "{}..{}".format(*task.values) if task.values else ""
    operands = values or spanned(task_sizes.span(task), "digit")
    return [Gap(task.operator, operands, trained, held_out, gap, twins)]


# How long an evaluation takes: estimated before it begins, to a factor of three, which is enough to
# tell seconds from hours; corrected by the parts that are finished.

COMPILING = 4.0
"""Seconds to compile a program for a model of whole texts, for each shape of them."""

LOOKED_UP, WRITTEN = 3e5, 4e3
"""Tokens a second whose windows are looked up, for windowed models; and tokens a second of all
generated samples, which are written side by side.
"""

DRAWN = 5e4
"""Problems a second that a program draws: all problems of training are redrawn to find new ones."""

TRUST = 5.0
"""Weight of the estimate, in seconds, beside the time that finished parts have taken."""


class PartEstimate(NamedTuple):
    """A part of an evaluation, as `suite` names it, and its seconds."""

    name: str
    seconds: float


def part_estimates(
    recipe: Recipe, layout: Layout, settings: EvaluationSettings, members: int
) -> list[PartEstimate]:
    """Estimate the parts of an evaluation, in order; sizes may be left out as it goes on."""
    window, estimates = isinstance(recipe.positions, Window), list[PartEstimate]()
    shapes = set[object]()

    def per_problem(operator: str, digits: tuple[int, ...]) -> float:
        """Return the seconds of one problem; windows of all members are looked up at once."""
        tokens = layout.estimate_tokens(operator, digits)
        if window:
            return tokens / LOOKED_UP
        return members * model_cost.pass_seconds(recipe, layout, tokens)

    def add(
        name: str, operator: str, digits: tuple[int, ...], problems: int, samples: int = 0
    ) -> None:
        """Add a part whose operands have so many digits; a sample of each slice is written too."""
        seconds = problems * per_problem(operator, digits)
        if window:
            seconds += samples * layout.estimate_tokens(operator, digits) / WRITTEN
        shape = window or (operator, *(bucket(n) if layout.linear else n for n in digits))
        seconds += 0.0 if shape in shapes else COMPILING
        shapes.add(shape)
        estimates.append(PartEstimate(name, seconds))

    operators = {task.operator: operation_named(task.operator) for task in recipe.tasks}
    for operator in operators:
        samples = len(slices(layout, operator))
        for size in settings.sizes(operator):
            digits, problems = as_size(size, operator), settings.count * samples
            add(size_name(operator, size), operator, digits, problems, samples)
    for operator, operation in operators.items():
        if settings.grid and operation.least == 2:
            half = 1 + settings.grid // 2
            problems = settings.grid_count * settings.grid**2
            add(f"grid of {operator}", operator, (half, half), problems)
    for operator, operation in operators.items():
        if settings.table and operation.takes(2):
            width = len(str(settings.table))
            add(f"all of {operator}", operator, (width, width), settings.table**2)
    for task in recipe.tasks:
        if evaluation_set.can_be_known(layout, task):
            recorded = layout.machine is not None
            count = settings.held_out * (1 + members if recorded else 2)
            seconds = count * per_problem(task.operator, task_sizes.widest(task))
            if recorded and not task.values:
                seconds += recipe.training.problems * members / DRAWN
            estimates.append(PartEstimate(f"{task.operator}, trained on and held out", seconds))
    return estimates


def total(recipe: Recipe, layout: Layout, members: int) -> float:
    """Estimate the seconds of an evaluation that leaves no size out."""
    return sum(part.seconds for part in part_estimates(recipe, layout, recipe.evaluation, members))


def whole(name: str, recipe: Recipe, members: int) -> PartEstimate:
    """Estimate the training and the evaluation of a recipe together."""
    training = model_cost.estimate(recipe, members).operations / model_cost.REACHED.here
    return PartEstimate(name, training + total(recipe, layout_of(recipe), members))


class Pace:
    """Progress and remaining time of an evaluation, from its finished parts."""

    def __init__(
        self, estimates: Sequence[PartEstimate], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.estimates, self.clock, self.begun = estimates, clock, clock()
        self.places = {part.name: place for place, part in enumerate(estimates)}
        self.place, self.since = -1, self.begun
        """The current part, and when it began."""
        self.expected = 0.0
        """Seconds that were estimated for the parts before it."""

    def at(self, name: str) -> str:
        """Return the progress at a part: `2 of 4, about 30 s left`; `again` for an unknown part."""
        if name not in self.places:
            return "again"
        if self.places[name] != self.place:
            if self.place >= 0:
                self.expected += self.estimates[self.place].seconds
            self.place, self.since = self.places[name], self.clock()
        pace = (self.since - self.begun + TRUST) / (self.expected + TRUST)
        ahead = sum(part.seconds for part in self.estimates[self.place :]) * pace
        left = duration(ahead - (self.clock() - self.since))
        return f"{self.place + 1} of {len(self.estimates)}, about {left} left"

    def added(self, say: Callable[[str], None]) -> Callable[[str], None]:
        """Return `say` with the remaining time after a part's name; other words unchanged."""

        def say_with_time(text: str) -> None:
            name = text.partition(": ")[0]
            say(f"{text} ({self.at(name)})" if name in self.places else text)

        return say_with_time


def duration(seconds: float) -> str:
    """Format a duration.

    >>> duration(5.2), duration(130), duration(9000)
    ('5 s', '2 min', '2.5 h')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
