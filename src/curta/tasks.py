"""Which problems are drawn: on the device for training, as Python ints for tests."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge, Le
from jaxtyping import Array, Int, PRNGKeyArray, UInt

from .errors import UserError
from .layouts import Numbers
from .problems import Problem

Rate = Annotated[float, Ge(0.0), Le(1.0)]


@dataclass(frozen=True)
class Task:
    """Addition of two numbers whose digit counts are uniform and independent.

    A share of the problems, `carry_chains`, has operands of one length whose
    digits mostly add up to nine, so that carries run far; else they hardly would.
    """

    operator: str = "+"
    digits: tuple[int, int] = (1, 10)
    carry_chains: Rate = 0.25

    def __post_init__(self) -> None:
        low, high = self.digits
        if not 1 <= low <= high:
            raise UserError(f"task.digits must be two counts, 1 <= low <= high, not {low}..{high}")

    def draw(self, key: PRNGKeyArray, batch: int) -> Numbers:
        """A batch for training, a pure function of `key`.

        All randomness comes from one draw of bits: each further one would add
        to every step, and more to compilation than the rest of this function.
        """
        low, high = self.digits
        bits = jax.random.bits(key, (batch, 4 + 3 * high))
        choice, digits, noise = jnp.split(bits, [4, 4 + 2 * high], axis=1)
        lengths = low + _below(choice[:, :2], high - low + 1)
        chain = _below(choice[:, 2], 1 << 16) < round(self.carry_chains * (1 << 16))
        lengths = jnp.where(chain[:, None], lengths[:, :1], lengths)
        operands = _below(digits, 10).reshape(batch, 2, high)
        nines = chain[:, None] & (_below(noise, 5) > 0)
        second = jnp.where(nines, 9 - operands[:, 0], operands[:, 1])
        return numbers(operands.at[:, 1].set(second), lengths)


def numbers(
    digits: Int[Array, "batch operands width"], lengths: Int[Array, "batch operands"]
) -> Numbers:
    """Cuts digit rows to `lengths`; a leading zero becomes a one, but zero itself stays."""
    places = jnp.arange(digits.shape[-1])
    leading = (places == lengths[..., None] - 1) & (lengths[..., None] > 1) & (digits == 0)
    digits = jnp.where(leading, 1, digits)
    return Numbers(jnp.where(places < lengths[..., None], digits, 0), lengths)


def _below(bits: UInt[Array, "*shape"], bound: int) -> Int[Array, "*shape"]:
    """Whole numbers in 0..bound-1; the bias of the modulus is below one in 10^7 here."""
    return (bits % jnp.uint32(bound)).astype(jnp.int32)


def random_problem(rng: np.random.Generator, first: int, second: int) -> Problem:
    """Two operands of exactly these digit counts."""
    return Problem("+", (_random_int(rng, first), _random_int(rng, second)))


def unequal_problem(rng: np.random.Generator, first: int, second: int) -> Problem:
    """One operand of full length and one that is shorter, either way round."""
    shorter = int(rng.integers(1, second + 1))
    operands = (_random_int(rng, first), _random_int(rng, shorter))
    return Problem("+", operands if rng.random() < 0.5 else operands[::-1])


def carry_problem(rng: np.random.Generator, first: int, second: int) -> Problem:
    """A carry that runs through every place, such as 99...9 + 1 or 6238 + 3762."""
    value = _random_int(rng, max(first, second))
    value += value % 10 == 0  # else the carry would begin above the zeros
    nines = 10 ** max(first, second) - 1
    operands = (nines, 1) if rng.random() < 0.25 else (value, nines - value + 1)
    return Problem("+", operands if rng.random() < 0.5 else operands[::-1])


CATEGORIES: dict[str, Callable[[np.random.Generator, int, int], Problem]] = {
    "random": random_problem,
    "unequal": unequal_problem,
    "carry": carry_problem,
}
"""Kinds of test problems, so that a report shows where errors are."""


def problems(category: str, digits: tuple[int, int], count: int, seed: int) -> list[Problem]:
    """`count` test problems, a pure function of the arguments."""
    tag = sorted(CATEGORIES).index(category)
    rng = np.random.default_rng([seed, tag, *digits])
    return [CATEGORIES[category](rng, *digits) for _ in range(count)]


def _random_int(rng: np.random.Generator, digits: int) -> int:
    """Uniform among the numbers of exactly that many digits, zero included for one digit."""
    low = 0 if digits == 1 else 10 ** (digits - 1)
    span = 10**digits - low
    return low + int.from_bytes(rng.bytes(digits // 2 + 8), "little") % span
