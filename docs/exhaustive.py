"""Every problem of two operands from 0 to 999, counted for every seed: `make results-exhaustive`.

The three seeds of recipe `calculator` on all 4,998,000 problems with + - * // and %. They are
trained as run `exhaustive-calculator` in the runs folder, unless it lies there. Each operation is
a result of its own, with all seeds, which share the writing of texts.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from docs.evidence import RESULTS, Results, arguments
from docs.shared import markdown, recipe_fields

if TYPE_CHECKING:
    from curta import Run

RUN, RECIPE = "exhaustive-calculator", "calculator"
OPERATORS = ("+", "-", "*", "//", "%")
LIMIT = 999
SEEDS = range(3)


def main() -> None:
    options = arguments(__doc__, OPERATORS)
    recipe = {part: of for part, of in recipe_fields(RECIPE, {}).items() if part != "evaluation"}
    settings = {"recipe": recipe, "limit": LIMIT}
    for operator in options.names:
        measure = partial(counted, operator)
        RESULTS.keep("exhaustive", operator, measure, SEEDS, settings, options)


def counted(operator: str) -> dict[str, Any]:
    """How many problems there are, and how many each seed has right."""
    from curta.evaluation import exact_match

    found = exact_match.whole_table(trained().load_models(), operator, LIMIT, said)
    return {"problems": found.count, "right": list(found.correct)}


def trained() -> "Run":
    """The finished run of that name, which must be of just this recipe and these seeds."""
    from curta.config.errors import UserError
    from curta.frontends import api
    from curta.runs import folders

    if RUN not in folders.existing():
        api.begin(RECIPE, list(SEEDS), RUN, {})
    run, recipe = api.load(RUN), api.resolve(RECIPE, {})
    if (run.recipe, run.seeds) != (recipe, list(SEEDS)):
        raise UserError(f"run {RUN!r} is of another recipe, or of other seeds: remove it")
    if run.folder.read_info().status != "finished":
        run.train()
    return run


def said(share: float) -> None:
    print(f"\r{share:.0%}", end="" if share < 1 else "\n", flush=True)


def tables(results: Results) -> dict[str, Iterable[str]]:
    """A row for each operation, a column for each seed."""
    heads = ("operation", "problems", *(f"seed {seed}, right" for seed in SEEDS))
    return {"exhaustive": markdown(heads, _rows(results.read("exhaustive")))}


def _rows(found: dict[str, Any]) -> Iterator[list[str]]:
    for operator, one in found.items():
        yield [f"`{operator}`", *(f"{count:,}" for count in (one["problems"], *one["right"]))]
    counts = [(one["problems"], *one["right"]) for one in found.values()]
    yield ["all", *(f"{sum(column):,}" for column in zip(*counts, strict=True))]


if __name__ == "__main__":
    main()
