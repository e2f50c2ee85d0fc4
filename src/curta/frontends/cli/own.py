"""Commands and options for programs, encodings and probes of the user's own."""

import json
from argparse import Namespace
from collections.abc import Sequence


def check(options: Namespace) -> int:
    """Says what is found of each program of a file; 1 if one cannot be learned."""
    from curta.frontends.cli.checked import lines
    from curta.frontends.cli.display import console
    from curta.programs.user import checking

    found = checking.check(options.program)
    if options.json:
        print(json.dumps([checking.table(one) for one in found], ensure_ascii=False))
    else:
        for one in found:
            for line in lines(one):
                console().print(line, soft_wrap=True)
    return 0 if all(one.learnable for one in found) else 1


def executed(given: Sequence[str]) -> None:
    """Executes the position encodings that the options name, whose fields are options too."""
    from curta.programs.user import userfiles

    for option, value in zip(given, [*given[1:], ""], strict=True):
        name, _, inline = option.partition("=")
        file = inline or value
        if name == "--positions.name" and file.endswith(".py"):
            userfiles.load(file)
