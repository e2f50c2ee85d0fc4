"""A list of windows made complete: proofs and searches in turn."""

import time
from dataclasses import replace
from random import Random

import numpy as np

from .closure import CARE, Closure, Open, Proof, close
from .draws import Sizes
from .listing import Recorder, search

SECONDS = 10.0
"""Time for all attempts at one proof; what is not proved by then is given up."""


def prove(
    recorder: Recorder,
    sizes: Sizes,
    seed: int = 0,
    hunt: int = 100_000,
    fewest: int = 1,
    seconds: float = SECONDS,
) -> Closure:
    """`close`, and the problems that lead to open windows recorded, until nothing new comes.

    The way to an open window spells out a problem, so a list is completed from what it lacks.
    Where the problems that are spelled out bring nothing, a search of `hunt` tokens begins with
    them and with the problems of windows that differ in one square; where that finds nothing
    either, views grow. What is open at the end is counted.
    """
    begin, rng, tried = time.perf_counter(), Random(seed), set[tuple[int, ...]]()
    best: Closure | None = None
    for care in CARE:
        proofs: dict[str, Proof] = {}
        while True:
            parts = (recorder.machine, recorder.windows, recorder.table)
            found = close(*parts, recorder.formats, fewest, care, proofs, begin + seconds)
            before = len(recorder.table)
            wanted = {o.operands for o in found.open if o.operands is not None}
            recorder.add(sorted(wanted - tried))
            tried |= wanted
            if len(recorder.table) == before and found.open:
                near = sorted(wanted) + neighbours(recorder, found.open)
                search(recorder.program, *parts[:2], sizes, rng, hunt, recorder, near)
            if len(recorder.table) == before or time.perf_counter() - begin > seconds:
                break
        if best is None or best.reasons or (not found.reasons and len(found.open) < len(best.open)):
            best = found
        if best.closed or time.perf_counter() - begin > seconds:
            break
    assert best is not None
    return replace(best, seconds=time.perf_counter() - begin)


def neighbours(recorder: Recorder, opened: list[Open]) -> list[tuple[int, ...]]:
    """Problems of listed windows that differ from an open one in a single square."""
    near = set()
    for one in opened[:100]:
        same = np.sum(recorder.table.rows == np.array(one.row), axis=1)
        for window in np.flatnonzero(same == len(one.row) - 1)[:20].tolist():
            near.add(recorder.examples[window])
    return sorted(near)
