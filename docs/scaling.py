"""Writes the tables of docs/scaling.md and the measured ones of docs/architecture.md.

They are made from docs/results/scaling.json (`curta bench --device --out` that file) and
docs/results/accelerators.json (`python -m benchmarks.accelerators`), nothing else: `make scaling`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from shared import markdown, read, write_tables

from curta.config import typed
from curta.runs import costs
from curta.runs.costs import Costs, Table

FOLDER = Path(__file__).parent
PAGES = (FOLDER / "scaling.md", FOLDER / "architecture.md")
RUNS, NODES, MEMBERS = 1000, 100, 4096


def main() -> None:
    for page in PAGES:
        write_tables(page, tables())


def tables() -> dict[str, Iterable[str]]:
    """The lines between each pair of marks."""
    found = typed.read(Costs, FOLDER / "results" / "scaling.json", "docs")
    tried = read(FOLDER / "results" / "accelerators.json")
    return {
        "constants": _lines(costs.constants(found)),
        "runs": _lines(costs.of_runs(found, RUNS, NODES)),
        "population": _lines(costs.of_population(found, MEMBERS)),
        "attention": _ratios(tried["attention"], "written out", "JAX's own"),
        "precision": _ratios(tried["precision"], "float32", "bfloat16"),
        "donation": _donation(tried["donation"]),
    }


def _lines(table: Table) -> Iterator[str]:
    return markdown((table.title, ""), table.rows)


def _ratios(found: dict[str, dict[str, float]], one: str, other: str) -> Iterator[str]:
    rows = (
        [
            f"`{name.partition(',')[0]}`{''.join(name.partition(',')[1:])}",
            f"{row['one_ms']:.1f}",
            f"{row['other_ms']:.1f}",
            f"{row['ratio']:.2f} ({row['least']:.2f} to {row['most']:.2f})",
        ]
        for name, row in found.items()
    )
    return markdown(("recipe, one member", f"{one}, ms", f"{other}, ms", "ratio"), rows)


def _donation(found: list[dict[str, Any]]) -> Iterator[str]:
    rows = (
        [
            f"`{row['recipe']}`, {row['members']}",
            "at once" if row["vectorised"] else "in turn",
            *(f"{row[name] / 1e6:.2f}" for name in ("state", "kept", "donated")),
        ]
        for row in found
    )
    return markdown(("recipe, members", "", "state, MB", "kept, MB", "donated, MB"), rows)


if __name__ == "__main__":
    main()
