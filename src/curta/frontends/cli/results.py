"""Commands about recipes, programs and files: `show`, `check`, `report`, `page`, `export`, ..."""

import json
import keyword
import re
import shlex
import time
from pathlib import Path
from typing import Annotated, Any

import click

from curta.config import files
from curta.config.descriptions import format_value, help_lines
from curta.config.errors import UserError, escape_unprintable, printable, quoted, refuse_if, unknown
from curta.config.limits import INT32, ROWS
from curta.config.recipe import (
    Recipe,
    as_table,
    field_paths,
    grouped,
    lookup,
    shipped_names,
    with_overrides,
)
from curta.config.registry import optional_module
from curta.config.table import Column, Table, counted
from curta.evaluation import readback
from curta.evaluation.results import read_windows
from curta.export import EXPORTERS, write
from curta.frontends import api
from curta.frontends.cli import arguments, display, paper
from curta.frontends.cli.arguments import command, option
from curta.frontends.cli.display import Status, next_steps, notice
from curta.model import recipes
from curta.model.positions import user
from curta.problems.operations import OPERATIONS, operation_named
from curta.problems.problem import parse, widths
from curta.programs.machine import store
from curta.programs.user import registry, userfiles
from curta.runs import comparison_spec, folders
from curta.runs.folders import Folder

ROW_COUNT, PORT = click.IntRange(1, ROWS), click.IntRange(0, 65_535)
SHOWN = "[RECIPE|RUN|FILE] [PROBLEM] [FIELD=VALUE]..."


@command()
def show(
    words: Annotated[tuple[str, ...], arguments.words(SHOWN)],
    trust: arguments.Trust,
    fields: Annotated[bool, option("Every field with its value, and what it is.")],
    steps: Annotated[bool, option("The problem token by token.")],
    window: Annotated[bool, option("What each role sees.")],
    layers: Annotated[bool, option("The model's layers, and their cost.")],
    table: Annotated[bool, option("What a certified run has learned, as Python.")],
    member: arguments.Member,
) -> None:
    """List the recipes, or show how one writes a problem, its fields or its layers.

    RECIPE is a recipe's name or path, a run, or a program's file; PROBLEM is such as 123+45, by
    default an example. Where a recipe and a run have one name, it is the recipe: give the run's
    path, such as runs/addition.
    """
    names, settings = arguments.split(words)
    if not names:
        for word in (*arguments.on_command_line(), *settings):
            raise UserError(f"{word} needs a recipe: curta show RECIPE")
        list_recipes()
        return
    views = {"fields": fields, "steps": steps, "window": window, "layers": layers, "table": table}
    view = arguments.only_option(views)
    name, text = names[0], arguments.at_most_one(names[1:], "problem")
    refuse_if(view == "steps" and text is None, "--steps needs a problem, such as 12+34")
    if view in ("fields", "window", "table") and text is not None:
        raise UserError(f"--{view} is of all problems: leave out the problem")
    if view == "table":
        print(learned_algorithm(name, member), end="")
        return
    recipe, folder = find_recipe(name, trust, arguments.values(settings), checked=view != "fields")
    if view == "fields":
        show_fields(recipe)
        return
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


@command("json")
def check(
    program: Annotated[str | None, arguments.argument("[PROGRAM]", required=False)],
    new: Annotated[str | None, option("Write a first one to NAME.py.", "NAME", arguments.NAME)],
) -> int:
    """Check a program: its answers, its windows, its moves.

    PROGRAM is a file with programs, such as gcd.py, or the name of a program, a recipe or a run.
    """
    if new is not None:
        if program is not None or arguments.form():
            raise UserError("--new writes a program: leave out all else")
        write_program(new)
        return 0
    if program is None:
        raise UserError("check which program? curta check gcd.py; --new NAME writes a first one")
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


# What is written for others: data sets, reports, pages, exports.


