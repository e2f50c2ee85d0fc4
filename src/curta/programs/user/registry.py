"""Programs by name: built in, registered from Python, or brought by an installed package.

A package brings programs by the entry-point group `curta.programs`; an entry's value is a
Program or a list of them. They are read when a name is asked for that is not known otherwise.
What is built in is never replaced.
"""

import inspect
import sys
from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from itertools import islice
from pathlib import Path

from curta.config.errors import UserError, quoted, unknown
from curta.config.table import counted
from curta.config.task import Task
from curta.problems.operations import OPERATIONS
from curta.problems.problem import answer_text
from curta.programs import BUILT_IN, PROGRAMS
from curta.programs.declared import Declared
from curta.programs.machine import Program, sampling, store
from curta.programs.machine.machine import Machine
from curta.programs.machine.survey import Recorder
from curta.programs.user import generic, userfiles

GROUP = "curta.programs"

COMPARED = 1_000
"""Problems on which a program's truth is compared with that of Curta's own operation."""

REGISTERED: dict[str, Program] = {}
"""Programs that were registered in this process, by name."""


def register(program: Program) -> Program:
    """Makes a program known by its name, in this process; a later one of that name replaces it.

    Raises UserError for a name or an operator of Curta's own with which it does not fit.
    """
    if program.name in PROGRAMS:
        raise UserError(f"program {program.name!r} is Curta's own: choose another name")
    adopt(program)
    REGISTERED[program.name] = program
    return program


def adopt(program: Program) -> None:
    """Makes the program's operator known; UserError if it can be none."""
    symbol, form = program.operator, program.format
    if not _operator(symbol):
        origin = ", the program's name," if symbol == program.name else ""
        raise UserError(
            f"operator {symbol!r}{origin} must be letters only, such as 'gcd',"
            " or signs, such as '<>'"
        )
    if symbol not in BUILT_IN:
        if program.truth is None:
            raise UserError(
                f"program {program.name!r} needs truth=, a function that returns the right answer"
            )
        OPERATIONS[symbol] = Declared.of(program)
        return
    own, count = OPERATIONS[symbol], len(form.givens)
    if not own.takes(count) and form.most is not None:
        raise UserError(
            f"operator {symbol!r} is Curta's own, as in {own.example}, and does not take the"
            f" {counted(count, 'operand')} of program {program.name!r}: choose another operator"
        )
    if program.truth is None:
        return
    drawn = islice(sampling.drawn(program, generic.sizes(program), "truth", 0.4), COMPARED)
    for operands in sorted(drawn, key=lambda operands: (sum(operands), operands)):
        right, truth = own.truth(*operands), program.true_answer(operands)
        if right != truth:
            where = "" if program.file else f"{_place(program)}: "  # a file's loader names the line
            raise UserError(
                f"{where}operator {symbol!r} is Curta's own, and"
                f" {program.problem_text(operands)} is {quoted(answer_text(right))[1:-1]}, not"
                f" {quoted(answer_text(truth))[1:-1]}: choose another operator"
            )


def _place(program: Program) -> str:
    """Return the file and the line of a program's truth, or its name where these are unknown."""
    code = getattr(inspect.unwrap(program.truth), "__code__", None) if program.truth else None
    if code is None:
        return f"{userfiles.shown(program.file)} program {program.name!r}".strip()
    return f"{Path(code.co_filename).name} line {code.co_firstlineno}"


def programs_of(name: str) -> list[Program]:
    """The programs of a name or of a file; UserError if there are none."""
    if userfiles.is_file(name) and not userfiles.is_tag(name):
        return list(userfiles.load(name).programs)
    found = known(name)
    if not found and userfiles.is_tag(name):
        raise UserError(f"{userfiles.shown(name)} is not known here: name the file itself")
    if not found:
        raise unknown("program", name, names(), "curta show")
    return found


def known(name: str) -> list[Program]:
    """As `programs_of`; nothing for what is not known in this process without executing a file."""
    if userfiles.is_tag(name):
        file = userfiles.known(name)
        return [] if file is None else list(file.programs)
    found = PROGRAMS.get(name) or REGISTERED.get(name) or installed().get(name)
    return [found] if found else []


def in_base(program: Program, base: int) -> Program:
    """The program for digits of that base; UserError if it knows its own alone."""
    if base in (10, program.base):
        return program
    if program.in_base is None:
        raise UserError(
            f"task.base {base}: program {program.name!r} knows base {program.base} only"
        )
    return program.in_base(base)


def recorder_of(names: Iterable[str], tasks: Iterable[Task], machine: Machine) -> Recorder | None:
    """The code of these programs, in the bases of the tasks, as the machine numbers its tokens.

    None if the code of one of them is not known in this process.
    """
    bases = {task.operator: task.base for task in tasks}
    programs = [
        in_base(program, bases[program.operator])
        for name in names
        for program in known(name)
        if program.operator in machine.formats
    ]
    return store.recorder(machine, programs) if len(programs) == len(machine.formats) else None


def names() -> list[str]:
    """Of all programs but those in files."""
    return [*PROGRAMS, *REGISTERED, *installed()]


_INSTALLED: dict[str, Program] = {}
_READ: set[str] = set()


def installed() -> dict[str, Program]:
    """Programs of installed packages, by name; read once."""
    for entry in entry_points(group=GROUP):
        if entry.value not in _READ:
            _READ.add(entry.value)
            for program in _brought(entry):
                _take(program, entry)
    return _INSTALLED


def _brought(entry: EntryPoint) -> Iterable[Program]:
    """The programs of an entry point; a package that fails costs a line, not the command."""
    try:
        value = entry.load()
    except Exception as error:
        _warn(entry, f"cannot be read ({type(error).__name__}: {error})")
        return []
    found = [value] if isinstance(value, Program) else value
    if isinstance(found, list | tuple) and all(isinstance(one, Program) for one in found):
        return list(found)
    _warn(entry, "is no program and no list of programs")
    return []


def _take(program: Program, entry: EntryPoint) -> None:
    if program.name in PROGRAMS:
        _warn(entry, f"program {program.name!r} is Curta's own: left out")
        return
    try:
        adopt(program)
        _INSTALLED.setdefault(program.name, program)
    except UserError as error:
        _warn(entry, str(error))


def _warn(entry: EntryPoint, text: str) -> None:
    package = entry.dist.name if entry.dist else entry.value
    print(f"curta: {package}: {text}", file=sys.stderr)


def _operator(symbol: str) -> bool:
    """Whether problems can be read that have this operator."""
    if symbol.isalpha():
        return True
    return bool(symbol) and not any(c.isalnum() or c.isspace() or c in "=#,.()_\"'" for c in symbol)
