"""What runs cost on this machine, on which nothing else should run: `make results-scaling`.

`benchmarks.cost` measures the constants (docs/results/scaling.json), `benchmarks.accelerators`
what is chosen for accelerators, tried on a CPU (docs/results/accelerators.json). The tables of
docs/scaling.md and the one of attention in docs/architecture.md are made of both.
"""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from benchmarks import accelerators, cost
from curta.config import typed
from docs.evidence import RESULTS, Results, arguments
from docs.shared import markdown, recipe_fields

RECIPE = "addition"
RUNS, NODES, MEMBERS = 1000, 100, 4096


def main() -> None:
    options = arguments(__doc__, [RECIPE, *accelerators.QUESTIONS])
    for name in options.names:
        if name == RECIPE:
            settings = {"recipe": recipe_fields(RECIPE, {})}
            RESULTS.keep("scaling", RECIPE, measured, [0], settings, options)
        else:
            measure = partial(accelerators.measured, name)
            RESULTS.keep("accelerators", name, measure, [0], accelerators.settings(name), options)


def measured() -> Any:
    """The constants, in the form of `benchmarks.cost --out`."""
    return typed.as_json(cost.measured(RECIPE, print))


def tables(results: Results) -> dict[str, Iterable[str]]:
    found = _costs(results.read("scaling")[RECIPE])
    tried = results.read("accelerators")
    return {
        "constants": _lines(cost.constants(found)),
        "runs": _lines(cost.of_runs(found, RUNS, NODES)),
        "population": _lines(cost.of_population(found, MEMBERS)),
        "precision": _ratios(tried["precision"], "float32", "bfloat16"),
        "donation": _donation(tried["donation"]),
    }


def _costs(kept: dict[str, Any]) -> cost.Costs:
    fields = {name: value for name, value in kept.items() if name != "format"}
    return typed.parse(cost.Costs, json.dumps(fields), "docs", "scaling.json")


def _lines(table: cost.Table) -> Iterator[str]:
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
