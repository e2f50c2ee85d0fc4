"""Compare two runs on the same problems, and test the difference for significance."""

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
    """A run to compare: its recipe, its members and their seeds."""

    recipe: Recipe
    """The recipe."""
    models: scoring.Models
    """The members, stacked."""
    seeds: list[int]
    """The seed of each member."""


@dataclass(frozen=True)
class Discordance:
    """Two members, one from each run, compared problem by problem."""

    both: int
    """The number of problems that both have right."""
    only_first: int
    """The number of problems that only the first has right."""
    only_second: int
    """The number of problems that only the second has right."""
    neither: int
    """The number of problems that neither has right."""
    p: float
    """The p-value of McNemar's exact test."""
    adjusted: float
    """The p-value adjusted for the number of slices by Holm's method."""


@dataclass(frozen=True)
class Difference:
    """The mean exact match of two runs over their seeds, and the difference."""

    first: float
    """The mean of the first run."""
    second: float
    """The mean of the second run."""
    difference: float
    """First minus second."""
    interval: Interval | None
    """The bootstrap interval of the difference, at 95 %; None with too few seeds."""


@dataclass(frozen=True)
class PairedSlice(ProblemSlice):
    """Two runs on the same slice of problems."""

    seeds: Difference
    """The comparison over all seeds."""
    members: Discordance | None
    """The comparison of one member of each, if one was chosen or there is only one."""


@dataclass(frozen=True)
class Paired:
    """Two runs compared on the same problems, from `Run.paired`."""

    first: str
    """The name of the first run."""
    second: str
    """The name of the second run."""
    first_seeds: list[int]
    """The seeds of the first run."""
    second_seeds: list[int]
    """The seeds of the second run."""
    paired: bool
    """Whether the seeds are the same, so that the runs are compared seed by seed."""
    seed: int
    """The seed from which the problems were drawn."""
    member_seeds: tuple[int, int] | None
    """The seeds of the two members that were compared problem by problem, if any."""
    slices: list[PairedSlice]
    """The comparison on each slice of problems."""


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
    """Evaluate both runs on all problems of the settings that both can answer.

    With a `member`, that member of each run is compared problem by problem. Raises UserError if the
    runs have no problems in common.
    """
    if member is None and len(first.seeds) == len(second.seeds) == 1:
        member = 0
    same_seeds = sorted(first.seeds) == sorted(second.seeds)
    rows = list[PairedSlice]()
    for sets in common(first, second, settings):
        # Evaluate all problems of a size at once, so that one program is compiled for them.
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
    """Yield the slices of each size that both runs can answer, in the same base.

    Where both runs hold out the same problems, yield these too, without those of validation.
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
