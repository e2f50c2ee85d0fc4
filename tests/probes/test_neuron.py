"""Neurons of a model by hand, whose activations are known in every window."""

from dataclasses import replace
from itertools import product
from statistics import fmean, pvariance
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from curta.evaluation import certificate
from curta.layouts.program import ProgramLayout
from curta.probes.base import Finding
from curta.probes.inside.windows import all_windows
from curta.probes.neuron import Neuron
from curta.runs.run import Run
from tests import tiny

from . import by_hand
from .helpers import found


class Window(NamedTuple):
    """Of a sum: digits on the next square, on this one, and the carry into this one."""

    A: int
    B: int
    a: int
    b: int
    came: int

    @property
    def s(self) -> int:
        return (self.a + self.b + self.came) % 10

    @property
    def carry(self) -> int:
        return (self.a + self.b + self.came) // 10

    @property
    def written(self) -> int:
        return (self.A + self.B + self.carry) % 10


FEW = (0, 3, 6, 9)
EVERY = [Window(*one) for one in product(FEW, range(10), range(10), range(10), (0, 1))]
"""All windows within a number, but for A, of which a few are enough."""


def rows() -> tuple[np.ndarray, np.ndarray]:
    """As tokens; cells are the query, then A, B, a, b."""
    layout = tiny.layout_of(by_hand.RECIPE)
    assert isinstance(layout, ProgramLayout)
    assert layout.windows["sum"] == (("a", (1,)), ("b", (1,)), ("a", (0,)), ("b", (0,)))
    tokens = layout.machine.numbers

    def of(role: str, value: int) -> int:
        return tokens[value, role, 0, (1,)]

    cells = [
        [of("sum", w.s), of("a", w.A), of("b", w.B), of("a", w.a), of("b", w.b)] for w in EVERY
    ]
    return np.array(cells, np.int32), np.array([of("sum", w.written) for w in EVERY], np.int32)


def looked(**options: Any) -> Finding:
    return Neuron(**options).examine_windows(by_hand.adder(), [0], *rows())


def shares(finding: Finding) -> dict[str, float]:
    return {row["explained by"]: row["share"] for row in finding.rows}


def share(values: list[float], groups: list[Any]) -> float:
    """The variance of the groups' means over that of the values, by plain loops."""
    means = {
        one: fmean(v for v, g in zip(values, groups, strict=True) if g == one)
        for one in set(groups)
    }
    return pvariance([means[group] for group in groups]) / pvariance(values)


def test_a_neuron_is_told_by_the_sum_that_it_reads() -> None:
    finding = looked(neuron=0)
    values = [float(max(w.A + w.B - 9, 0)) for w in EVERY]
    told = shares(finding)
    assert told["x + y"] == told["a place+1, b place+1"] == 1.0
    assert told["a place+1"] == pytest.approx(share(values, [w.A for w in EVERY]), abs=1e-5)
    assert told["b place+1"] == pytest.approx(share(values, [w.B for w in EVERY]), abs=1e-5)
    assert told["x + y + carry >= 10"] == pytest.approx(
        share(values, [w.A + w.B + w.carry > 9 for w in EVERY]), abs=1e-5
    )
    for other in ("itself", "a", "b", "carry"):
        assert told[other] < 1e-5
    (pair,) = (row for row in finding.rows if row["explained by"] == "a place+1, b place+1")
    assert pair["additive"] == pytest.approx(told["a place+1"] + told["b place+1"], abs=1e-5)


def test_its_table_is_its_activation_in_every_window() -> None:
    without, with_one = looked(neuron=0).picture["panels"]
    for panel in (without, with_one):
        assert panel["rows"] == ["0", "3", "6", "9"]
        assert panel["columns"] == [str(digit) for digit in range(10)]
        for row, texts in zip(panel["rows"], panel["texts"], strict=True):
            known = [max(int(row) + digit - 9, 0) for digit in range(10)]
            assert texts == [f"{value:.1f}" for value in known]
        assert panel["values"][3][9] == 1.0
        assert panel["values"][0][0] == 0.0
    assert "carry 0" in without["title"]
    assert "carry 1" in with_one["title"]


def test_the_costliest_neuron_is_the_one_that_writes() -> None:
    """What it writes is asked for: 1 after a carry, and 0 without one."""
    models, (windows_of_sums, _) = by_hand.adder(), rows()
    zero, one = (tiny.layout_of(by_hand.RECIPE).digits[digit] for digit in (0, 1))
    head = jnp.zeros_like(models.stacked.head).at[:, 4, one].set(3.0)
    models = replace(models, stacked=replace(models.stacked, head=head))
    targets = np.array([one if w.carry else zero for w in EVERY], np.int32)
    (note,) = Neuron().examine_windows(models, [0], windows_of_sums, targets).notes
    assert note.startswith("member 0: layer 0, neuron 1;")


def test_windows_are_those_of_the_certificate(windowed: Run) -> None:
    listed = certificate.prepare(windowed.recipe, windowed.program)
    finding = found(Neuron(count=50), windowed)
    assert {row["member"] for row in finding.rows} == {0, 1}
    assert np.array_equal(all_windows(windowed)[0], listed.rows)
    mine = windowed.program.machine.role[listed.rows[:, 0]]
    most = np.bincount(mine).max()
    assert f"in {most:,} windows of role sum" in finding.notes[0]
    panels = finding.picture["panels"]
    assert panels[0]["rows"][-1] == "∅"
