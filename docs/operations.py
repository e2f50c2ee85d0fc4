"""Five operations of three digits, as their source has them: `make results-operations`.

small   three seeds of `sources/five-operations-small`
full    one seed of `sources/five-operations`, of which as many steps are made as were asked for
        with `curta train` beforehand, or all

Held-out problems are marked twice: the whole text to the letter, and the result's digits in what
was written token by token, as the source marks them. Runs lie in the runs folder.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, markdown, recipe_fields, spread

NAME = "operations"
RECIPES = {"small": ("five-operations-small", 3), "full": ("five-operations", 1)}
OPERATORS = ("+", "-", "*", "//", "%")


def main() -> None:
    options = arguments(__doc__, RECIPES)
    for name in options.names:
        recipe, seeds = RECIPES[name]
        settings = {"recipe": recipe_fields(f"sources/{recipe}", {})}
        RESULTS.keep(NAME, name, partial(measured, name), range(seeds), settings, options)


def tables(results: Results) -> dict[str, Iterable[str]]:
    known = results.read(NAME)
    told = [name for name in RECIPES if name in known]
    if not told:
        return {}
    head = ["", *(f"{name}: {measure}" for name in told for measure in ("whole text", "result"))]
    rows = [[operator, *_cells(known, told, operator)] for operator in (*OPERATORS, "mean")]
    return {"operations": markdown(head, rows)}


def measured(name: str) -> dict[str, Any]:
    recipe, seeds = RECIPES[name]
    run = finished(recipe, f"sources/{recipe}", seeds)
    info, rows = run.folder.read_info(), run.folder.read_evaluation().lengths
    held_out = {row.operator: row for row in rows if row.slice_name == "held out"}
    return {
        "parameters": info.parameters,
        "steps": run.step,
        "problems trained on": run.step * run.recipe.training.batch,
        "seconds": info.training_seconds,
        "whole text": {o: held_out[o].exact_match for o in OPERATORS},
        "result": {o: held_out[o].generated.exact_match for o in OPERATORS},
        "problems": {o: held_out[o].count for o in OPERATORS},
        "curve": [
            [line.step, line.member, line.loss, line.validation_exact_match]
            for line in run.folder.read_metrics()
            if line.validation_exact_match is not None
        ],
    }


def _cells(known: dict[str, Any], told: Iterable[str], operator: str) -> Iterable[str]:
    for name in told:
        for measure in ("whole text", "result"):
            shares = known[name][measure]
            if operator == "mean":
                columns = zip(*(shares[one] for one in OPERATORS), strict=True)
                yield spread((sum(column) / len(OPERATORS) for column in columns), 4)
            else:
                yield spread(shares[operator], 4)


if __name__ == "__main__":
    main()
