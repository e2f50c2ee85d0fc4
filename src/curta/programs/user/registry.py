"""Programs by name: built in, registered from Python, or brought by an installed package.

Also the sizes, the recipe and the check of a program for which nobody wrote a recipe.

A package brings programs by the entry-point group `curta.programs`; an entry's value is a Program
or a list of them. Entries are loaded when a name is not known otherwise, and never replace a
built-in program.
"""

import random
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from itertools import islice
from pathlib import Path
from typing import Any

from curta.config.errors import UserError, quoted, unknown
from curta.config.table import counted
from curta.config.task import Task
from curta.problems.operations import OPERATIONS
from curta.problems.problem import answer_text
from curta.problems.sizes import Sizes
from curta.programs import BUILT_IN, PROGRAMS
from curta.programs.declared import Declared
from curta.programs.machine import Program, sampling, store
from curta.programs.machine.check import ProgramCheck, check_program
from curta.programs.machine.machine import Machine
from curta.programs.machine.paper import Vocabulary
from curta.programs.machine.survey import Recorder
from curta.programs.proof.closing import list_and_prove
from curta.programs.proof.listing import Lister
from curta.programs.user import userfiles

GROUP = "curta.programs"

DIGITS = (1, 4)
"""Operand digits to train on if a program gives no sizes."""

COMPARED = 1_000
"""Problems on which a program's truth is compared with Curta's for the same operator."""

REGISTERED: dict[str, Program] = {}
"""Programs registered in this process, by name."""


def register(program: Program) -> Program:
    """Register a program under its name in this process, and return it.

    A program registered earlier under the same name is replaced.

    Raises:
        UserError: The name is that of a built-in program, the operator is a built-in one with
            another meaning, or a new operator has no `truth`.
    """
    if program.name in PROGRAMS:
        raise UserError(f"program {program.name!r} is Curta's own: choose another name")
    adopt(program)
    REGISTERED[program.name] = program
    return program


def adopt(program: Program) -> None:
    """Register a program's operator; raise UserError if it is not a valid one."""
    symbol, form = program.operator, program.format
    signs = not any(c.isalnum() or c.isspace() or c in "=#,.()_\"'" for c in symbol)
    if not symbol or not (symbol.isalpha() or signs):
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
    built_in, count = OPERATIONS[symbol], len(form.givens)
    if not built_in.takes(count) and form.most is not None:
        raise UserError(
            f"operator {symbol!r} is Curta's own, as in {built_in.example}, and does not take the"
            f" {counted(count, 'operand')} of program {program.name!r}: choose another operator"
        )
    if program.truth is None:
        return
    drawn = islice(sampling.drawn(program, training_sizes(program), "truth", 0.4), COMPARED)
    for operands in sorted(drawn, key=lambda operands: (sum(operands), operands)):
        right, truth = built_in.truth(*operands), program.true_answer(operands)
        if right != truth:
            raise UserError(
                f"operator {symbol!r} is Curta's own, and {program.problem_text(operands)} is"
                f" {quoted(answer_text(right))[1:-1]}, not {quoted(answer_text(truth))[1:-1]}"
                f" as in program {program.name!r}: choose another operator"
            )


def programs_of(name: str) -> list[Program]:
    """Return the programs of a name or a file; raise UserError if there are none."""
    if userfiles.is_file(name) and not userfiles.is_tag(name):
        return list(userfiles.load(name).programs)
    programs = find_programs(name)
    if not programs and userfiles.is_tag(name):
        raise UserError(f"{userfiles.display_name(name)} is not known here: name the file itself")
    if not programs:
        raise unknown("program", name, names(), "curta show")
    return programs


def find_programs(name: str) -> list[Program]:
    """Return the programs of a name without executing a file; none if unknown so far."""
    if userfiles.is_tag(name):
        file = userfiles.executed(name)
        return [] if file is None else list(file.programs)
    program = PROGRAMS.get(name) or REGISTERED.get(name) or installed().get(name)
    return [program] if program else []


def in_base(program: Program, base: int) -> Program:
    """Return the program for digits of a base; raise UserError if it has only its own."""
    if base in (10, program.base):
        return program
    if program.in_base is None:
        raise UserError(
            f"task.base {base}: program {program.name!r} knows base {program.base} only"
        )
    return program.in_base(base)


def recorder_of(names: Iterable[str], tasks: Iterable[Task], machine: Machine) -> Recorder | None:
    """Return a recorder of these programs, in the bases of the tasks, for a machine's tokens.

    None if the code of one of them is unknown in this process, or if one of Curta's own is written
    in another way since the machine was made: on other axes, or in other roles.
    """
    bases = {task.operator: task.base for task in tasks}
    programs = [
        in_base(program, bases[program.operator])
        for name in names
        for program in find_programs(name)
        if program.operator in machine.formats
    ]
    axes = {axis for program in programs for axis in program.axes}
    if len(programs) < len(machine.formats) or not axes <= {*machine.axes}:
        return None
    recorder = store.recorder(machine, programs)
    for program in programs:
        if not program.file and program.name in PROGRAMS:
            sample = Vocabulary()
            program.record([12] * len(program.format.givens), sample)
            roles = {role for _, role, _, _ in recorder.vocabularies[program.operator]}
            if not {role for _, role, _, _ in sample} <= roles:
                return None
    return recorder


def names() -> list[str]:
    """Return the names of all programs that are not in files."""
    return [*PROGRAMS, *REGISTERED, *installed()]


