"""Trains until certified: windows that are wrong after the last step, and after repair.

NAME    sixteen seeds of a recipe, none left out; docs/results/certified.json

No recipe was made, or changed, while these seeds were looked at. The runs lie in the runs folder
under `certified-NAME`, so a study that was broken off goes on where it stopped.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from curta.config.table import decimal
from curta.config.typed import as_json
from docs.evidence import RESULTS, Results, arguments
from docs.programs import RECIPES, at_largest, lengths_of
from docs.shared import finished, markdown, recipe_fields

SEEDS = range(101, 117)

CHANGES = {"evaluation.all_sizes": True}

HEADS = (
    "recipe", "windows", "wrong after training", "after repair", "rounds", "shown by repair",
    "exact match",
)  # fmt: skip


def main() -> None:
    options = arguments(__doc__, RECIPES)
    for name in options.names:
        settings = {"recipe": recipe_fields(name, CHANGES)}
        RESULTS.keep("certified", name, partial(measured, name), SEEDS, settings, options)


def measured(recipe: str) -> dict[str, Any]:
    """Return every seed's windows, before and after its rounds of repair, and exact match."""
    run = finished(f"certified-{recipe}", recipe, list(SEEDS), CHANGES)
    certificate = run.folder.read_certificate()
    return {
        "grade": certificate.grade,
        "bound": certificate.listing.bound,
        "windows": certificate.windows,
        "met": certificate.met,
        "members": [as_json(member) for member in certificate.members],
        "lengths": lengths_of(run.folder.read_evaluation()),
        "hard": hard(run) if recipe in ("gcd", "calculator") else None,
    }


def hard(run: Any) -> dict[str, list[float]]:
    """Exact match on divisors of 30 digits that are rare at random: of every member."""
    from curta.evaluation.scoring import exact_match, rounded

    fibonacci = [0, 1]
    while len(str(fibonacci[-1])) < 31:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    long = [n for n in range(len(fibonacci) - 1) if len(str(fibonacci[n])) == 30]
    problems = {
        "powers of two": [f"gcd {2**a},{2**b}" for a in range(96, 100) for b in range(0, 100, 4)],
        "Fibonacci neighbours": [f"gcd {fibonacci[n + 1]},{fibonacci[n]}" for n in long],
    }
    models = run.load_models()
    return {
        name: rounded(exact_match(models, run.accept(lines)).mean(axis=1))
        for name, lines in problems.items()
    }


def tables(results: Results) -> dict[str, Iterable[str]]:
    numbers = results.read("certified")
    rows = (_row(name, numbers[name]) for name in RECIPES if name in numbers)
    return {"certified": markdown(HEADS, rows)}


def _row(recipe: str, figures: dict[str, Any]) -> list[str]:
    members = figures["members"]
    before = [(member.get("rounds") or [member["wrong"]])[0] for member in members]
    after = [member["wrong"] for member in members]
    return [
        f"`{recipe}`",
        f"{figures['windows']:,}",
        f"{max(before)} in {sum(map(bool, before))}" if any(before) else "0",
        f"{max(after)} in {sum(map(bool, after))}" if any(after) else "0",
        str(max(len(member.get("rounds", ())) for member in members)),
        f"{max(member.get('repaired', 0) for member in members):,}",
        decimal(min(least for _, least in at_largest(figures["lengths"]).values())),
    ]


if __name__ == "__main__":
    main()
