"""The smallest window in which the next token is a function: found, not written.

For each role: a forward selection takes the neighbour that leaves the least uncertainty about
what follows, until none is left; a backward elimination then drops those that are not needed.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from curta.programs.machine.machine import Displacement, Machine, Neighbour, Windows
from curta.programs.machine.recording import Around, Queries, Recording, Squares

MOST = 6
"""Most neighbours of a role."""

SAMPLE = 6_000
"""Queries of a role that a selection looks at first."""

MORE = 2_000
"""Queries that are added to them where what was selected is no function of all queries."""

ROUNDS = 12

BINS = 16
"""Bins for each value, at most: beyond that, sorting the values takes less time."""


class Candidate(NamedTuple):
    """A neighbour, and the classes into which it parts the queries."""

    neighbour: Neighbour
    classes: Queries
    size: int

    def parts(self, code: Queries) -> Queries:
        """A number for each pair of a code and a class: code 2 and class 1 of 3 are 7."""
        return code * self.size + self.classes


def find(machine: Machine, recording: Recording, reach: int = 1) -> Windows:
    """Windows of all roles after which something is written.

    `reach` is how many squares from a query neighbours are looked for, on every axis.
    """
    squares = Squares(machine, recording)
    query = np.flatnonzero(recording.asked)
    roles = machine.role[recording.tokens[query]]
    windows: Windows = {}
    for number, role in enumerate(machine.roles):
        of_role = query[roles == number]
        if len(of_role):
            windows[role.name] = _of_role(squares, of_role, reach)
    return windows


def decides(machine: Machine, recording: Recording, role: str, reach: int) -> bool:
    """Whether some window within reach makes the token after one role a function of it.

    Raises ProgramError as `Squares` does.
    """
    squares, query = Squares(machine, recording), np.flatnonzero(recording.asked)
    mine = query[machine.role[recording.tokens[query]] == machine.role_numbers[role]]
    return not len(_undecided(squares, mine, _of_role(squares, mine, reach)))


def _of_role(squares: Squares, query: Queries, reach: int) -> tuple[Neighbour, ...]:
    """Selected on a sample, to which those are added for which that is not enough."""
    sample = np.random.default_rng(0).permutation(query)[:SAMPLE]
    for _ in range(ROUNDS):
        chosen = _select(squares, np.sort(sample), reach)
        undecided = _undecided(squares, query, chosen)
        if not len(undecided) or np.isin(undecided, sample).all():
            break
        sample = np.union1d(sample, undecided[:MORE])
    return chosen


def _select(squares: Squares, query: Queries, reach: int) -> tuple[Neighbour, ...]:
    """The smallest window for these queries, by selection and elimination."""
    tokens = squares.recording.tokens
    target, start = _classes(tokens[query + 1])[0], _classes(tokens[query])[0]
    candidates, chosen, code = list(_candidates(squares, query, reach)), list[Candidate](), start
    while candidates and len(chosen) < MOST and _uncertainty(code, target) > 0:
        scores = [_uncertainty(c.parts(code), target) for c in candidates]
        best = min(range(len(scores)), key=lambda i: (round(scores[i], 9), candidates[i].size, i))
        chosen.append(candidates.pop(best))
        code, _ = _classes(chosen[-1].parts(code))
    return tuple(c.neighbour for c in _needed(start, chosen, target))


def _candidates(squares: Squares, query: Queries, reach: int) -> Iterator[Candidate]:
    """Every neighbour within reach that is not the same everywhere, the nearest first."""
    machine, around = squares.machine, Around(squares, query)
    for role, displacement in places(machine, reach):
        tokens = around.find(role, displacement)
        if (tokens != tokens[0]).any():
            yield Candidate((machine.roles[role].name, displacement), *_classes(tokens))


def _undecided(
    squares: Squares, query: Queries, near: tuple[Neighbour, ...]
) -> Int[np.ndarray, " undecided"]:
    """Queries with the same window as others after which something else was written.

    Windows a, b, a followed by 1, 2, 3: the first and the last.
    """
    machine = squares.machine
    tokens, around = squares.recording.tokens, Around(squares, query)
    neighbour_tokens = [around.find(machine.role_numbers[other], moved) for other, moved in near]
    chosen = [
        Candidate(one, *_classes(values))
        for one, values in zip(near, neighbour_tokens, strict=True)
    ]
    code = _code(_classes(tokens[query])[0], chosen)
    target = tokens[query + 1]
    first = np.zeros(int(code.max()) + 1, np.int64)
    first[code] = target
    differs = np.zeros(len(first), bool)
    np.logical_or.at(differs, code, first[code] != target)
    return query[differs[code]]


def places(machine: Machine, reach: int) -> Iterator[tuple[int, Displacement]]:
    """Where a neighbour may be: roles, none moved along an axis on which it is everywhere."""
    for displacement in displacements(len(machine.axes), reach):
        for role, wide in enumerate(machine.broadcast_mask.tolist()):
            if not any(step and w for step, w in zip(displacement, wide, strict=True)):
                yield role, displacement


def displacements(axes: int, reach: int) -> list[Displacement]:
    """All of them within reach on every axis, the shortest first.

    >>> displacements(axes=1, reach=2)
    [(0,), (1,), (-1,), (2,), (-2,)]
    """
    every = itertools.product(range(-reach, reach + 1), repeat=axes)
    return sorted(every, key=lambda d: (sum(map(abs, d)), [-x for x in d]))


def _needed(start: Queries, chosen: list[Candidate], target: Queries) -> list[Candidate]:
    """Those of the chosen without which the next token is no function any more."""
    least = _uncertainty(_code(start, chosen), target)
    for candidate in list(chosen):
        others = [c for c in chosen if c is not candidate]
        if _uncertainty(_code(start, others), target) <= least:
            chosen = others
    return chosen


def _code(code: Queries, chosen: list[Candidate]) -> Queries:
    """One number for each query: equal where its token and all these neighbours are."""
    for candidate in chosen:
        code = _classes(candidate.parts(code))[0]
    return code


def _classes(values: Queries) -> tuple[Queries, int]:
    """The values numbered 0, 1, ..., and how many different ones there are.

    >>> _classes(np.array([7, 3, 7]))[0].tolist()
    [1, 0, 1]
    """
    if _dense(values):
        there = np.bincount(values) > 0
        return (np.cumsum(there) - 1)[values], int(there.sum())
    distinct, inverse = np.unique(values, return_inverse=True)
    return inverse.astype(np.int64), len(distinct)


def _uncertainty(code: Queries, target: Queries) -> float:
    """Conditional entropy of the target, in nats, with Miller and Madow's correction.

    Without the correction a neighbour with many values seems to tell more than it does.

    >>> round(_uncertainty(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])), 3)  # ln 2 / 2 + 1 / 8
    0.472
    """
    joint = code * (int(target.max()) + 1) + target
    together, alone = _counts(joint), _counts(code)
    entropy = _entropy(together) - _entropy(alone)
    if len(together) == len(alone):
        return 0.0
    return entropy + (len(together) - len(alone)) / (2 * len(target))


def _dense(values: Queries) -> bool:
    return int(values.max()) < BINS * len(values)


def _counts(code: Queries) -> Int[np.ndarray, " classes"]:
    """How many queries have each code that there is: of 7, 3, 7 there are 1 and 2."""
    if _dense(code):
        counts = np.bincount(code)
        return counts[counts > 0]
    return np.unique(code, return_counts=True)[1]


def _entropy(counts: Int[np.ndarray, " classes"]) -> float:
    """In nats: of counts 2 and 2 it is ln 2."""
    shares = counts / counts.sum()
    return float(-np.sum(shares * np.log(shares)))
