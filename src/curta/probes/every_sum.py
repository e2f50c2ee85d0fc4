"""A proof that a member adds every two numbers of ten digits, or a sum that it gets wrong.

Nothing is sampled: `evaluation/adder_proof.py` explains how all 10^20 pairs are covered, and for
which models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from curta.probes.base import Finding, Probe, Row

if TYPE_CHECKING:
    from curta.config.recipe import Recipe
    from curta.probes.subject import Subject


@dataclass(frozen=True)
class EverySum(Probe):
    name: ClassVar[str] = "every-sum"
    summary: ClassVar[str] = "a proof for all sums of ten digits, or a sum that is wrong"
    scope: ClassVar[str] = "models of layout 'columns' that attend by positions alone"

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        fits = recipe.layout == "columns" and recipe.model.qk_input == "positions"
        return None if fits else "other texts, or attention that depends on digits"

    def examine(self, subject: Subject) -> Finding:
        """Return a row for each member; UserError for a model that the proof does not support.

        `problem` is a wrong one, or the most doubtful one where the grade is open; `written` is the
        member's answer.
        """
        from curta.evaluation.adder_proof import every_sum

        rows = list[Row]()
        for member in subject.members:
            proof = every_sum(subject.run.model(member))
            answer = None if proof.problem is None else subject.run.ask(proof.problem, member)
            margin = round(proof.margin, 6) if proof.grade == "proved" else None
            row: Row = {"member": member, "grade": proof.grade, "margin": margin}
            rows.append(row | {"cases": proof.cases, "problem": proof.problem, "written": answer})
        proved = sum(row["grade"] == "proved" for row in rows)
        note = f"{proved} of {len(rows)} proved; a margin is in logits, the least over all sums"
        return Finding(list(rows[0]), rows, None, (note,))