@command()
def data(
    words: Annotated[tuple[str, ...], arguments.words("RECIPE [FIELD=VALUE]...")],
    rows: Annotated[int, option("Problems to train on.", "N", ROW_COUNT, required=True)],
    out: Annotated[Path, option("A new folder.", "DIR", required=True)],
    format: Annotated[str, option("parquet, jsonl or text.", "F", default="parquet")],
    seed: Annotated[int, option("Seed of the draws.", "S", click.IntRange(0, INT32), default=0)],
) -> None:
    """Write a recipe's problems as a data set.

    Splits: train, validation, test_id (drawn alike, held out), test_ood (larger, or written
    otherwise, as the recipe's [evaluation] says). No problem stands in two of them.
    """
    names, settings = arguments.split(words)
    recipe = arguments.at_most_one(names, "recipe")
    if recipe is None:
        raise UserError("of which recipe? curta data RECIPE; `curta show` lists all")
    begun, changes = time.perf_counter(), arguments.values(settings)
    with Status("writing") as status:
        say = lambda split, share: status.say(f"{split} {share:.0%}")
        summary = api.data(recipe, rows, out, format, seed, say, **changes)
    pace = sum(summary.rows.values()) / (time.perf_counter() - begun)
    counts = ", ".join(f"{split} {count:,}" for split, count in summary.rows.items())
    notice(f"rows: {counts}")
    notice(f"problems in more than one split: {summary.overlap}")
    notice(f"Data set: {out} ({pace:,.0f} rows a second)")


EVALUATION_HELP = "One with other settings, such as digits-500 (the recipe's)."


@command(*arguments.FORMS)
def report(
    runs: Annotated[tuple[str, ...], arguments.argument("RUN...", nargs=-1, required=True)],
    out: Annotated[Path | None, option("Folder to write it to.", "DIR")],
    evaluation: Annotated[str | None, option(EVALUATION_HELP, "E")],
) -> None:
    """Write the report of a run, or of several side by side; or print tables of one.

    The report lies in the run's folder; that of several, in `reports` of the runs folder.

    \b
      curta report RUN --csv                  which tables there are
      curta report RUN statistics --latex     one of them; also --csv, --json, or on the screen
      curta report RUN --csv --out DIR        all of them, a file each
    """
    name, tables, form = runs[0], runs[1:], arguments.form()
    names = {*folders.names()}
    are_runs = all(
        run in names or Path(run).exists() or (folders.root() / run).exists() for run in runs
    )
    if form is None and (not tables or are_runs):
        notice(f"Report: {api.report(runs, out, evaluation or '')}")
        return
    available = api.tables(name, evaluation or "")
    for table in tables:
        if table not in available and form is None:
            raise unknown("run or table", table, [*names, *available])
        if table not in available:
            raise unknown("table", table, list(available), f"curta report {name} --csv")
    if out is not None:
        chosen, form = tables or tuple(available), form or "csv"
        for table in chosen:
            text = escape_unprintable(getattr(available[table], form)(), "\n")
            files.write(out / f"{table}.{'tex' if form == 'latex' else form}", text)
        notice(f"{counted(len(chosen), 'table')}: {out}")
        return
    for table in tables:
        notice(available[table])
    if not tables:
        heads = [Column("table", words=True), Column("rows"), Column("what it holds", words=True)]
        rows = [[key, len(table.rows), table.title] for key, table in available.items()]
        notice(Table("", heads, rows))


@command()
def page(
    run: arguments.Run,
    trust: arguments.Trust,
    member: arguments.Member,
    out: Annotated[Path | None, option("File (page-M.html in the run's folder).", "FILE")],
) -> None:
    """Write a page in which a trained model calculates."""
    from curta.export import html

    folder = folders.find(run, trust)
    notice(f"Page: {html.write_page(folder, member, out)}")
    notice("Next: open it in a browser, or send it to somebody: it is one file, without a network.")


@command()
def export(
    run: arguments.Run,
    trust: arguments.Trust,
    to: Annotated[str, option("adderboard, huggingface, onnx.", "FORM", required=True)],
    out: Annotated[Path | None, option("What to write (in the run's folder).", "PATH")],
    member: arguments.Member,
) -> None:
    """Write a trained model for other programs."""
    EXPORTERS.check(to)
    trained = api.load(run, trust=trust)
    notice(f"{trained.name} for {to}: {write(trained, to, out, member)}")


@command()
def serve(
    port: Annotated[int, option("0 is any that is free.", "N", PORT, default=8642)],
) -> int:
    """Show the runs in a browser, while they train, and begin new ones."""
    for library in ("starlette", "uvicorn"):
        optional_module(library, extra="serve")
    from curta.frontends.serve.server import serve as begin

    return begin(port)
