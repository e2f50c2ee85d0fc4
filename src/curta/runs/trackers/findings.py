"""What trackers are given of an evaluation and of a certificate."""

from curta.evaluation.results import Certificate, Evaluation
from curta.problems.operations import OPERATIONS
from curta.runs.summary import slice_summary, summary_statistics
from curta.runs.trackers.base import Findings, cleaned


def of_evaluation(found: Evaluation) -> Findings:
    """Exact match by operator, size and slice, and gaps; the operators must be known."""
    rows = map(slice_summary, found.lengths)
    figures = {_name(row.operator, row.size, row.slice_name): row.exact_match for row in rows}
    for gap in found.gaps:
        columns = {
            "trained": gap.trained.exact_match,
            "held-out": gap.held_out.exact_match,
            "gap": gap.gap,
        }
        for slice_name, column in columns.items():
            name = _name(gap.operator, gap.problems, slice_name)
            figures[name] = summary_statistics(column)
    return Findings(figures, {})


def of_certificate(found: Certificate) -> Findings:
    """The grade, whether all is right, and of every member wrong windows and smallest margin."""
    figures = {
        "certificate/wrong": summary_statistics([one.wrong for one in found.members]),
        "certificate/margin": summary_statistics([one.margin for one in found.members]),
    }
    facts: dict[str, str | int] = {
        "certificate/grade": found.grade,
        "certificate/perfect": found.perfect,
        "certificate/windows": found.windows,
    }
    return Findings(figures, facts)


def _name(operator: str, size: str, slice_name: str) -> str:
    """Such as `evaluation/division/50-25/random`."""
    return f"evaluation/{OPERATIONS[operator].name}/{cleaned(size)}/{cleaned(slice_name)}"
