"""Proofs that a list of windows is complete: that they hold, and that they can fail."""

import itertools
from random import Random

import numpy as np
import pytest

from curta.problems.sizes import Sizes
from curta.programs import PROGRAMS
from curta.programs.machine import Given, Program
from curta.programs.machine.draws import Drawer
from curta.programs.machine.recording import Seen
from curta.programs.machine.table import WindowTable
from curta.programs.proof.closure import close
from curta.programs.proof.completing import prove
from curta.programs.proof.listing import Lister
from tests.programs.machine import machines

PAIR, ONE = Sizes((1, 5), (1, 5), (2, 2)), Sizes((1, 7), (1, 7), (1, 1))
Listers = dict[str, Lister]

CASES = {
    "plus": (machines.plus, PAIR),
    "compare": (machines.compare, PAIR),
    "walk": (machines.walk, ONE),
    "turn": (machines.turn, ONE),
    "back": (machines.back, ONE),
    "longest": (machines.longest, PAIR),
    "greatest": (machines.greatest, Sizes((1, 4), (1, 4), (2, 4))),
}
UNPROVED = ("greatest",)


@pytest.fixture(scope="module")
def listers() -> Listers:
    """A lister for each case, with a list that was proved complete."""
    found = {}
    for name, (program, sizes) in CASES.items():
        made = machines.made(program, sizes)
        lister = machines.lister(program, made)
        lister.add([made.drawer.numbers(made.drawer.draw()) for _ in range(500)])
        if name in UNPROVED:
            lister.add(operands(program))
        assert name in UNPROVED or prove(lister, sizes, hunt=4_000).closed, name
        found[name] = lister
    return found


def operands(program: Program) -> list[tuple[int, ...]]:
    """All small problems, and some long ones."""
    parts, rng = program.format.parts, Random(3)
    count = sum(isinstance(part, Given) for part in parts)
    small = list(itertools.product(range(110), repeat=count))
    many = any(isinstance(part, Given) and part.many for part in parts)
    drawer = Drawer(program, Sizes((1, 60), (1, 60), (count, count + 4 * many)), rng)
    return rng.sample(small, min(len(small), 2000)) + [
        drawer.numbers(drawer.draw()) for _ in range(40)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in UNPROVED])
def test_every_window_of_other_problems_is_listed(listers: Listers, name: str) -> None:
    lister, program = listers[name], CASES[name][0]
    before = len(lister.table)
    lister.add(operands(program))
    assert len(lister.table) == before
    assert not lister.strange


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compare", "back", "longest"])
def test_a_list_that_lacks_a_window_is_not_closed(listers: Listers, name: str) -> None:
    lister = listers[name]
    for window in range(0, len(lister.table), 41):
        lacking = without(lister.table, window)
        found = close(lister.machine, lister.windows, lacking)
        assert not found.closed
        assert tuple(lister.table.rows[window].tolist()) in [o.row for o in found.open]


def test_the_way_to_an_open_window_spells_out_a_problem(listers: Listers) -> None:
    lister = listers["plus"]
    window = int(np.argmax(lister.table.example))
    row = tuple(lister.table.rows[window].tolist())
    found = close(lister.machine, lister.windows, without(lister.table, window))
    one = next(o for o in found.open if o.row == row)
    assert one.operands is not None
    again = Lister(machines.plus, lister.machine, lister.windows)
    again.add([one.operands])
    assert again.table.find(np.array([row], np.int32))[0] >= 0


def test_a_rare_window_keeps_a_list_open() -> None:
    """Twelve odd digits in a row: the token for it is known, no listed window has it."""
    program, sizes = machines.rows, ONE._replace(first=(1, 9))
    made = machines.made(program, sizes, words=(6**13,))
    lister = machines.lister(program, made)
    lister.add([made.drawer.numbers(made.drawer.draw()) for _ in range(1500)])
    found = close(made.machine, made.windows, lister.table)
    assert not found.closed
    assert prove(lister, ONE._replace(first=(1, 16)), hunt=4_000).closed
    twelve = [number for number, t in enumerate(made.machine.tokens) if t.value == 12]
    assert np.isin(lister.table.rows, twelve).any()


def test_conflicts_and_prompts_without_a_place_are_not_proved(
    listers: Listers,
) -> None:
    lister = listers["walk"]
    table = without(lister.table, 0)
    table.conflicts.append(((0,), (0, 1), (0, 1)))  # type: ignore[arg-type]
    found = close(lister.machine, lister.windows, table)
    assert not found.closed
    assert found.reasons == ["walk: a window with two different next tokens"]


def test_operands_that_go_on_from_others_are_not_proved() -> None:
    program = PROGRAMS["fractions"]
    made = machines.made(program, Sizes((1, 2), (1, 2), (4, 4)), problems=20)
    lister = machines.lister(program, made)
    found = close(lister.machine, lister.windows, lister.table)
    assert not found.closed
    assert found.reasons == ["+.: the prompt has an operand that goes on from another"]


def without(table: WindowTable, window: int) -> WindowTable:
    """The same list, less one window."""
    less = WindowTable(table.rows.shape[1])
    keep = np.arange(len(table)) != window
    less.add(Seen(table.rows[keep], table.targets[keep], table.example[keep]))
    return less
