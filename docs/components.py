"""One component after the other, as their source has it: `make results-components`.

ladder   the comparison of that name: three seeds of every rung, 300 epochs each; where there is
         RoPE, as the source writes it (over heads, without effect) and as it is meant
range    the last rung trained on operands below 50 or up to 50, asked fourteen sums with 50 and
         larger ones, both readings of RoPE

All are trained in the runs folder, or gone on with.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, markdown, recipe_fields, spread

NAME, SEEDS, LAST = "components", 3, "sources/range"
RANGES: dict[str, dict[str, Any]] = {
    f"operands {words}, RoPE {reading}": {"task.values": [0, high], "positions.over": over}
    for words, high in (("below 50", 49), ("up to 50", 50))
    for reading, over in (("as written", "heads"), ("as meant", "tokens"))
}


HEAD = ("rung", "training loss", "loss on held-out answers", "exact match", "seconds a seed")


def main() -> None:
    from curta.runs import comparison_spec

    options = arguments(__doc__, ["ladder", "range"])
    spec = comparison_spec.resolve(comparison_spec.draft(["ladder"]), {}, None)
    asked: dict[str, Any] = {
        "ladder": {row.name: recipe_fields(row.source, row.changes) for row in spec.rows},
        "range": {name: recipe_fields(LAST, changes) for name, changes in RANGES.items()},
    }
    for name in options.names:
        RESULTS.keep(NAME, name, MEASURED[name], range(SEEDS), asked[name], options)


def tables(results: Results) -> dict[str, Iterable[str]]:
    known = results.read(NAME)
    found: dict[str, Iterable[str]] = {}
    if "ladder" in known:
        head = [
            "rung",
            "training loss",
            "loss on held-out answers",
            "exact match",
            "seconds a seed",
        ]
        found["components"] = markdown(head, map(_rung, known["ladder"]))
    if "range" in known:
        head = ["trained on", *next(iter(known["range"].values()))]
        found["range"] = markdown(head, _ranges(known["range"]))
    return found


def ladder() -> list[dict[str, Any]]:
    """Of each rung, by member: losses of the last steps and of held-out answers, exact match."""
    from curta.frontends import api

    rows = api.compare("ladder", run="ladder").read_results().rows
    return [_measured(row) for row in rows]


def _measured(row: Any) -> dict[str, Any]:
    (held_out,) = (one for one in row.lengths if one.slice_name == "held out")
    return {
        "rung": row.name,
        "parameters": row.parameters,
        "training loss": row.loss.members,
        "held-out loss": [round(math.log(p), 7) for p in held_out.perplexity.members],
        "exact match": held_out.exact_match.members,
        "problems": held_out.count,
        "seconds": row.training_seconds,
    }


def ranges() -> dict[str, dict[str, list[float]]]:
    """Of each training, exact match by member: held out, at 50, and beyond."""
    from curta.frontends import api

    found = {}
    for number, (name, changes) in enumerate(RANGES.items()):
        run = finished(f"range-{number}", LAST, SEEDS, changes)
        rows = api.probe(run, "operand-range", limit=50)
        shares = {f"{row['range']}, {row['beyond']} beyond": row["members"] for row in rows}
        lengths = run.folder.read_evaluation().lengths
        held_out = [one.exact_match for one in lengths if one.slice_name == "held out"]
        found[name] = {"held out": held_out[0], **shares}
    return found


def _rung(of: dict[str, Any]) -> list[str]:
    losses = [spread(of[name], 4) for name in ("training loss", "held-out loss")]
    return [of["rung"], *losses, spread(of["exact match"]), f"{of['seconds'] / SEEDS:,.0f}"]


def _ranges(known: dict[str, dict[str, list[float]]]) -> Iterator[list[str]]:
    for name, shares in known.items():
        yield [name, *map(spread, shares.values())]


MEASURED = {"ladder": ladder, "range": ranges}

if __name__ == "__main__":
    main()
