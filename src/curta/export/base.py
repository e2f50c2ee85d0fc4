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
    """One member of a run with its origin and a summary of its evaluation."""

    run: str
    seed: int
    recipe: Recipe
    model: Transformer
    number: int = 0
    steps: int = 0
    """Steps of training; 0 if unknown."""
    rows: Sequence[SliceSummary] = ()
    """The evaluation's rows, with figures over all members of the run."""


def machine_data(layout: Layout, rooms: Mapping[str, Room] | None = None) -> dict[str, Any] | None:
    """Return the machine of a program and its windows as JSON; None for a published layout.

    With `rooms`, each operator's format has the most `digits` and `operands` that it takes.
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
    """Return every weight by its path, such as `attention.query`."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(model)
    return {jax.tree_util.keystr(path)[1:]: np.asarray(leaf) for path, leaf in leaves}


def layout_table(layout: Layout) -> dict[str, Any]:
    """Return a layout's roles, and its automaton as tables by state and token."""
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
    """A format for other programs. Stateless; registered by name in `EXPORTERS`."""

    name: str
    summary: str
    file: str
    """Default name in a run's folder; `{member}` is the member's number."""

    def refuse(self, recipe: Recipe) -> str | None:
        """Return the field and value that the format cannot express; None if there is none."""
        return None

    @abstractmethod
    def write(self, member: Exported, out: Path) -> None:
        """Write the member to `out`, atomically."""
