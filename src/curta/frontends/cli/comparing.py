"""Commands that train several runs side by side: comparisons and sweeps."""

import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from curta.config.errors import UserError, printable
from curta.frontends.cli import options
from curta.frontends.cli.on import On, hand_over, takes_on

if TYPE_CHECKING:
    from curta.frontends.run import Comparison
    from curta.runs.comparison_spec import Row
    from curta.runs.session import Session


named = click.option("--run", metavar="NAME", help="Name of its folder (made from its entries).")
seeds = click.option("--seeds", type=options.SEEDS, metavar="N", help=f"{options.SEEDS_HELP} (3)")


@click.command(cls=options.Open, further=options.fields)
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@named
@seeds
@options.as_json
@options.tables
@takes_on
def compare(
    entries: tuple[str, ...],
    run: str | None,
    seeds: int | list[int] | None,
    as_json: bool,
    on: On | None,
    **common: Any,
) -> int:
    """Train several recipes side by side.

    One ENTRY is the name or path of a comparison; without any, those that come with the program
    are listed. Several are recipes, '[NAME: ]RECIPE [field=value ...]', each with changes of its
    own:

    \b
      curta compare addition 'RoPE: addition positions.name=rope model.role_embeddings=false'
    """
    from curta.frontends.api import begin_comparison
    from curta.runs import comparison_spec

    if not entries:
        form = options.form()
        given = common | {"run": run, "seeds": seeds, f"{form}": form, "on": on}
        for name in (name for name, value in given.items() if value):
            raise UserError(f"--{name} is of no recipe: name a comparison, or recipes")
        return _list_comparisons()
    made = comparison_spec.resolve(comparison_spec.draft(entries), common, seeds)
    begun = begin_comparison(made, run, comparison_spec.base(entries))
    return _run_comparison(begun, as_json, on)


@click.command(cls=options.Open, further=partial(options.fields, several=True))
@click.argument("recipe", type=options.NAME)
@named
@seeds
@options.as_json
@options.tables
@takes_on
def sweep(
    recipe: str,
    run: str | None,
    seeds: int | list[int] | None,
    as_json: bool,
    on: On | None,
    **values_of: list[Any],
) -> int:
    """Train a recipe with every combination of some values.

    Values of a field are parted by commas: --model.width 32,64,128
    """
    from curta.frontends.api import begin_comparison
    from curta.runs import comparison_spec

    swept = {path: values for path, values in values_of.items() if len(values) > 1}
    common = {path: values[0] for path, values in values_of.items() if len(values) == 1}
    made = comparison_spec.resolve(comparison_spec.sweep(recipe, swept), common, seeds)
    base = comparison_spec.swept_base(recipe, swept)
    return _run_comparison(begin_comparison(made, run, base), as_json, on)


def _list_comparisons() -> int:
    from curta.runs import comparison_spec

    for name in comparison_spec.names():
        print(f"{name:20} {comparison_spec.read(name).title}")
    return 0


def resume_comparison(name: str, on: On | None) -> int:
    """Goes on with a comparison, or a sweep, that was interrupted."""
    from curta.frontends.run import Comparison
    from curta.training import devices

    devices.configure()
    return _run_comparison(Comparison.load(name), as_json=False, on=on)


def _hand_over(made: "Comparison", as_json: bool, on: On) -> int:
    """Has what is left trained and evaluated elsewhere."""
    made.save()
    return hand_over(on, made.path, [row.folder for row in made.spec.rows], as_json)


def _run_comparison(made: "Comparison", as_json: bool, on: On | None) -> int:
    """Trains and evaluates what is left, and says what was found."""
    from curta.frontends.cli.display import Status, entry_line, notice
    from curta.frontends.cli.stages import learn, show_comparison
    from curta.runs import interrupts

    if on is not None:
        return _hand_over(made, as_json, on)
    pace = made.pace()

    def train(row: "Row", run: "Session") -> None:
        if options.form():
            return run.train()
        notice(entry_line(row, pace.at(row.name)))
        return learn(run)

    try:
        with Status() as status:
            made.run_comparison(train, status.say)
        interrupts.check()
    except interrupts.Interrupted as signal:
        name = printable(made.name)
        print(f"Interrupted; saved. Go on with: curta resume {name}", file=sys.stderr)
        return signal.code
    show_comparison(made, as_json)
    return 0
