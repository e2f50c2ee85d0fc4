"""What `show`, `check` and `probe` print of recipes, programs and runs."""

import json
import keyword
import re
import shlex
from pathlib import Path
from typing import Any

import click

from curta.config import files, limits
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
from curta.config.typed import as_json
from curta.evaluation import readback
from curta.evaluation.results import read_windows
from curta.frontends import api
from curta.frontends.cli import arguments, display
from curta.frontends.cli.display import Status, next_steps, notice, show
from curta.model import recipes
from curta.model.positions import user
from curta.probes import PROBES, options, tasks_for
from curta.probes.inside.interventions import HOWS, Intervention, parsed
from curta.problems.operations import OPERATIONS, operation_named
from curta.problems.problem import answer_text, parse, widths
from curta.programs.machine import store
from curta.programs.user import registry, userfiles
from curta.report.tables import probe_table
from curta.runs import comparison_spec, folders
from curta.runs.folders import Folder


def show_problem(
    name: str, recipe: Recipe, folder: Folder | None, view: str, text: str | None
) -> None:
    """Print a problem as a recipe, or a run, writes it, or its steps, windows or layers."""
    if folder is None and not view and text is None:
        notice(f"{printable(name)}: {printable(recipe.summary)}")
        options = "--fields, --layers or --window" if recipe.programs else "--fields or --layers"
        notice(
            f"Train it with `curta train {shlex.quote(name)}`."
            f" Add {options} to this command to see more."
        )
    if not text and view not in ("layers", "window"):
        text = operation_named(recipe.tasks[0].operator).example
    problem = None if text is None else parse(text)
    from curta.layouts.program import ProgramLayout
    from curta.layouts.texts import layout_of

    if view == "layers":
        notice(display.layers_view(recipe, problem))
        return
    layout = layout_of(recipe) if folder is None else folders.layout_in(folder)
    if problem is not None:
        layout.accept(problem.operator, widths(problem), problem.base)
    if view == "window":
        if not isinstance(layout, ProgramLayout):
            raise UserError(f"--window is of programs, not of layout {layout.name!r}")
        notice(display.windows_view(layout))
    elif problem is not None and view == "steps" and isinstance(layout, ProgramLayout):
        notice(display.steps_table(layout, problem))
    elif problem is not None:
        notice(display.problem_view(layout, problem))


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
    is_recipe = name in shipped_names()
    is_run = name in folders.existing() or (folders.root() / name / "run.json").exists()
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
            for line in display.check_lines(verdict, train):
                display.console().print(line, soft_wrap=True)
    return 0 if all(verdict.learnable for verdict in verdicts) else 1


# Probes.


def list_probes(name: str, trust: bool) -> None:
    """Print all probes, and which tasks of a run each applies to."""
    recipe, rows = folders.find(name, trust).state_recipe(), []
    for probe, subject in PROBES.items():
        operators = " ".join(task.operator for task in tasks_for(subject, recipe))
        rows.append([probe, operators or "nothing here", subject.summary])
    about = "what members calculate on the way, and with changes of it"
    heads = (("probe", False), ("applies to", False), ("what it examines", True))
    columns = [Column(name, words=True, fold=fold) for name, fold in heads]
    notice(Table("", columns, [*rows, [arguments.ACTIVATIONS, "all", about]]))


def examine(
    run_name: str, name: str, texts: dict[str, str], trust: bool, member: int | None
) -> None:
    """Put a probe to a run, with the texts of its options, and print its table."""
    kinds = {field: kind for field, _, kind, _ in options(name)}
    values: dict[str, Any] = {}
    for field, text in texts.items():
        if field not in kinds:
            raise UserError(f"probe {name!r}: {unknown('option', field, kinds)}")
        kind = kinds[field]
        try:
            values[field] = (arguments.SIGNED if kind is int else kind)(text)
        except click.BadParameter as error:
            raise UserError(f"{field}: {error.message}") from None
        except ValueError:
            raise UserError(f"{field} must be a {kind.__name__} (got {quoted(text)})") from None
    run = api.load(run_name, trust=trust)
    with Status() as status:
        status.say(name)
        table = api.examine(run, name, None if member is None else [member], **values)
    show(table, probe_table)
    notice(f"Report: {run.folder.report}")


def activations(
    name: str,
    problems: list[str],
    texts: dict[str, str],
    trust: bool,
    member: int | None,
    recurrences: int | None,
    out: Path | None,
) -> None:
    """Record what members calculate over the true texts of problems, and with other values."""
    refuse_if(not problems, "no problem given: curta probe RUN activations 12+34")
    interventions = read_interventions(texts)
    run, sites = api.load(name, recurrences, trust), texts.get("sites", "*").split(",")
    recorded = run.activations(problems, sites, interventions, None if member is None else [member])
    rows = []
    if interventions:
        changed = run.intervene(problems, interventions, recorded.about.members)
        for number, problem in enumerate(map(parse, problems)):
            for place, who in enumerate(recorded.about.members):
                answers = (run.ask(problem, who), changed[place][number])
                texts_of = [
                    None if answer is None else answer_text(answer, problem.answer_base)
                    for answer in answers
                ]
                rows.append([str(problem), who, *texts_of, answers[1] == problem.truth])
    columns = [
        Column("problem", words=True),
        Column("member"),
        Column("answer", text=lambda text: text or "invalid"),
        Column("with changes", "changed", lambda text: text or "invalid"),
        Column("", "right", lambda right: "right" if right else "WRONG", words=True,
               style=lambda right, row: "green" if right else "bold red"),
    ]  # fmt: skip
    answer_table = Table("", columns, rows)
    path = None if out is None else recorded.save(out)
    if arguments.form():
        shapes = {site: list(recorded[site].shape) for site in recorded}
        about, answers_of_all = as_json(recorded.about), answer_table.records()
        print(json.dumps({"about": about, "shapes": shapes, "answers": answers_of_all}))
        return
    sizes = []
    for site, axes in recorded.about.axes.items():
        lengths = zip(axes, recorded[site].shape, strict=True)
        sizes.append([site, ", ".join(f"{axis} {length:,}" for axis, length in lengths)])
    notice(Table("", [Column("site", words=True), Column("axes", words=True)], sizes))
    if rows:
        notice("")
        notice(answer_table)
    if path is not None:
        notice(f"Arrays: {path}")


def read_interventions(texts: dict[str, str]) -> list[Intervention]:
    """Return the changes that settings such as `zero=final` ask for, in order of kind."""
    seed = arguments.values({"seed": texts.get("seed", "0")})["seed"]
    if not isinstance(seed, int) or not 0 <= seed <= limits.INT32:
        raise UserError(f"seed must be 0 to {limits.INT32:,} (got {quoted(seed)})")
    options = ("sites", "seed", *HOWS)
    for field in texts:
        if field not in options:
            raise unknown("option of activations", field, options)
    interventions = []
    for how in HOWS:
        for text in filter(None, texts.get(how, "").split(";")):
            if how != "patch":
                interventions.append(parsed(text, how, seed=seed))
                continue
            site, equals, problem = text.rpartition("=")
            if not (site and equals and problem):
                raise UserError(f"patch={quoted(text)}: write SITE=PROBLEM, such as final=12+35")
            interventions.append(parsed(site, how, problem))
    return interventions
