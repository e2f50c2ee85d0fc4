"""How much structure, and how many problems: `make results-phases`.

The comparison `phase-diagram`, 216 runs of four seeds, is begun in the runs folder, or gone on
with; `curta compare phase-diagram --on local cluster.parallel=2` beforehand is quicker. Every
member's exact match is kept in docs/results/phase-diagram.json, of which the table and the map
(`docs/pictures.py`) are made.
"""

from collections.abc import Iterable
from statistics import median
from typing import Any

from curta.frontends import api
from curta.report.compared import read_comparison
from curta.report.comparison_figures import phase_map
from curta.runs import comparison_spec
from docs.evidence import Results, study
from docs.shared import markdown, recipe_fields

NAME = "phase-diagram"


def main() -> None:
    spec = comparison_spec.plan([NAME])
    runs = {row.name: {"recipe": row.source, **row.changes} for row in spec.rows}
    recipes = {row.source: recipe_fields(row.source, {}) for row in spec.rows}
    settings = lambda name: {"recipes": recipes, "runs": runs}
    study(__doc__, NAME, [NAME], spec.seeds, settings, measured)


def measured(name: str) -> dict[str, Any]:
    """The cells of the comparison, trained as far as they are not."""
    cells = phase_map(read_comparison(api.compare(NAME, run=NAME).path))
    assert cells is not None
    return cells._asdict()


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return the fewest problems from which on the median member has `SHARE` of sums right."""
    cells, rows = results.read(NAME)[NAME], list[list[str]]()
    for line, row in zip(cells["lines"], cells["cells"], strict=True):
        middles = [median(members) for members in row]
        rows.append([line, _from(cells["columns"], middles, SHARE)])
    return {"phases": markdown(["structure", f"{SHARE:.0%} from"], rows)}


SHARE = 0.9
"""Exact match of the median member that the table looks for; the picture has all."""


def _from(columns: list[str], middles: list[float], share: float) -> str:
    """The first column after which no middle is below the share.

    >>> _from(["3", "5", "7"], [0.9, 0.2, 0.9], 0.5), _from(["3", "5"], [0.9, 0.2], 0.5)
    ('7', 'never')
    """
    below = [place for place, middle in enumerate(middles) if middle < share]
    first = below[-1] + 1 if below else 0
    return columns[first] if first < len(columns) else "never"


if __name__ == "__main__":
    main()
