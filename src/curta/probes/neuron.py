"""What one neuron of an MLP tells apart: its activation in every window that can occur.

A model under a window is a function of finitely many windows, and so is each of its neurons. Its
activation is given for all windows of one role, as a table by two cells of the window, in two
parts where the digit to be written is their sum, or one more: without a carry, and with one. What
explains it is given as shares of its variance over these windows, each of which counts once.

Without a number, it is the neuron whose loss is greatest when it is set to zero.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, permutations
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.config.errors import UserError, unknown
from curta.evaluation import certificate, memo, results
from curta.evaluation.scoring import Models
from curta.layouts.program import ProgramLayout
from curta.model.decoding import logits_of_windows
from curta.model.transformer import Transformer
from curta.probes import settings
from curta.probes.base import Finding, Probe, Row
from curta.probes.inside.factors import (
    Factor,
    additive,
    carried,
    cells,
    explained,
    functions,
    means,
    together,
)
from curta.probes.pictures import Heat, Panel
from curta.probes.subject import Subject
from curta.runs.session import Session

TEXTS = 20
"""Most columns of a table whose cells have their numbers written in."""

COLUMNS = ("member", "layer", "neuron", "explained by", "values", "share", "additive")

Rows = Int[np.ndarray, "windows cells"]
Targets = Int[np.ndarray, " windows"]


class Seen(NamedTuple):
    """All windows of one role, what is to be written after them, and what they differ in."""

    role: str
    rows: Rows
    targets: Targets
    cells: list[Factor]
    following: Factor
    """By the next token; signs count as the digit 0."""

    @classmethod
    def of(cls, layout: ProgramLayout, role: str, rows: Rows, targets: Targets) -> "Seen":
        """Raises UserError for a window of fewer than two cells."""
        mine = layout.machine.role[rows[:, 0]] == layout.machine.role_numbers[role]
        rows, targets = rows[mine], targets[mine]
        if len(layout.windows.get(role, ())) < 1 or not len(rows):
            raise UserError(f"role {role!r} has no windows of two cells")
        written = np.array([layout.value(token) or 0 for token in range(len(layout.characters))])
        following = Factor.of("next token", targets)._replace(digits=written[targets])
        return cls(role, rows, targets, cells(layout, role, rows), following)


class Looked(NamedTuple):
    """One neuron of one member, and what it is looked at by."""

    layer: int
    neuron: int
    values: Float[np.ndarray, " windows"]
    losses: tuple[float, float]
    """Of the model as it is, and without the neuron, in nats."""
    x: Factor
    y: Factor
    carry: Factor | None


@dataclass(frozen=True)
class Neuron(settings.Neuron, Probe):
    def examine(self, subject: Subject) -> Finding:
        return self.found(subject.load_models(), subject.members, *windows(subject.run))

    def found(
        self, models: Models, members: Sequence[int], rows: Rows, targets: Targets
    ) -> Finding:
        """What is found of these members over all windows."""
        layout = models.layout
        assert isinstance(layout, ProgramLayout)
        seen = Seen.of(layout, self._role(layout, rows), rows, targets)
        table, notes, panels = list[Row](), list[str](), list[Panel]()
        for number, member in enumerate(members):
            looked = self.look(models.member(number), seen)
            mine = _rows(member, looked, seen)
            table += mine
            notes.append(_note(member, looked, seen, mine))
            panels += _panels(member, looked) if number == 0 else []
        shows = (
            f"The activation of one neuron of member {members[0]} by two cells of the window of"
            f" role {seen.role}: mean over all windows with these symbols. Colours are shares of"
            " its range."
        )
        return Finding(COLUMNS, table, {"shows": shows, "panels": panels}, tuple(notes))

    def _role(self, layout: ProgramLayout, rows: Rows) -> str:
        """The one that was asked for, or that with the most windows."""
        names = [role.name for role in layout.machine.roles]
        if self.role is None:
            return names[int(np.bincount(layout.machine.role[rows[:, 0]]).argmax())]
        if self.role not in layout.windows:
            raise unknown("--role", self.role, layout.windows)
        return self.role

    def look(self, model: Transformer, seen: Seen) -> Looked:
        """The neuron that is asked for, or the costliest, in all windows."""
        layer, neuron, losses = self._costliest(model, seen)
        call = partial(_responses, model, jnp.int32(neuron), layer=layer)
        (found,) = memo.in_blocks(call, seen.rows, seen.targets, memo.BLOCKS)
        values = found.astype(np.float64)
        return Looked(layer, neuron, values, losses, *self._drawn_by(values, seen))

    def _costliest(self, model: Transformer, seen: Seen) -> tuple[int, int, tuple[float, float]]:
        """Its layer and number, and the losses with and without it."""
        layers = _chosen("layer", self.layer, model.config.num_layers)
        neurons = _chosen("neuron", self.neuron, model.config.mlp_width)
        some, tried = self._some(seen), np.array([-1, *neurons])
        losses = {
            layer: np.asarray(_losses(model, *some, tried, layer=layer)).tolist()
            for layer in layers
        }
        layer = max(layers, key=lambda one: max(losses[one][1:]))
        whole, *without = losses[layer]
        place = int(np.argmax(without))
        return layer, neurons[place], (whole, without[place])

    def _some(self, seen: Seen) -> tuple[Rows, Targets]:
        count = min(self.count, len(seen.rows))
        chosen = np.random.default_rng(self.seed).choice(len(seen.rows), count, replace=False)
        return seen.rows[chosen], seen.targets[chosen]

    def _drawn_by(
        self, values: Float[np.ndarray, " windows"], seen: Seen
    ) -> tuple[Factor, Factor, Factor | None]:
        """The cells that are asked for; else two whose sum is written, or that explain most."""
        names = [cell.name for cell in seen.cells]
        for option, asked in (("--x", self.x), ("--y", self.y)):
            if asked is not None and asked not in names:
                raise unknown(option, asked, names)
        if self.x is not None and self.x == self.y:
            raise UserError(f"--x and --y are the same cell: {self.x}")
        pairs = [
            (x, y)
            for x, y in permutations(seen.cells, 2)
            if self.x in (None, x.name) and self.y in (None, y.name)
        ]
        assert seen.following.digits is not None
        for x, y in pairs:
            carry = carried(x, y, seen.following.digits)
            if carry is not None:
                return x, y, carry
        x, y = max(pairs, key=lambda pair: explained(values, together(*pair)))
        return x, y, None


def _chosen(name: str, asked: int | None, count: int) -> list[int]:
    """All numbers, or the one that is asked for; UserError if there is none such."""
    if asked is not None and asked >= count:
        raise UserError(f"no {name} {asked}: the model has 0 to {count - 1}")
    return list(range(count)) if asked is None else [asked]


def windows(run: Session) -> tuple[Rows, Targets]:
    """All windows that can occur, and what is right after them: the certificate's, or listed now.

    Raises UserError where neither is there.
    """
    kept = results.read_windows(run.folder.path)
    if kept is not None:
        return kept.rows, kept.targets
    if not run.certifiable:
        raise UserError(f"run {run.name!r} has no certificate, and its code is not known here")
    assert isinstance(run.layout, ProgramLayout)
    listed = certificate.prepare(run.recipe, run.layout).listed
    return listed.rows, listed.targets


@partial(jax.jit, static_argnames="layer")
def _responses(
    model: Transformer,
    neuron: Int[Array, ""],
    rows: Int[Array, "windows cells"],
    targets: Int[Array, " windows"],
    *,
    layer: int,
) -> tuple[Float[Array, " windows"]]:
    """A neuron's activation in each window."""
    found = list[Array]()

    def tap(site: str, value: Array) -> Array:
        if site == f"layer.{layer}.mlp.inner":
            found.append(value)
        return value

    logits_of_windows(model, rows, tap)
    return (found[0][:, neuron].astype(jnp.float32),)


