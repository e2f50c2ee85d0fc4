"""Activation patching between two problems that differ in one digit.

Two problems of the same shape have different answers. At the first written token in which their
texts differ, the members predict which of the two follows: the logit of the second problem's
token less that of the first's. Then one part of the first problem's pass, at one position, is
replaced by its value in the second's. The effect is how far this moves the difference, from its
value in the first problem (0) to its value in the second (1).

Source: Meng et al., arXiv 2202.05262, and Wang et al., arXiv 2211.00593, where noise and other
sentences take the second problem's place.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from curta.config.errors import UserError
from curta.probes.base import Finding, Probe, Row, option, summary_columns
from curta.probes.inside.interventions import Intervention
from curta.probes.pictures import by_two
from curta.problems.problem import Problem

if TYPE_CHECKING:
    from curta.layouts import Layout
    from curta.probes.subject import Subject


@dataclass(frozen=True)
class Patching(Probe):
    name: ClassVar[str] = "patching"
    summary: ClassVar[str] = "which part at which token carries a digit, by activation patching"

    problem: str | None = option(None, "such as 57+68 (an example)", kind=str)
    other: str | None = option(None, "from which is patched (one digit more)", kind=str)

    def examine(self, subject: Subject) -> Finding:
        """Return a row for each part and position with the effect of patching it.

        Raises UserError for texts that do not correspond, or do not differ.
        """
        layout, target = subject.layout, subject.problem(self.problem)
        source = one_digit_more(target) if self.other is None else subject.problem(self.other)
        ends = subject.question([target, source])
        slot, tokens = first_difference(layout, target, source)
        text, prompt = ends.true_texts[0]
        causal = ends.config.causal
        query = slot - (1 if causal else prompt)
        positions = query + 1 if causal else prompt  # later ones do not matter to a decoder

        def differences(logits: np.ndarray) -> np.ndarray:
            """Return the source token's logit minus the target's: members by problems."""
            first, second = (logits[:, :, query, token].astype(np.float64) for token in tokens)
            return second - first

        # The n-th copy of the target is patched at the n-th position.
        patches = dict[str, list[Intervention]]()
        for site in ends.sites("embedding", "attention.heads", "mlp.output", "after"):
            heads = range(ends.shapes[site][1]) if site.endswith("heads") else [None]
            for head in heads:
                where = {} if head is None else {"head": head}
                patches[ends.part_name(site, head)] = [
                    Intervention(site, "patch", str(source), {**where, "problem": n, "position": n})
                    for n in range(positions)
                ]
        copies = subject.question([target] * positions, list(chain(*patches.values())))
        start, end = differences(ends.values(ends.whole, ["logits"])["logits"]).T[..., None]
        whole, rows = copies.whole, list[Row]()
        for name, interventions in patches.items():
            logits = copies.values(whole, ["logits"], interventions)["logits"]
            effects = ((differences(logits) - start) / (end - start)).round(4) + 0.0  # no -0.0
            for place, effect in enumerate(effects.T.tolist()):
                row: Row = {"part": name, "position": place}
                row["token"] = layout.characters[int(whole.text.tokens[0, place])]
                row["role"] = layout.roles[int(whole.roles[0, place])].name
                rows.append(row | summary_columns(effect))

        panel = by_two(f"{target} patched from {source}", rows, "part", "position", "token")
        panel["columns"] = [row["token"] for row in rows[:positions]]
        choice = " or ".join(repr(layout.characters[token]) for token in tokens)
        shows = (
            f"The effect of each part at each token of {layout.decode(text)}, when it is patched"
            f" from {source}, on {choice}: 100 % is that of patching everything."
        )
        note = f"Problem {target}, patched from {source}; the effect is on {choice}."
        return Finding.of(rows, shows, [panel], (note,))


def first_difference(
    layout: Layout, target: Problem, source: Problem
) -> tuple[int, tuple[int, int]]:
    """Return where the written texts of two problems first differ, and the two tokens there.

    Raises UserError for prompts that differ in more than digits, such as 12+345 and 123+45, where
    the + is at another position, and for equal texts.
    """
    (first, prompt), (second, other_prompt) = (layout.tokens_of(p) for p in (target, source))
    pairs = list(zip(first, second, strict=False))
    signs = any(a != b and None in (layout.value(a), layout.value(b)) for a, b in pairs[:prompt])
    if target.operator != source.operator or prompt != other_prompt or signs:
        raise UserError(f"{target} and {source} differ in more than digits")
    for slot, (a, b) in enumerate(pairs[prompt:], prompt):
        if a != b:
            return slot, (a, b)
    raise UserError(f"{target} and {source} are written alike after their prompts")


def one_digit_more(problem: Problem) -> Problem:
    """Return the problem with its last digit one higher, or lower if it is the largest.

    >>> [one_digit_more(Problem("+", pair)).operands for pair in ((57, 68), (1, 9))]
    [(57, 69), (1, 8)]
    >>> one_digit_more(Problem("+", (1, 15), 16)).operands
    (1, 14)
    """
    *others, last = problem.operands
    step = -1 if last % problem.base == problem.base - 1 else 1
    return Problem(problem.operator, (*others, last + step), problem.base)
