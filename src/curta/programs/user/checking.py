"""`curta check`: programs of a file, or one by its name, held against their truth."""

from pathlib import Path
from typing import Any

from curta.programs.machine import Program
from curta.programs.machine.check import Checked, Wrong
from curta.programs.machine.check import check as check_program
from curta.programs.user import generic, registry
from curta.programs.user.kept import plain


def check(program: str | Path | Program) -> list[Checked]:
    """What is found of the programs of a file, of a program's name, or of a program itself."""
    if isinstance(program, Program):
        registry.adopt(program)
        programs = [program]
    else:
        programs = registry.programs_of(str(program))
    found = []
    for one in programs:
        with one.locating():
            found.append(check_program(one, generic.sizes(one)))
    return found


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
        "expected_windows": found.expected,
        "windows_of_role": found.by_role,
        "sizes": [vars(size) for size in found.sizes],
        "tokens_per_second": found.tokens_per_second,
        "wrong": found.wrongs,
        "wrong_examples": list(map(_row, found.wrong)),
        "conflicts": [
            vars(one) | {"window": [cell._asdict() for cell in one.window]}
            for one in found.conflicts
        ],
        "growing": [vars(one) for one in found.growing],
        "unstable": found.unstable,
    }


def _row(one: Wrong) -> dict[str, Any]:
    return vars(one) | {"written": plain(one.written), "truth": plain(one.truth)}
