"""Squared paper as data: where tokens stand, which way axes run, and what is cut away."""

import numpy as np

from curta.problems.sizes import Sizes
from curta.programs import PROGRAMS
from curta.programs.machine import drawing, store
from curta.programs.machine.survey import survey


def test_every_token_stands_where_the_machine_says() -> None:
    program, sizes = PROGRAMS["division"], Sizes((1, 4), (1, 2), (2, 2))
    machine = survey([program], {"//": sizes}).machine
    tokens, _ = store.recorder(machine, [program]).record("//", (157, 12))
    found = {
        mark.time: (block.name, line.name, column)
        for sheet in [drawing.text(machine, tokens)]
        for block in sheet.blocks
        for line in block.lines
        for column, square in zip(sheet.columns, line.squares, strict=True)
        for mark in square
    }
    assert sorted(found) == list(range(len(tokens)))
    for time, (token, at) in enumerate(
        zip(tokens, machine.positions(np.array(tokens)), strict=True)
    ):
        wide = machine.roles[machine.role[token]].broadcast
        place, row, step = (
            "all" if axis in wide else str(x) for axis, x in zip(machine.axes, at, strict=True)
        )
        assert found[time] == (f"step {step}", row, place)
