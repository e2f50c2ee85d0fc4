"""The largest numbers, and the longest lists and texts, that a user may set, and why.

All are generous: what is worth training lies orders of magnitude below. They keep JAX's numbers
within 32 bits, and loops and lists finite. Whether a run fits the machine is another question:
see `training/estimate.py`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt, Le, MaxLen

from curta.config.errors import UserError, quoted

INT32 = 2**31 - 2
"""Seeds, and places in tables: numbers of JAX have 31 bits, and some are used plus one."""
STEPS = 1_000_000_000
"""Half of what a step's number can be: a step takes a tenth of a millisecond, so it is a day."""
EXTENSIONS = 100
"""How often a training is made longer: each is a course of the rate that is compiled."""
ROUNDS = 1_000
"""Most rounds of repair; each is a few hundred steps."""
BATCH = 1 << 20
"""Problems, or windows, of a step: four thousand times those of the default recipe."""
MEMBERS = 10_000
"""Models trained side by side: each has a line in every file of its run."""
WIDTH = 1 << 16
"""Five times that of GPT-3."""
PARTS = 4_096
"""Heads, buckets, hidden features: more than any published model has."""
LAYERS = 1_024
"""Blocks, and recurrences of them: each is compiled, or waited for."""
RATIO = 64
"""Width of an MLP, in widths of the model: usual is 4."""
POSITIONS = 1 << 20
"""Rows of a table of positions: a text of a million tokens needs 2**40 scores."""
DIGITS = 100_000
"""Of an operand: the longest that can be asked."""
DRAWN = 64
"""Most problems of a table that are drawn for one that is trained on."""
OPERANDS = 1_000
"""Of a problem: the most that can be asked."""
PROBLEMS = 10_000_000
"""Recorded, validated or evaluated: they are Python objects, a kilobyte each."""
GRID = 1_000
"""Digits on each side of a grid: a million cells."""
TABLE = 2_000
"""Highest operand of a whole table: it has four million problems."""
CERTIFICATE = 1_000_000_000
"""Tokens that are recorded for a certificate: an hour of recording."""
ROWS = 1_000_000_000
"""Rows of a data set: a few hours of writing, and tens of gigabytes."""
ITEMS = 1_000
"""Entries of a list: sizes, problems, names, tasks."""
ENTRIES = 1_000
"""Runs of a comparison, or of a sweep: each is compiled and trained for itself."""
LETTERS = 2_000
"""Characters of a summary or a title."""
NAME = 200
"""Characters of a name: of a file system's 255 some are kept for what is put before and after."""
PATH = 4_000
"""Characters of a path: Linux allows 4,096."""
PROBLEM = 250_000
"""Characters of a problem that stands in a recipe: two of the longest operands."""
VALUE = 1 << 20
"""Characters of a value on the command line: more than all problems of a recipe need."""
FILE = 1 << 24
"""Bytes of a recipe's file: ours have two thousand."""
RATE = 1e20
"""A learning rate, a decay, a deviation: far below it all training diverges."""
FACTOR = 1e12
"""Other factors: single precision has room for them and for their squares."""

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
    """Raises UserError for more members than a run may have; before a list of them is made."""
    count = seeds if isinstance(seeds, int) else len(seeds)
    if count > MEMBERS:
        given = f"{count:,}" if count <= INT32 else "so many"
        raise UserError(f"a run has at most {MEMBERS:,} seeds, not {given}")


def check_entries(count: int) -> None:
    """Raises UserError for more runs than a comparison, or a sweep, may have."""
    if count > ENTRIES:
        raise UserError(f"a comparison has at most {ENTRIES:,} runs, not {count:,}")


def check_name(given: str) -> None:
    """Raises UserError for a name that is too long, or that cannot be shown."""
    if not (given.strip() and given.isprintable() and len(given.encode()) <= NAME):
        raise UserError(f"{quoted(given)} is no name: a name has 1 to {NAME} printable characters")


def check_path(given: str) -> None:
    """Raises UserError for what can be no path, or name, of a file system."""
    if not given.strip():
        raise UserError(f"{quoted(given)} is empty: a name is needed")
    if not given.isprintable():
        raise UserError(f"{quoted(given)} has unprintable characters")
    parts = Path(given).parts if len(given) <= PATH else (given,)
    if any(len(part.encode()) > NAME for part in parts):
        raise UserError(f"{quoted(given)} is too long: a name has at most {NAME} characters")


def is_name(given: str) -> bool:
    """Whether a folder of a run may be called so: it must not be hidden, and no path."""
    fits = given.isprintable() and len(given.encode()) <= NAME
    return fits and bool(given.strip()) and Path(given).name == given and given[0] != "."
