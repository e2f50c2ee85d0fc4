"""How much structure, and how many problems: `python docs/phases.py`, after the study has run.

    curta compare phase-diagram --on local --cluster.parallel 2
    python docs/phases.py

The study is 216 runs of four seeds; `curta resume phase-diagram --on local` goes on with it. This
keeps every member's exact match in docs/results/phase-diagram.json, and writes the table of
docs/results.md from that file alone, as `docs/pictures.py phases` draws the map.
"""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

from shared import arguments, markdown, read, write, write_tables

FOLDER = Path(__file__).parent
RESULTS = FOLDER / "results" / "phase-diagram.json"
PAGE = FOLDER / "results.md"
NAME = "phase-diagram"


def main() -> None:
    options = arguments(__doc__, "studies").parse_args()
    if not options.tables:
        write(RESULTS, measured(NAME))
    known = read(RESULTS)
    write_tables(PAGE, {"phases": markdown(_heads(), _rows(known))})


def measured(name: str) -> dict[str, Any]:
    """The cells of a comparison that has ended, and where its runs come from."""
    from curta.frontends.run import Comparison
    from curta.report import phases
    from curta.report.compared import read_comparison
    from curta.runs.folders import Folder

    made = Comparison.load(name)
    found = phases.found(read_comparison(made.path))
    assert found is not None
    info = Folder(next(iter(made.find_folders().values()))).read_info()
    return {
        "command": f"curta compare {name} --on local",
        "commits": {name: one.commit for name, one in info.code.items()},
        "versions": info.versions,
        "device": info.device,
        "seeds": list(made.spec.seeds),
        **found._asdict(),
    }


def _heads() -> list[str]:
    return ["structure", *(f"median {share:.0%} from" for share in SHARES), "best median"]


SHARES = (0.25, 0.9, 1.0)
"""Exact match of the median member that a line of the table looks for."""


def _rows(known: dict[str, Any]) -> Iterator[list[str]]:
    """For each line the fewest problems from which the median member reaches each share."""
    for line, cells in zip(known["lines"], known["cells"], strict=True):
        middles = [median(members) for members in cells]
        reached = [
            next((n for n, m in zip(known["columns"], middles, strict=True) if m >= s), "never")
            for s in SHARES
        ]
        yield [line, *reached, f"{max(middles):.3f}"]


if __name__ == "__main__":
    main()
