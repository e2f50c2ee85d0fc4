"""The largest numbers that a user can set.

All are orders of magnitude above what is worth training. They keep JAX's numbers within 32 bits.
Whether a run fits the machine is checked by `model/model_cost.py`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt, Le

from curta.config.errors import UserError, quoted, refuse_if

INT32 = 2**31 - 2
"""Seeds, and places in tables: JAX's int32, and some are used plus one."""
STEPS = 1_000_000_000
"""Steps: half of the range of int32; at a tenth of a millisecond a step, a day."""
MEMBERS = 10_000
"""Members of a run: each has a line in every file of it."""
WIDTH = 1 << 16
"""Width of a model: five times that of GPT-3."""
PARTS = 4_096
"""Heads, buckets, hidden features: more than any published model has."""
LAYERS = 1_024
"""Blocks, and recurrences of them."""
RATIO = 64
"""Width of an MLP, in widths of the model; 4 is usual."""
DIGITS = 100_000
"""Digits of an operand."""
OPERANDS = 1_000
"""Operands of a problem."""
PROBLEMS = 10_000_000
"""Problems that are recorded, validated or evaluated: Python objects of a kilobyte."""
ROWS = 1_000_000_000
"""Rows of a data set: hours, and tens of gigabytes."""
ENTRIES = 1_000
"""Runs of a comparison or a sweep."""
LETTERS = 2_000
"""Characters of a summary or a title."""
NAME = 200
"""Characters of a name: a file system's 255, less room for prefixes and suffixes."""

Seed = Annotated[int, Ge(0), Le(INT32)]
Seeds = Annotated[int, Ge(1), Le(MEMBERS)] | tuple[Annotated[int, Ge(-INT32), Le(INT32)], ...]
Steps = Annotated[int, Ge(1), Le(STEPS)]
StepsOrNever = Annotated[int, Ge(0), Le(STEPS)]
Problems = Annotated[int, Ge(1), Le(PROBLEMS)]
Layers = Annotated[int, Ge(1), Le(LAYERS)]
Parts = Annotated[int, Ge(1), Le(PARTS)]
Positions = Annotated[int, Ge(1), Le(1 << 20)]  # a text of a million tokens has 2**40 scores
PositionsOrNone = Annotated[int, Ge(0), Le(1 << 20)]
Rate = Annotated[float, Gt(0.0), Le(1e20)]  # training diverges far below this
RateOrNone = Annotated[float, Ge(0.0), Le(1e20)]
Factor = Annotated[float, Gt(0.0), Le(1e12)]  # single precision holds its square


def check_seeds(seeds: int | Sequence[int]) -> None:
    """Raise UserError for more members than a run can have, before they are listed."""
    count = seeds if isinstance(seeds, int) else len(seeds)
    refuse_if(count > MEMBERS, f"a run has at most {MEMBERS:,} seeds, not {count:,}")


def check_entries(count: int) -> None:
    """Raise UserError for more runs than a comparison, or a sweep, can have."""
    refuse_if(count > ENTRIES, f"a comparison has at most {ENTRIES:,} runs, not {count:,}")


def check_path(path: str) -> None:
    """Raise UserError for a path that is empty, unprintable, or has a name that is too long."""
    refuse_if(not path.isprintable(), f"{quoted(path)} has unprintable characters")
    if not path.strip() or any(len(name.encode()) > NAME for name in Path(path).parts):
        raise UserError(f"{quoted(path)} is not a name: a name has 1 to {NAME} characters")
