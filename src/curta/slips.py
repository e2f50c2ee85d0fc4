"""Where what was written goes wrong: its first token that is not the right one."""

from typing import Any

AROUND = 60
"""Tokens that are kept before the first wrong one, and from it on: traces may be very long."""


def slip(written: str, right: str) -> dict[str, Any] | None:
    """The first wrong token of a text and what stands around it; None if all of it is right.

    `at` counts from 0 within the text, `start` is where the part that is kept begins.
    """
    if written == right:
        return None
    shorter = min(len(written), len(right))
    at = next((i for i in range(shorter) if written[i] != right[i]), shorter)
    kept = slice(max(0, at - AROUND), at + AROUND)
    return {"at": at, "start": kept.start, "written": written[kept], "right": right[kept]}
