"""Commands whose result is for others: data sets, exports, reports, pages."""

import time
from pathlib import Path
from typing import Any

import click

from curta.config.limits import ROWS
from curta.frontends.cli import options


@click.command(cls=options.Open, further=options.fields_of_data)
@click.argument("recipe", type=options.NAME)
@click.option(
    "--rows",
    type=options.Bounded(1, ROWS),
    required=True,
    metavar="N",
    help="Problems to train on.",
)
@click.option("--out", type=options.NAME, required=True, metavar="DIR", help="A new folder.")
@click.option("--format", "form", default="parquet", metavar="F", help="parquet, jsonl or text.")
@click.option("--seed", type=options.SEED, default=0, metavar="S", help="Seed of the draws.")
def data(recipe: str, rows: int, out: str, form: str, seed: int, **overrides: Any) -> int:
    """Write a recipe's problems as a data set.

    Splits: train, validation, test_id (drawn alike, held out), test_ood (larger, or written
    otherwise, as the recipe's [evaluation] says). No problem stands in two of them.
    """
    from curta.frontends.api import write_data
    from curta.frontends.cli.display import Status, data_lines

    begun = time.perf_counter()
    with Status("writing") as status:
        summary = write_data(
            recipe, rows, out, form, seed, overrides,
            lambda split, share: status.say(f"{split} {share:.0%}"),
        )  # fmt: skip
    for line in data_lines(summary, out, time.perf_counter() - begun):
        _notice(line)
    return 0


@click.command()
@options.run
@options.trust
@click.option("--to", required=True, metavar="FORM", help="adderboard, huggingface, onnx.")
@click.option(
    "--out", type=options.PATH, metavar="PATH", help="What to write (in the run's folder)."
)
@options.member
def export(run: str, trust: bool, to: str, out: Path | None, member: int) -> int:
    """Write a trained model for other programs."""
    from curta.export import EXPORTERS, write
    from curta.frontends.api import load

    EXPORTERS.check(to)
    found = load(run, trust=trust)
    path = write(found, to, out, member)
    _notice(f"{found.name} for {to}: {path}")
    return 0


@click.command("import")
@click.argument("form")
@click.argument("path", type=options.PATH, metavar="DIR")
@click.option("--run", metavar="NAME", help="Name of the run (the exported one's).")
def import_run(form: str, path: Path, run: str | None) -> int:
    """Make a run of a model that was exported.

    FORM is huggingface, DIR the exported folder.
    """
    from curta.export import import_run as write

    folder = write(form, path, run)
    _notice(f"{folder.path}: run {folder.name}, seed {folder.read_info().seeds[0]}")
    return 0


@click.command()
@options.run
@options.trust
@options.member
@click.option(
    "--out", type=options.PATH, metavar="FILE", help="File (page-M.html in the run's folder)."
)
def page(run: str, trust: bool, member: int, out: Path | None) -> int:
    """Write a page in which a trained model calculates."""
    from curta.export import html
    from curta.runs.folders import find

    folder = find(run)
    if trust:
        folder.trust()
    _notice(f"Page: {html.write_page(html.carried(folder), folder, member, out)}")
    return 0


@click.command()
@click.option(
    "--port",
    type=options.Bounded(0, 65_535),
    default=8642,
    metavar="N",
    help="0 is any that is free.",
)
def serve(port: int) -> int:
    """Show the runs in a browser, training as it goes on."""
    from curta.config.registry import optional_module

    for library in ("starlette", "uvicorn"):
        optional_module(library, extra="serve")
    from curta.frontends.serve import serve as begin

    return begin(port)


@click.command()
@click.argument("runs", type=options.NAME, nargs=-1, required=True, metavar="RUN...")
@click.option("--out", type=options.PATH, metavar="DIR", help="Folder to write it to.")
@options.evaluation
def report(runs: tuple[str, ...], out: Path | None, evaluation: str) -> int:
    """Write the report of a run, or of several side by side.

    It lies in the run's folder; of several, in `reports` of the runs folder.
    """
    from curta.frontends.api import report as write

    _notice(f"Report: {write(runs, out, evaluation)}")
    return 0


def _notice(text: str) -> None:
    from curta.frontends.cli.display import notice

    notice(text)
