"""The proof that a member adds every two numbers of ten digits, or a sum that it gets wrong.

It asks nothing at random: `evaluation/every_sum.py` says how all 10^20 pairs are gone through, and
for which models it knows how.
"""

from dataclasses import dataclass

from curta.evaluation.adder_proof import every_sum
from curta.probes import settings
from curta.probes.base import Finding, Probe, Row
from curta.probes.subject import Subject

COLUMNS = ("member", "grade", "margin", "cases", "problem", "written")


@dataclass(frozen=True)
class EverySum(settings.EverySum, Probe):
    def examine(self, subject: Subject) -> Finding:
        """Raises UserError for a model that the proof does not know, such as one with norms."""
        rows = [_row(subject, member) for member in subject.members]
        proved = sum(row["grade"] == "proved" for row in rows)
        note = f"{proved} of {len(rows)} proved; a margin is in logits, the least over all sums"
        return Finding(COLUMNS, rows, None, (note,))


def _row(subject: Subject, member: int) -> Row:
    """`problem` is wrong, or where the grade is open in most doubt; `written` what is answered."""
    found = every_sum(subject.run.model(member))
    answer = None if found.problem is None else subject.run.ask(found.problem, member)
    margin = round(found.margin, 6) if found.grade == "proved" else None
    values = (member, found.grade, margin, found.cases, found.problem, answer)
    return dict(zip(COLUMNS, values, strict=True))