@partial(jax.jit, static_argnames="layer")
def _losses(
    model: Transformer,
    rows: Int[Array, "windows cells"],
    targets: Int[Array, " windows"],
    neurons: Int[Array, " neurons"],
    *,
    layer: int,
) -> Float[Array, " neurons"]:
    """The mean loss, in nats, without each of these neurons; -1 is none."""

    def without(neuron: Array) -> Array:
        def tap(site: str, value: Array) -> Array:
            if site != f"layer.{layer}.mlp.inner":
                return value
            return jnp.where(jnp.arange(value.shape[1])[None] == neuron, 0.0, value)

        logits = logits_of_windows(model, rows, tap)
        right = jnp.take_along_axis(logits, targets[:, None], axis=1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - right)

    return jax.lax.map(without, neurons)


def _rows(member: int, looked: Looked, seen: Seen) -> list[Row]:
    """What each cell, pair of cells and function explains, the largest share first."""
    values, own = looked.values, [looked.x, looked.y]
    singles = [*seen.cells, *functions(looked.x, looked.y, looked.carry), seen.following]
    found = [_row(one, explained(values, one)) for one in singles]
    for pair in combinations(seen.cells, 2):
        both = together(*pair)
        found.append(_row(both, explained(values, both), additive(values, *pair)))
    if looked.carry is not None:
        every = together(*own, looked.carry)
        found.append(_row(every, explained(values, every)))
    head: Row = {"member": member, "layer": looked.layer, "neuron": looked.neuron}
    return [head | row for row in sorted(found, key=lambda row: -row["share"])]


