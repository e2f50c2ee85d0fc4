"""Commands for programs of the user's own."""

import json

import click

from curta.frontends.cli import options


@click.command()
@click.argument("program", type=options.NAME)
@options.as_json
def check(program: str, as_json: bool) -> int:
    """Check a program: its answers, its windows, its moves.

    PROGRAM is a file with programs, such as gcd.py, or a program's name.
    """
    from curta.frontends.cli.checked import lines
    from curta.frontends.cli.display import console
    from curta.programs.user import checking

    found = checking.check(program)
    if as_json:
        print(json.dumps([checking.table(one) for one in found]))
    else:
        for one in found:
            for line in lines(one):
                console().print(line, soft_wrap=True)
    return 0 if all(one.learnable for one in found) else 1
