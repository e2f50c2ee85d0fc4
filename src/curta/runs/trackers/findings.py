"""What trackers are given of an evaluation and of a certificate."""

import re

from curta.evaluation.results import Certificate, Evaluation, SliceSummary
from curta.problems.operations import OPERATIONS
from curta.runs.summary import slice_summary, summary_statistics
from curta.runs.trackers.base import Findings


def of_evaluation(found: Evaluation) -> Findings:
    """Exact match by operator, size and slice; the operators must be known."""
    rows = map(slice_summary, found.lengths)
    return Findings({_name(row): row.exact_match for row in rows}, {})


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


def _name(row: SliceSummary) -> str:
    """Such as `evaluation/division/50-25/random`: boards group by `/`, and know few other signs."""
    size = re.sub(r"\W+", "-", row.size)
    return f"evaluation/{OPERATIONS[row.operator].name}/{size}/{row.slice_name}"
