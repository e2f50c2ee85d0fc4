"""Libraries that only some commands need; each belongs to an extra of the package."""

from importlib import import_module
from typing import Any

from curta.config.errors import UserError


def module(name: str, extra: str) -> Any:
    """The module of that name; a UserError names the extra that brings it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        library = name.partition(".")[0]
        if (error.name or "").partition(".")[0] != library:
            raise  # it is there, and itself broken
        raise UserError(f"{library} is not installed: pip install 'curta[{extra}]'") from None
