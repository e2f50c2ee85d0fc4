"""Squared paper as data: where tokens stand, which way axes run, and what is cut away."""

import numpy as np
import pytest

from curta.layouts.program import ProgramLayout
from curta.problems.problem import Problem, parse
from curta.problems.sizes import Sizes
from curta.programs import PROGRAMS
from curta.programs.machine import drawing
from curta.programs.machine.drawing import GAP, NONE, Cut, Line, Mark, Sheet
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


def test_a_number_of_two_operands_runs_as_its_last_one_does() -> None:
    layout = surveyed("fractions", Sizes((1, 2), (1, 2), (4, 4)))
    sheet = drawing.text(layout.machine, layout.tokens_of(parse("12.5+3.75"))[0])
    columns = [int(column) for column in sheet.columns]
    assert columns == sorted(columns, reverse=True)
    rows = {row[1]: row[2] for row in drawn(sheet)}
    assert [rows[role].strip() for role in ("a", "a fraction", "sum", "sum fraction")] == [
        "12", "50", "16", "25",
    ]  # fmt: skip


def test_a_wide_sheet_keeps_its_ends_or_what_is_near(addition: ProgramLayout) -> None:
    tokens, _ = addition.tokens_of(Problem("+", (10**30, 1)))
    ends = drawing.text(addition.machine, tokens, Cut(columns=6))
    assert ends.columns == ("30", "29", "28", GAP, "1", "0", "-1")
    at = next(t for t, mark in enumerate(drawing.places(addition.machine, tokens)) if mark == (15,))
    near = drawing.text(addition.machine, tokens, Cut(columns=3, around=at))
    assert near.columns == (GAP, "16", "15", "14", GAP)


def test_steps_tell_moves_squares_and_what_is_seen(addition: ProgramLayout) -> None:
    tokens, prompt = addition.tokens_of(Problem("+", (57, 68)))
    steps = drawing.steps(addition.machine, addition.windows, tokens, prompt)
    assert [step.symbol for step in steps] == list("75+86=521$")
    assert [step.given for step in steps] == [True] * 6 + [False] * 4
    assert (steps[2].move, steps[2].square, steps[2].sees) == (("home-1",), ("-1",), None)
    assert steps[5].sees is not None
    assert dict(steps[5].sees) == {"a place+1": "7", "b place+1": "8"}
    assert steps[8].sees is not None
    assert dict(steps[8].sees)["a place+1"] == NONE
    assert steps[9].sees is None


def test_a_window_is_drawn_around_its_query(addition: ProgramLayout) -> None:
    near = [("a", (1,)), ("b", (0,))]
    sheet = drawing.window(addition.machine, "sum", near)
    assert sheet.columns == ("1", "0")
    assert sheet.blocks[0].lines == (
        Line("", ((Mark(1, "a", "a"),), (Mark(0, "sum", "sum"), Mark(2, "b", "b")))),
    )


def test_what_is_everywhere_stands_in_a_margin(division: ProgramLayout) -> None:
    sheet = drawing.window(
        division.machine, "same", [("divisor", (-1, 0, 0)), ("times", (0, 0, 0))]
    )
    assert [block.name for block in sheet.blocks] == ["step all"]
    assert [line.name for line in sheet.blocks[0].lines] == ["all", "0"]
    assert sheet.columns == ("0", "-1", "all")
