"""Blocks run several times over: with and without gradient."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from curta.model.layers import Flat

Tree = TypeVar("Tree")


def without_gradient(
    loop: Callable[[Tree, Flat, Array], Flat], tree: Tree, x: Flat, count: Int[Array, ""] | int
) -> Flat:
    """The state after `count` recurrences from `x` on, of the model and all else in `tree`.

    No gradient goes through them, but it goes to `x` if there are none.
    """
    if isinstance(count, int) and not count:
        return x
    still, start = jax.lax.stop_gradient((tree, x))
    after = jax.lax.fori_loop(0, count, lambda number, x: loop(still, x, number), start)
    return jnp.where(count == 0, x, after)


def followed(
    loop: Callable[[Tree, Flat, Array], Flat],
    tree: Tree,
    x: Flat,
    numbers: Int[Array, " recurrences"],
    read: Callable[[Flat], Array | None],
    written_out: int,
) -> tuple[Flat, Array | None]:
    """The state after the recurrences of these numbers, and what is read of it after each, stacked.

    `written_out` says how many stand one after the other in the compiled program.
    """

    def one(x: Flat, number: Array) -> tuple[Flat, Array | None]:
        x = loop(tree, x, number)
        return x, read(x)

    if not len(numbers):
        return x, None
    return jax.lax.scan(one, x, numbers, unroll=min(len(numbers), max(1, written_out)))
