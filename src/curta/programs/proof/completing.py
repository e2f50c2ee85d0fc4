"""A list of windows made complete: proofs and searches in turn."""

import time
from dataclasses import replace
from random import Random

import numpy as np

from curta.problems.sizes import Sizes
from curta.programs.proof.closure import CARE, Closure, Open, Proof, close
from curta.programs.proof.listing import Lister, search


def prove(lister: Lister, sizes: Sizes, hunt: int = 100_000, seconds: float = 10.0) -> Closure:
    """`close`, and the problems that lead to open windows recorded, until nothing new comes.

    The way to an open window spells out a problem, so a list is completed from what it lacks.
    Where the problems that are spelled out bring nothing, a search of `hunt` tokens begins with
    them and with the problems of windows that differ in one square; where that finds nothing
    either, views grow. What is open at the end is counted. All attempts together have `seconds`
    of the thread: a grade must not depend on what else a machine does.
    """
    begin, rng, tried = time.thread_time(), Random(0), set[tuple[int, ...]]()
    single = sum(not part.many for part in lister.program.format.givens)
    fewest = max(1, sizes.operands[0] - single)  # operands of the part for any number of them
    best: Closure | None = None
    for care in CARE:
        proofs: dict[str, Proof] = {}
        while True:
            parts = (lister.machine, lister.windows, lister.table)
            found = close(*parts, lister.formats, fewest, care, proofs, begin + seconds)
            before = len(lister.table)
            wanted = _spelled(lister, found.open)
            lister.add(sorted(wanted - tried))
            tried |= wanted
            if len(lister.table) == before and found.open:
                search(lister, sizes, rng, hunt, sorted(wanted) + neighbours(lister, found.open))
            if len(lister.table) == before or time.thread_time() - begin > seconds:
                break
        if best is None or best.reasons or (not found.reasons and len(found.open) < len(best.open)):
            best = found
        if best.closed or time.thread_time() - begin > seconds:
            break
    assert best is not None
    return replace(best, seconds=time.thread_time() - begin)


def _spelled(lister: Lister, opened: list[Open]) -> set[tuple[int, ...]]:
    """The problems on the way to open windows.

    None of a program that draws its own problems: it might never draw these.
    """
    if lister.program.draw is not None:
        return set()
    return {one.operands for one in opened if one.operands is not None}


def neighbours(lister: Lister, opened: list[Open]) -> list[tuple[int, ...]]:
    """Problems of listed windows that differ from an open one in a single square."""
    near = set()
    for one in opened[:100]:
        same = np.sum(lister.table.rows == np.array(one.row), axis=1)
        for window in np.flatnonzero(same == len(one.row) - 1)[:20].tolist():
            near.add(lister.examples[window])
    return sorted(near)
