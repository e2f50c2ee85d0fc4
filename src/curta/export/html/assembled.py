"""Puts a page together: models at work, as a page of their own or as part of another."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup

from curta.config import files
from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.export.html import design, folded
from curta.export.html.scripts import PACKAGE, joined, packed
from curta.programs.machine import store
from curta.programs.machine.machine import Machine, Windows
from curta.reference import WindowModel
from curta.report.document import Part, document, own
from curta.report.rendering import render
from curta.runs import ownership, states
from curta.runs.folders import Folder, layout_in

if TYPE_CHECKING:
    from curta.layouts import Layout

MODULES = (
    "numbers.js", "elements.js", "asking.js", "pacing.js", "machine.js", "model.js", "writing.js",
    "compound.js", "problems.js", "rights.js", "sheet.js", "drawing.js", "squares.js", "app.js",
)  # fmt: skip
"""Each after those that it imports."""

BUDGET = 1_400_000
"""Most characters of weights that a report carries; one member is carried in any case."""


class Paper(NamedTuple):
    """What a page under a window needs of a program's layout, which takes JAX to import."""

    machine: Machine
    windows: Windows


class Carried(NamedTuple):
    """The members of a run that a page is to carry, each as its weights by their path."""

    name: str
    recipe: Recipe
    layout: "Layout | Paper"
    members: Sequence[Mapping[str, np.ndarray]]
    folder: Folder | None = None
    """Where the run has what is right of a program of one's own."""

    @property
    def parameters(self) -> int:
        """Those of one member."""
        return sum(weight.size for weight in self.members[0].values())

    def refused(self) -> str | None:
        """Why no report can calculate with them, if none can."""
        return folded.reason(self.recipe.positions.name, self.recipe.model.norm)

    def has_page(self) -> bool:
        """Whether a member can have a page of its own."""
        from curta.export.html import whole

        return whole.reason(self.recipe.positions.name, self.parameters) is None


def carried(folder: Folder) -> Carried:
    """All members of a run, as of its newest checkpoint; under a window without JAX."""
    recipe = folder.state_recipe()
    weights = states.member_weights(folder, recipe)
    if folded.reason(recipe.positions.name, recipe.model.norm):
        return Carried(folder.name, folder.read_recipe(), layout_in(folder), weights, folder)
    paper = Paper(*store.read(folder.machine, folder.name))
    return Carried(folder.name, recipe, paper, weights, folder)


def write_page(run: Carried, folder: Folder, member: int, out: Path | None = None) -> Path:
    """Write a page in which one member calculates, by default into the run's folder.

    Raises UserError for a member that there is not, and for a model that a page cannot carry.
    """
    text = render_page(run, member, folder.address)
    path = out or folder.path / f"page-{member}.html"
    with ownership.owned(folder.path) if out is None else nullcontext():
        files.write(path, text)
    return path


def render_page(run: Carried, member: int, address: str = "") -> str:
    """A page of one member, as text; UserError for a model that a page cannot calculate.

    `address` is what commands call the run, by default its name.
    """
    if not 0 <= member < len(run.members):
        raise UserError(f"no member {member}: run {run.name!r} has 0 to {len(run.members) - 1}")
    told: dict[str, Any] = {"name": run.name, "member": member, "recipe": run.recipe}
    if run.refused():
        from curta.export.html import whole

        part = whole.page_part(run, member, told | {"address": address or run.name})
    else:
        table = design.table(run)
        designs = [{"run": run.name, "design": table, "names": [run.name]}]
        told |= {"design": table, "designs": designs, "weights": [_weights(run, member)]}
        part = _working(render("export/page.html", **told))
    return document(f"{run.name}: a model at work", [part])


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
    names = [f"{run.name}, member {n}" if several else f"member {n}" for n in range(members)]
    return {"run": run.name, "design": design.table(run), "names": names}


def _within(runs: Sequence[Carried]) -> list[list[str]]:
    """Weights of as many members of every run as there is room for, the first of each at least."""
    first, kept = [_weights(run, 0) for run in runs], []
    bounds = BUDGET - sum(map(len, first))
    for run, text in zip(runs, first, strict=True):
        more = max(0, min(len(run.members) - 1, bounds // len(text)))
        bounds -= more * len(text)
        kept.append([text, *(_weights(run, member) for member in range(1, 1 + more))])
    return kept


def _weights(run: Carried, member: int) -> str:
    layout: Any = run.layout
    model = WindowModel(run.recipe.model, run.members[member], layout.machine, layout.windows)
    return packed(folded.tensors(model))


def _working(body: Markup) -> Part:
    """What calculates in a page, with its stylesheet and its script."""
    return Part(body, own("page.css", PACKAGE), joined(MODULES))
