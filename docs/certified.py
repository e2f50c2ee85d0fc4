"""Trains until certified: windows that are wrong after the last step, and after repair.

NAME    sixteen seeds of a recipe, none left out; docs/results/certified.json

No recipe was made, or changed, while these seeds were looked at. The runs lie in the runs folder
under `certified-NAME`, so a study that was broken off goes on where it stopped. Their table is in
`docs/programs.py`.
"""

from typing import Any

from curta.config.typed import as_json
from curta.evaluation.scoring import exact_match, rounded
from docs.evidence import study
from docs.programs import RECIPES, lengths_of
from docs.shared import finished, recipe_fields

SEEDS = range(101, 117)

CHANGES = {"evaluation.all_sizes": True}


def main() -> None:
    settings = lambda name: {"recipe": recipe_fields(name, CHANGES)}
    study(__doc__, "certified", RECIPES, SEEDS, settings, measured)


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


if __name__ == "__main__":
    main()
