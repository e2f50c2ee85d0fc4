"""`curta check`: programs of a file, or one by its name, held against their truth."""

from pathlib import Path
from typing import Any

from curta.problems.notation import written
from curta.problems.operations import OPERATIONS
from curta.problems.sizes import Sizes
from curta.programs import BUILT_IN
from curta.programs.machine import Program
from curta.programs.machine.check import Checked, Wrong
from curta.programs.machine.check import check as check_program
from curta.programs.user import generic, registry
from curta.programs.user.kept import plain


def check(program: str | Path | Program) -> list[Checked]:
    """What is found of the programs of a file, of a program's name, or of a program itself."""
    if isinstance(program, Program):
        registry.adopt(program)
        return [_checked(program)]
    return [_checked(one) for one in registry.programs_of(str(program))]


def _checked(program: Program) -> Checked:
    operation = OPERATIONS[program.operator]
    digits = program.sizes.get("digits", generic.DIGITS)
    operands = program.sizes.get("operands", (operation.least, operation.least))
    sizes = Sizes(digits, program.sizes.get("second", digits), operands)
    truth = program.truth or operation.truth
    other = program.truth is not None and program.operator in BUILT_IN
    same = other and getattr(operation, "program", None) is program
    return check_program(program, sizes, truth, operation.truth if other and not same else None)


def table(found: Checked) -> dict[str, Any]:
    """What was found, as JSON has it."""
    machine = found.machine
    return {
        "program": found.program.name,
        "operator": found.program.operator,
        "learnable": found.learnable,
        "tokens": len(machine.tokens),
        "roles": [role.name for role in machine.roles],
        "moves": sorted({token.move for token in machine.tokens}),
        "windows": found.windows,
        "distinct_windows": found.distinct,
        "sizes": [vars(size) for size in found.sizes],
        "tokens_per_second": found.tokens_per_second,
        "wrong": found.wrongs,
        "wrong_examples": list(map(_row, found.wrong)),
        "other_truth": list(map(_row, found.other_truth)),
        "conflicts": [
            vars(one) | {"window": [cell._asdict() for cell in one.window]}
            for one in found.conflicts
        ],
        "growing_moves": [vars(one) for one in found.growing],
    }


def _row(one: Wrong) -> dict[str, Any]:
    return vars(one) | {"written": plain(one.written), "truth": plain(one.truth)}


def problem_text(program: Program, operands: tuple[int, ...]) -> str:
    """A problem as people write it."""
    operation = OPERATIONS[program.operator]
    return operation.text(tuple(written(value, operation.base or 10) for value in operands))
