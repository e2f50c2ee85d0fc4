"""One component after the other, as their source has it: `make results-components`.

The rungs are those of the comparison `ladder`: three seeds of each, 300 epochs; where there is
RoPE, as the source writes it (over heads, without effect) and as it is meant. Then the last rung is
trained on operands below 50 or up to 50, and asked fourteen sums with 50 and larger ones, both
readings of RoPE. `python -m docs.components SGD` measures one rung.

Every rung and training is a result of its own in docs/results/components.json; runs lie in the runs
folder, where a training that was broken off goes on.
"""

import math
import re
from collections.abc import Iterable
from functools import cache, partial
from typing import Any

from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, markdown, recipe_fields, spread

NAME, SEEDS, LAST = "components", 3, "sources/range"
RANGES: dict[str, dict[str, Any]] = {
    f"operands {words}, RoPE {reading}": {"task.values": [0, high], "positions.over": over}
    for words, high in (("below 50", 49), ("up to 50", 50))
    for reading, over in (("as written", "heads"), ("as meant", "tokens"))
}


HEAD = ("rung", "training loss", "loss on held-out answers", "exact match")


def main() -> None:
    options = arguments(__doc__, [*rungs(), *RANGES])
    for name in options.names:
        recipe, changes = (rungs() | _ranges())[name]
        settings = {"recipe": recipe_fields(recipe, changes)}
        measure = partial(_of_range if name in RANGES else _of_rung, name, recipe, changes)
        RESULTS.keep(NAME, name, measure, range(SEEDS), settings, options)


@cache
def rungs() -> dict[str, tuple[str, dict[str, Any]]]:
    """Recipe and changes of every entry of the comparison."""
    from curta.runs import comparison_spec

    draft = comparison_spec.draft(["ladder"])
    spec = comparison_spec.resolve(draft, {}, None)
    common = {
        f"{section}.{field}": value
        for section, fields in draft.common.items()
        for field, value in fields.items()
    }
    return {row.name: (row.source, {**common, **row.changes}) for row in spec.rows}


def _ranges() -> dict[str, tuple[str, dict[str, Any]]]:
    return {name: (LAST, changes) for name, changes in RANGES.items()}


def tables(results: Results) -> dict[str, Iterable[str]]:
    known = results.read(NAME)
    ladder = {name: found for name, found in known.items() if name not in RANGES}
    asked = {name: known[name]["shares"] for name in RANGES if name in known}
    found: dict[str, Iterable[str]] = {}
    if ladder:
        found["components"] = markdown(HEAD, [_rung(name, ladder[name]) for name in ladder])
    if asked:
        head = ["trained on", *next(iter(asked.values()))]
        found["range"] = markdown(head, [[n, *map(spread, s.values())] for n, s in asked.items()])
    return found


def _of_rung(name: str, recipe: str, changes: dict[str, Any]) -> dict[str, Any]:
    """By member: losses of the last steps and of held-out answers, exact match."""
    run = finished(_slug(name), recipe, SEEDS, changes)
    (held_out,) = (
        row for row in run.folder.read_evaluation().lengths if row.slice_name == "held out"
    )
    lines, info = run.folder.read_metrics(), run.folder.read_info()
    last = [line.loss for line in lines if line.step == run.step]
    return {
        "parameters": info.parameters,
        "training loss": last,
        "held-out loss": [round(math.log(p), 7) for p in held_out.perplexity],
        "exact match": held_out.exact_match,
        "problems": held_out.count,
        "curve": [
            [line.step, line.member, line.loss, line.validation_loss]
            for line in lines
            if line.validation_loss is not None
        ],
    }


def _of_range(name: str, recipe: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Exact match by member: held out, at 50, and beyond."""
    from curta.frontends import api

    run = finished(_slug(name), recipe, SEEDS, changes)
    rows = api.probe(run, "operand-range", limit=50)
    shares = {f"{row['range']}, {row['beyond']} beyond": row["members"] for row in rows}
    lengths = run.folder.read_evaluation().lengths
    (held_out,) = (one.exact_match for one in lengths if one.slice_name == "held out")
    return {"shares": {"held out": held_out, **shares}}


def _slug(name: str) -> str:
    return "-".join(["components", *re.findall("[a-z0-9]+", name.lower())])


def _rung(name: str, of: dict[str, Any]) -> list[str]:
    losses = [spread(of[measure], 4) for measure in ("training loss", "held-out loss")]
    return [name, *losses, spread(of["exact match"])]


if __name__ == "__main__":
    main()
