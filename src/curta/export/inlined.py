"""A traced function with every call in it written out: nothing but JAX's primitives is left."""

from functools import partial
from typing import Any

import jax

CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}
"""Primitives that do no more than call what stands in the parameter named here."""


def inlined(traced: Any) -> Any:
    """The same program (a `ClosedJaxpr`), without calls; bodies of loops stay, without calls."""
    return jax.make_jaxpr(partial(evaluate, traced))(*traced.in_avals)


def evaluate(traced: Any, *given: Any) -> list[Any]:
    """The results of a traced program, primitive by primitive."""
    jaxpr = traced.jaxpr
    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*traced.consts, *given), strict=True))

    def value(atom: Any) -> Any:
        return atom.val if hasattr(atom, "val") else known[atom]

    for equation in jaxpr.eqns:
        found = _apply(equation, [value(atom) for atom in equation.invars])
        known |= dict(zip(equation.outvars, found, strict=True))
    return [value(atom) for atom in jaxpr.outvars]


def _apply(equation: Any, given: list[Any]) -> list[Any]:
    primitive, settings = equation.primitive, equation.params
    if primitive.name in CALLS:
        return evaluate(settings[CALLS[primitive.name]], *given)
    if primitive.name == "scan":
        settings = {**settings, "jaxpr": inlined(settings["jaxpr"])}
    found = primitive.bind(*given, **settings)
    return found if primitive.multiple_results else [found]
