"""Algorithms that are read back from windows are equal to them, row by row."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from curta.evaluation import certificate, readback
from curta.evaluation.results import CertifiedWindows
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model import recipes
from curta.programs.machine.machine import Machine
from curta.report.certificate import learned_algorithm

Row = tuple[int, ...]


@cache
def listed(name: str) -> tuple[ProgramLayout, np.ndarray, np.ndarray]:
    """Return a recipe's layout, all its windows, and the tokens that are right after these."""
    recipe = recipes.load(name)
    layout = layout_of(recipe)
    assert isinstance(layout, ProgramLayout)
    windows = certificate.prepare(recipe, layout)
    return layout, windows.rows, windows.targets


def written(machine: Machine, rules: list[readback.RoleRule], layout: Any, row: Row) -> Any:
    """Execute the function of a row's role; return what it writes."""
    namespace: dict[str, Any] = {"write": lambda role, move, value, carry=0: (role, value, carry)}
    token = machine.tokens[row[0]]
    (rule,) = (rule for rule in rules if rule.role == token.role)
    exec(rule.source, namespace)
    (function,) = (value for name, value in namespace.items() if name.startswith("after_"))
    names = ["last", *readback.neighbour_names(layout.windows.get(token.role, ()))]
    cells = {
        name: None if cell == len(machine.tokens) else machine.tokens[cell]
        for name, cell in zip(names, row, strict=False)
    }
    seen: dict[str, Any] = {name: there.value or 0 if there else 0 for name, there in cells.items()}
    signs = {name: there.symbol for name, there in cells.items() if there and there.value is None}
    roles = [token.role, *(role for role, _ in layout.windows.get(token.role, ()))]
    for name, role in zip(names, roles, strict=True):
        if all(other.value is None for other in machine.tokens if other.role == role):
            seen[name] = signs.get(name, 0)  # no digit ever stands there
    seen |= {"last_carry": token.carry, "signs": signs}
    seen |= {"empty": {name for name, there in cells.items() if there is None}}
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    return function(**{name: seen[name] for name in arguments})


def disagreements(layout: ProgramLayout, rows: np.ndarray, tokens: np.ndarray) -> list[Row]:
    """Return the rows after which the functions write another token than these."""
    machine = layout.machine
    rules = readback.read_back(machine, layout.windows, rows, tokens)
    assert sum(rule.windows for rule in rules) == len(rows)
    wrong = []
    for row, number in zip(rows.tolist(), tokens.tolist(), strict=True):
        token = machine.tokens[number]
        value = token.symbol if token.value is None else token.value
        if written(machine, rules, layout, row) != (token.role, value, token.carry):
            wrong.append(tuple(row))
    return wrong


@pytest.mark.parametrize(
    "name",
    [
        *("comparison", "copying", "luhn"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("subtraction", "binary")),
    ],
)
def test_functions_are_equal_to_the_windows(name: str) -> None:
    layout, rows, tokens = listed(name)
    assert not disagreements(layout, rows, tokens)
    rules = readback.read_back(layout.machine, layout.windows, rows, tokens)
    assert all("*{" not in rule.source for rule in rules)  # no dictionary of windows
    assert sum(rule.source.count("\n") + 1 for rule in rules) <= 60


def test_a_model_that_is_wrong_is_read_back_as_it_is() -> None:
    layout, rows, tokens = listed("luhn")
    rng = np.random.default_rng(1)
    for count in (1, 5):
        changed = tokens.copy()
        which = rng.choice(len(rows), count, replace=False)
        changed[which] = rng.permutation(tokens)[:count]
        assert not disagreements(layout, rows, changed)


def test_a_report_has_the_algorithm_of_a_member_that_is_right_as_people_write_it() -> None:
    layout, rows, targets = listed("addition")
    wrong = targets.copy()
    wrong[0] = layout.end
    margin = np.ones((2, len(rows)))
    windows = CertifiedWindows(rows, targets, np.stack([wrong, targets]), margin, margin > 0)
    text = learned_algorithm(layout, windows)
    assert f"Member 1, right on all of {len(rows):,} windows" in text
    after_sum = text.partition("after_sum")[2]
    assert "return write('sum', 'place+1', (a_1 + b_1 + (a + b > last)) % 10)" in after_sum
    assert "last >= a + b:\n        return write('end', '', '$')" in after_sum
    assert after_sum.count("return") == 2
    only_wrong = windows._replace(token=windows.token[:1])
    assert not learned_algorithm(layout, only_wrong)
