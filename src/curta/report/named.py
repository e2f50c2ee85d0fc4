"""The problems that the recipe names: what every member wrote before training and after it."""

from collections.abc import Iterator

from curta.evaluation.results import NamedProblem, Written
from curta.report.examples import folded, marked, number_cell, verdict, watch, writing_of
from curta.report.markup import Markup, cells, element, heading_cells, table
from curta.report.run_folder import Run

CAPTION = "What every member writes, as it was before its first step and as it was evaluated"


def named(run: Run) -> Markup:
    """A row for every problem and member; malformed writing is shown as it is."""
    found = run.evaluation.named
    if not found:
        return Markup()
    names = ("Problem", "Truth", "Before", "After", "Verdict", "Member", "See it")
    head = element("tr", heading_cells(*names))
    body = (row for problem in found for row in _rows(run, problem))
    return element("section", element("h2", "Named problems"), table(CAPTION, [head], body))


def _rows(run: Run, one: NamedProblem) -> Iterator[Markup]:
    asked, truth = (number_cell(folded(text, text)) for text in (one.problem, one.truth))
    for member, (before, after) in enumerate(zip(one.before, one.after, strict=True)):
        yield element(
            "tr",
            asked,
            truth,
            _written(before, one.truth),
            _written(after, one.truth),
            cells(verdict(after.answer, one.truth), f"{member}"),
            cells(watch(run, one.problem, member)),
        )


def _written(one: Written, truth: str) -> Markup:
    """The answer with its wrong places marked and, where it is wrong, all that was written."""
    answer, text = one.answer, one.text
    if answer is None:
        return number_cell("invalid ", folded(text, element("code", text)))
    wrong = Markup() if answer == truth else writing_of(text, one.first_error)
    return number_cell(folded(answer, marked(answer, truth)), wrong)
