"""What if the model had written another digit: which of its next tokens would be others?

In the text of each problem of a sample every digit that the model writes is replaced, one at
a time, by another digit drawn at random; what else its token says (role, carry, move) stays.
All that follows stays as it was; the model is asked for each of the later tokens before and
after. A prediction is `changed` when its likeliest token is another one.

For sums that are written as their digits alone, least significant first, it can be said
what a changed digit implies. The digit s at a place, with the operands' digits a and b
there, says which carry came in: c = s - a - b modulo 10, if that is 0 or 1. Then the next
digit is that of the next place with the carry of a + b + c. So each digit is also replaced
by the one which the other carry would have given; the next digit follows if it is the
implied one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from curta.config.errors import UserError
from curta.config.task import Task
from curta.layouts import Layout, ShapeBounds
from curta.probes import samples, settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, lines, summary_statistics
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.problems import task_sizes
from curta.problems.numerals import to_text
from curta.problems.problem import Problem
from curta.problems.tasks import RANDOM, problems

FARTHEST = 12
"""Effects at more tokens or places than this are left out of the table."""


class Change(NamedTuple):
    """One token of a text replaced by another; what follows, if the change implies it."""

    problem: Problem
    slot: int
    token: int
    implied: int = -1

    def text(self, layout: Layout) -> tuple[list[int], int]:
        """The changed text, and how many of its tokens are the prompt's."""
        tokens, prompt = layout.tokens_of(self.problem)
        return [*tokens[: self.slot], self.token, *tokens[self.slot + 1 :]], prompt


class Effects(NamedTuple):
    """For each change and each token of its text whether it is foretold otherwise than before.

    `moved` is how many tokens later than the changed one it stands, `places` how many places
    further on the layout's first axis; `counts` and `placed` say where there is such a thing.
    """

    changed: Bool[np.ndarray, "members changes time"]
    moved: Int[np.ndarray, "changes time"]
    counts: Bool[np.ndarray, "changes time"]
    places: Int[np.ndarray, "changes time"]
    placed: Bool[np.ndarray, "changes time"]


@dataclass(frozen=True)
class Counterfactual(settings.Counterfactual, Probe):
    def examine(self, subject: Subject) -> Finding:
        rows, panels, notes = [], [], []
        for task in subject.tasks:
            found = self._rows(subject, task)
            rows += found
            panels += _panels(task, subject.layout, found, len(subject.members))
            implied = self._implied(subject, task)
            rows += implied
            notes += [_note(row) for row in implied]
        if not rows:
            raise UserError(
                f"probe {self.name!r} does not apply: in {subject.layout.title} nothing that is"
                " written follows a digit that is written"
            )
        shows = (
            "How often another token becomes the likeliest when a digit before it is changed, by"
            " how many tokens, and by how many places, it stands from that digit."
        )
        columns = ("operator", "effect", "at", "asked", *STATISTICS)
        return Finding(columns, rows, {"shows": shows, "panels": panels}, tuple(notes))

    def _rows(self, subject: Subject, task: Task) -> list[Row]:
        """Changes by tokens, from the next one on, and by places."""
        sample = samples.sample(subject.layout, task, self.count, self.seed)
        rng = Random(self.seed)
        changes = [change for p in sample for change in at_random(p, subject.layout, rng)]
        if not changes:
            return []
        seen = effects(subject, changes)
        rows = [
            _row(task, effect, distance, seen.changed[:, counts & (far == distance)])
            for effect, far, counts in (
                ("tokens", seen.moved, seen.counts),
                (subject.layout.axes[0], seen.places, seen.placed),
            )
            for distance in range(-FARTHEST, FARTHEST + 1)
        ]
        return [row for row in rows if row["asked"]]

    def _implied(self, subject: Subject, task: Task) -> list[Row]:
        """How often the next digit is the implied one, where that is another, or the same."""
        if task.operator not in IMPLIED:
            return []
        sample = [
            problem
            for slice_name in (RANDOM, *IMPLIED_CASES)
            for problem in problems(
                task.operator, slice_name, task_sizes.widest(task), self.count, self.seed
            )
        ]
        changes = [change for p in sample for change in IMPLIED[task.operator](p, subject.layout)]
        if not changes:
            return []
        follows, before, other = followed(subject, changes)
        return [
            _row(task, "implied", name, right[:, mask])
            for name, right, mask in (
                ("another digit", follows, other),
                ("the same digit", follows, ~other),
                ("without change", before, np.ones_like(other)),
            )
            if mask.any()
        ]


def at_random(problem: Problem, layout: Layout, rng: Random) -> Iterator[Change]:
    """Every digit that the model writes, replaced by another one."""
    tokens, prompt = layout.tokens_of(problem)
    for slot, token in enumerate(tokens[prompt:], prompt):
        if others := [t for t in alike(layout, token) if t != token]:
            yield Change(problem, slot, rng.choice(others))


def alike(layout: Layout, token: int) -> list[int]:
    """Tokens that are the same but for their digit, itself among them; none for a sign."""
    found = (layout.with_value(token, value) for value in range(len(layout.digits)))
    return [other for other in found if other is not None]


