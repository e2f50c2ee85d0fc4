"""Find the smallest window that determines the next token.

For each role, forward selection adds the neighbour that leaves the least uncertainty about the next
token until none is left; backward elimination then drops the neighbours that are not needed.
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from curta.programs.machine.machine import Displacement, Machine, Neighbour, Windows
from curta.programs.machine.recording import QueryNumbers, Recording, Squares

MOST = 6
"""Most neighbours of a role."""

SAMPLE = 6_000
"""Queries of a role in the first selection."""

MORE = 2_000
"""Queries added each round in which the selected window does not decide all queries."""

ROUNDS = 12
"""Most selections for one role."""


class Candidate(NamedTuple):
    """A neighbour, and the classes into which it divides the queries."""

    neighbour: Neighbour
    classes: QueryNumbers
    size: int

    def refine(self, code: QueryNumbers) -> QueryNumbers:
        """Number the pairs of code and class: code 2 and class 1 of 3 give 7."""
        return code * self.size + self.classes


def find(machine: Machine, recording: Recording, reach: int = 1) -> Windows:
    """Return the windows of all roles that have queries.

    `reach` is the largest distance of a neighbour on any axis, in squares.
    """
    squares = Squares(machine, recording)
    query = np.flatnonzero(recording.is_query)
    roles = machine.role[recording.tokens[query]]
    windows: Windows = {}
    for number, role in enumerate(machine.roles):
        of_role = query[roles == number]
        if len(of_role):
            windows[role.name] = _window_of_role(squares, of_role, reach)
    return windows


def decides(machine: Machine, recording: Recording, role: str, reach: int) -> bool:
    """Return whether some window within reach decides what follows a role; see `Squares`."""
    squares, query = Squares(machine, recording), np.flatnonzero(recording.is_query)
    query = query[machine.role[recording.tokens[query]] == machine.role_numbers[role]]
    return not len(_undecided(squares, query, _window_of_role(squares, query, reach)))


def _window_of_role(squares: Squares, query: QueryNumbers, reach: int) -> tuple[Neighbour, ...]:
    """Select a window on a sample, which grows by queries that the window does not decide."""
    sample = np.random.default_rng(0).permutation(query)[:SAMPLE]
    for _ in range(ROUNDS):
        chosen = _select(squares, np.sort(sample), reach)
        undecided = _undecided(squares, query, chosen)
        if not len(undecided) or np.isin(undecided, sample).all():
            break
        sample = np.union1d(sample, undecided[:MORE])
    return chosen


def _select(squares: Squares, query: QueryNumbers, reach: int) -> tuple[Neighbour, ...]:
    """Select the smallest window for these queries."""
    machine, tokens = squares.machine, squares.recording.tokens
    target, start = _classes(tokens[query + 1])[0], _classes(tokens[query])[0]
    candidates, chosen, code = list[Candidate](), list[Candidate](), start
    for role, displacement in places(machine, reach):
        near = squares.find(query, role, displacement)
        if (near != near[0]).any():  # a constant neighbour tells nothing
            candidates.append(Candidate((machine.roles[role].name, displacement), *_classes(near)))
    while candidates and len(chosen) < MOST and _uncertainty(code, target) > 0:
        scores = [_uncertainty(c.refine(code), target) for c in candidates]
        best = min(range(len(scores)), key=lambda i: (round(scores[i], 9), candidates[i].size, i))
        chosen.append(candidates.pop(best))
        code, _ = _classes(chosen[-1].refine(code))

    # Drop the neighbours without which the next token is still a function of the window.
    least = _uncertainty(_code(start, chosen), target)
    for candidate in list(chosen):
        others = [c for c in chosen if c is not candidate]
        if _uncertainty(_code(start, others), target) <= least:
            chosen = others

    # Replace operands by the signs before them where these decide as much. In `12+39+50=` the
    # second `+` says that there is one more number, as the first digit of that number does. A proof
    # that sees signs alone has fewer papers to follow.
    least = _uncertainty(_code(start, chosen), target)
    for place, candidate in enumerate(chosen):
        for sign in candidates:
            if sign.neighbour[0] == f"{candidate.neighbour[0]} between":
                swapped = [*chosen[:place], sign, *chosen[place + 1 :]]
                if _uncertainty(_code(start, swapped), target) <= least:
                    chosen = swapped
                    break
    return tuple(candidate.neighbour for candidate in chosen)


def _undecided(
    squares: Squares, query: QueryNumbers, near: tuple[Neighbour, ...]
) -> Int[np.ndarray, " undecided"]:
    """Return the queries whose window is followed by different tokens.

    Windows a, b, a followed by 1, 2, 3: the first and the last.
    """
    machine = squares.machine
    tokens, numbers = squares.recording.tokens, machine.role_numbers
    chosen = [
        Candidate((other, moved), *_classes(squares.find(query, numbers[other], moved)))
        for other, moved in near
    ]
    code = _code(_classes(tokens[query])[0], chosen)  # the number of each query's window
    target = tokens[query + 1]
    of_window = np.zeros(int(code.max()) + 1, np.int64)  # one of the tokens that follow it
    of_window[code] = target
    differs = np.zeros(len(of_window), bool)
    np.logical_or.at(differs, code, of_window[code] != target)
    return query[differs[code]]


def places(machine: Machine, reach: int) -> Iterator[tuple[int, Displacement]]:
    """Yield every role and displacement that a neighbour may have, nearest first."""
    for displacement in displacements(len(machine.axes), reach):
        for role, broadcast in enumerate(machine.broadcast_mask.tolist()):
            # Along an axis on which it is broadcast, a neighbour has no displacement.
            if not any(step and b for step, b in zip(displacement, broadcast, strict=True)):
                yield role, displacement


def displacements(axes: int, reach: int) -> list[Displacement]:
    """Return all displacements within reach on every axis, shortest first.

    >>> displacements(axes=1, reach=2)
    [(0,), (1,), (-1,), (2,), (-2,)]
    """
    every = itertools.product(range(-reach, reach + 1), repeat=axes)
    return sorted(every, key=lambda d: (sum(map(abs, d)), [-x for x in d]))


def _code(code: QueryNumbers, chosen: list[Candidate]) -> QueryNumbers:
    """Number the queries so that two are equal where their tokens and neighbours are."""
    for candidate in chosen:
        code = _classes(candidate.refine(code))[0]
    return code


def _classes(values: QueryNumbers) -> tuple[QueryNumbers, int]:
    """Renumber values as 0, 1, ..., and return how many different ones there are.

    >>> _classes(np.array([7, 3, 7]))[0].tolist()
    [1, 0, 1]
    """
    distinct, inverse = np.unique(values, return_inverse=True)
    return inverse.astype(np.int64), len(distinct)


def _uncertainty(code: QueryNumbers, target: QueryNumbers) -> float:
    """Return the conditional entropy of the target in nats, with Miller and Madow's correction.

    Without the correction a neighbour with many values seems more informative than it is.

    >>> round(_uncertainty(np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1])), 3)  # ln 2 / 2 + 1 / 8
    0.472
    """
    joint = code * (int(target.max()) + 1) + target
    together, alone = (np.unique(x, return_counts=True)[1] for x in (joint, code))
    if len(together) == len(alone):
        return 0.0
    shares = (counts / len(target) for counts in (together, alone))
    joint_entropy, entropy = (float(-np.sum(share * np.log(share))) for share in shares)
    return joint_entropy - entropy + (len(together) - len(alone)) / (2 * len(target))
