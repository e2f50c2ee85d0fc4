"""Puts a page together: models at work, as a page of their own or as part of another."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from curta.config.recipe import Recipe
from curta.export.html import design, folded, whole
from curta.export.html.scripts import PACKAGE, joined, packed
from curta.model.transformer import Transformer, parameters
from curta.report.document import Part, document, own
from curta.report.rendering import render
from curta.runs.folders import Folder

MODULES = (
    "numbers.js", "elements.js", "asking.js", "pacing.js", "machine.js", "model.js", "writing.js",
    "compound.js", "problems.js", "rights.js", "sheet.js", "drawing.js", "squares.js", "app.js",
)  # fmt: skip
"""Each after those that it imports."""

BUDGET = 1_400_000
"""Most characters of weights that a report carries; one member is carried in any case."""


class Carried(NamedTuple):
    """The members of a run that a page is to carry."""

    name: str
    recipe: Recipe
    members: Sequence[Transformer]
    folder: Folder | None = None
    """Where the run has what is right of a program of one's own."""

    def refused(self) -> str | None:
        """Why no report can calculate with them, if none can."""
        return folded.reason(self.recipe.positions.name, self.recipe.model.norm)

    def has_page(self) -> bool:
        """Whether a member can have a page of its own."""
        return whole.reason(self.recipe.positions.name, parameters(self.members[0])) is None


def render_page(
    recipe: Recipe,
    model: Transformer,
    name: str,
    member: int,
    address: str = "",
    folder: Folder | None = None,
) -> str:
    """A page of one member, as text; UserError for a model that a page cannot calculate.

    `address` is what commands call the run, by default its name. The run's `folder` has what is
    right of a program of one's own.
    """
    if Carried(name, recipe, [model]).refused():
        return whole.render_page(recipe, model, name, member, address, folder)
    table = design.table(recipe, model, folder)
    body = render(
        "export/page.html",
        name=name,
        member=member,
        recipe=recipe,
        design=table,
        designs=[{"run": name, "design": table, "names": [name]}],
        weights=[_weights(model)],
    )
    return document(f"{name}: a model at work", [_working(body)])


def at_work(runs: Sequence[Carried]) -> Part:
    """Models that calculate within a report, as many as there is room for; why others do not."""
    reasons = {run.name: run.refused() for run in runs}
    able = [run for run in runs if reasons[run.name] is None]
    weights = _within(able)
    body = render(
        "export/part.html",
        designs=[
            _design(run, len(mine), len(runs) > 1) for run, mine in zip(able, weights, strict=True)
        ],
        weights=[text for mine in weights for text in mine],
        members=sum(len(run.members) for run in able),
        refused={name: reason for name, reason in reasons.items() if reason},
        pages=[run.name for run in runs if reasons[run.name] and run.has_page()],
        several=len(runs) > 1,
    )
    return _working(body) if able else Part(body)


def _design(run: Carried, members: int, several: bool) -> dict[str, Any]:
    """What the page must know of a run, and what the members are called that it carries."""
    table = design.table(run.recipe, run.members[0], run.folder)
    names = [f"{run.name}, member {n}" if several else f"member {n}" for n in range(members)]
    return {"run": run.name, "design": table, "names": names}


def _within(runs: Sequence[Carried]) -> list[list[str]]:
    """Weights of as many members of every run as there is room for, the first of each at least."""
    first, kept = [_weights(run.members[0]) for run in runs], []
    bounds = BUDGET - sum(map(len, first))
    for run, text in zip(runs, first, strict=True):
        more = max(0, min(len(run.members) - 1, bounds // len(text)))
        bounds -= more * len(text)
        kept.append([text, *map(_weights, run.members[1 : 1 + more])])
    return kept


def _weights(model: Transformer) -> str:
    return packed(folded.tensors(model))


def _working(body: Markup) -> Part:
    """What calculates in a page, with its stylesheet and its script."""
    return Part(body, own("page.css", PACKAGE), joined(MODULES))
