"""Ten programs with rare windows, trained with default settings: are they certified?

NAME    three seeds of docs/examples/rare/NAME.py, none left out; docs/results/rare.json

The programs were written from the tutorial and not changed after a training. Their rare windows are
long runs, tables without a pattern, several operands in one step, and nesting: problems drawn at
random hardly ever meet them.
"""

import time
from collections.abc import Iterable
from typing import Any

from curta.config.typed import as_json
from docs.evidence import ROOT, Results, study
from docs.programs import lengths_of
from docs.shared import finished, markdown

FOLDER = ROOT / "docs" / "examples" / "rare"

PROGRAMS = (
    "nesting", "damm", "alternating", "modular_table", "run_lengths", "longest_run", "weighted",
    "by_37", "median", "three_operands",
)  # fmt: skip

SEEDS = (0, 1, 2)

HEADS = ("program", "windows", "wrong before repair", "seconds")


def main() -> None:
    settings = lambda name: {"program": (FOLDER / f"{name}.py").read_text("utf-8")}
    study(__doc__, "rare", PROGRAMS, SEEDS, settings, measured)


def measured(program: str) -> dict[str, Any]:
    """Return the certificate of every seed, exact match by size, and the seconds of all three."""
    begun = time.perf_counter()
    run = finished(f"rare-{program}", str(FOLDER / f"{program}.py"), SEEDS)
    certificate = run.folder.read_certificate()
    return {
        "seconds": round(time.perf_counter() - begun, 1),
        "grade": certificate.grade,
        "windows": certificate.windows,
        "members": [as_json(member) for member in certificate.members],
        "lengths": lengths_of(run.folder.read_evaluation()),
    }


def tables(results: Results) -> dict[str, Iterable[str]]:
    numbers = results.read("rare")
    return {"rare": markdown(HEADS, (_row(name, numbers[name]) for name in PROGRAMS))}


def _row(program: str, figures: dict[str, Any]) -> list[str]:
    members = figures["members"]
    rounds = [member.get("rounds") or [member["wrong"]] for member in members]
    # The page says this of all programs.
    assert not any(member["wrong"] for member in members)
    assert all(min(row["exact_match"]) == 1 for row in figures["lengths"])
    assert figures["grade"] == "closed"
    return [
        f"`{program}`",
        f"{figures['windows']:,}",
        ", ".join(f"{wrong[0]:,}" for wrong in rounds),
        f"{figures['seconds']:.0f}",
    ]


if __name__ == "__main__":
    main()
