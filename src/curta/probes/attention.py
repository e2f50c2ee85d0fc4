"""Where attention goes: to which places, and to which roles of token.

A query stands at the token just written and asks what comes next, so places are compared
with that of the token that comes next. A place is the layout's first axis. Every key falls under
just one of `SOURCES`; with what goes to absent neighbours the shares of a query add up to one.
Queries before a token without a place of its own are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from curta.config.errors import UserError
from curta.layouts import Layout, ShapeBounds, Text
from curta.model.inspection import recorded
from curta.model.transformer import Transformer
from curta.probes import samples, settings
from curta.probes.base import Finding, Probe, Row
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.problems.problem import Problem

SOURCES = (
    "own token", "same place", "below", "above", "farther", "every place", "signs", "absent",
)  # fmt: skip
"""The query's own token, that is the one just written; digits at the place of the token to
come, one below it, one above it, elsewhere; digits that belong to every place; all other keys;
neighbours of a window that are not there, whose share no key has."""
OWN, SAME, BELOW, ABOVE, FARTHER, EVERY, SIGNS, ABSENT = range(len(SOURCES))


@dataclass(frozen=True)
class Attention(settings.Attention, Probe):
    """Of one problem with `problem`, else the mean over a sample as long as in training."""

    def examine(self, subject: Subject) -> Finding:
        if self.problem is not None:
            return _one(subject, subject.problem(self.problem))
        rows = []
        for task in subject.tasks:
            sample = samples.sample(subject.layout, task, self.count, self.seed)
            bounds = subject.bounds(sample)
            looks = [look(subject, problem, bounds) for problem in sample]
            rows += _rows(subject, looks, task.operator)
        roles = dict.fromkeys(key for row in rows for key in row if key.startswith("to "))
        rows = [{name: row.get(name, 0.0) for name in (*ASKED, *SOURCES, *roles)} for row in rows]
        shows = (
            "Share of attention by where its keys stand, seen from the place of the token that is"
            " to be written: mean over a sample's scored tokens that have a place of their own, for"
            " each head of each block."
        )
        panels = _by_source(rows)
        return Finding((*ASKED, *SOURCES, *roles), rows, {"shows": shows, "panels": panels})


ASKED = ("operator", "member", "block", "head")


class Look(NamedTuple):
    """Attention in one text, from those tokens after which one with a place of its own comes."""

    line: list[str]
    queries: list[int]
    weights: Float[np.ndarray, "members blocks heads queries keys"]
    sources: Int[np.ndarray, "queries keys"]
    roles: Int[np.ndarray, " keys"]

    def shares(
        self, groups: Int[np.ndarray, "queries keys"], count: int
    ) -> Float[np.ndarray, "members blocks heads queries groups"]:
        """The share of the keys of each group.

        >>> quarters, roles = np.full((1, 1, 1, 1, 4), 0.25), np.zeros(4, int)
        >>> at = Look([], [0], quarters, roles[None], roles)
        >>> at.shares(np.array([[0, 2, 2, 2]]), 3).tolist()
        [[[[[0.25, 0.0, 0.75]]]]]
        """
        return np.einsum("mbhqk,qkg->mbhqg", self.weights, np.eye(count)[groups])

    def by_source(self) -> Float[np.ndarray, "members blocks heads queries sources"]:
        """The share of each of `SOURCES`; what the keys leave of 1 is that of the absent."""
        found = self.shares(self.sources, len(SOURCES))
        found[..., ABSENT] = 1 - found.sum(-1)
        return found


def look(subject: Subject, problem: Problem, bounds: ShapeBounds) -> Look:
    """Attention in the text of one problem: of many at once, weights would take too much memory."""
    layout = subject.layout
    tokens, prompt = layout.tokens_of(problem)
    line = [layout.characters[token] for token in tokens]
    text = subject.text([(tokens, prompt)], bounds)
    where = layout.where(text)
    roles, places = np.asarray(where.role)[0], np.asarray(where.coordinates)[0, :, 0]
    asked, keys = queries(layout, roles[: len(line)], places, prompt), slice(len(line) - 1)
    if not asked:
        raise UserError(f"{problem}: no token of its completion has a place of its own")
    found = np.asarray(weights(subject.load_models().stacked, text, layout, bounds))[:, :, 0]
    seen = sources(layout, roles[: len(line)], places[: len(line)])
    mine = found[:, :, :, asked, keys]
    return Look(line, asked, mine, seen[asked, keys], roles[keys])


def queries(
    layout: Layout,
    roles: Int[np.ndarray, " time"],
    places: Int[np.ndarray, " padded"],
    prompt: int,
) -> list[int]:
    """The tokens of a text after which the model writes one with a place of its own.

    A digit that belongs to every place has none, and neither has a sign before place 0.
    """
    placed = (_digit(layout)[roles] | (places[: len(roles)] >= 0)) & ~_broadcast(layout)[roles]
    return [written - 1 for written in range(prompt, len(roles)) if placed[written]]


def _broadcast(layout: Layout) -> Bool[np.ndarray, " roles"]:
    """Which roles belong to every place."""
    return np.array([layout.axes[0] in role.broadcast for role in layout.roles])


def _digit(layout: Layout) -> Bool[np.ndarray, " roles"]:
    """Which roles are those of digits."""
    return np.array([role.digit for role in layout.roles])


@partial(jax.jit, static_argnames=("layout", "bounds"))
def weights(
    models: Transformer, text: Text, layout: Layout, bounds: ShapeBounds
) -> Float[Array, "members layers batch heads time time"]:
    """Attention weights of all members; the last axis is that of the keys."""
    where = layout.where(text)

    def one(model: Transformer) -> Array:
        found = recorded(model, text.tokens, where, bounds)
        return jnp.stack([found[site] for site in found if site.endswith("attention.weights")])

    return jax.lax.map(one, models)


def sources(
    layout: Layout, roles: Int[np.ndarray, " time"], places: Int[np.ndarray, " time"]
) -> Int[np.ndarray, "time time"]:
    """Which of `SOURCES` each key (last axis) is to the query that stands at each token.

    The last token is no query, since nothing comes next. In 21+4=5 the query at = asks for the 5:

    >>> from curta.layouts import layout_named
    >>> roles, places = np.array([0, 0, 1, 2, 3, 4]), np.array([0, 1, -1, 0, -1, 0])
    >>> [SOURCES[s] for s in sources(layout_named("reversed"), roles, places)[4, :5]]
    ['same place', 'above', 'signs', 'same place', 'own token']
    """
    to_write = np.roll(places, -1)
    offset = places[None, :] - to_write[:, None]
    found = np.select([offset == 0, offset == -1, offset == 1], [SAME, BELOW, ABOVE], FARTHER)
    found = np.where(_broadcast(layout)[roles], EVERY, found)
    found = np.where(_digit(layout)[roles], found, SIGNS)
    return np.where(np.eye(len(roles), dtype=bool), OWN, found)


def _rows(subject: Subject, looks: Sequence[Look], operator: str) -> list[Row]:
    """A row for each member, block and head; `to ...` are shares by role of key."""
    names = [role.name for role in subject.layout.roles]
    places = _mean([one.by_source() for one in looks])
    roles = _mean(
        [one.shares(np.broadcast_to(one.roles, one.sources.shape), len(names)) for one in looks]
    )
    present = sorted({role for one in looks for role in one.roles.tolist()})
    members, blocks, heads, _ = places.shape
    return [
        {"operator": operator, "member": subject.members[m], "block": b, "head": h}
        | {name: float(share) for name, share in zip(SOURCES, places[m, b, h], strict=True)}
        | {f"to {names[role]}": float(roles[m, b, h, role]) for role in present}
        for m in range(members)
        for b in range(blocks)
        for h in range(heads)
    ]


def _mean(shares: Sequence[np.ndarray]) -> Float[np.ndarray, "members blocks heads groups"]:
    """Over all queries of all texts."""
    return np.concatenate(shares, axis=3).mean(axis=3)


def _by_source(rows: list[Row]) -> list[Panel]:
    """One panel for each operator: heads below each other."""
    return [
        {
            "form": "heat",
            "title": operator,
            "across": "",
            "down": "member, block, head",
            "columns": list(SOURCES),
            "rows": [f"{row['member']} {row['block']} {row['head']}" for row in mine],
            "values": [[row[source] for source in SOURCES] for row in mine],
            "texts": [[f"{row[source]:.0%}" for source in SOURCES] for row in mine],
        }
        for operator in dict.fromkeys(row["operator"] for row in rows)
        for mine in [[row for row in rows if row["operator"] == operator]]
    ]


def _one(subject: Subject, problem: Problem) -> Finding:
    """Of one problem: a row for each query, a picture of every query against every key."""
    found = look(subject, problem, subject.bounds([problem]))
    line, whole, mean = found.line, "".join(found.line), found.weights.mean(axis=2)
    shares = found.by_source().mean(axis=2)
    rows: list[Row] = [
        {"member": member, "block": block, "index": index, "after": line[index]}
        | {"next": line[index + 1]}
        | {name: float(share) for name, share in zip(SOURCES, shares[m, block, q], strict=True)}
        for m, member in enumerate(subject.members)
        for block in range(mean.shape[1])
        for q, index in enumerate(found.queries)
    ]
    panels = [
        _map(found, f"member {member}, block {block}", mean[m, block])
        for m, member in enumerate(subject.members)
        for block in range(mean.shape[1])
    ]
    shows = (
        f"Attention in {whole}, mean over heads: from each token after which the model writes"
        " one with a place of its own (rows, with what it is to write) to every token so far"
        " (columns)."
    )
    columns = ("member", "block", "index", "after", "next", *SOURCES)
    note = f"Problem {problem}, written {whole}."
    return Finding(columns, rows, {"shows": shows, "panels": panels}, (note,))


def _map(found: Look, title: str, mean: Float[np.ndarray, "queries keys"]) -> Panel:
    line = found.line
    return {
        "form": "heat",
        "title": title,
        "across": "looked at",
        "down": "after → to write",
        "columns": line[:-1],
        "rows": [f"{line[i]} → {line[i + 1]}" for i in found.queries],
        "values": [
            [float(value) if key <= query else None for key, value in enumerate(row)]
            for query, row in zip(found.queries, mean, strict=True)
        ],
    }