def other_carry(problem: Problem, layout: Layout) -> Iterator[Change]:
    """Every digit of a sum but the highest, as the other carry would have it.

    Nothing, unless the layout writes the sum's digits alone, least significant first.
    """
    if not _reverses(layout) or len(problem.operands) != 2:
        return
    tokens, prompt = layout.tokens_of(problem)
    columns = list(zip(*_columns(problem), strict=True))
    for place, ((a, b), (above_a, above_b)) in enumerate(pairwise(columns)):
        slot = prompt + place
        came = ((layout.value(tokens[slot]) or 0) - a - b) % 10
        carries = (a + b + (1 - came)) // 10
        digit, implied = (a + b + 1 - came) % 10, (above_a + above_b + carries) % 10
        other, follows = (
            layout.with_value(token, value)
            for token, value in zip(tokens[slot : slot + 2], (digit, implied), strict=True)
        )
        if other is not None and follows is not None:
            yield Change(problem, slot, other, follows)


IMPLIED = {"+": other_carry}
"""By operator: changes of which it can be said what they imply."""

IMPLIED_CASES = ("carry",)
"""Special cases that are asked besides random problems: sums of nine make carries matter."""


def effects(subject: Subject, changes: Sequence[Change]) -> Effects:
    """What each change does to the tokens after it, with the text as it was otherwise."""
    layout, sample = subject.layout, list(dict.fromkeys(change.problem for change in changes))
    bounds, texts = subject.bounds(sample), [layout.tokens_of(problem) for problem in sample]
    row = {problem: number for number, problem in enumerate(sample)}
    mine = np.array([row[change.problem] for change in changes])
    lengths = np.array([len(tokens) for tokens, _ in texts])[mine, None]
    where = layout.where(subject.text(texts, bounds))
    before = subject.likeliest(texts, bounds)[:, mine]
    after = _after(subject, changes, bounds)
    token = np.arange(1, bounds.total)  # after token i - 1 the model foretells token i
    moved = token - np.array([change.slot for change in changes])[:, None]
    counts = (moved > 0) & (token < lengths)
    places = np.asarray(where.coordinates)[..., 0]
    placed = _placed(layout, np.asarray(where.role))
    here = places[mine, [change.slot for change in changes]][:, None]
    return Effects(
        (before != after)[..., :-1],
        moved,
        counts,
        places[mine, 1:] - here,
        counts & placed[mine, 1:],
    )


def followed(
    subject: Subject, changes: Sequence[Change]
) -> tuple[
    Bool[np.ndarray, "members changes"],
    Bool[np.ndarray, "members changes"],
    Bool[np.ndarray, " changes"],
]:
    """Whether the next token is the implied one; whether, before the change, it was the true one;
    and whether the implied one is another than the true one.
    """
    layout = subject.layout
    bounds = subject.bounds([change.problem for change in changes])
    texts = [layout.tokens_of(change.problem)[0] for change in changes]
    both = list(zip(changes, texts, strict=True))
    true = np.array([tokens[change.slot + 1] for change, tokens in both])
    unchanged = [change._replace(token=tokens[change.slot]) for change, tokens in both]
    spot = np.arange(len(changes)), np.array([change.slot for change in changes])
    after, before = (_after(subject, every, bounds)[:, *spot] for every in (changes, unchanged))
    implied = np.array([change.implied for change in changes])
    return after == implied, before == true, implied != true


def _after(
    subject: Subject, changes: Sequence[Change], bounds: ShapeBounds
) -> Int[np.ndarray, "members changes time"]:
    return subject.likeliest([change.text(subject.layout) for change in changes], bounds)


def _placed(layout: Layout, roles: Int[np.ndarray, "texts time"]) -> Bool[np.ndarray, "texts time"]:
    """Which tokens are digits with a place of their own."""
    own = np.array([role.digit and layout.axes[0] not in role.broadcast for role in layout.roles])
    return own[roles] & (roles >= 0)


def _columns(problem: Problem) -> list[list[int]]:
    """Digits of each operand by place, as many as the longest has.

    >>> _columns(Problem("+", (957, 68)))
    [[7, 5, 9], [8, 6, 0]]
    """
    texts = [to_text(value)[::-1] for value in problem.operands]
    width = max(map(len, texts))
    return [[int(digit) for digit in text.ljust(width, "0")] for text in texts]


def _reverses(layout: Layout) -> bool:
    """Whether a sum's working is its digits alone, least significant first; zeros may follow."""
    return layout.completion(Problem("+", (57, 68))).rstrip("0") == "521"


def _row(task: Task, effect: str, at: int | str, found: Bool[np.ndarray, "members asked"]) -> Row:
    """The share of each member's predictions of which it is true; none if none was asked."""
    asked = {"operator": task.operator, "effect": effect, "at": at, "asked": found.shape[1]}
    return asked | summary_statistics(found.mean(axis=1) if found.size else None)


def _panels(task: Task, layout: Layout, rows: list[Row], members: int) -> list[Panel]:
    title = f"{task.operator}: predictions that change"
    return [
        lines(title, f"{effect} after the changed digit", "at", mine, members)
        for effect in ("tokens", layout.axes[0])
        for mine in [[row for row in rows if row["effect"] == effect]]
        if mine
    ]


def _note(row: Row) -> str:
    said = {
        "another digit": "digits changed so that they imply another digit next",
        "the same digit": "digits changed so that they still imply the same digit next",
        "without change": "digits left as they are",
    }
    return (
        f"{row['operator']}: of {row['asked']:,} {said[row['at']]}, {row['median']:.1%} are"
        f" followed by what they imply (median of the members; {row['min']:.1%} to"
        f" {row['max']:.1%})."
    )
