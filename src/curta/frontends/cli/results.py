"""What `show` and `check` print of recipes, runs and programs."""

import json
import keyword
import re
import shlex
from pathlib import Path
from typing import Any

import click

from curta.config import files
from curta.config.descriptions import format_value, help_lines
from curta.config.errors import UserError, printable, quoted, refuse_if, unknown
from curta.config.recipe import (
    Recipe,
    as_table,
    field_paths,
    grouped,
    lookup,
    shipped_names,
    with_overrides,
)
from curta.config.table import Column, Table
from curta.evaluation import readback
from curta.evaluation.results import read_windows
from curta.frontends.cli import arguments, display, paper
from curta.frontends.cli.display import next_steps, notice
from curta.model import recipes
from curta.model.positions import user
from curta.problems.operations import OPERATIONS, operation_named
from curta.problems.problem import parse, widths
from curta.programs.machine import store
from curta.programs.user import registry, userfiles
from curta.runs import comparison_spec, folders
from curta.runs.folders import Folder


def show_problem(
    name: str, recipe: Recipe, folder: Folder | None, view: str, text: str | None
) -> None:
    """Print a problem as a recipe, or a run, writes it, or its steps, windows or layers."""
    if folder is None and not view and text is None:
        notice(f"{printable(name)}: {printable(recipe.summary)}")
        notice(
            f"Train it: curta train {shlex.quote(name)}. `curta show {shlex.quote(name)} --fields`"
            " lists its fields; --layers, --window"
        )
    if not text and view not in ("layers", "window"):
        text = operation_named(recipe.tasks[0].operator).example
    problem = None if text is None else parse(text)
    from curta.layouts.program import ProgramLayout
    from curta.layouts.texts import layout_of

    if view == "layers":
        notice(paper.layers_view(recipe, problem))
        return
    layout = layout_of(recipe) if folder is None else folders.layout_in(folder)
    if problem is not None:
        layout.accept(problem.operator, widths(problem), problem.base)
    if view == "window":
        if not isinstance(layout, ProgramLayout):
            raise UserError(f"--window is of programs, not of layout {layout.name!r}")
        notice(paper.windows_view(layout))
    elif problem is not None and view == "steps" and isinstance(layout, ProgramLayout):
        notice(paper.steps_table(layout, problem))
    elif problem is not None:
        notice(paper.problem_view(layout, problem))


def learned_algorithm(name: str, member: int = 0) -> str:
    """Return what a member of a certified run has learned, as Python; UserError without windows."""
    folder = folders.find(name)
    certified = read_windows(folder.path)
    if certified is None:
        raise UserError(
            f"run {name!r} has no certificate: `curta certify {folder.argument}` makes it"
        )
    folders.check_member(member, name, len(certified.token))
    machine, windows = store.read(folder.machine, folder.name)
    return readback.algorithm(machine, windows, certified, member)


def list_recipes() -> None:
    """Print the recipes that come with the program, in groups, and the comparisons."""
    groups = grouped()
    groups["Comparisons, for `curta compare`"] = [
        (name, comparison_spec.read(name).title) for name in comparison_spec.names()
    ]
    widest = max(len(name) for group in groups.values() for name, _ in group)
    for title, rows in groups.items():
        print(f"{title}:")
        for name, summary in rows:
            print(f"  {name:{widest}} {summary}")
    print("`curta show NAME` shows one, `curta train NAME` trains it.")


def show_fields(recipe: Recipe) -> None:
    """Print every field of a recipe with its value and one line on what it is."""
    encodings = tuple(user.all_settings())
    table, texts = as_table(recipe), help_lines(encodings)
    rows = []
    for path in field_paths(table, encodings):
        value = lookup(table, path)
        is_set = value is not None or path.partition(".")[0] not in ("positions", "optimizer")
        if is_set and (not isinstance(value, dict) or path in texts):
            rows.append([path, format_value(value), texts.get(path, "")])
    columns = [Column("field", words=True), Column("value", words=True, fold=True)]
    notice(Table("", [*columns, Column("what it is", words=True, fold=True)], rows))


