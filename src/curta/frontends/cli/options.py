"""Options that several commands have, as they were given."""

from argparse import Namespace
from typing import Any

from curta.config.errors import UserError


def given(options: Namespace) -> dict[str, Any]:
    """The fields that were given a value, of a recipe or of a probe."""
    return {
        key.removeprefix("set "): value
        for key, value in vars(options).items()
        if key.startswith("set ") and value is not None
    }


def seeds(options: Namespace) -> Any:
    """How many seeds, where that was given; UserError for none."""
    if options.seeds is not None and options.seeds < 1:
        raise UserError(f"--seeds must be at least 1, not {options.seeds}")
    return options.seeds
