"""Curta: a laboratory for small transformers that learn arithmetic.

import curta
run = curta.train("addition", seeds=4)
run.ask("2+2")
run.evaluate(digits=(20, 100, 1000))
curta.compare(["addition", "addition-plain"], seeds=8).read_tables()["comparison"]

To write your own program, use `Answer, Given, Paper, Sign, program, written`; your own position
encoding, `Encoding, normal`; your own probe, `Finding, Probe, option`. To look inside a run, call
`run.activations`; to change what happens there, pass it an `Intervention`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curta.config.errors import UserError
    from curta.frontends.api import (
        compare,
        data,
        extend,
        load,
        probe,
        train,
    )
    from curta.model.positions.base import Encoding
    from curta.model.weights import normal
    from curta.probes.base import Finding, Probe, option
    from curta.probes.inside.activations import Activations
    from curta.probes.inside.interventions import Intervention
    from curta.programs.machine import Answer, Given, Paper, Program, Sign
    from curta.programs.machine.program import program, written
    from curta.programs.user.registry import check, register
    from curta.runs.comparison import Comparison
    from curta.runs.run import Run
    from curta.runs.verify import verify

__all__ = [
    "Activations",
    "Answer",
    "Comparison",
    "Encoding",
    "Finding",
    "Given",
    "Intervention",
    "Paper",
    "Probe",
    "Program",
    "Run",
    "Sign",
    "UserError",
    "check",
    "compare",
    "data",
    "extend",
    "load",
    "normal",
    "option",
    "probe",
    "program",
    "register",
    "train",
    "verify",
    "written",
]

_HOMES = dict.fromkeys(("compare", "data", "extend", "load", "probe", "train"), "frontends.api")
_HOMES |= dict.fromkeys(
    ("Answer", "Given", "Paper", "Program", "Sign", "program", "written"), "programs.machine"
)
_HOMES |= {"Encoding": "model.positions.base", "normal": "model.weights"}
_HOMES |= dict.fromkeys(("Finding", "Probe", "option"), "probes.base")
_HOMES |= {
    "Activations": "probes.inside.activations",
    "Intervention": "probes.inside.interventions",
}
_HOMES |= {"check": "programs.user.registry", "register": "programs.user.registry"}
_HOMES |= {"verify": "runs.verify"}
_HOMES |= {"UserError": "config.errors", "Run": "runs.run", "Comparison": "runs.comparison"}


def __dir__() -> list[str]:
    """List every public name, imported yet or not."""
    return __all__


def __getattr__(name: str) -> Any:
    """Import a name on first use: `import curta` must not cost the second that JAX takes."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'curta' has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
