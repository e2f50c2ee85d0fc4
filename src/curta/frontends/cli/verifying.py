"""Whether what lies in the runs folder is whole: `curta verify`."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from curta.frontends.cli import options

if TYPE_CHECKING:
    from rich.text import Text

    from curta.runs.verify import Part

STYLES = {"whole": "green", "missing": "yellow", "damaged": "bold red", "foreign": "magenta"}


@click.command()
@options.run
@options.as_json
def verify(run: str, as_json: bool) -> int:
    """Say which files of a run, or of a comparison, are whole.

    Nothing is executed, followed or changed. The exit code is 1 if anything is not whole.
    """
    from curta.frontends.api import verify as parts_of
    from curta.frontends.cli.display import console

    found = parts_of(run)
    if as_json:
        print(json.dumps([asdict(part) for part in found]))
    for part in found if not as_json else ():
        console().print(_line(part), soft_wrap=True)
    return int(any(part.state != "whole" for part in found))


def _line(part: "Part") -> "Text":
    from rich.text import Text

    from curta.config.errors import printable

    about = f": {printable(part.about)}" if part.about else ""
    return Text.assemble((f"{part.state:8}", STYLES[part.state]), printable(part.name), about)
