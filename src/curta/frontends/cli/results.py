"""Commands about what is there: `ask`, `show`, `check`, `report`, `export`, `runs`, ..."""

import json
import keyword
import re
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curta.config import files
from curta.config.errors import (
    UserError,
    as_line,
    escape_unprintable,
    notify,
    printable,
    quoted,
    unknown,
)
from curta.config.limits import INT32, ROWS, check_path
from curta.config.table import Column, Table, counted
from curta.frontends.cli import arguments

if TYPE_CHECKING:
    from rich.console import RenderableType

    from curta.config.recipe import Recipe
    from curta.layouts import Layout
    from curta.problems.problem import Problem
    from curta.runs.calculator import Calculator
    from curta.runs.folders import Folder


# ask

JOINED = 1000
"""Problems of a file whose windows are joined to the run's list, if any is not in it."""

NEGATIVE = re.compile(r"-\s*[0-9]+\s*[^0-9\s]")
"""The start of a problem whose first operand is negative: a wrong problem, not an option."""


class _Ask(click.Command):
    """A command that takes `-3+5` for a problem, so that the complaint is about the operand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" not in args:
            problems = [word for word in args if NEGATIVE.match(word)]
            args = [word for word in args if not NEGATIVE.match(word)]
            args += ["--", *problems] if problems else []
        return super().parse_args(ctx, args)


@click.command(cls=_Ask)
@click.argument("words", nargs=-1, metavar="[RUN] [PROBLEM]...")
@arguments.trust
@click.option(
    "--file", type=arguments.NAME, metavar="F", help="One problem a line; - reads standard input."
)
@click.option("--trace", is_flag=True, help="Show the model's own writing.")
@arguments.member
@arguments.recurrences
def ask(
    words: tuple[str, ...],
    trust: bool,
    file: str | None,
    trace: bool,
    member: int,
    recurrences: int | None,
) -> int:  # fmt: skip
    """Let a trained model calculate each PROBLEM, such as 12+34.

    Without RUN the newest trained run answers that knows the operator. Without a problem it
    answers what you type, line by line.
    """
    from curta.runs import folders
    from curta.runs.calculator import open_calculator

    is_named = bool(words) and (not _is_problem(words[0]) or _is_run(words[0]))
    run, problems = (words[0], list(words[1:])) if is_named else ("", list(words))
    if problems and file is not None:
        raise UserError("give problems, such as 12+34, or --file F, not both")
    converses = not problems and file is None and sys.stdin.isatty()
    if not problems and not converses:
        file = file or "-"
    lines = problems if file is None else _read_lines(file)
    if not is_named:
        run = newest_run(lines[0] if lines else "")
    folder = folders.find(run)
    calculator = None if trust or recurrences else open_calculator(folder, member)
    if calculator is not None:  # in NumPy, at once
        texts: Calculator | Layout = calculator
        accept, write, answers = calculator.accept, calculator.write, calculator.answers
    else:
        from curta.frontends.api import load

        trained = load(run, recurrences, trust)
        texts, accept = trained.layout, trained.accept
        write = lambda problems: trained.write(problems, member)
        answers = lambda text: trained.answers(text, member)

    def say_run() -> None:
        if not is_named:
            print(f"run {printable(run)}", file=sys.stderr)

    def answers_to(lines: Sequence[str]) -> list[str]:
        problems = accept(lines)
        pairs = zip(problems, write(problems), strict=True)
        if calculator is not None:
            calculator.join(problems)
        return [escape_unprintable(_answer(texts, *pair, trace), "\t") for pair in pairs]

    if converses:
        _warn(folder, member)
        return _converse(run, lambda line: answers_to([line])[0])
    plain = None if trace else answers("\n".join(lines))
    if plain is not None:
        say_run()
        print("\n".join(plain))
        if calculator is not None:
            calculator.join(accept(lines[:JOINED]))
        _warn(folder, member)
        return 0
    try:
        answered = answers_to(lines)
        say_run()
        print("\n".join(answered))
        _warn(folder, member)
    except UserError:
        for number, line in enumerate(lines if file else (), 1):
            try:
                accept([line])
            except UserError as error:
                raise UserError(f"line {number} of {file!r}: {error}") from None
        raise
    return 0


def _is_run(name: str) -> bool:
    from curta.runs import folders

    check_path(name)
    return any(Path(place, name, "run.json").exists() for place in (".", folders.root()))


def _is_problem(word: str) -> bool:
    """Return whether a word is written as a problem: `12+34`, `-3+5`, `gcd 12,8`."""
    return bool(re.match(r"[-\s]*[0-9]|[a-z]+ +[0-9]", word))


def newest_run(problem: str) -> str:
    """Return the newest trained run that can calculate a problem; of all runs without one."""
    from curta.problems.problem import parse
    from curta.programs.user import run_snapshot
    from curta.runs import folders

    trained = []
    for name in folders.existing():
        with suppress(OSError, ValueError):  # UserError, for damaged runs, among them
            info = folders.find(name).read_info()
            if info.checkpoint:
                trained.append((info.created, name, info.operators))
    if not trained:
        raise UserError("no run is trained yet: `curta train` trains one")
    refusal: UserError | None = None
    known = dict.fromkeys(operator for _, _, operators in trained for operator in operators)
    for _, name, operators in sorted(trained, reverse=True):
        if not problem:
            return name
        try:
            run_snapshot.make_known(folders.find(name).read_code())
            if parse(problem, operators).operator in operators:
                return name
        except UserError as error:
            refusal = refusal or error
    if refusal is not None:
        raise refusal
    raise UserError(f"no run is trained on {quoted(problem)}: they know {' '.join(known)}")


def _warn(folder: "Folder", member: int) -> None:
    """Warn if the certificate of this member has wrong windows."""
    with suppress(UserError):
        certificate = folder.read_certificate()
        members = certificate.members if certificate is not None else ()
        wrong = {one.member: one.wrong for one in members}.get(member, 0)
        if certificate is not None and wrong:
            notify(
                f"member {member} of run {folder.name!r} is wrong on {wrong:,} of"
                f" {certificate.windows:,} windows, so some of its answers are wrong"
            )


def _converse(run: str, answer: Callable[[str], str]) -> int:
    """Answer lines until the end of input; one that cannot be read costs a line."""
    with suppress(ImportError):
        import readline  # noqa: F401  (arrow keys and history, where the system has them)
    print("Type a problem, such as 12+34; Ctrl-D ends.")
    while True:
        try:
            line = input(f"{run}> ").strip()
        except EOFError:
            print()
            return 0
        if not line:
            continue
        try:
            print(answer(line))
        except UserError as error:
            print(f"curta: {as_line(str(error))}", file=sys.stderr)


def _read_lines(name: str) -> list[str]:
    """Return the problems of a file, or of standard input for `-`; blank lines at its end go."""
    if name == "-":
        with files.reading("standard input"):
            text = sys.stdin.buffer.read().decode("utf-8-sig")
    else:
        text = files.read_text(Path(name), repr(name))
    lines = text.rstrip().splitlines()
    if not lines:
        raise UserError(f"{name!r} is empty: write one problem a line, such as 12+34")
    return lines


def _answer(
    texts: "Calculator | Layout", problem: "Problem", written: list[int], trace: bool
) -> str:
    from curta.problems.problem import answer_text, malformed_text

    value = texts.answer(problem, written)
    if value is not None and not trace:
        return answer_text(value, problem.answer_base)
    text = texts.decode(written)
    answer = malformed_text(text) if value is None else answer_text(value, problem.answer_base)
    return f"{answer}\t{texts.prompt(problem)}{text}" if trace else answer


# show


@click.command()
@arguments.words("[RECIPE|RUN|FILE] [PROBLEM] [FIELD=VALUE]...")
@arguments.trust
@click.option("--fields", is_flag=True, help="Every field with its value, and what it is.")
@click.option("--steps", is_flag=True, help="The problem token by token.")
@click.option("--window", is_flag=True, help="What each role sees.")
@click.option("--layers", is_flag=True, help="The model's layers, and their cost.")
@click.option("--table", is_flag=True, help="What a certified run has learned, as Python.")
@arguments.member
def show(
    words: tuple[str, ...],
    trust: bool,
    fields: bool,
    steps: bool,
    window: bool,
    layers: bool,
    table: bool,
    member: int,
) -> int:
    """List the recipes, or show how one writes a problem, its fields or its layers.

    RECIPE is a recipe's name or path, a run, or a program's file; PROBLEM is such as 123+45, by
    default an example. Where a recipe and a run have one name, it is the recipe: give the run's
    path, such as runs/addition.
    """
    names, settings = arguments.split(words)
    views = [f"--{name}" for name, given in (
        ("fields", fields), ("steps", steps), ("window", window), ("layers", layers),
        ("table", table),
    ) if given]  # fmt: skip
    if len(views) > 1:
        raise UserError(f"{views[0]} and {views[1]} are different views: choose one")
    if not names:
        for given in (*views, *["--trust"] * trust, *settings):
            raise UserError(f"{given} needs a recipe: curta show RECIPE")
        return list_recipes()
    name, text = names[0], names[1] if len(names) > 1 else None
    arguments.at_most_one(names[1:], "problem")
    if steps and text is None:
        raise UserError("--steps needs a problem, such as 12+34")
    if (fields or window or table) and text is not None:
        raise UserError(f"{views[0]} is of all problems: leave out the problem")
    if table:
        print(learned_algorithm(name, member), end="")
        return 0
    recipe, folder = find_recipe(name, trust, arguments.values(settings), checked=not fields)
    from curta.frontends.cli.display import notice

    if fields:
        show_fields(recipe)
        return 0
    from curta.problems.operations import operation_named
    from curta.problems.problem import parse

    if folder is None and not views and text is None:
        notice(f"{printable(name)}: {printable(recipe.summary)}")
        notice(
            f"Train it: curta train {shlex.quote(name)}. `curta show {shlex.quote(name)} --fields`"
            " lists its fields; --layers, --window"
        )
    if not (text or layers or window):
        text = operation_named(recipe.tasks[0].operator).example
    problem = None if text is None else parse(text)
    from curta.frontends.cli.paper import layers_view

    if layers:
        notice(layers_view(recipe, problem))
    else:
        notice(_paper(recipe, folder, problem, steps, window))
    return 0


def learned_algorithm(name: str, member: int = 0) -> str:
    """Return what a member of a certified run has learned, as Python; UserError without windows."""
    from curta.evaluation import readback
    from curta.evaluation.results import read_windows
    from curta.programs.machine import store
    from curta.runs import folders

    folder = folders.find(name)
    certified = read_windows(folder.path)
    if certified is None:
        raise UserError(f"run {name!r} has no certificate: `curta certify {name}` makes it")
    if not 0 <= member < len(certified.token):
        raise UserError(f"no member {member}: run {name!r} has 0 to {len(certified.token) - 1}")
    machine, windows = store.read(folder.machine, folder.name)
    tokens = certified.token[member]
    rules = readback.read_back(machine, windows, certified.rows, tokens)
    wrong = int((tokens != certified.targets).sum())
    verdict = f"wrong on {wrong:,}" if wrong else "right on all"
    title = f"Member {member} of run {folder.name!r}, {verdict} of {len(tokens):,} windows"
    return readback.algorithm(title, rules)


def _paper(
    recipe: "Recipe", folder: "Folder | None", problem: Any, steps: bool, window: bool
) -> "RenderableType | Table":
    """Return what `show` prints of texts: the windows of a program, or a problem in writing."""
    from curta.frontends.cli.paper import problem_view, steps_table, windows_view
    from curta.layouts.program import ProgramLayout
    from curta.layouts.texts import layout_of
    from curta.problems.problem import widths
    from curta.runs.folders import layout_in

    layout = layout_of(recipe) if folder is None else layout_in(folder)
    if problem is not None:
        layout.accept(problem.operator, widths(problem), problem.base)
    if not isinstance(layout, ProgramLayout):
        if window:
            raise UserError(f"--window is of programs, not of layout {layout.name!r}")
        return problem_view(layout, problem)
    if window:
        return windows_view(layout)
    return steps_table(layout, problem) if steps else problem_view(layout, problem)


def list_recipes() -> int:
    """Print the recipes that come with the program, in groups, and the comparisons."""
    from curta.config.recipe import grouped
    from curta.runs import comparison_spec

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
    return 0


def show_fields(recipe: "Recipe") -> None:
    """Print every field of a recipe with its value and one line on what it is."""
    from curta.config.descriptions import format_value, help_lines
    from curta.config.recipe import as_table, field_paths, lookup
    from curta.frontends.cli.display import notice
    from curta.model.positions import user

    encodings = tuple(user.all_settings())
    table, texts = as_table(recipe), help_lines(encodings)
    rows = []
    for path in field_paths(table, encodings):
        value = lookup(table, path)
        section = path.partition(".")[0]
        own = value is not None or section not in ("positions", "optimizer")
        if own and (value is None or not isinstance(value, dict) or path in texts):
            rows.append([path, format_value(value), texts.get(path, "")])
    columns = [Column("field", words=True), Column("value", words=True, fold=True)]
    notice(Table("", [*columns, Column("what it is", words=True, fold=True)], rows))


def find_recipe(
    name: str, trust: bool, changes: dict[str, Any], checked: bool
) -> "tuple[Recipe, Folder | None]":
    """Return a recipe with changes, or a run's with its folder; its operators are made known.

    Unless it is `checked`, fields need not fit together, and JAX is not needed.
    """
    from curta.config.recipe import shipped_names, with_overrides
    from curta.model import recipes
    from curta.programs.user import registry
    from curta.runs import folders

    is_run, is_recipe = name in folders.existing(), name in shipped_names()
    if is_run and is_recipe:
        click.echo(f"the recipe; of the run: curta show {folders.root() / name}", err=True)
    if (is_run and not is_recipe) or Path(name, "run.json").exists():
        if changes:
            raise UserError(f"run {name!r} is as it was trained: leave out {next(iter(changes))}")
        folder = folders.find(name)
        if trust:
            folder.trust()
        return folder.read_recipe() if checked else folder.state_recipe(), folder
    if trust:
        raise UserError(f"--trust is for a run, and {name!r} is a recipe")
    if not (is_recipe or registry.known(name) or Path(name).suffix in (".py", ".toml")):
        known = [*shipped_names(), *registry.names(), *folders.existing()]
        raise unknown("recipe or run", name, known, "curta show")
    where = f"recipe {name!r}"
    if checked:
        return recipes.resolve(name, changes, where), None
    return recipes.parse_fields(with_overrides(recipes.read(name), changes), where), None


TEMPLATE = '''"""A program of your own: twice a number, worked out from its last digit."""

from curta import Answer, Given, Paper, Sign, program


@program(
    "NAME",
    axes=("place",),
    prompt=(Given("n", along="place"), Sign("=")),  # NAME(57) is written 75=
    answer=Answer("sum"),
    truth=lambda n: 2 * n,
    sizes=(1, 8),  # digits of n in training
)
def NAME(paper: Paper, n: list[int]) -> None:
    """Twice a number, digit by digit."""
    carry = 0
    for digit in n:  # the last one first
        carry, total = divmod(2 * digit + carry, 10)
        paper.move(place=+1).write("sum", total)
    if carry:
        paper.move(place=+1).write("sum", carry)
    paper.end()
'''
"""The first lines of a program, which `curta check --new NAME` writes to NAME.py."""


def write_program(name: str) -> int:
    """Write TEMPLATE to a file of that name; UserError if there is one, or the name is taken."""
    from curta.frontends.cli.display import next_steps, notice
    from curta.problems.operations import OPERATIONS
    from curta.programs.user import registry

    name = name.removesuffix(".py")
    if not re.fullmatch("[a-z]+", name) or keyword.iskeyword(name):
        raise UserError(f"--new needs a name of small letters, such as double (got {quoted(name)})")
    path = Path(f"{name}.py")
    if path.exists():
        raise UserError(f"{quoted(str(path))} exists already: choose another name")
    if name in registry.names() or name in OPERATIONS:
        raise UserError(f"{quoted(name)} is Curta's own: choose another name")
    files.write(path, TEMPLATE.replace("NAME", name))
    notice(f"Wrote {path}: it doubles a number. Change its steps, and its truth, to your own.")
    next_steps((f"check {path}", "is it right, and can it be learned?"),
               (f"show {path}", "how it writes a problem"),
               (f"train {path}", "teach it to a model"))  # fmt: skip
    return 0


@click.command()
@click.argument("program", type=arguments.NAME, required=False)
@click.option("--new", type=arguments.NAME, metavar="NAME", help="Write a first one to NAME.py.")
@arguments.as_json
def check(program: str | None, new: str | None, as_json: bool) -> int:
    """Check a program: its answers, its windows, its moves.

    PROGRAM is a file with programs, such as gcd.py, or the name of a program, a recipe or a run.
    """
    from curta.frontends.cli.display import console
    from curta.frontends.cli.paper import check_lines
    from curta.programs.user import registry, userfiles

    if new is not None:
        if program is not None or as_json:
            raise UserError("--new writes a program: leave out all else")
        return write_program(new)
    if program is None:
        raise UserError("check which program? curta check gcd.py; --new NAME writes a first one")
    train = program
    if userfiles.is_file(program) or registry.known(program):
        verdicts = registry.check(program)
    else:
        programs, train = _programs_of(program)
        verdicts = [verdict for name in programs for verdict in registry.check(name)]
    if as_json:
        print(json.dumps([verdict.table for verdict in verdicts]))
    else:
        for verdict in verdicts:
            for line in check_lines(verdict, train):
                console().print(line, soft_wrap=True)
    return 0 if all(verdict.learnable for verdict in verdicts) else 1


def _programs_of(name: str) -> tuple[list[str], str]:
    """Return the programs of a recipe or of a run, and what `curta train` is given for them.

    Raises UserError for any other name, and for a run whose code was never executed here.
    """
    from curta.config.recipe import shipped_names
    from curta.model import recipes
    from curta.programs.user import registry, userfiles
    from curta.runs import folders

    if name in shipped_names():
        programs, train = list(recipes.load(name).programs), name
    elif name in folders.existing() or Path(name, "run.json").exists():
        code, train = folders.find(name).read_code(), ""
        userfiles.remembered(code.path, code.files)
        programs = list(code.programs)
        if not all(map(registry.known, programs)):
            file = next(one.file for one in code.files if one.file != "positions.py")
            raise UserError(f"run {name!r} keeps its program: curta check {code.path / file}")
    else:
        known = [*registry.names(), *shipped_names(), *folders.existing()]
        raise unknown("program", name, known, "curta show")
    if not programs:
        raise UserError(f"{name!r} has no program to check: its layout is not a program's")
    return programs, train


# What is written for others: data sets, reports, pages, exports.


@click.command()
@arguments.words("RECIPE [FIELD=VALUE]...")
@click.option(
    "--rows",
    type=arguments.Bounded(1, ROWS),
    required=True,
    metavar="N",
    help="Problems to train on.",
)
@click.option("--out", type=arguments.NAME, required=True, metavar="DIR", help="A new folder.")
@click.option("--format", "form", default="parquet", metavar="F", help="parquet, jsonl or text.")
@click.option(
    "--seed", type=arguments.Bounded(0, INT32), default=0, metavar="S", help="Seed of the draws."
)
def data(words: tuple[str, ...], rows: int, out: str, form: str, seed: int) -> int:  # fmt: skip
    """Write a recipe's problems as a data set.

    Splits: train, validation, test_id (drawn alike, held out), test_ood (larger, or written
    otherwise, as the recipe's [evaluation] says). No problem stands in two of them.
    """
    from curta.frontends.api import data as write
    from curta.frontends.cli.display import Status, notice

    names, settings = arguments.split(words)
    recipe = arguments.at_most_one(names, "recipe")
    if recipe is None:
        raise UserError("of which recipe? curta data RECIPE; `curta show` lists all")
    begun = time.perf_counter()
    with Status("writing") as status:
        summary = write(
            recipe, rows, out, form, seed,
            lambda split, share: status.say(f"{split} {share:.0%}"), **arguments.values(settings),
        )  # fmt: skip
    pace = sum(summary.rows.values()) / (time.perf_counter() - begun)
    counts = ", ".join(f"{split} {count:,}" for split, count in summary.rows.items())
    notice(f"rows: {counts}")
    notice(f"problems in more than one split: {summary.overlap}")
    notice(f"Data set: {out} ({pace:,.0f} rows a second)")
    return 0


@click.command()
@click.argument("runs", type=arguments.NAME, nargs=-1, required=True, metavar="RUN...")
@click.option("--out", type=arguments.PATH, metavar="DIR", help="Folder to write it to.")
@click.option(
    "--evaluation",
    metavar="E",
    default="",
    show_default=False,
    help="One with other settings, such as digits-500 (the recipe's).",
)
@arguments.as_json
@arguments.as_tables
def report(
    runs: tuple[str, ...], out: Path | None, evaluation: str, as_json: bool
) -> int:  # fmt: skip
    """Write the report of a run, or of several side by side; or print tables of one.

    The report lies in the run's folder; that of several, in `reports` of the runs folder.

    \b
      curta report RUN --csv                  which tables there are
      curta report RUN statistics --latex     one of them; also --csv, --json, or on the screen
      curta report RUN --csv --out DIR        all of them, a file each
    """
    from curta.frontends.api import report as write
    from curta.frontends.api import tables
    from curta.frontends.cli.display import notice

    name, others = runs[0], runs[1:]
    if arguments.form() is None and (not others or all(map(_is_report, runs))):
        notice(f"Report: {write(runs, out, evaluation)}")
        return 0
    available = tables(name, evaluation)
    for table in others:
        if table not in available and arguments.form() is None:
            raise unknown(
                "run, or table of the first run", table, [*arguments.run_names(), *available]
            )
        if table not in available:
            raise unknown("table", table, list(available), f"curta report {name} --csv")
    if out is not None:
        chosen = others or tuple(available)
        suffix = {"latex": "tex"}.get(arguments.form() or "csv", arguments.form() or "csv")
        for table in chosen:
            text = {"csv": available[table].csv, "tex": available[table].latex,
                    "json": available[table].json}[suffix]()  # fmt: skip
            files.write(out / f"{table}.{suffix}", escape_unprintable(text, "\n"))
        notice(f"{counted(len(chosen), 'table')}: {out}")
        return 0
    for table in others:
        notice(available[table])
    if not others:
        heads = [Column("table", words=True), Column("rows"), Column("what it holds", words=True)]
        rows = [[key, len(table.rows), table.title] for key, table in available.items()]
        notice(Table("", heads, rows))
    return 0


def _is_report(name: str) -> bool:
    from curta.runs import folders

    return name in arguments.run_names() or Path(name).exists() or (folders.root() / name).exists()


@click.command()
@arguments.run
@arguments.trust
@arguments.member
@click.option(
    "--out", type=arguments.PATH, metavar="FILE", help="File (page-M.html in the run's folder)."
)
def page(run: str, trust: bool, member: int, out: Path | None) -> int:  # fmt: skip
    """Write a page in which a trained model calculates."""
    from curta.export import html
    from curta.frontends.cli.display import notice
    from curta.runs.folders import find

    folder = find(run)
    if trust:
        folder.trust()
    notice(f"Page: {html.write_page(html.carried(folder), folder, member, out)}")
    notice("Next: open it in a browser, or send it to somebody: it is one file, without a network.")
    return 0


@click.command()
@arguments.run
@arguments.trust
@click.option("--to", required=True, metavar="FORM", help="adderboard, huggingface, onnx.")
@click.option(
    "--out", type=arguments.PATH, metavar="PATH", help="What to write (in the run's folder)."
)
@arguments.member
def export(run: str, trust: bool, to: str, out: Path | None, member: int) -> int:  # fmt: skip
    """Write a trained model for other programs."""
    from curta.export import EXPORTERS, write
    from curta.frontends.api import load
    from curta.frontends.cli.display import notice

    EXPORTERS.check(to)
    trained = load(run, trust=trust)
    notice(f"{trained.name} for {to}: {write(trained, to, out, member)}")
    return 0


@click.command()
@click.option(
    "--port",
    type=arguments.Bounded(0, 65_535),
    default=8642,
    metavar="N",
    help="0 is any that is free.",
)
def serve(port: int) -> int:  # fmt: skip
    """Show the runs in a browser, training as it goes on."""
    from curta.config.registry import optional_module

    for library in ("starlette", "uvicorn"):
        optional_module(library, extra="serve")
    from curta.frontends.serve import serve as begin

    return begin(port)
