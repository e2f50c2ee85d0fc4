"""Squared paper as data: where tokens stand, which way axes run, and what is cut away."""

import numpy as np
import pytest

from curta.layouts.program import ProgramLayout
from curta.problems.problem import Problem
from curta.problems.sizes import Sizes
from curta.programs import PROGRAMS
from curta.programs.machine import drawing
from curta.programs.machine.drawing import Sheet
from curta.programs.machine.survey import survey


@pytest.fixture(scope="module")
def addition() -> ProgramLayout:
    return surveyed("addition", Sizes((1, 4), (1, 4), (2, 2)))


@pytest.fixture(scope="module")
def division() -> ProgramLayout:
    return surveyed("division", Sizes((1, 4), (1, 2), (2, 2)))


def surveyed(name: str, sizes: Sizes) -> ProgramLayout:
    program = PROGRAMS[name]
    found = survey([program], {program.operator: sizes})
    return ProgramLayout(found.machine, found.windows, found.recorder)


def drawn(sheet: Sheet) -> list[list[str]]:
    """Each row as its line, its role, and its symbols in one string; blanks where nothing is."""
    rows = (
        (line.name, role, marks)
        for block in sheet.blocks
        for line in block.lines
        for role, marks in drawing.ruled(line)
    )
    return [
        [line, role, "".join(mark.symbol if mark else " " for mark in marks)]
        for line, role, marks in rows
    ]


def test_a_sum_is_drawn_as_on_paper(addition: ProgramLayout) -> None:
    tokens, _ = addition.tokens_of(Problem("+", (57, 968)))
    sheet = drawing.text(addition.machine, tokens)
    assert sheet.columns == ("3", "2", "1", "0", "-1")
    assert drawn(sheet) == [
        ["", "a", "  57 "],
        ["", "operator", "    +"],
        ["", "b", " 968 "],
        ["", "equals", "    ="],
        ["", "sum", "1025 "],
        ["", "end", "$    "],
    ]


def test_every_token_stands_where_the_machine_says(division: ProgramLayout) -> None:
    machine = division.machine
    tokens, _ = division.tokens_of(Problem("//", (157, 12)))
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
