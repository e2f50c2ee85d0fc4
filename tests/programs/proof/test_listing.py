"""Lists of windows: what a search finds, within which sizes, and what the bounds say."""

import math
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.problems.sizes import Sizes
from curta.programs.addition import addition
from curta.programs.machine import Answer, Given, Paper, Sign, program, written
from curta.programs.machine.sampling import Drawer
from curta.programs.proof.closing import prove
from curta.programs.proof.listing import chernoff, list_windows, search
from tests.programs.machine import machines

LONG = int("5311", 6)
"""Four odd digits in a row, with which `rows` writes a 4."""
SIZES = Sizes((1, 4), (2, 3), (2, 2))
MANY = written(
    "many", axes=("x", "y"), prompt=(Given("a", "x", many="y", base=7), Sign("=")),
    answer=Answer("out"), truth=max,
)  # fmt: skip


@pytest.fixture(scope="module")
def made() -> machines.Made:
    return machines.made(addition, Sizes((1, 6), (1, 6), (2, 2)))


def test_search_stays_within_sizes(made: machines.Made) -> None:
    found = search(machines.lister(addition, made), SIZES, Random(1), 8_000)
    assert found
    for a, b in found:
        assert 1 <= len(str(a)) <= 4
        assert 2 <= len(str(b)) <= 3


@given(seed=st.integers(0, 1000), low=st.integers(1, 3), more=st.integers(0, 3))
def test_changes_stay_within_sizes_and_base(seed: int, low: int, more: int) -> None:
    drawer = Drawer(MANY, Sizes(*[(low, low + more)] * 2, (2, 4)), Random(seed))
    digits = drawer.draw()
    for _ in range(20):
        digits = drawer.change(digits)
        assert 2 <= len(digits) <= 4
        assert all(low <= len(number) <= low + more for number in digits)
        assert all(0 <= digit < 7 for number in digits for digit in number)
        assert all(len(number) == 1 or number[-1] for number in digits)
        assert drawer.digits(drawer.numbers(digits)) == digits


def test_list_has_a_problem_for_every_window(made: machines.Made) -> None:
    lister = machines.lister(addition, made)
    listing = list_windows(lister, SIZES, budget=13_000)
    assert len(lister.examples) == len(lister.table)
    for window in range(0, len(lister.table), 97):
        again = machines.lister(addition, made)
        again.add([lister.examples[window]])
        assert again.table.find(lister.table.rows[window : window + 1])[0] >= 0
    assert lister.curve[-1] == (lister.tokens, len(lister.table))
    assert lister.tokens >= 13_000
    assert 0 < listing.drawn < lister.problems
    assert listing.fresh / listing.drawn < listing.bound <= 1


@pytest.mark.parametrize(("hits", "draws"), [(0, 100), (3, 100), (50, 100), (100, 100)])
def test_chernoff_is_above_the_exact_bound(hits: int, draws: int) -> None:
    """Exact: the chance at which so few hits have probability 0.01, by the binomial sum."""
    bound = chernoff(hits, draws, 0.01)
    few = sum(math.comb(draws, k) * bound**k * (1 - bound) ** (draws - k) for k in range(hits + 1))
    assert hits == draws or few <= 0.01
    assert chernoff(0, 100, 0.01) == pytest.approx(1 - 0.01 ** (1 / 100))


def test_tokens_that_a_machine_lacks_are_told() -> None:
    made = machines.made(machines.rows, Sizes((1, 3), (1, 3), (1, 1)))
    lister = machines.lister(machines.rows, made)
    lister.add([(LONG,), (12,)])
    assert lister.unwritable == [(LONG,)]
    assert lister.problems == 1


@program(
    "halved", axes=("place",), prompt=machines.ONE, answer=Answer("half"), truth=lambda n: n // 2,
    draw=lambda rng, digits: (2 * rng.randrange(6**digits // 2),),
    refuse=lambda n: "it is odd" if n % 2 else None,
)  # fmt: skip
def halved(paper: Paper, a: list[int]) -> None:
    """a / 2 of an even number, from the right; base 6."""
    for low, high in zip(a, [*a[1:], 0], strict=True):
        assert a[0] % 2 == 0
        paper.move(place=+1).write("half", low // 2 + 3 * (high % 2))
    paper.end()


@pytest.mark.parametrize("says", [True, False])
def test_a_program_that_draws_its_own_problems_is_asked_no_others(says: bool) -> None:
    """Whether or not it says which others it would refuse."""
    of = halved if says else replace(halved, refuse=None)
    sizes = Sizes((1, 4), (1, 4), (1, 1))
    lister = machines.lister(of, machines.made(of, sizes))
    list_windows(lister, sizes, budget=13_000)
    prove(lister)
    assert lister.problems
    assert all(n % 2 == 0 for (n,) in lister.examples)
    assert not lister.unwritable
