"""The contract of an exporter: which runs it can express, and how it writes one member."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from curta.config.recipe import Recipe
from curta.evaluation.results import SliceSummary
from curta.export.room import Room
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.transformer import Transformer
from curta.programs.machine import store


@dataclass(frozen=True)
class Exported:
    """One member of a run, where it comes from, and its evaluation in short."""

    run: str
    seed: int
    recipe: Recipe
    model: Transformer
    number: int = 0
    steps: int = 0
    """Steps trained; 0 where that is not known."""
    rows: Sequence[SliceSummary] = ()
    """The evaluation's rows, with figures over all members of the run."""


def parts_of(layout: Layout) -> list[list[int]]:
    """The numbers of the parts that each token's vector is the sum of."""
    return [np.flatnonzero(row).tolist() for row in layout.composition()]


def machine_data(layout: Layout, rooms: Mapping[str, Room] | None = None) -> dict[str, Any] | None:
    """The machine of a program and its windows, as JSON; a published layout has none.

    With `rooms` the format of each operator has the most `digits` and `operands` that it takes.
    """
    if not isinstance(layout, ProgramLayout):
        return None
    content = store.dump(layout.machine, layout.windows)
    for operator, room in (rooms or {}).items():
        content["formats"][operator] |= {"digits": room.digits, "operands": room.operands}
    return content


Tensors = dict[str, Float[np.ndarray, "..."]]
"""Tensors of a file, or weights of a model, by name."""


def weights_of(model: Any) -> Tensors:
    """Every weight by its path, such as `attention.query`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(model)
    return {jax.tree_util.keystr(path)[1:]: np.asarray(leaf) for path, leaf in leaves}


def layout_table(layout: Layout) -> dict[str, Any]:
    """How texts are followed: roles, and tables by state and token."""
    roles = [
        {
            "name": role.name,
            "digit": role.digit,
            "broadcast": [axis in role.broadcast for axis in layout.axes],
        }
        for role in layout.roles
    ]
    return {
        "name": layout.name,
        "axes": len(layout.axes),
        "roles": roles,
        "automaton": layout.automaton.tables(),
    }


class Exporter(ABC):
    """A form for other programs. Stateless; registered by name in `EXPORTERS`."""

    name: str
    summary: str
    file: str
    """What is written in a run's folder if no other place is named; `{member}` is its number."""

    @abstractmethod
    def refuse(self, recipe: Recipe) -> str | None:
        """What of such a run cannot be expressed, if there is anything: a field and its value."""

    @abstractmethod
    def write(self, member: Exported, out: Path) -> None:
        """Writes the member to `out`, atomically."""


class Importer(ABC):
    """An exporter whose files come back."""

    name: str

    @abstractmethod
    def read(self, path: Path) -> Exported:
        """The member that was written to `path`; UserError if there is none."""
