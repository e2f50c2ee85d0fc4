"""Every problem of two operands from 0 to 999, counted for every seed: `make results-exhaustive`.

The three seeds of recipe `calculator` on all 4,998,000 problems with + - * // and %. They are
trained as run `exhaustive-calculator` in the runs folder. Each operation is a result of its own.
"""

from collections.abc import Iterable
from typing import Any

from curta.evaluation import suite
from docs.evidence import Json, Results, study
from docs.shared import markdown, recipe_fields, trained

NAME, RECIPE = "exhaustive", "calculator"
OPERATORS = ("+", "-", "*", "//", "%")
LIMIT = 999
SEEDS = range(3)


def main() -> None:
    study(__doc__, NAME, OPERATORS, SEEDS, settings, counted)


def settings(operator: str) -> Json:
    fields = recipe_fields(RECIPE, {})
    del fields["evaluation"]
    return {"recipe": fields, "limit": LIMIT}


def counted(operator: str) -> dict[str, Any]:
    """Return how many problems there are, and how many each seed has right."""
    run, _ = trained(f"{NAME}-{RECIPE}", RECIPE, SEEDS, {})
    table = suite.whole_table(run.load_models(), operator, LIMIT, _print_progress)
    return {"problems": table.count, "right": list(table.correct)}


def _print_progress(line: str) -> None:
    print(f"\r{line}", end="\n" if line.endswith(" 100%") else "", flush=True)


def tables(results: Results) -> dict[str, Iterable[str]]:
    numbers = results.read(NAME)
    # The page says that every seed solves every problem.
    assert all(set(of["right"]) == {of["problems"]} for of in numbers.values())
    counts = [f"{of['problems']:,}" for of in numbers.values()]
    return {NAME: markdown([f"`{operator}`" for operator in numbers], [counts])}


if __name__ == "__main__":
    main()