@cache
def installed() -> dict[str, Program]:
    """Return the programs of installed packages, by name.

    A package that fails is reported in one line.
    """
    programs: dict[str, Program] = {}
    for entry in entry_points(group=GROUP):
        package = entry.dist.name if entry.dist else entry.value
        try:
            value = entry.load()
            brought = [value] if isinstance(value, Program) else list(value)
        except Exception as error:
            problem = f"cannot be read ({type(error).__name__}: {error})"
            print(f"curta: {package}: {problem}", file=sys.stderr)
            continue
        for program in brought:
            try:
                if program.name in PROGRAMS:
                    raise UserError(f"program {program.name!r} is Curta's own: left out")
                adopt(program)
                programs.setdefault(program.name, program)
            except (UserError, AttributeError) as error:
                print(f"curta: {package}: {error}", file=sys.stderr)
    return programs


def training_sizes(program: Program) -> Sizes:
    """Return the sizes on which a program is trained without a recipe."""
    spans, count = _spans(program), len(program.format.givens)
    digits, operands = spans["digits"], spans.get("operands", (count, count))
    return Sizes(digits, spans.get("second", digits), operands)


def _spans(program: Program) -> dict[str, Any]:
    """Return the program's sizes, with those that it leaves open.

    A program of any number of operands gets up to three more: one alone has no sign between two.
    """
    least = len(program.format.givens)
    several = {} if program.format.most else {"operands": (least, least + 3)}
    return {"digits": DIGITS} | several | dict(program.sizes)


def recipe_fields(programs: Sequence[Program], names: Sequence[str]) -> dict[str, Any]:
    """Return the fields of a default recipe for programs.

    Programs with an algorithm get a windowed model; without one, answers are learned whole, by
    attention to all earlier tokens.
    """
    windowed = all(program.run is not None for program in programs)
    tasks = [
        {"operator": program.operator, "special": 0.3 if windowed else 0.0}
        | {name: list(span) for name, span in _spans(program).items()}
        for program in programs
    ]
    # the training size and, for windowed models, twice and four times that
    sizes = {p.operator: _evaluated_sizes(p, (1, 2, 4) if windowed else (1,)) for p in programs}
    model: dict[str, Any] = {"width": 128, "heads": 4, "num_layers": 2, "num_attention_layers": 2}
    training = {"steps": 2000, "batch": 256, "problems": 8000}
    if windowed:
        model |= {"width": 32, "num_attention_layers": 1, "compositional_embeddings": True}
        training |= {"batch": 1024, "problems": 4000}
    return {
        "summary": "; ".join(dict.fromkeys(p.summary.rstrip(".") for p in programs)),
        "program": names[0] if len(names) == 1 else list(names),
        "task": tasks[0] if len(tasks) == 1 else tasks,
        "evaluation": {
            "digits": sizes if len(sizes) > 1 else next(iter(sizes.values())),
            "count": 50,
            "held_out": 200,
        },
        "positions": {"name": "window" if windowed else "rope"},
        "model": model,
        "optimizer": {"learning_rate": 0.01 if windowed else 0.001},
        "training": training,
    }


def _evaluated_sizes(program: Program, factors: Sequence[int]) -> list[int | str]:
    """Return the largest training size times each factor: 20, `20x4` for four operands, `20/5`.

    A second operand of fixed width keeps it. Sizes at which the program refuses every problem are
    left out; if it refuses all of them, its largest size is evaluated.
    """
    spans = _spans(program)
    few, most = spans["digits"]
    count = spans.get("operands", (1, len(program.format.givens)))[1]

    def second(first: int, factor: int) -> int:
        fewest, widest = spans.get("second", (first, first))
        return widest if fewest == widest else factor * widest

    def has_problems(first: int, factor: int) -> bool:
        digits = [first] + [second(first, factor)] * (count - 1)
        try:
            sampling.draw(program, Sizes.exactly(digits), random.Random(0))
        except UserError:
            return False
        return True

    sizes = [(factor * most, factor) for factor in factors if has_problems(factor * most, factor)]
    if not sizes:
        shorter = (size for size in range(most - 1, few - 1, -1) if has_problems(size, 1))
        sizes = [(next(shorter, most), 1)]
    if "operands" in spans:
        return [f"{count}x{first}" for first, _ in sizes]
    if "second" in spans:
        return [f"{first}/{second(first, factor)}" for first, factor in sizes]
    return [first for first, _ in sizes]


def check(program: str | Path | Program) -> list[ProgramCheck]:
    """Check whether a windowed model can learn a program, without training one.

    Random problems of several sizes are written. The check compares the answers with the truth, and
    looks for windows that are followed by different tokens: no windowed model can learn those.

    Example::

        (result,) = curta.check("gcd.py")
        result.learnable, result.conflicts

    Args:
        program: A program, its name, or the path of a Python file; all programs of a file are
            checked.

    Returns:
        One result for each program.

    Raises:
        UserError: There is no such program, or its code fails.
    """
    if isinstance(program, Program):
        adopt(program)
        programs = [program]
    else:
        programs = programs_of(str(program))
    results = []
    for each in programs:
        with each.locating():
            result, sizes = check_program(each, training_sizes(each)), training_sizes(each)
            if each.run and result.learnable and not result.growing:
                _, closure = list_and_prove(Lister(each, result.machine, result.windows), sizes)
                result = replace(result, closed=closure.closed, obstacle=closure.obstacle)
            results.append(result)
    return results