def find_recipe(
    name: str, trust: bool, changes: dict[str, Any], checked: bool
) -> tuple[Recipe, Folder | None]:
    """Return a recipe with changes, or a run's with its folder; its operators are made known.

    Unless it is `checked`, fields need not fit together, and JAX is not needed.
    """
    is_run, is_recipe = name in folders.existing(), name in shipped_names()
    if is_run and is_recipe:
        path = shlex.quote(str(folders.root() / name))
        click.echo(f"This is the recipe. For the run: curta show {path}", err=True)
    if (is_run and not is_recipe) or Path(name, "run.json").exists():
        if changes:
            raise UserError(f"run {name!r} is as it was trained: leave out {next(iter(changes))}")
        folder = folders.find(name, trust)
        return folder.read_recipe() if checked else folder.state_recipe(), folder
    refuse_if(trust, f"--trust is for a run, and {name!r} is a recipe")
    if not (is_recipe or registry.find_programs(name) or Path(name).suffix in (".py", ".toml")):
        names = [*shipped_names(), *registry.names(), *folders.existing()]
        raise unknown("recipe or run", name, names, "curta show")
    where = f"recipe {name!r}"
    if checked:
        return recipes.resolve(name, changes, where), None
    return recipes.parse_fields(with_overrides(recipes.read(name), changes), where), None


TEMPLATE = Path(__file__).with_name("program.py.txt")
"""The first lines of a program, which `curta check --new NAME` writes to NAME.py."""


def write_program(name: str) -> None:
    """Write TEMPLATE to a file of that name; UserError if there is one, or the name is taken."""
    name = name.removesuffix(".py")
    if not re.fullmatch("[a-z]+", name) or keyword.iskeyword(name):
        raise UserError(f"--new needs a name of small letters, such as double (got {quoted(name)})")
    path = Path(f"{name}.py")
    refuse_if(path.exists(), f"{quoted(str(path))} exists already: choose another name")
    if name in registry.names() or name in OPERATIONS:
        raise UserError(f"{quoted(name)} is Curta's own: choose another name")
    files.write(path, TEMPLATE.read_text("utf-8").replace("NAME", name))
    notice(f"Wrote {path}: it doubles a number. Change its steps, and its truth, to your own.")
    next_steps(
        (f"check {path}", "is it right, and can it be learned?"),
        (f"show {path}", "how it writes a problem"),
        (f"train {path}", "teach it to a model"),
    )


def check_program(program: str) -> int:
    """Check a program, or those of a file, a recipe or a run; return the exit code.

    It is 1 unless all of them can be learned.
    """
    names, train = [program], program  # what is checked, and what `curta train` takes for it
    if not (userfiles.is_file(program) or registry.find_programs(program)):
        if program in shipped_names():
            names = list(recipes.load(program).programs)
        elif program in folders.existing() or Path(program, "run.json").exists():
            code = folders.find(program).read_code()
            names, train = list(code.programs), ""
            userfiles.remembered(code.path, code.files)
            if not all(map(registry.find_programs, names)):
                file = next(copy.file for copy in code.files if copy.file != "positions.py")
                raise UserError(
                    f"run {program!r} keeps its program: curta check {code.path / file}"
                )
        else:
            names = [*registry.names(), *shipped_names(), *folders.existing()]
            raise unknown("program", program, names, "curta show")
        refuse_if(not names, f"{program!r} has no program to check: its layout is not a program's")
    verdicts = [verdict for name in names for verdict in registry.check(name)]
    if arguments.form():
        print(json.dumps([verdict.table for verdict in verdicts]))
    else:
        for verdict in verdicts:
            for line in paper.check_lines(verdict, train):
                display.console().print(line, soft_wrap=True)
    return 0 if all(verdict.learnable for verdict in verdicts) else 1
