"""Operations modulo a number: Python's own remainder, whatever the sign and the modulus."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.config.task import Task
from curta.problems import tasks
from curta.problems.operations import MODULI, OPERATIONS, operation_named
from curta.problems.problem import Problem, parse

PYTHONS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
moduli = st.integers(MODULI[0], MODULI[-1])
signs = st.sampled_from(sorted(PYTHONS))


@given(signs, moduli, st.integers(0, 10**30), st.integers(0, 10**30))
def test_the_truth_is_pythons_remainder(sign: str, modulus: int, a: int, b: int) -> None:
    problem = parse(f"{a} {sign} {b} mod {modulus}")
    assert problem == Problem(f"{sign} mod {modulus}", (a, b))
    assert problem.truth == PYTHONS[sign](a, b) % modulus
    assert str(problem) == f"{a}{sign}{b} mod {modulus}"
    assert parse(f"{problem} =") == problem
    assert len(str(problem.truth)) <= problem.operation.widths((31, 31))[0]


@pytest.mark.parametrize(
    "symbol", ["+ mod 1", "+ mod 252", "// mod 97", "sort mod 97", "+ mod 097", "+ mod"]
)
def test_other_symbols_are_no_operation(symbol: str) -> None:
    assert symbol not in OPERATIONS
    with pytest.raises(UserError):
        operation_named(symbol)


def test_a_table_has_each_residue_once() -> None:
    task = Task("+ mod 7", values=(0, 6), held_out=20, special=0.0, twins_together=False)
    tasks.check(task)
    split = tasks.split(task)
    assert (split.training, split.held_out, split.overlap) == (29, 20, 0)
    with pytest.raises(UserError, match=r"task.values 0..7: modulo 7 some operands are equal"):
        tasks.check(Task("+ mod 7", values=(0, 7), special=0.0))
