"""Where what was written goes wrong: its first token that is not the right one."""

from collections.abc import Sequence

from curta.evaluation.results import FirstError

AROUND = 60
"""Tokens that are kept before the first wrong one, and from it on: traces may be very long."""


def first_error(
    written: Sequence[int], expected: Sequence[int], symbols: Sequence[str]
) -> FirstError | None:
    """The first wrong token of a text and what stands around it; None if all of it is right."""
    if list(written) == list(expected):
        return None
    shorter = min(len(written), len(expected))
    at = next((i for i in range(shorter) if written[i] != expected[i]), shorter)
    kept = slice(max(0, at - AROUND), at + AROUND)
    wrote, should = ("".join(symbols[t] for t in text[kept]) for text in (written, expected))
    before = sum(len(symbols[t]) for t in expected[:at])
    start = sum(len(symbols[t]) for t in expected[: kept.start])
    return FirstError(before, start, wrote, should, token=at)
