"""What runs cost, and what many of them would: `curta bench`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from curta.config import files, limits, typed
from curta.config.errors import UserError
from curta.frontends.cli import options

if TYPE_CHECKING:
    from curta.runs.costs import Costs
    from curta.runs.costs import Table as Told


@click.command()
@click.argument("recipe", type=options.NAME, default="addition")
@click.option("--device", is_flag=True, help="Measure this machine, with real runs: minutes.")
@click.option("--costs", type=options.PATH, metavar="F", help="What was measured, by --out.")
@click.option("--out", type=options.PATH, metavar="F", help="Keep what is measured, as JSON.")
@click.option("--runs", type=options.Bounded(1, limits.INT32), default=1000, metavar="N",
              help="Runs of one member, on")  # fmt: skip
@click.option("--nodes", type=options.Bounded(1, limits.INT32), default=100, metavar="N",
              help="so many machines.")  # fmt: skip
@click.option("--members", type=options.Bounded(1, limits.INT32), default=4096, metavar="N",
              help="Members of one run on one device.")  # fmt: skip
def bench(
    recipe: str,
    device: bool,
    costs: Path | None,
    out: Path | None,
    runs: int,
    nodes: int,
    members: int,
) -> int:
    """Say what runs of RECIPE cost, and what many of them would.

    The constants are measured here (--device), or those of a file (--costs).
    """
    if device == (costs is not None):
        raise UserError("give --device, to measure this machine, or --costs F, a file of --out")
    if out is not None and not device:
        raise UserError("--out keeps what --device measures: give both")
    from curta.runs import costs as model

    found = _measured(recipe, out) if costs is None else _read(costs)
    for table in (
        model.constants(found),
        model.of_runs(found, runs, nodes),
        model.of_population(found, members),
    ):
        _print(table)
    return 0


def _measured(recipe: str, out: Path | None) -> "Costs":
    from curta.frontends import measuring
    from curta.frontends.cli.display import Status
    from curta.model import recipes

    recipes.load(recipe)
    with Status("measuring") as status:
        found = measuring.measured(recipe, status.say)
    if out is not None:
        files.write(out, files.json_text(typed.as_json(found)))
    return found


def _read(path: Path) -> "Costs":
    """The constants in a file; UserError for what is none."""
    from curta.runs.costs import Costs

    where = f"costs {str(path)!r}"
    files.read_text(path, where)
    return typed.read(Costs, path, where)


def _print(table: "Told") -> None:
    from curta.config.table import Column, Table
    from curta.frontends.cli.display import notice

    columns = (Column(table.title, "what", words=True), Column("", "much", str))
    notice(Table("", columns, table.rows))
