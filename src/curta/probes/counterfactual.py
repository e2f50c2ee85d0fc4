"""Counterfactual digits: which later tokens change if the model had written another digit?

In the text of each problem of a sample, every digit that the model writes is replaced, one at a
time, by a random other digit; the other traits of its token (role, carry, move) and all later
tokens stay. The model predicts each later token before and after. A prediction is `changed` if
its likeliest token differs.

For sums that are written as digits alone, least significant first, a changed digit implies the
next one. The digit s at a place where the operands have digits a and b implies the carry that came
in: c = s - a - b modulo 10, if that is 0 or 1. Then the next digit is that of the next place with
the carry of a + b + c. So each digit is also replaced by the digit that the other carry would give;
the next digit follows if it is the implied one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from curta.probes.attention import role_masks
from curta.probes.base import Row, TaskFinding, TaskProbe, option, seed_option, summary_columns
from curta.probes.pictures import Panel, lines
from curta.problems.numerals import to_text
from curta.problems.problem import Problem

if TYPE_CHECKING:
    from curta.config.task import Task
    from curta.layouts import Layout
    from curta.probes.inside.question import Question
    from curta.probes.subject import Subject

FARTHEST = 12
"""Effects at more tokens or places than this are left out of the table."""

NOWHERE = FARTHEST + 1
"""The distance of tokens that do not count."""

IMPLIED = {
    "another digit": "digits changed so that they imply another digit next",
    "the same digit": "digits changed so that they still imply the same digit next",
    "without change": "digits left as they are",
}
"""The cases in which the next digit is implied, and their descriptions."""


class TokenChange(NamedTuple):
    """One token of a text replaced by another; `implied` is the next token that it implies."""

    problem: Problem
    slot: int
    token: int
    implied: int = -1

    def text(self, layout: Layout) -> tuple[list[int], int]:
        """Return the changed text, and the number of tokens in its prompt."""
        tokens, prompt = layout.tokens_of(self.problem)
        return [*tokens[: self.slot], self.token, *tokens[self.slot + 1 :]], prompt


@dataclass(frozen=True)
class Counterfactual(TaskProbe):
    name: ClassVar[str] = "counterfactual"
    summary: ClassVar[str] = "whether later tokens follow a digit that is changed"
    scope: ClassVar[str] = "models that write token by token"
    token_by_token: ClassVar[bool] = True
    shows: ClassVar = (
        "How often another token becomes the likeliest when a digit before it is changed, by"
        " how many tokens, and by how many places, it stands from that digit."
    )

    nothing: ClassVar = (
        "probe 'counterfactual' does not apply: in {layout} nothing that is written follows a"
        " digit that is written"
    )

    count: int = option(10, "problems of the sample")
    seed: int = seed_option("seed of the problems and of the digits")

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        layout, axis = subject.layout, subject.layout.axes[0]
        rows, panels, notes = list[Row](), list[Panel](), list[str]()

        def add(effect: str, at: int | str, cases: Bool[np.ndarray, "members asked"]) -> None:
            row: Row = {"effect": effect, "at": at, "asked": cases.shape[1]}
            rows.append(row | summary_columns(cases.mean(axis=1)))

        sample, rng = subject.sample(task, self.count, self.seed), Random(self.seed)
        changes = [change for p in sample for change in random_changes(p, layout, rng)]
        if changes:
            changed, moved, places = effects(subject.question(sample), changes)
            for effect, distances in (("tokens", moved), (axis, places)):
                before = len(rows)
                for distance in range(-FARTHEST, FARTHEST + 1):
                    cases = changed[:, distances == distance]
                    if cases.size:
                        add(effect, distance, cases)
                if mine := rows[before:]:
                    title = f"{task.operator}: predictions that change"
                    across, members = f"{effect} after the changed digit", len(subject.members)
                    panels.append(lines(title, across, "at", mine, members))

        if task.operator == "+" and task.base == 10:
            # sums of nines beside random ones: there the carries matter
            sample += subject.sample(task, self.count, self.seed, slice_name="carry")
            changes = [change for problem in sample for change in carry_changes(problem, layout)]
            by_case = implied_next(subject.question(sample), changes) if changes else {}
            for name, cases in by_case.items():
                if cases.size:
                    add("implied", name, cases)
                    row = rows[-1]
                    notes.append(
                        f"{task.operator}: of {row['asked']:,} {IMPLIED[name]}, {row['median']:.1%}"
                        f" are followed by what they imply (median of the members;"
                        f" {row['min']:.1%} to {row['max']:.1%})."
                    )
        return TaskFinding(rows, panels, tuple(notes))


def random_changes(problem: Problem, layout: Layout, rng: Random) -> Iterator[TokenChange]:
    """Yield every digit that the model writes, replaced by another one."""
    tokens, prompt = layout.tokens_of(problem)
    for slot, token in enumerate(tokens[prompt:], prompt):
        # tokens that are the same but for their digit; none for a sign
        alike = [layout.with_value(token, value) for value in range(len(layout.digits))]
        if others := [other for other in alike if other is not None and other != token]:
            yield TokenChange(problem, slot, rng.choice(others))


def carry_changes(problem: Problem, layout: Layout) -> Iterator[TokenChange]:
    """Yield every digit of a sum but the highest, as the other carry would have it.

    Nothing, unless the layout writes the sum's digits alone, least significant first.
    """
    alone = layout.completion(Problem("+", (57, 68))).rstrip("0") == "521"  # zeros may follow
    if not alone or len(problem.operands) != 2:
        return
    tokens, prompt = layout.tokens_of(problem)
    texts = [to_text(value)[::-1] for value in problem.operands]
    width = max(map(len, texts))
    columns = list(zip(*(map(int, text.ljust(width, "0")) for text in texts), strict=True))
    for place, ((a, b), (above_a, above_b)) in enumerate(pairwise(columns)):
        slot = prompt + place
        came = ((layout.value(tokens[slot]) or 0) - a - b) % 10
        digit = (a + b + 1 - came) % 10
        implied = (above_a + above_b + (a + b + 1 - came) // 10) % 10
        token = layout.with_value(tokens[slot], digit)
        follows = layout.with_value(tokens[slot + 1], implied)
        if token is not None and follows is not None:
            yield TokenChange(problem, slot, token, follows)


def effects(
    question: Question, changes: Sequence[TokenChange]
) -> tuple[
    Bool[np.ndarray, "members changes time"],
    Int[np.ndarray, "changes time"],
    Int[np.ndarray, "changes time"],
]:
    """Return for each change whether the prediction of each token changes, and its distances.

    They are counted from the changed token, in tokens and along the layout's first axis; `NOWHERE`
    is the distance of tokens before it or behind the end, and of those without a place.
    """
    layout, true_texts = question.layout, question.true_texts
    row_of = {problem: number for number, problem in enumerate(question.problems)}
    rows = np.array([row_of[change.problem] for change in changes])
    slots = np.array([change.slot for change in changes])
    lengths = np.array([len(tokens) for tokens, _ in true_texts])[rows, None]
    texts = question.texts(true_texts)
    before = question.likeliest(texts)[:, rows]
    after = question.likeliest(question.texts([change.text(layout) for change in changes]))
    token = np.arange(1, question.bounds.total)  # after token i - 1 the model predicts token i
    moved = token - slots[:, None]
    counts = (moved > 0) & (token < lengths)
    places = texts.coordinates[rows, 1:, 0] - texts.coordinates[rows, slots, 0][:, None]
    digit, everywhere = role_masks(layout)
    placed = (digit & ~everywhere)[texts.roles] & (texts.roles >= 0)
    return (
        (before != after)[..., :-1],
        np.where(counts, moved, NOWHERE),
        np.where(counts & placed[rows, 1:], places, NOWHERE),
    )


def implied_next(
    question: Question, changes: Sequence[TokenChange]
) -> dict[str, Bool[np.ndarray, "members changes"]]:
    """Return for each of the cases `IMPLIED` whether the next token is the implied one.

    Without change the implied token is the true one.
    """
    layout, slots = question.layout, np.array([change.slot for change in changes])
    texts = [layout.tokens_of(change.problem) for change in changes]
    true = np.array([tokens[slot + 1] for (tokens, _), slot in zip(texts, slots, strict=True)])
    implied = np.array([change.implied for change in changes])
    after, before = (
        question.likeliest(question.texts(lines))[:, np.arange(len(changes)), slots]
        for lines in ([change.text(layout) for change in changes], texts)
    )
    other, follows = implied != true, after == implied
    return dict(zip(IMPLIED, (follows[:, other], follows[:, ~other], before == true), strict=True))
