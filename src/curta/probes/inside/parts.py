"""Parts of a model as people say them, and pictures with one below the other."""

from collections.abc import Sequence
from typing import Any

from curta.model.inspection import kind
from curta.probes.pictures import Heat

STATES = ("embedding", "middle", "after")
"""Kinds of sites that are states."""


def named(site: str, head: int | None = None) -> str:
    """A part by its site.

    >>> named("recurrence.1.layer.0.attention.heads", 2), named("layer.1.mlp.output")
    ('recurrence 1 layer 0 head 2', 'layer 1 MLP')
    >>> named("layer.0.after"), named("layer.0.middle"), named("layer.0.mlp.inner")
    ('state after layer 0', 'state amid layer 0', 'layer 0 neurons')
    """
    what = kind(site)
    where = " ".join(site.removesuffix(what).split("."))
    states = {"before": "before", "middle": "amid", "after": "after"}
    if what in states:
        return f"state {states[what]} {where.strip()}"
    others = {"attention.heads": f"head {head}", "mlp.output": "MLP", "mlp.inner": "neurons"}
    return where + others.get(what, what)


def by_digit(title: str, column: str, rows: Sequence[dict[str, Any]]) -> Heat:
    """Rows by what their column has, the answer's digits side by side: shares, as medians."""
    names = list(dict.fromkeys(row[column] for row in rows))
    digits = list(dict.fromkeys(row["digit"] for row in rows))
    shares = {(row[column], row["digit"]): row["median"] for row in rows}
    values = [[shares[name, digit] for digit in digits] for name in names]
    return {
        "form": "heat",
        "title": title,
        "across": "digit of the answer, as written",
        "down": column,
        "columns": [str(digit) for digit in digits],
        "rows": names,
        "values": values,
        "texts": [[f"{value:.0%}" for value in row] for row in values],
    }
