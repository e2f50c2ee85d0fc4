"""Curta: a laboratory for small transformers that learn arithmetic.

import curta
run = curta.train("addition", seeds=4)
run.ask("2+2")
run.evaluate(digits=(20, 100, 1000))
curta.compare(["addition", "addition-plain"], seeds=8).table

A program of one's own is written with `Answer, Given, Paper, Sign, program, written`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import compare, load, probe, sweep, train
    from .checking import check
    from .comparison import Comparison
    from .errors import UserError
    from .machine import Answer, Given, Paper, Program, Sign
    from .machine.program import program, written
    from .registry import register
    from .session import Run

__all__ = [
    "Answer",
    "Comparison",
    "Given",
    "Paper",
    "Program",
    "Run",
    "Sign",
    "UserError",
    "check",
    "compare",
    "load",
    "probe",
    "program",
    "register",
    "sweep",
    "train",
    "written",
]

_HOMES = dict.fromkeys(("compare", "load", "probe", "sweep", "train"), "api")
_HOMES |= dict.fromkeys(
    ("Answer", "Given", "Paper", "Program", "Sign", "program", "written"), "machine"
)
_HOMES |= {"check": "checking", "register": "registry"}
_HOMES |= {"UserError": "errors", "Run": "session", "Comparison": "comparison"}


def __getattr__(name: str) -> Any:
    """Imports on first use: `import curta` must not cost the second that JAX takes."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'curta' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
