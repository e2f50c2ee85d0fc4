"""Curta: a laboratory for small transformers that learn arithmetic.

import curta
run = curta.train("addition", seeds=4)
run.ask("2+2")
run.evaluate(digits=(20, 100, 1000))
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import load, train
    from .errors import UserError
    from .session import Run

__all__ = ["Run", "UserError", "load", "train"]

_HOMES = {"load": "api", "train": "api", "UserError": "errors", "Run": "session"}


def __getattr__(name: str) -> Any:
    """Imports on first use: `import curta` must not cost the second that JAX takes."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'curta' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
