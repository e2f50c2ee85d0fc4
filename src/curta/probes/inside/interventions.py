"""Changes that a user makes in a forward pass; this module does not import JAX.

An intervention names one or more sites, the value to put there, and where it applies: at which
problems, positions, roles, heads, neurons or neighbours.
"""

import operator
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import SupportsIndex

from curta.config.errors import UserError, quoted, unknown

HOWS = ("zero", "mean", "resample", "patch")

ITSELF = "itself"
"""The name of a window's first cell."""

Selection = SupportsIndex | str | Collection[SupportsIndex] | Collection[str]
"""One index or name, or several."""

LISTER = "curta probe RUN activations PROBLEM"


@dataclass(frozen=True)
class Intervention:
    """A change of a model's computation: other values at a site, in one forward pass.

    Corresponding tokens of two problems, which `resample` and `patch` need, are digits of the same
    role on the same square, or signs of the same role. Where several match, their order decides. A
    token without a counterpart keeps its value.

    Example::

        carry = curta.Intervention("layer.0.attention.heads", where={"head": 2, "role": "sum"})
        run.intervene(["57+68"], [carry])

    Raises:
        UserError: `how` is unknown, `patch` has no source, or another change has one.
    """

    site: str
    """The name of a site, or a pattern, such as `layer.0.*`."""
    how: str = "zero"
    """The kind of new value. It is `zero`, `mean` (each member's mean over all tokens of the same
    role), `resample` (the value at the corresponding token of another, random problem) or `patch`
    (the value at the corresponding token of the problem `source`)."""
    source: str | None = None
    """The problem to patch from, such as `12+35`."""
    where: Mapping[str, Selection] = field(default_factory=dict)
    """Which values to change; all by default. Keys are axes of the site, each with one index or
    several: `problem`, `position`, `head`, `neuron`, `feature` and `token`, or `query` and `key` of
    attention weights. By name, `role` and `key_role` select tokens, and `neighbour` selects a
    square of the window, such as `a place+1` or `itself`. Several keys select their intersection.
    """
    seed: int = 0
    """The seed of `resample`."""

    def __post_init__(self) -> None:
        if self.how not in HOWS:
            raise unknown("intervention", self.how, HOWS)
        if (self.how == "patch") != (self.source is not None):
            raise UserError(
                f"{self.how} of {self.site}: "
                + ("from which problem?" if self.source is None else "only patch has a source")
            )

    def __str__(self) -> str:
        """Return `patch layer.0.after:position=5 from 12+35`, as tables show it."""
        source = "" if self.source is None else f" from {self.source}"
        selected = ",".join(
            f"{axis}={item}" for axis, value in self.where.items() for item in as_list(value)
        )
        return f"{self.how} {self.site}{':' + selected if selected else ''}{source}"


def parsed(text: str, how: str, source: str | None = None, seed: int = 0) -> Intervention:
    """Return an intervention from the text of its site on the command line.

    >>> parsed("layer.0.attention.heads:head=1,head=2,role=sum", "zero").where
    {'head': [1, 2], 'role': ['sum']}
    """
    site, _, selected = text.partition(":")
    where: dict[str, list[str]] = {}
    for part in filter(None, selected.split(",")):
        axis, equals, value = (piece.strip() for piece in part.partition("="))
        if not (axis and equals and value):
            raise UserError(f"{quoted(text)}: write a selection as head=2,role=sum")
        where.setdefault(axis, []).append(value)
    numbers = {
        axis: [*map(int, values)] if all(re.fullmatch("[0-9]{1,9}", v) for v in values) else values
        for axis, values in where.items()
    }
    return Intervention(site, how, source, numbers, seed)


def as_list(value: Selection) -> list[int | str]:
    """Return one index, or several, as a list; NumPy integers become Python's.

    >>> as_list(2), as_list(["a", "b"])
    ([2], ['a', 'b'])
    """
    each = [value] if isinstance(value, str) or not isinstance(value, Collection) else [*value]
    return [item if isinstance(item, str) else operator.index(item) for item in each]


def matching(patterns: str | Sequence[str], names: Collection[str]) -> list[str]:
    """Return the sites that match patterns, in order; UserError if a pattern matches none.

    A name also stands for all sites below it; without `recurrence.R.`, for all recurrences:

    >>> names = ["embedding", "layer.0.before", "layer.0.mlp.inner", "layer.10.after"]
    >>> matching(["layer.0", "embedding"], names), matching("*.after", names)
    (['embedding', 'layer.0.before', 'layer.0.mlp.inner'], ['layer.10.after'])
    """
    short = {name: re.sub(r"^recurrence\.\d+\.", "", name) for name in names}
    chosen = set[str]()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        matches = {
            name
            for name in names
            for form in (name, short[name])
            if fnmatchcase(form, pattern) or form.startswith(f"{pattern}.")
        }
        if not matches:
            sites = names if pattern.startswith("recurrence") else dict.fromkeys(short.values())
            raise unknown("site", pattern, list(sites), LISTER)
        chosen |= matches
    return [name for name in names if name in chosen]
