"""The largest numbers, and the longest lists and texts, that a user can set.

All are orders of magnitude above what is worth training. They keep JAX's numbers within 32 bits,
and loops and lists finite. Whether a run fits the machine is checked by `training/estimate.py`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt, Le, MaxLen

from curta.config.errors import UserError, quoted

INT32 = 2**31 - 2
"""Seeds, and places in tables: JAX's int32, and some are used plus one."""
STEPS = 1_000_000_000
"""Steps: half of the range of int32; at a tenth of a millisecond a step, a day."""
EXTENSIONS = 100
"""How often a training is extended: each extension is a schedule that is compiled."""
ROUNDS = 1_000
"""Rounds of repair, each of a few hundred steps."""
BATCH = 1 << 20
"""Problems, or windows, of a step: four thousand times the default recipe's."""
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
POSITIONS = 1 << 20
"""Positions: a text of a million tokens has 2**40 scores."""
DIGITS = 100_000
"""Digits of an operand."""
DRAWN = 64
"""Problems of a table that are drawn for one that is trained on."""
OPERANDS = 1_000
"""Operands of a problem."""
PROBLEMS = 10_000_000
"""Problems that are recorded, validated or evaluated: Python objects of a kilobyte."""
GRID = 1_000
"""Digits on each side of a heat map: a million cells."""
TABLE = 2_000
"""Highest operand of an evaluated table: four million problems."""
CERTIFICATE = 1_000_000_000
"""Tokens recorded for a certificate: an hour."""
ROWS = 1_000_000_000
"""Rows of a data set: hours, and tens of gigabytes."""
ITEMS = 1_000
"""Entries of a list: sizes, problems, names, tasks."""
ENTRIES = 1_000
"""Runs of a comparison or a sweep."""
LETTERS = 2_000
"""Characters of a summary or a title."""
NAME = 200
"""Characters of a name: a file system's 255, less room for prefixes and suffixes."""
PATH = 4_000
"""Characters of a path: Linux allows 4,096."""
PROBLEM = 250_000
"""Characters of a problem in a recipe: two of the longest operands."""
VALUE = 1 << 20
"""Characters of a value on the command line: enough for all problems of a recipe."""
FILE = 1 << 24
"""Bytes of a recipe's file; Curta's have two thousand."""
RATE = 1e20
"""Learning rates, decays, deviations: training diverges far below this."""
FACTOR = 1e12
"""Other factors: single precision holds their squares."""

Seed = Annotated[int, Ge(0), Le(INT32)]
Seeds = (
    Annotated[int, Ge(1), Le(MEMBERS)]
    | Annotated[tuple[Annotated[int, Ge(-INT32), Le(INT32)], ...], MaxLen(MEMBERS)]
)
Steps = Annotated[int, Ge(1), Le(STEPS)]
StepsOrNever = Annotated[int, Ge(0), Le(STEPS)]
Problems = Annotated[int, Ge(1), Le(PROBLEMS)]
Layers = Annotated[int, Ge(1), Le(LAYERS)]
Parts = Annotated[int, Ge(1), Le(PARTS)]
Positions = Annotated[int, Ge(1), Le(POSITIONS)]
PositionsOrNone = Annotated[int, Ge(0), Le(POSITIONS)]
Rate = Annotated[float, Gt(0.0), Le(RATE)]
RateOrNone = Annotated[float, Ge(0.0), Le(RATE)]
Factor = Annotated[float, Gt(0.0), Le(FACTOR)]
Name = Annotated[str, MaxLen(NAME)]
PathName = Annotated[str, MaxLen(PATH)]


def check_seeds(seeds: int | Sequence[int]) -> None:
    """Raise UserError for more members than a run can have, before they are listed."""
    count = seeds if isinstance(seeds, int) else len(seeds)
    if count > MEMBERS:
        number = f"{count:,}" if count <= INT32 else "so many"
        raise UserError(f"a run has at most {MEMBERS:,} seeds, not {number}")


def check_entries(count: int) -> None:
    """Raise UserError for more runs than a comparison, or a sweep, can have."""
    if count > ENTRIES:
        raise UserError(f"a comparison has at most {ENTRIES:,} runs, not {count:,}")


def check_name(name: str) -> None:
    """Raise UserError for a name that is empty, too long or unprintable."""
    if not (name.strip() and name.isprintable() and len(name.encode()) <= NAME):
        raise UserError(
            f"{quoted(name)} is not a name: a name has 1 to {NAME} printable characters"
        )


def check_path(path: str) -> None:
    """Raise UserError for a path that is empty, unprintable, or has a name that is too long."""
    if not path.strip():
        raise UserError(f"{quoted(path)} is empty: a name is needed")
    if not path.isprintable():
        raise UserError(f"{quoted(path)} has unprintable characters")
    names = Path(path).parts if len(path) <= PATH else (path,)
    if any(len(name.encode()) > NAME for name in names):
        raise UserError(f"{quoted(path)} is too long: a name has at most {NAME} characters")


def is_name(name: str) -> bool:
    """Return whether a run can have this name: printable, no path, not hidden."""
    fits = name.isprintable() and len(name.encode()) <= NAME
    return fits and bool(name.strip()) and Path(name).name == name and name[0] != "."