def _row(factor: Factor, share: float, added: float | None = None) -> Row:
    return {
        "explained by": factor.name,
        "values": len(factor.labels),
        "share": round(share, 6),
        "additive": None if added is None else round(added, 6),
    }


def _note(member: int, looked: Looked, seen: Seen, rows: list[Row]) -> str:
    """What was looked at, and the function that explains most."""
    names = [one.name for one in functions(looked.x, looked.y, looked.carry)]
    best = next((row for row in rows if row["explained by"] in names), None)
    whole, without = looked.losses
    said = (
        f"member {member}: layer {looked.layer}, neuron {looked.neuron};"
        f" loss {whole:.4f}, without it {without:.4f}; in {len(seen.rows):,} windows of role"
        f" {seen.role}; x is {looked.x.name}, y is {looked.y.name}"
    )
    if np.ptp(looked.values) == 0:
        return f"{said}; it is {looked.values[0]:.3g} in every window"
    if best is None:
        return said
    return f"{said}; {best['explained by']} explains {best['share']:.0%}"


def _panels(member: int, looked: Looked) -> list[Heat]:
    """A table of x by y for each value of the carry, or one."""
    carry, every = looked.carry, np.arange(len(looked.values))
    title = f"member {member}, layer {looked.layer}, neuron {looked.neuron}"
    if carry is None:
        return _tables(looked, {title: every})
    parts = {
        f"{title}: {carry.name} {label}": every[carry.codes == code]
        for code, label in enumerate(carry.labels)
    }
    return _tables(looked, parts)


def _tables(looked: Looked, parts: dict[str, np.ndarray]) -> list[Heat]:
    """Tables with one range of colours."""
    found = {title: means(looked.values, looked.x, looked.y, mine) for title, mine in parts.items()}
    known = [v for table in found.values() for row in table for v in row if v is not None]
    low, high = min(known), max(known)
    return [_table(looked, title, table, low, high) for title, table in found.items()]


def _table(
    looked: Looked, title: str, table: list[list[float | None]], low: float, high: float
) -> Heat:
    span = max(high - low, 1e-3)
    heat: Heat = {
        "form": "heat",
        "title": f"{title}, from {low:.3g} to {high:.3g}",
        "across": f"y: {looked.y.name}",
        "down": f"x: {looked.x.name}",
        "columns": looked.y.labels,
        "rows": looked.x.labels,
        "values": [[None if v is None else (v - low) / span for v in row] for row in table],
    }
    if len(looked.y.labels) <= TEXTS:
        decimals = max(0, 1 - math.floor(math.log10(span)))
        heat["texts"] = [["" if v is None else f"{v:.{decimals}f}" for v in row] for row in table]
    return heat
