"""Commands for programs of the user's own."""

import json
from pathlib import Path

import click

from curta.config.errors import UserError, unknown
from curta.frontends.cli import options


@click.command()
@click.argument("program", type=options.NAME)
@options.as_json
def check(program: str, as_json: bool) -> int:
    """Check a program: its answers, its windows, its moves.

    PROGRAM is a file with programs, such as gcd.py, or the name of a program, a recipe or a run.
    """
    from curta.frontends.cli.checked import lines
    from curta.frontends.cli.display import console
    from curta.programs.user import registry, userfiles

    train = program
    if userfiles.is_file(program) or registry.known(program):
        found = registry.check(program)
    else:
        programs, train = _elsewhere(program)
        found = [one for name in programs for one in registry.check(name)]
    if as_json:
        print(json.dumps([one.table for one in found]))
    else:
        for one in found:
            for line in lines(one, train):
                console().print(line, soft_wrap=True)
    return 0 if all(one.learnable for one in found) else 1


def _elsewhere(name: str) -> tuple[list[str], str]:
    """The programs of a recipe or of a run, by name, and what `curta train` is given for them.

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
        raise unknown("program", name, known, "curta recipes")
    if not programs:
        raise UserError(f"{name!r} has no program to check: its layout is not a program's")
    return programs, train
