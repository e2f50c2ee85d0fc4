"""Neurons of a model by hand, whose activations are known in every window."""

from dataclasses import replace
from itertools import product
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from curta.evaluation import certificate
from curta.layouts.program import ProgramLayout
from curta.probes.base import Finding
from curta.probes.inside.windows import all_windows
from curta.probes.neuron import Neuron
from curta.runs.run import Run, program_layout
from tests import tiny

from . import by_hand
from .helpers import examined

FEW = (0, 3, 6, 9)
A, B, a, b, came = np.array([*product(FEW, range(10), range(10), range(10), (0, 1))]).T
"""All windows within a sum, but for A, of which a few are enough: digits on the next square and on
this one, and the carry into this one."""
CARRY = (a + b + came) // 10


def rows() -> tuple[np.ndarray, np.ndarray]:
    """As tokens; cells are the query, then A, B, a, b."""
    layout = tiny.layout_of(by_hand.RECIPE)
    assert isinstance(layout, ProgramLayout)
    assert layout.windows["sum"] == (("a", (1,)), ("b", (1,)), ("a", (0,)), ("b", (0,)))

    def of(role: str, digits: np.ndarray) -> np.ndarray:
        tokens = [layout.machine.numbers[digit, role, 0, (1,)] for digit in digits.tolist()]
        return np.array(tokens, np.int32)

    sum_tokens = of("sum", (a + b + came) % 10)
    cells = [sum_tokens, of("a", A), of("b", B), of("a", a), of("b", b)]
    return np.stack(cells, axis=1), of("sum", (A + B + CARRY) % 10)


def looked(**options: Any) -> Finding:
    return Neuron(**options).examine_windows(by_hand.adder(), [0], *rows())


def share(values: np.ndarray, groups: np.ndarray) -> float:
    """The variance of the groups' means over that of the values."""
    means = np.zeros(len(values))
    for group in np.unique(groups):
        means[groups == group] = values[groups == group].mean()
    return float(means.var() / values.var())


def test_a_neuron_is_told_by_the_sum_that_it_reads() -> None:
    finding, values = looked(neuron=0), np.maximum(A + B - 9, 0)
    told = {row["explained by"]: row["share"] for row in finding.rows}
    assert told["x + y"] == told["a place+1, b place+1"] == 1.0
    for name, groups in (
        ("a place+1", A), ("b place+1", B), ("x + y + carry >= 10", A + B + CARRY > 9),
    ):  # fmt: skip
        assert told[name] == pytest.approx(share(values, groups), abs=1e-5)
    assert max(told[other] for other in ("itself", "a", "b", "carry")) < 1e-5
    (pair,) = (row for row in finding.rows if row["explained by"] == "a place+1, b place+1")
    assert pair["additive"] == pytest.approx(told["a place+1"] + told["b place+1"], abs=1e-5)


def test_its_table_is_its_activation_in_every_window() -> None:
    without, with_one = looked(neuron=0).picture["panels"]
    for panel in (without, with_one):
        assert panel["rows"] == ["0", "3", "6", "9"]
        assert panel["columns"] == [str(digit) for digit in range(10)]
        for row, texts in zip(panel["rows"], panel["texts"], strict=True):
            expected = [max(int(row) + digit - 9, 0) for digit in range(10)]
            assert texts == [f"{value:.1f}" for value in expected]
        assert panel["values"][3][9] == 1.0
        assert panel["values"][0][0] == 0.0
    assert "carry 0" in without["title"]
    assert "carry 1" in with_one["title"]


def test_the_costliest_neuron_is_the_one_that_writes() -> None:
    """What it writes is asked for: 1 after a carry, and 0 without one."""
    models, (windows_of_sums, _) = by_hand.adder(), rows()
    zero, unit = (tiny.layout_of(by_hand.RECIPE).digits[digit] for digit in (0, 1))
    head = jnp.zeros_like(models.stacked.head).at[:, 4, unit].set(3.0)
    models = replace(models, stacked=replace(models.stacked, head=head))
    targets = np.where(CARRY, unit, zero).astype(np.int32)
    (note,) = Neuron().examine_windows(models, [0], windows_of_sums, targets).notes
    assert note.startswith("member 0: layer 0, neuron 1;")


def test_windows_are_those_of_the_certificate(windowed: Run) -> None:
    listed = certificate.prepare(windowed.recipe, program_layout(windowed))
    finding = examined(Neuron(count=50), windowed)
    assert {row["member"] for row in finding.rows} == {0, 1}
    assert np.array_equal(all_windows(windowed)[0], listed.rows)
    most = np.bincount(windowed.layout.machine.role[listed.rows[:, 0]]).max()
    assert f"in {most:,} windows of role sum" in finding.notes[0]
    assert finding.picture["panels"][0]["rows"][-1] == "∅"
