"""What trackers are given of an evaluation and of a certificate."""

from curta.evaluation.results import Certificate, Evaluation
from curta.problems.operations import OPERATIONS
from curta.runs.summary import summary_statistics
from curta.runs.trackers.base import Findings, cleaned


def of_evaluation(evaluation: Evaluation) -> Findings:
    """Return exact match by operator, size and slice, and gaps; the operators must be known."""

    def name(operator: str, size: str, slice_name: str) -> str:
        """Such as `evaluation/division/50-25/random`."""
        return f"evaluation/{OPERATIONS[operator].name}/{cleaned(size)}/{cleaned(slice_name)}"

    figures = {
        name(row.operator, row.size, row.slice_name): summary_statistics(row.exact_match)
        for row in evaluation.lengths
    }
    for gap in evaluation.gaps:
        for slice_name, shares in (
            ("trained", gap.trained.exact_match),
            ("held-out", gap.held_out.exact_match),
            ("gap", gap.gap),
        ):
            figures[name(gap.operator, gap.problems, slice_name)] = summary_statistics(shares)
    return Findings(figures, {})


def of_certificate(certificate: Certificate) -> Findings:
    """Return the grade, whether all is right, and each member's wrong windows and margin."""
    members = certificate.members
    figures = {
        "certificate/wrong": summary_statistics([member.wrong for member in members]),
        "certificate/margin": summary_statistics([member.margin for member in members]),
    }
    facts: dict[str, str | int] = {
        "certificate/grade": certificate.grade,
        "certificate/perfect": certificate.perfect,
        "certificate/windows": certificate.windows,
    }
    return Findings(figures, facts)
