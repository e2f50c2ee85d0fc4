"""The layout of a recipe: a published one, or that of its programs' machine."""

import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path

from curta import programs
from curta.config import files
from curta.config.errors import UserError, unknown
from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.layouts import Layout, layout_named
from curta.layouts.program import ProgramLayout
from curta.problems import task_sizes
from curta.programs import PROGRAMS
from curta.programs.machine import Program, store, survey
from curta.programs.machine.check import refuse_wrong
from curta.programs.machine.machine import Machine, Neighbour, Windows
from curta.programs.user import registry


def layout_of(recipe: Recipe) -> Layout:
    """Return the layout of a recipe; programs are run to find it, once in a process."""
    if recipe.layout is not None:
        return layout_named(recipe.layout)
    neighbours = tuple(sorted(getattr(recipe.positions, "neighbours", {}).items()))
    programs = tuple(p for name in recipe.programs for p in registry.programs_of(name))
    return _of_programs(programs, recipe.tasks, recipe.evaluation.layouts, neighbours)


def layout_of_machine(
    recipe: Recipe, machine: Machine, windows: Windows, where: str
) -> ProgramLayout:
    """Return the layout of a machine, with a recorder if all programs are known in this process.

    Known are Curta's, registered ones, and those of an executed file. Raises UserError if the
    machine in `where` has other operators than the recipe.
    """
    store.check_operators(machine, [task.operator for task in recipe.tasks], where)
    recorder = registry.recorder_of(recipe.programs, recipe.tasks, machine)
    return ProgramLayout(machine, windows, recorder)


@lru_cache
def _of_programs(
    programs: tuple[Program, ...],
    trained: tuple[Task, ...],
    others: tuple[str, ...],
    neighbours: tuple[tuple[str, tuple[str, ...]], ...],
) -> ProgramLayout:
    """Return the layout of the programs of these tasks; arguments are tuples, to be cached by.

    `others` are names of programs that write held-out problems too; `neighbours` are those that
    the recipe sets, by role.
    """
    chosen = []
    for task in trained:
        program = next((p for p in programs if p.operator == task.operator), None)
        if program is None:
            names = ", ".join(p.name for p in programs)
            raise UserError(f"task.operator {task.operator!r}: no program of {names} has it")
        chosen.append(registry.in_base(program, task.base))
    more = [program for name in others for program in registry.programs_of(name)]
    for program in (*chosen, *more):
        if program.file or program.name not in PROGRAMS:
            refuse_wrong(program, registry.training_sizes(program))
    sizes = {task.operator: task_sizes.sizes(task) for task in trained}
    path = content = None
    if all(map(unchanging, chosen)):
        origins = [[(p.name, p.base, p.file) for p in group] for group in (chosen, more)]
        path = cache_path("machines", (sizes, origins, survey.TOKENS))
        content = files.read_entry(path)
    if content is not None:
        machine, windows = store.load(json.loads(content), "the cache")
    else:
        machine, windows = survey.survey(chosen, sizes, more)
    if path is not None and content is None:
        files.keep_entry(path, json.dumps(store.dump(machine, windows)).encode())
    roles = [role.name for role in machine.roles]
    for role, texts in neighbours:
        if role not in roles:
            raise UserError(f"positions.neighbours: there is no role {role!r}: {', '.join(roles)}")
        windows = windows | {role: tuple(_parse_neighbour(machine, text) for text in texts)}
    return ProgramLayout(machine, windows, store.recorder(machine, chosen))


def cache_path(kind: str, origin: object, *sources: str) -> Path:
    """Return where the cache keeps what follows from `origin`, all programs and these sources."""
    key = hashlib.sha256(repr(origin).encode())
    for source in (*sorted(Path(programs.__file__).parent.rglob("*.py")), *map(Path, sources)):
        key.update(source.read_bytes())
    return files.cache_folder() / kind / key.hexdigest()[:32]


def unchanging(program: Program) -> bool:
    """Return whether a program's name identifies its code: Curta's, or a file's with a hash.

    The code of a registered program may change unnoticed.
    """
    return bool(program.file) or program.name in PROGRAMS


def _parse_neighbour(machine: Machine, text: str) -> Neighbour:
    """Parse `"b place+1 row-1"`, as a recipe writes it, into a role and a displacement."""
    match = re.fullmatch(r"(.*?)((?: +\S+[+-]\d+)*) *", text)
    role, moves = match.groups() if match else (text, "")
    if role not in [other.name for other in machine.roles]:
        raise UserError(f"positions.neighbours: {text!r} names no role: such as 'sum place+1'")
    displacement = dict.fromkeys(machine.axes, 0)
    for axis, step in re.findall(r"(\S+)([+-]\d+)", moves):
        if axis not in displacement:
            raise UserError(
                f"positions.neighbours: {text!r}: {unknown('axis', axis, displacement)}"
            )
        displacement[axis] += int(step)
    return role, tuple(displacement.values())
