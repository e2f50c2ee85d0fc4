"""Proofs that a list of windows is complete: that they hold, and that they can fail."""

import itertools
from random import Random

import machines
import numpy as np
import pytest

from curta.machine import Given, Program
from curta.machine.beside import Cell, at_home, fixed
from curta.machine.closure import CARE, Care, Proof, close
from curta.machine.completing import prove
from curta.machine.draws import Drawer, Sizes
from curta.machine.listing import Recorder
from curta.machine.machine import Machine
from curta.machine.rules import Rules
from curta.machine.table import WindowTable
from curta.machine.tokens import HOME
from curta.programs import program_named

PAIR, ONE = Sizes(((1, 5), (1, 5))), Sizes(((1, 7),))
Recorders = dict[str, Recorder]

CASES = {
    "plus": (machines.plus, PAIR),
    "compare": (machines.compare, PAIR),
    "walk": (machines.walk, ONE),
    "turn": (machines.turn, ONE),
    "back": (machines.back, ONE),
    "longest": (machines.longest, PAIR),
    "greatest": (machines.greatest, Sizes(((1, 4), (1, 4)), (1, 3))),
}
UNPROVED = ("greatest",)


@pytest.fixture(scope="module")
def recorders() -> Recorders:
    """A recorder for each case, with a list that was proved complete."""
    found = {}
    for name, (program, sizes) in CASES.items():
        made = machines.made(program, sizes)
        recorder = machines.recorder(program, made)
        recorder.add([made.drawer.numbers(made.drawer.draw()) for _ in range(500)])
        if name in UNPROVED:
            recorder.add(operands(program))
        assert name in UNPROVED or prove(recorder, sizes, hunt=4_000).closed, name
        found[name] = recorder
    return found


def operands(program: Program) -> list[tuple[int, ...]]:
    """All small problems, and some long ones."""
    parts, rng = program.format.parts, Random(3)
    count = sum(isinstance(part, Given) for part in parts)
    small = list(itertools.product(range(110), repeat=count))
    drawer = Drawer(program.format, Sizes(((1, 60),) * count, (1, 5)), rng)
    return rng.sample(small, min(len(small), 2000)) + [
        drawer.numbers(drawer.draw()) for _ in range(40)
    ]


@pytest.mark.parametrize("name", [name for name in CASES if name not in UNPROVED])
def test_every_window_of_other_problems_is_listed(recorders: Recorders, name: str) -> None:
    recorder, program = recorders[name], CASES[name][0]
    before = len(recorder.table)
    recorder.add(operands(program))
    assert len(recorder.table) == before
    assert not recorder.strange


@pytest.mark.parametrize("care", CARE[:6])
@pytest.mark.parametrize("name", CASES)
def test_views_hold_what_is_around_every_query(recorders: Recorders, name: str, care: Care) -> None:
    """Not only windows: every square of a view, against what a dictionary says stands there."""
    recorder, program = recorders[name], CASES[name][0]
    machine, rules = recorder.machine, Rules(recorder.machine, program.format)
    proof = Proof(machine, recorder.windows, recorder.table, rules, care)
    proof.run()
    codes = {role: set(views.codes.tolist()) for role, views in proof.views.items()}
    for problem in operands(program)[::10]:
        tokens, prompt = program.record(problem, recorder._vocabulary)
        at = machine.positions(np.array(tokens))
        for query, picture in machines.pictures(machine, tokens, prompt):
            views = proof.views[int(machine.role[tokens[query]])]
            row = [shown(machine, picture, cell, at[query].tolist()) for cell in views.layout.cells]
            zones = np.clip(at[query], proof.step.zones.low, proof.step.zones.high)
            rows = np.array([[*row, *zones]], np.int32)
            code = proof.step.coder.code(rows, views.layout.cells)
            assert code.item() in codes[views.layout.role], (problem, query)


def shown(machine: Machine, picture: machines.Picture, cell: Cell, at: list[int]) -> int:
    """What a cell of a view should hold; of one with a coordinate, whether anything is there."""
    role, steps = cell
    away = tuple(d - HOME - x if fixed(d) else d for d, x in zip(steps, at, strict=True))
    token = picture.get((machine.roles[role].name, away), len(machine.tokens))
    any_ = int(np.flatnonzero(machine.role == role)[0])
    return any_ if at_home(cell) and token < len(machine.tokens) else token


@pytest.mark.parametrize("name", ["compare", "back", "longest"])
def test_a_list_that_lacks_a_window_is_not_closed(recorders: Recorders, name: str) -> None:
    recorder = recorders[name]
    for window in range(0, len(recorder.table), 41):
        lacking = without(recorder.table, window)
        found = close(recorder.machine, recorder.windows, lacking)
        assert not found.closed
        assert tuple(recorder.table.rows[window].tolist()) in [o.row for o in found.open]


def test_the_way_to_an_open_window_spells_out_a_problem(recorders: Recorders) -> None:
    recorder = recorders["plus"]
    window = int(np.argmax(recorder.table.example))
    row = tuple(recorder.table.rows[window].tolist())
    found = close(recorder.machine, recorder.windows, without(recorder.table, window))
    one = next(o for o in found.open if o.row == row)
    assert one.operands is not None
    again = Recorder(machines.plus, recorder.machine, recorder.windows)
    again.add([one.operands])
    assert again.table.find(np.array([row], np.int32))[0] >= 0


def test_a_rare_window_keeps_a_list_open() -> None:
    """Twelve odd digits in a row: the token for it is known, no listed window has it."""
    program, sizes = machines.rows, Sizes(((1, 9),))
    made = machines.made(program, sizes, words=(6**13,))
    recorder = machines.recorder(program, made)
    recorder.add([made.drawer.numbers(made.drawer.draw()) for _ in range(1500)])
    found = close(made.machine, made.windows, recorder.table)
    assert not found.closed
    assert prove(recorder, Sizes(((1, 16),)), hunt=4_000).closed
    twelve = [number for number, t in enumerate(made.machine.tokens) if t.value == 12]
    assert np.isin(recorder.table.rows, twelve).any()


def test_conflicts_and_prompts_without_a_place_are_not_proved(
    recorders: Recorders,
) -> None:
    recorder = recorders["walk"]
    table = without(recorder.table, 0)
    table.conflicts.append(((0,), (0, 1), (0, 1)))  # type: ignore[arg-type]
    found = close(recorder.machine, recorder.windows, table)
    assert not found.closed
    assert found.reasons == ["walk: a window with two different next tokens"]


def test_operands_that_go_on_from_others_are_not_proved() -> None:
    program = program_named("fractions")
    made = machines.made(program, Sizes(((1, 2),) * 4), problems=20)
    recorder = machines.recorder(program, made)
    found = close(recorder.machine, recorder.windows, recorder.table)
    assert not found.closed
    assert found.reasons == ["+.: the prompt has an operand that goes on from another"]


def without(table: WindowTable, window: int) -> WindowTable:
    """The same list, less one window."""
    less = WindowTable(table.rows.shape[1])
    keep = np.arange(len(table)) != window
    less._enter(table.rows[keep], table.targets[keep], table.example[keep])
    return less
