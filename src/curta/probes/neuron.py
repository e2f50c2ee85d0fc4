"""One neuron of an MLP: its activation in every window that can occur.

A model under a window is a function of finitely many windows, and so is each of its neurons. The
activation is shown for all windows of one role, as a table by two cells of the window. Where the
digit to write is their sum, or one more, the table has two parts: without a carry, and with one.
Explanations are shares of the variance over these windows, each window counting once.

Without a number, the neuron is the one whose removal (setting it to zero) costs the most loss.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, permutations, zip_longest
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from curta.config.errors import UserError, unknown
from curta.config.limits import INT32, LAYERS, RATIO, WIDTH
from curta.config.positions import Window
from curta.probes.base import Finding, Probe, Row, option
from curta.probes.inside import factors
from curta.probes.inside.factors import NeuronValues, WindowFactor, functions, together
from curta.probes.pictures import Heat, Panel, heat

if TYPE_CHECKING:
    from curta.config.recipe import Recipe
    from curta.evaluation.scoring import Models
    from curta.model.transformer import Transformer
    from curta.probes.subject import Subject
    from curta.training.windows import WindowRows, WindowTargets

TEXTS = 20
"""Most columns of a table whose cells show their numbers."""


class NeuronWindows(NamedTuple):
    """All windows of one role, the right token after each with its digit, and their cells."""

    role: str
    rows: WindowRows
    targets: WindowTargets
    cells: list[WindowFactor]
    next_digits: factors.Codes
    """Signs count as the digit 0."""


class Axes(NamedTuple):
    """The two cells by which a neuron is drawn, and the carry if the next digit is their sum."""

    x: WindowFactor
    y: WindowFactor
    carry: WindowFactor | None


@dataclass(frozen=True)
class Neuron(Probe):
    name: ClassVar[str] = "neuron"
    summary: ClassVar[str] = "one neuron's activation in every window, and what explains it"
    scope: ClassVar[str] = "models that see a window"

    layer: int | None = option(None, "the neuron's layer (any)", least=0, most=LAYERS)
    neuron: int | None = option(None, "its number (the costliest one)", least=0, most=WIDTH * RATIO)
    role: str | None = option(None, "whose windows (those of the role that has most)", kind=str)
    x: str | None = option(None, "cell of the window that is drawn downwards", kind=str)
    y: str | None = option(None, "cell that is drawn across, such as 'b place+1'", kind=str)
    count: int = option(1000, "windows by which the costliest neuron is found")
    seed: int = option(1, "seed of these windows", least=0, most=INT32)

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        return None if isinstance(recipe.positions, Window) else "one that sees whole texts"

    def examine(self, subject: Subject) -> Finding:
        from curta.probes.inside.windows import all_windows

        return self.examine_windows(subject.models, subject.members, *all_windows(subject.run))

    def examine_windows(
        self, models: Models, members: Sequence[int], rows: WindowRows, targets: WindowTargets
    ) -> Finding:
        """Return the finding for these members over these windows."""
        from curta.probes.inside.windows import responses

        windows = self.windows(models.layout, rows, targets)
        table, notes, panels = list[Row](), list[str](), list[Panel]()
        for number, member in enumerate(members):
            model = models.member(number)
            layer, neuron, losses = self.costliest(model, windows)
            values = responses(model, layer, neuron, windows.rows, windows.targets)
            axes = self.axes(values, windows)
            shares = explanations(values, windows, axes)
            table += [{"member": member, "layer": layer, "neuron": neuron} | row for row in shares]

            note = (
                f"member {member}: layer {layer}, neuron {neuron};"
                f" loss {losses[0]:.4f}, without it {losses[1]:.4f}; in {len(windows.rows):,}"
                f" windows of role {windows.role}; x is {axes.x.name}, y is {axes.y.name}"
            )
            names = [function.name for function in functions(*axes)]
            best = next((row for row in shares if row["explained by"] in names), None)
            if np.ptp(values) == 0:
                note += f"; it is {values[0]:.3g} in every window"
            elif best is not None:
                note += f"; {best['explained by']} explains {best['share']:.0%}"
            notes.append(note)
            if number == 0:
                title = f"member {member}, layer {layer}, neuron {neuron}"
                panels += draw_tables(title, values, axes)
        shows = (
            f"The activation of one neuron of member {members[0]} by two cells of the window of"
            f" role {windows.role}: mean over all windows with these symbols. Colours are shares of"
            " its range."
        )
        return Finding.of(table, shows, panels, notes)

    def windows(self, layout: Any, rows: WindowRows, targets: WindowTargets) -> NeuronWindows:
        """Return the windows of the chosen role, by default the role with most windows."""
        roles = layout.machine.role[rows[:, 0]]
        role = self.role or layout.machine.roles[int(np.bincount(roles).argmax())].name
        if self.role is not None and role not in layout.windows:
            raise unknown("--role", role, layout.windows)
        mine = roles == layout.machine.role_numbers[role]
        rows, targets = rows[mine], targets[mine]
        if not layout.windows.get(role) or not len(rows):
            raise UserError(f"role {role!r} has no windows of two cells")
        digits = np.array([layout.value(token) or 0 for token in range(len(layout.characters))])
        cells = factors.cell_factors(layout, role, rows)
        return NeuronWindows(role, rows, targets, cells, digits[targets])

    def costliest(
        self, model: Transformer, windows: NeuronWindows
    ) -> tuple[int, int, tuple[float, float]]:
        """Return the layer and number of the neuron, and the losses with and without it."""
        from curta.probes.inside.windows import losses_without

        config = model.config
        for name, number, count in (
            ("layer", self.layer, config.num_layers), ("neuron", self.neuron, config.mlp_width)
        ):  # fmt: skip
            if number is not None and number >= count:
                raise UserError(f"no {name} {number}: the model has 0 to {count - 1}")
        layers = range(config.num_layers) if self.layer is None else [self.layer]
        neurons = range(config.mlp_width) if self.neuron is None else [self.neuron]
        count = min(self.count, len(windows.rows))
        some = np.random.default_rng(self.seed).choice(len(windows.rows), count, replace=False)
        rows, targets, tried = windows.rows[some], windows.targets[some], np.array([-1, *neurons])
        losses = {
            layer: np.asarray(losses_without(model, rows, targets, tried, layer=layer)).tolist()
            for layer in layers
        }
        layer = max(layers, key=lambda layer: max(losses[layer][1:]))
        whole, *without = losses[layer]
        place = int(np.argmax(without))
        return layer, neurons[place], (whole, without[place])

    def axes(self, values: NeuronValues, windows: NeuronWindows) -> Axes:
        """Return the cells to draw by, and the carry: two whose sum is written, or the best two."""
        names = [cell.name for cell in windows.cells]
        for name, chosen in (("--x", self.x), ("--y", self.y)):
            if chosen is not None and chosen not in names:
                raise unknown(name, chosen, names)
        if self.x is not None and self.x == self.y:
            raise UserError(f"--x and --y are the same cell: {self.x}")
        pairs = [
            (x, y)
            for x, y in permutations(windows.cells, 2)
            if self.x in (None, x.name) and self.y in (None, y.name)
        ]
        for x, y in pairs:
            carry = factors.carried(x, y, windows.next_digits)
            if carry is not None:
                return Axes(x, y, carry)
        return Axes(*max(pairs, key=lambda pair: factors.explained(values, together(*pair))), None)


def explanations(values: NeuronValues, windows: NeuronWindows, axes: Axes) -> list[Row]:
    """Return the share that each cell, pair of cells and function explains, largest first."""
    following = WindowFactor.of("next token", windows.targets)
    every = [*windows.cells, *functions(*axes), following]
    additive: list[float | None] = [None] * len(every)
    for pair in combinations(windows.cells, 2):
        every.append(together(*pair))
        additive.append(round(factors.additive(values, *pair), 6))
    if axes.carry is not None:
        every.append(together(axes.x, axes.y, axes.carry))
    shares = [round(factors.explained(values, factor), 6) for factor in every]
    rows: list[Row] = [
        {"explained by": f.name, "values": len(f.labels), "share": share, "additive": added}
        for f, share, added in zip_longest(every, shares, additive)
    ]
    return sorted(rows, key=lambda row: -row["share"])


def draw_tables(title: str, values: NeuronValues, axes: Axes) -> list[Heat]:
    """Return a table of x by y, or one for each value of the carry, on one colour scale."""
    x, y, carry = axes
    windows_of = {title: np.full(len(values), True)}
    if carry is not None:
        windows_of = {
            f"{title}: {carry.name} {label}": carry.codes == code
            for code, label in enumerate(carry.labels)
        }
    tables = {
        name: factors.table_of_means(values, x, y, windows) for name, windows in windows_of.items()
    }
    low = min(float(np.nanmin(table)) for table in tables.values())
    high = max(float(np.nanmax(table)) for table in tables.values())
    span, panels = max(high - low, 1e-3), list[Heat]()
    decimals = max(0, 1 - math.floor(math.log10(span)))
    for name, table in tables.items():
        rows = [[None if math.isnan(v) else v for v in row] for row in table.tolist()]
        panels.append(heat(
            f"{name}, from {low:.3g} to {high:.3g}", f"y: {y.name}", f"x: {x.name}",
            y.labels, x.labels,
            [[None if v is None else (v - low) / span for v in row] for row in rows],
            [["" if v is None else f"{v:.{decimals}f}" for v in row] for row in rows]
            if len(y.labels) <= TEXTS else None,
        ))  # fmt: skip
    return panels
