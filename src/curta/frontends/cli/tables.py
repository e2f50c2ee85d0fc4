"""The tables of a run or a comparison, from its files, and two runs on the same problems."""

from collections.abc import Mapping
from pathlib import Path

import click

from curta.config import files, typed
from curta.config.errors import UserError, escape_unprintable, unknown
from curta.config.table import Column, Table
from curta.frontends.cli import options
from curta.frontends.cli.options import COUNT


@click.command()
@options.run
@click.argument("table", required=False, type=options.NAME)
@options.evaluation
@click.option("--out", type=options.PATH, metavar="DIR", help="Write all, as CSV and LaTeX.")
@options.as_json
@options.tables
def tables(run: str, table: str | None, evaluation: str, out: Path | None, as_json: bool) -> int:
    """Show a table of a run, or of a comparison: statistics, exact match, probes and others.

    TABLE is its name; without it, all are listed. Nothing is calculated by a model.
    """
    from curta.frontends.api import tables as read
    from curta.frontends.cli.display import notice

    if table is not None and out is not None:
        raise UserError(f"--out writes all tables: leave out {table!r}")
    found = read(run, evaluation)
    if out is not None:
        _write(found, out)
        notice(f"{len(found)} tables, as CSV and LaTeX: {out}")
        return 0
    if table is not None and table not in found:
        raise unknown("table", table, list(found), f"curta tables {run}")
    notice(_listed(found) if table is None else found[table])
    return 0


def _listed(found: Mapping[str, Table]) -> Table:
    columns = [Column("table", words=True), Column("rows"), Column("what it holds", words=True)]
    return Table("", columns, [[name, len(one.rows), one.title] for name, one in found.items()])


def _write(found: Mapping[str, Table], out: Path) -> None:
    """A file of each form for each table; those of probes lie in a folder of their own."""
    for name, table in found.items():
        for suffix, text in (("csv", table.csv()), ("tex", table.latex())):
            files.write(out / f"{name}.{suffix}", escape_unprintable(text, "\n"))


@click.command()
@options.run
@click.argument("other", type=options.NAME)
@options.trust
@click.option("--digits", metavar="20,100", help="Digit counts (those of RUN's recipe).")
@click.option("--count", type=COUNT, metavar="N", help="Problems of each slice.")
@click.option("--seed", type=options.SEED, metavar="S", help="Seed of the problems.")
@click.option("--member", type=options.MEMBER, metavar="M", help="This member of each run alone.")
@options.as_json
@options.tables
def paired(
    run: str,
    other: str,
    trust: bool,
    digits: str | None,
    member: int | None,
    as_json: bool,
    **sizes: int | None,
) -> int:
    """Ask two runs the same problems, and say how sure the difference is.

    Of several seeds their means are compared; of one seed each, or with --member, right and wrong
    problem by problem (McNemar's exact test).
    """
    from curta.frontends.api import load
    from curta.frontends.cli.display import Status, notice
    from curta.report.tables.statistics import paired as table_of
    from curta.runs import folders

    for name in (run, other):
        folders.find(name)
    first, second = (load(name, trust=trust) for name in (run, other))
    changes = {"digits": options.sizes(digits), **sizes}
    changes = {name: value for name, value in changes.items() if value is not None}
    with Status("asking") as status:
        found = first.paired(second, member, status.say, **changes)
    if as_json:
        print(typed.text(found), end="")
    else:
        notice(table_of(found))
    return 0
