"""Two runs asked the same problems: which of them only one has right, and how sure that is."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from curta.config import sections
from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.table import sized
from curta.config.task import Task
from curta.evaluation import evaluation_set, scoring, statistics
from curta.evaluation.results import SliceName
from curta.evaluation.statistics import Interval
from curta.layouts import Layout
from curta.problems import tasks
from curta.problems.problem import Problem, widths


class Asked(NamedTuple):
    """Trained members, their seeds, and the recipe that they are of."""

    recipe: Recipe
    models: scoring.Models
    seeds: list[int]


@dataclass(frozen=True)
class Discordance:
    """How many problems two members have right, one of each run, and McNemar's exact test.

    `adjusted` is `p` with regard to all rows, by Holm's method.
    """

    both: int
    only_first: int
    only_second: int
    neither: int
    p: float
    adjusted: float


@dataclass(frozen=True)
class Difference:
    """The means over all seeds of each run, the first less the second, and its interval."""

    first: float
    second: float
    difference: float
    interval: Interval | None


@dataclass(frozen=True)
class PairedSlice:
    """Two runs on the same problems of one operator, size and slice.

    `members` are of one member each, where these were chosen or there is only one.
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
    """Two runs by names that tell them apart, asked the same problems, which `seed` draws.

    `paired` says whether both have the same seeds, so that they are compared seed by seed;
    `member_seeds` are those of the members that are compared problem by problem.
    """

    first: str
    second: str
    first_seeds: list[int]
    second_seeds: list[int]
    paired: bool
    seed: int
    member_seeds: tuple[int, int] | None
    slices: list[PairedSlice]


Right = Bool[np.ndarray, "members problems"]


class Set(NamedTuple):
    """Problems of one operator, size and slice."""

    size: str
    slice_name: str
    problems: list[Problem]


def paired(
    first: Asked,
    second: Asked,
    names: tuple[str, str],
    settings: sections.Evaluation,
    member: int | None,
    say: Callable[[str], None],
) -> Paired:
    """Asks both every problem of the settings that both can be asked, and nothing else.

    With a `member` that one of each is compared problem by problem. Raises UserError where there
    is no such problem.
    """
    chosen = member if member is not None else 0 if _single(first, second) else None
    same = sorted(first.seeds) == sorted(second.seeds)
    rows = list[PairedSlice]()
    for sets in common(first, second, settings):
        say(f"{sets[0].problems[0].operator} at {sized(sets[0].size)}")
        mine, its = (_right(asked.models, sets) for asked in (first, second))
        order = _order(first, second) if same else None
        rows += [_row(*one, order, chosen) for one in zip(sets, mine, its, strict=True)]
    if not rows:
        raise UserError(f"runs {names[0]!r} and {names[1]!r} have no problems in common")
    members = None if chosen is None else (first.seeds[chosen], second.seeds[chosen])
    return Paired(*names, first.seeds, second.seeds, same, settings.seed, members, _adjusted(rows))


def common(first: Asked, second: Asked, settings: sections.Evaluation) -> Iterator[list[Set]]:
    """The slices of each size: of operators of the same base, where both have positions for it.

    Held-out ones where both hold out the same, without those that watched either training.
    """
    for task in first.recipe.tasks:
        other = next((one for one in second.recipe.tasks if one.operator == task.operator), None)
        bases = {asked.models.layout.base(task.operator) for asked in (first, second) if other}
        if other is None or len(bases) > 1:
            continue
        for size in settings.sizes(task.operator):
            if not any(_refusal(asked, task.operator, size) for asked in (first, second)):
                yield _drawn(first.models.layout, task.operator, size, settings)
        if task.held_out and other.values and tasks.table(task) == tasks.table(other):
            found = _held_out(task, [first.recipe, second.recipe], settings)
            yield from [[found]] if found.problems else []


def _drawn(
    layout: Layout, operator: str, size: int | str, settings: sections.Evaluation
) -> list[Set]:
    draw = partial(evaluation_set.drawn, size=size, count=settings.count, seed=settings.seed)
    names = evaluation_set.slices(layout, operator)
    found = (Set(str(size), name, draw(layout, operator, name)) for name in names)
    return [one for one in found if one.problems]


def _right(models: scoring.Models, sets: Sequence[Set]) -> list[Right]:
    """Of each slice, which of its problems each member has right; all of a size are asked at once,
    so that one program is compiled for them."""
    right = scoring.exact_match(models, [problem for one in sets for problem in one.problems])
    ends = np.cumsum([len(one.problems) for one in sets])
    return np.split(right, ends[:-1], axis=1)


def _held_out(task: Task, recipes: Sequence[Recipe], settings: sections.Evaluation) -> Set:
    assert task.values is not None
    watched = [one.training.validation for one in recipes if one.training.validate_every]
    begin = max(watched, default=0)
    problems = tasks.held_out(task, range(begin, min(task.held_out, begin + settings.held_out)))
    return Set("{}..{}".format(*task.values), "held out", problems)


def _refusal(asked: Asked, operator: str, size: int | str) -> str | None:
    """Why a run cannot be asked problems of this size, of a program or of a layout."""
    try:
        asked.models.layout.accept(operator, tasks.as_size(size, operator))
    except UserError as error:
        return str(error)
    return evaluation_set.refusal(asked.recipe, operator, size)


def _single(first: Asked, second: Asked) -> bool:
    return len(first.seeds) == len(second.seeds) == 1


def _order(first: Asked, second: Asked) -> list[int]:
    """The place in `second` of each seed of `first`."""
    return [second.seeds.index(seed) for seed in first.seeds]


def _row(
    asked: Set, first: Right, second: Right, order: list[int] | None, member: int | None
) -> PairedSlice:
    """Both runs on one slice; `order` is the second's members by the first's, where paired."""
    mine, its = (scoring.rounded(one.mean(axis=1)) for one in (first, second))
    if order is not None:
        its = [its[place] for place in order]
    return PairedSlice(
        operator=asked.problems[0].operator,
        size=asked.size,
        digits=max(max(widths(problem)) for problem in asked.problems),
        slice_name=asked.slice_name,
        count=len(asked.problems),
        seeds=_difference(mine, its, order is not None),
        members=None if member is None else _discordance(first[member], second[member]),
    )


def _difference(first: list[float], second: list[float], is_paired: bool) -> Difference:
    one, other = fmean(first), fmean(second)
    interval = statistics.of_difference(first, second, is_paired)
    return Difference(round(one, 6), round(other, 6), round(one - other, 6), interval)


def _discordance(
    first: Bool[np.ndarray, " problems"], second: Bool[np.ndarray, " problems"]
) -> Discordance:
    """Not yet adjusted: of right, right, wrong and right, wrong, wrong 1 is both's, 1 the first's
    alone, none the second's, 1 nobody's."""
    one, other = int((first & ~second).sum()), int((second & ~first).sum())
    p = statistics.mcnemar(one, other)
    return Discordance(
        both=int((first & second).sum()),
        only_first=one,
        only_second=other,
        neither=int((~first & ~second).sum()),
        p=p,
        adjusted=p,
    )


def _adjusted(rows: list[PairedSlice]) -> list[PairedSlice]:
    """With each p-value as it stands among those of all rows."""
    known = [row.members for row in rows if row.members is not None]
    values = iter(statistics.holm([one.p for one in known]))
    return [
        row
        if row.members is None
        else replace(row, members=replace(row.members, adjusted=next(values)))
        for row in rows
    ]
