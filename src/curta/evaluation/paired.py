"""Two runs on the same problems: which problems only one of them has right, and significance."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple

import numpy as np

from curta.config import sections
from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.table import sized
from curta.evaluation import evaluation_set, scoring, statistics
from curta.evaluation.results import HELD_OUT, ProblemSlice
from curta.evaluation.statistics import Interval
from curta.problems import tasks
from curta.problems.problem import Problem, widths


class EvaluatedRun(NamedTuple):
    """Trained members, their seeds, and their recipe."""

    recipe: Recipe
    models: scoring.Models
    seeds: list[int]


@dataclass(frozen=True)
class Discordance:
    """How many problems two members have right, one from each run, and McNemar's exact test.

    `adjusted` is `p` adjusted for all rows by Holm's method.
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    p: float
    adjusted: float


@dataclass(frozen=True)
class Difference:
    """The means over all seeds of each run, first minus second, and the interval."""

    first: float
    second: float
    difference: float
    interval: Interval | None


@dataclass(frozen=True)
class PairedSlice(ProblemSlice):
    """Two runs on the same problems of one operator, size and slice.

    `members` compares one member of each, if members were chosen or there is only one.
    """

    seeds: Difference
    members: Discordance | None


@dataclass(frozen=True)
class Paired:
    """Two runs, by distinct names, on the same problems, drawn with `seed`.

    `paired` is True if both have the same seeds and are compared seed by seed; `member_seeds` are
    the seeds of the two members compared problem by problem.
    """

    first: str
    second: str
    first_seeds: list[int]
    second_seeds: list[int]
    paired: bool
    seed: int
    member_seeds: tuple[int, int] | None
    slices: list[PairedSlice]


ProblemSets = dict[tuple[str, str], list[Problem]]
"""Problems of one operator by size and slice."""


def paired(
    first: EvaluatedRun,
    second: EvaluatedRun,
    names: tuple[str, str],
    settings: sections.EvaluationSettings,
    member: int | None,
    say: Callable[[str], None],
) -> Paired:
    """Evaluate both runs on every problem of the settings that both can be evaluated on.

    With a `member`, those members are compared problem by problem. Raises UserError if there is no
    common problem.
    """
    if member is None and len(first.seeds) == len(second.seeds) == 1:
        member = 0
    same_seeds = sorted(first.seeds) == sorted(second.seeds)
    rows = list[PairedSlice]()
    for sets in common(first, second, settings):
        # All problems of a size are evaluated at once, so that one program is compiled for them.
        every = [problem for problems in sets.values() for problem in problems]
        say(f"{every[0].operator} at {sized(next(iter(sets))[0])}")
        ends = np.cumsum([len(problems) for problems in sets.values()])[:-1]
        correct = [
            np.split(scoring.exact_match(run.models, every), ends, axis=1)
            for run in (first, second)
        ]
        for ((size, slice_name), problems), ours, theirs in zip(
            sets.items(), *correct, strict=True
        ):
            shares, others = (scoring.rounded(match.mean(axis=1)) for match in (ours, theirs))
            if same_seeds:
                others = [others[second.seeds.index(seed)] for seed in first.seeds]
            mean, other_mean = fmean(shares), fmean(others)
            discordance = None
            if member is not None:
                pair = list(zip(ours[member].tolist(), theirs[member].tolist(), strict=True))
                only_first, only_second = pair.count((True, False)), pair.count((False, True))
                p = statistics.mcnemar(only_first, only_second)
                both, neither = pair.count((True, True)), pair.count((False, False))
                discordance = Discordance(both, only_first, only_second, neither, p, adjusted=p)
            rows.append(
                PairedSlice(
                    operator=problems[0].operator,
                    size=size,
                    digits=max(max(widths(problem)) for problem in problems),
                    slice_name=slice_name,
                    count=len(problems),
                    seeds=Difference(
                        first=round(mean, 6),
                        second=round(other_mean, 6),
                        difference=round(mean - other_mean, 6),
                        interval=statistics.of_difference(shares, others, same_seeds),
                    ),
                    members=discordance,
                )
            )
    if not rows:
        raise UserError(f"runs {names[0]!r} and {names[1]!r} have no problems in common")
    adjusted = iter(statistics.holm([row.members.p for row in rows if row.members is not None]))
    rows = [
        row
        if row.members is None
        else replace(row, members=replace(row.members, adjusted=next(adjusted)))
        for row in rows
    ]
    members = None if member is None else (first.seeds[member], second.seeds[member])
    return Paired(*names, first.seeds, second.seeds, same_seeds, settings.seed, members, rows)


def common(
    first: EvaluatedRun, second: EvaluatedRun, settings: sections.EvaluationSettings
) -> Iterator[ProblemSets]:
    """Yield the slices of each size that both runs have positions for, in the same base.

    Also yields held-out problems where both hold out the same, without those of validation.
    """
    layout, runs = first.models.layout, (first, second)
    for task in first.recipe.tasks:
        operator = task.operator
        other = next((t for t in second.recipe.tasks if t.operator == operator), None)
        if other is None or layout.base(operator) != second.models.layout.base(operator):
            continue
        for size in settings.sizes(operator):
            try:
                for run in runs:
                    run.models.layout.accept(operator, tasks.as_size(size, operator))
            except UserError:
                continue
            if not any(evaluation_set.refusal(run.recipe, operator, size) for run in runs):
                count, seed = settings.count, settings.seed
                slices = evaluation_set.drawn_slices(layout, operator, size, count, seed)
                yield {(str(size), name): problems for name, problems in slices.items()}
        if task.held_out and other.values and tasks.table(task) == tasks.table(other):
            assert task.values is not None
            begin = max(evaluation_set.watched(run.recipe) for run in runs)
            places = range(begin, min(task.held_out, begin + settings.held_out))
            if problems := tasks.held_out(task, places):
                yield {("{}..{}".format(*task.values), HELD_OUT): problems}
