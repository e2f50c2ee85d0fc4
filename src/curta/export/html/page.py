"""Puts a page together: models at work, as a page of their own or as part of a report."""

import base64
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import safetensors.numpy

from curta import reference
from curta.config import files
from curta.config.errors import UserError
from curta.config.positions import UserEncoding, Window
from curta.config.recipe import Recipe
from curta.export.html import design
from curta.programs.machine import store
from curta.programs.machine.machine import Machine, Windows
from curta.report.rendering import PagePart, document, modules_text, package_text, render
from curta.runs import ownership
from curta.runs.folders import Folder, layout_in

if TYPE_CHECKING:
    from curta.layouts import Layout

MODULES = (
    "layers", "changes", "encodings", "transformer", "writing", "problems", "layouts", "sheet",
    "drawing", "app",
)  # fmt: skip
"""Each after those that it imports; before them, the report's `elements`."""

BUDGET = 1_400_000
"""Most characters of weights that a report carries; one member is carried in any case."""

PARAMETERS = 500_000
"""The most parameters of a model that a page calculates without a window.

A member of that many is 2.7 MB of a page, and writes a sum of ten digits in less than a second.
"""


class MachineLayout(NamedTuple):
    """What a page under a window needs of a program's layout, which takes JAX to import."""

    machine: Machine
    windows: Windows


class Carried(NamedTuple):
    """The members of a run that a page is to carry, each as its weights by their path."""

    name: str
    recipe: Recipe
    layout: "Layout | MachineLayout"
    members: Sequence[Mapping[str, np.ndarray]]
    folder: Folder | None = None
    """Where the run has what is right of a user's program."""

    @property
    def parameters(self) -> int:
        """Those of one member."""
        return sum(weight.size for weight in self.members[0].values())

    @property
    def windowed(self) -> bool:
        return isinstance(self.recipe.positions, Window)

    def packed(self, member: int) -> str:
        """Return a member's tensors as the text of a safetensors file in base64.

        Written out is what several weights are made of: those that stand for others, the vectors
        of tokens that are sums of parts or lie on an arc, and the matrix of a tied head.
        """
        config, layout = self.recipe.model, self.layout
        composition = (
            layout.machine.parts if isinstance(layout, MachineLayout) else layout.composition()
        )
        tensors = reference.unshared(config, self.members[member])
        characters = reference.character_vectors(config, tensors, composition)
        head = reference.head_matrix(config, tensors, characters)
        tensors |= {"characters": characters, "head": head}
        del tensors["tokens"]
        singles = {name: np.asarray(each, np.float32, order="C") for name, each in tensors.items()}
        return base64.b64encode(safetensors.numpy.save(singles)).decode()


def page_refusal(positions: str, parameters: int = 0) -> str | None:
    """Why a page cannot calculate a model with these positions, of so many parameters."""
    if positions == UserEncoding.name:
        return "its positions come from a file of code, and a page calculates with Curta's own"
    if positions != Window.name and parameters > PARAMETERS:
        return (
            f"it has {parameters:,} parameters, and a page carries at most {PARAMETERS:,}"
            " of a model without a window"
        )
    return None


def carried(folder: Folder) -> Carried:
    """All members of a run, as of its newest checkpoint; under a window without JAX."""
    recipe = folder.state_recipe()
    weights = folder.read_weights(recipe)
    if isinstance(recipe.positions, Window):
        paper = MachineLayout(*store.read(folder.machine, folder.name))
        return Carried(folder.name, recipe, paper, weights, folder)
    return Carried(folder.name, folder.read_recipe(), layout_in(folder), weights, folder)


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
    if reason := page_refusal(run.recipe.positions.name, run.parameters):
        raise UserError(f"no page of this run: {reason}")
    about = design.table(run)
    body = render(
        "export/page.html",
        name=run.name,
        member=member,
        recipe=run.recipe,
        design=about,
        causal=run.recipe.model.causal,
        designs=[{"run": address or run.name, "first": member, "design": about, "names": [""]}],
        weights=[run.packed(member)],
    )
    return document(f"{run.name}: a model at work", [_working(body)])


def at_work(runs: Sequence[Carried]) -> PagePart:
    """Models that calculate within a report, as many as there is room for; why others do not."""
    able = [run for run in runs if run.windowed]
    weights = [[run.packed(0)] for run in able]  # the first member of each run is there in any case
    room = BUDGET - sum(len(first) for (first,) in weights)
    for run, texts in zip(able, weights, strict=True):
        more = max(0, min(len(run.members) - 1, room // len(texts[0])))
        room -= more * len(texts[0])
        texts += [run.packed(member) for member in range(1, 1 + more)]
    several = len(runs) > 1
    others = [run for run in runs if not run.windowed]
    body = render(
        "export/part.html",
        designs=[
            {
                "run": run.name,
                "first": 0,
                "design": design.table(run),
                "names": [
                    f"{run.name}, member {n}" if several else f"member {n}"
                    for n in range(len(texts))
                ],
            }
            for run, texts in zip(able, weights, strict=True)
        ],
        weights=[text for texts in weights for text in texts],
        members=sum(len(run.members) for run in able),
        refused={
            run.name: f"positions are {run.recipe.positions.name!r}, and only models with"
            " 'window' calculate in a report"
            for run in others
        },
        pages=[
            run.name
            for run in others
            if page_refusal(run.recipe.positions.name, run.parameters) is None
        ],
        several=several,
        causal=True,
    )
    return _working(body) if able else PagePart(body)


def _working(body: Any) -> PagePart:
    """What calculates in a page, with its stylesheet, and its modules as one script."""
    package = "curta.export.html"
    script = modules_text(["elements"]) + modules_text(MODULES, package)
    return PagePart(body, package_text("page.css", package), script)
