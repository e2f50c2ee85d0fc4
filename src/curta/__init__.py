"""Curta: a laboratory for small transformers that learn arithmetic.

import curta
run = curta.train("addition", seeds=4)
run.ask("2+2")
run.evaluate(digits=(20, 100, 1000))
curta.compare(["addition", "addition-plain"], seeds=8).table
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import compare, load, probe, sweep, train
    from .comparison import Comparison
    from .errors import UserError
    from .session import Run

__all__ = ["Comparison", "Run", "UserError", "compare", "load", "probe", "sweep", "train"]

_HOMES = dict.fromkeys(("compare", "load", "probe", "sweep", "train"), "api")
_HOMES |= {"UserError": "errors", "Run": "session", "Comparison": "comparison"}


def __getattr__(name: str) -> Any:
    """Imports on first use: `import curta` must not cost the second that JAX takes."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'curta' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
