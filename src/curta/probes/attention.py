"""Attention by place and by role of token.

A query stands at the token just written and predicts the next token, so places are compared with
that of the next token. A place is the layout's first axis. Every key belongs to exactly one of
`SOURCES`; together with the share of absent neighbours, the shares of a query add up to 1.
Queries before a token without a single place are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from curta.config.errors import UserError
from curta.probes.base import Finding, Probe, Row, option, seed_option
from curta.probes.pictures import Panel, heat, percent_texts

if TYPE_CHECKING:
    from curta.layouts import Layout
    from curta.probes.inside.question import Question
    from curta.probes.subject import Subject

SOURCES = (
    "own token", "same place", "below", "above", "farther", "every place", "signs", "absent",
)  # fmt: skip
"""Where a key stands: at the query's own token (the one just written); a digit at the place of the
next token, one place below it, one place above it, or elsewhere; a digit that belongs to every
place; any other key; neighbours of a window that do not exist, whose share no key has.
"""
OWN, SAME, BELOW, ABOVE, FARTHER, EVERY, SIGNS, ABSENT = range(len(SOURCES))


@dataclass(frozen=True)
class AttentionShares(Probe):
    """Attention in one `problem`, or the mean over a sample of the longest size in training."""

    name: ClassVar[str] = "attention"
    summary: ClassVar[str] = "what attention looks at, by place and role of token"
    scope: ClassVar[str] = "models that write token by token"
    token_by_token: ClassVar[bool] = True

    problem: str | None = option(None, "one problem, such as 57+68 (a sample)", kind=str)
    count: int = option(20, "problems of the sample")
    seed: int = seed_option("seed of the sample")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.problem is not None and (self.count, self.seed) != (20, 1):
            raise UserError("count and seed are of a sample: leave them out with a problem")

    def examine(self, subject: Subject) -> Finding:
        if self.problem is not None:
            return self._examine_one(subject, self.problem)
        names = [role.name for role in subject.layout.roles]
        rows, panels = list[Row](), list[Panel]()
        for task in subject.tasks:
            question = subject.question(subject.sample(task, self.count, self.seed))
            looks = [look(question, number) for number in range(len(question.problems))]
            by_source = mean([text.by_source() for text in looks])
            by_role = mean([text.shares(text.roles, len(names)) for text in looks])
            present = sorted({role for text in looks for role in text.roles.tolist()})
            mine = list[Row]()
            for m, block, head in np.ndindex(by_source.shape[:3]):
                row: Row = {"operator": task.operator, "member": subject.members[m]}
                row |= {"block": block, "head": head}
                row |= dict(zip(SOURCES, by_source[m, block, head].tolist(), strict=True))
                row |= {f"to {names[r]}": float(by_role[m, block, head, r]) for r in present}
                mine.append(row)
            values = [[row[source] for source in SOURCES] for row in mine]
            heads = [f"{row['member']} {row['block']} {row['head']}" for row in mine]
            panels.append(heat(
                task.operator, "", "member, block, head", SOURCES, heads, values,
                percent_texts(values),
            ))  # fmt: skip
            rows += mine
        shows = (
            "Share of attention by where its keys stand, seen from the place of the token that is"
            " to be written: mean over a sample's scored tokens that belong to one place, for"
            " each head of each block."
        )
        roles = dict.fromkeys(key for row in rows for key in row if key.startswith("to "))
        rows = [row | {role: row.get(role, 0.0) for role in roles} for row in rows]
        return Finding.of(rows, shows, panels)

    def _examine_one(self, subject: Subject, text: str) -> Finding:
        """Return a row for each query of one problem, and a picture of queries against keys."""
        problem = subject.problem(text)
        text_look = look(subject.question([problem]), 0)
        line, by_key = text_look.line, text_look.weights.mean(axis=2)
        by_source = text_look.by_source().mean(axis=2)
        rows, panels = list[Row](), list[Panel]()
        for m, block in np.ndindex(by_key.shape[:2]):
            member = subject.members[m]
            for q, index in enumerate(text_look.queries):
                row: Row = {"member": member, "block": block, "index": index}
                row |= {"after": line[index], "next": line[index + 1]}
                rows.append(row | dict(zip(SOURCES, by_source[m, block, q].tolist(), strict=True)))
            visible = [
                [value if key <= query else None for key, value in enumerate(shares)]
                for query, shares in zip(text_look.queries, by_key[m, block].tolist(), strict=True)
            ]
            names = [f"{line[i]} → {line[i + 1]}" for i in text_look.queries]
            panels.append(heat(
                f"member {member}, block {block}", "looked at", "after → to write", line[:-1],
                names, visible,
            ))  # fmt: skip
        whole = "".join(line)
        shows = (
            f"Attention in {whole}, mean over heads: from each token after which the model writes"
            " one that belongs to a place (rows, with the token to write) to every token so far"
            " (columns)."
        )
        note = f"Problem {problem}, written {whole}."
        return Finding.of(rows, shows, panels, (note,))


class Look(NamedTuple):
    """Attention in one text, from the tokens that precede a token with a single place."""

    line: list[str]
    queries: list[int]
    weights: Float[np.ndarray, "members blocks heads queries keys"]
    sources: Int[np.ndarray, "queries keys"]
    roles: Int[np.ndarray, " keys"]

    def shares(
        self, groups: Int[np.ndarray, "*queries keys"], count: int
    ) -> Float[np.ndarray, "members blocks heads queries groups"]:
        """Return the attention to the keys of each group.

        >>> quarters, roles = np.full((1, 1, 1, 1, 4), 0.25), np.zeros(4, int)
        >>> Look([], [0], quarters, roles[None], roles).shares(np.array([0, 2, 2, 2]), 3).tolist()
        [[[[[0.25, 0.0, 0.75]]]]]
        """
        groups = np.broadcast_to(groups, self.sources.shape)
        return np.einsum("mbhqk,qkg->mbhqg", self.weights, np.eye(count)[groups])

    def by_source(self) -> Float[np.ndarray, "members blocks heads queries sources"]:
        """Return the share of each of `SOURCES`; absent neighbours have the remainder to 1."""
        shares = self.shares(self.sources, len(SOURCES))
        shares[..., ABSENT] = np.maximum(0, 1 - shares.sum(-1))  # rounding may go below 0
        return shares


def mean(shares: Sequence[np.ndarray]) -> Float[np.ndarray, "members blocks heads groups"]:
    """Return the mean over all queries of all texts."""
    return np.concatenate(shares, axis=3).mean(axis=3)


def look(question: Question, row: int) -> Look:
    """Return attention in the text of one problem; all texts at once would take too much memory.

    Raises UserError if no token of the completion has a single place.
    """
    layout, (tokens, prompt) = question.layout, question.true_texts[row]
    whole = question.texts([question.true_texts[row]])
    roles, places = whole.roles[0, : len(tokens)], whole.coordinates[0, : len(tokens), 0]
    # neither a digit that belongs to every place nor a sign before place 0 belongs to one place
    digit, everywhere = role_masks(layout)
    placed = (digit[roles] | (places >= 0)) & ~everywhere[roles]
    queries = [token - 1 for token in range(prompt, len(roles)) if placed[token]]
    if not queries:
        raise UserError(
            f"{question.problems[row]}: no token of its completion belongs to one place"
        )
    sites, keys = question.sites("attention.weights"), slice(len(tokens) - 1)
    values = question.values(question.whole.take(np.array([row])), sites)
    weights = np.stack([values[site][:, 0][:, :, queries, keys] for site in sites], axis=1)
    line = [layout.characters[token] for token in tokens]
    by_source = sources(layout, roles, places)[queries, keys]
    return Look(line, queries, weights, by_source, roles[keys])


def sources(
    layout: Layout, roles: Int[np.ndarray, " time"], places: Int[np.ndarray, " time"]
) -> Int[np.ndarray, "time time"]:
    """Return which of `SOURCES` each key (last axis) is to the query at each token.

    The last token is no query, since no token follows it. In 21+4=5 the query at = predicts the 5:

    >>> from curta.layouts import layout_named
    >>> roles, places = np.array([0, 0, 1, 2, 3, 4]), np.array([0, 1, -1, 0, -1, 0])
    >>> [SOURCES[s] for s in sources(layout_named("reversed"), roles, places)[4, :5]]
    ['same place', 'above', 'signs', 'same place', 'own token']

    In 759+86=5201 the 5 at place 0 predicts the 2 at place 1:

    >>> roles = np.array([0, 0, 0, 1, 2, 2, 3, 4, 4])
    >>> places = np.array([0, 1, 2, -1, 0, 1, -1, 0, 1])
    >>> [SOURCES[s] for s in sources(layout_named("coupled"), roles, places)[7, :8]]
    ['below', 'same place', 'above', 'signs', 'below', 'same place', 'signs', 'own token']
    """
    digit, everywhere = role_masks(layout)
    to_write = np.roll(places, -1)
    offset = places[None, :] - to_write[:, None]
    table = np.select([offset == 0, offset == -1, offset == 1], [SAME, BELOW, ABOVE], FARTHER)
    table = np.where(everywhere[roles], EVERY, table)
    table = np.where(digit[roles], table, SIGNS)
    return np.where(np.eye(len(roles), dtype=bool), OWN, table)


def role_masks(layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return which roles are digits, and which belong to every place."""
    everywhere = [layout.axes[0] in role.broadcast for role in layout.roles]
    return np.array([role.digit for role in layout.roles]), np.array(everywhere)
