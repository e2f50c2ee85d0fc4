"""Two runs on the same problems: which problems only one of them has right, and significance."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import fmean
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from curta.config import sections
from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.table import sized
from curta.evaluation import evaluation_set, scoring, statistics
from curta.evaluation.results import SliceName
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
class PairedSlice:
    """Two runs on the same problems of one operator, size and slice.

    `members` compares one member of each, if members were chosen or there is only one.
    """

    operator: str
    size: str
    digits: int
    slice_name: SliceName
    count: int
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


class ProblemSet(NamedTuple):
    """Problems of one operator, size and slice."""

    size: str
    slice_name: str
    problems: list[Problem]


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
        say(f"{sets[0].problems[0].operator} at {sized(sets[0].size)}")
        # All problems of a size are evaluated at once, so that one program is compiled for them.
        every = [problem for problem_set in sets for problem in problem_set.problems]
        ends = np.cumsum([len(problem_set.problems) for problem_set in sets])[:-1]
        right = [
            np.split(scoring.exact_match(run.models, every), ends, axis=1)
            for run in (first, second)
        ]
        for problem_set, ours, theirs in zip(sets, *right, strict=True):
            shares, others = (scoring.rounded(match.mean(axis=1)) for match in (ours, theirs))
            if same_seeds:
                others = [others[second.seeds.index(seed)] for seed in first.seeds]
            means = fmean(shares), fmean(others)
            difference = Difference(
                first=round(means[0], 6),
                second=round(means[1], 6),
                difference=round(means[0] - means[1], 6),
                interval=statistics.of_difference(shares, others, same_seeds),
            )
            discordance = None
            if member is not None:
                discordance = _discordance(ours[member], theirs[member])
            problems = problem_set.problems
            rows.append(
                PairedSlice(
                    operator=problems[0].operator,
                    size=problem_set.size,
                    digits=max(max(widths(problem)) for problem in problems),
                    slice_name=problem_set.slice_name,
                    count=len(problems),
                    seeds=difference,
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
) -> Iterator[list[ProblemSet]]:
    """Yield the slices of each size that both runs have positions for, in the same base.

    Also yields held-out problems where both hold out the same, without those of validation.
    """
    layout = first.models.layout
    for task in first.recipe.tasks:
        operator = task.operator
        other = next((t for t in second.recipe.tasks if t.operator == operator), None)
        if other is None or layout.base(operator) != second.models.layout.base(operator):
            continue
        for size in settings.sizes(operator):
            if any(_refusal(run, operator, size) for run in (first, second)):
                continue
            sets = [
                ProblemSet(str(size), name, problems)
                for name in evaluation_set.slices(layout, operator)
                if (
                    problems := evaluation_set.drawn(
                        layout, operator, name, size, settings.count, settings.seed
                    )
                )
            ]
            yield sets
        if task.held_out and other.values and tasks.table(task) == tasks.table(other):
            assert task.values is not None
            trainings = [run.recipe.training for run in (first, second)]
            begin = max(t.validation if t.validate_every else 0 for t in trainings)
            places = range(begin, min(task.held_out, begin + settings.held_out))
            if problems := tasks.held_out(task, places):
                yield [ProblemSet("{}..{}".format(*task.values), "held out", problems)]


def _refusal(run: EvaluatedRun, operator: str, size: int | str) -> str | None:
    """Return why a run cannot be evaluated at this size, by its program or its layout."""
    try:
        run.models.layout.accept(operator, tasks.as_size(size, operator))
    except UserError as error:
        return str(error)
    return evaluation_set.refusal(run.recipe, operator, size)


def _discordance(
    first: Bool[np.ndarray, " problems"], second: Bool[np.ndarray, " problems"]
) -> Discordance:
    """Count both, first alone, second alone and neither; `adjusted` is filled in later."""
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    p = statistics.mcnemar(only_first, only_second)
    return Discordance(
        both=int((first & second).sum()),
        only_first=only_first,
        only_second=only_second,
        neither=int((~first & ~second).sum()),
        p=p,
        adjusted=p,
    )
