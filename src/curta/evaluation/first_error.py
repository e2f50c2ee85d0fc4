"""Where what was written goes wrong: its first token that is not the right one."""

from collections.abc import Sequence
from typing import Any

AROUND = 60
"""Tokens that are kept before the first wrong one, and from it on: traces may be very long."""


def slip(
    written: Sequence[int], right: Sequence[int], symbols: Sequence[str]
) -> dict[str, Any] | None:
    """The first wrong token of a text and what stands around it; None if all of it is right.

    `at` counts characters from 0 within the text, `start` is where the part that is kept begins;
    `token` counts tokens.
    """
    if list(written) == list(right):
        return None
    shorter = min(len(written), len(right))
    at = next((i for i in range(shorter) if written[i] != right[i]), shorter)
    kept = slice(max(0, at - AROUND), at + AROUND)
    texts = ["".join(symbols[t] for t in text[kept]) for text in (written, right)]
    before = sum(len(symbols[t]) for t in right[:at])
    start = sum(len(symbols[t]) for t in right[: kept.start])
    return {"at": before, "start": start, "written": texts[0], "right": texts[1], "token": at}
