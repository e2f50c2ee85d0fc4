"""Programs without calls: the same results, and nothing but primitives."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from curta.export.inlined import CALLS, inlined
from tests import tiny


@jax.jit
def square(x: jax.Array) -> jax.Array:
    return jnp.square(jax.nn.relu(x))


def program(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Calls within calls, a derivative rule, and a loop with a call in it."""
    total, each = jax.lax.scan(lambda sum, row: (sum + square(row), square(sum)), x[0], x)
    return jax.nn.softmax(total), each


def primitives(jaxpr: Any) -> set[str]:
    found = {equation.primitive.name for equation in jaxpr.eqns}
    inner = [
        equation.params["jaxpr"].jaxpr for equation in jaxpr.eqns if "jaxpr" in equation.params
    ]
    return found.union(*map(primitives, inner))


def test_no_call_is_left_and_the_results_stay() -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=(4, 3)), jnp.float32)
    traced = jax.make_jaxpr(program)(x)
    assert primitives(traced.jaxpr) & set(CALLS), "there must be calls to begin with"
    written_out = inlined(traced)
    assert not primitives(written_out.jaxpr) & set(CALLS)
    found = jax.core.eval_jaxpr(written_out.jaxpr, written_out.consts, x)
    for ours, theirs in zip(program(x), found, strict=True):
        tiny.assert_close(theirs, ours)
