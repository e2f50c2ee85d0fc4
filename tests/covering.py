"""Of all pairs, few in which everything occurs: quick tests take these, slow ones the rest."""

from collections.abc import Sequence
from typing import Any

import pytest


def covering(pairs: Sequence[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Few of the pairs, in which each first and each second one stands."""
    chosen: list[tuple[Any, Any]] = []

    def new(pair: tuple[Any, Any]) -> int:
        return sum(all(pair[side] != one[side] for one in chosen) for side in (0, 1))

    while new(best := max(pairs, key=new)):
        chosen.append(best)
    return chosen


def parameters(pairs: Sequence[tuple[Any, Any]]) -> list[Any]:
    """All pairs for `parametrize`, in their order; those that are not needed to cover are slow."""
    quick = covering(pairs)
    return [
        pair if pair in quick else pytest.param(*pair, marks=pytest.mark.slow) for pair in pairs
    ]
