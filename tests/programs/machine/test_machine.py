"""The machine: where tokens stand, step by step and all at once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.programs.machine import ProgramError
from curta.programs.machine.machine import key_of
from curta.programs.machine.paper import Vocabulary
from tests.programs.machine.made_up import random_operands, recorded, wandering


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6))
def test_all_positions_are_those_of_single_steps(seed: int) -> None:
    machine, recording = recorded(wandering, random_operands(5, seed))
    place = np.zeros((1, 2), np.int64)
    expected = []
    for token in recording.tokens:
        place = machine.advance(place, np.array([token]))
        expected.append(place[0])
    np.testing.assert_array_equal(machine.positions(recording.tokens), expected)


def test_positions_of_the_example() -> None:
    machine, recording = recorded(wandering, [(123,)])
    assert machine.positions(recording.tokens)[:4].tolist() == [[0, 0], [1, 0], [2, 0], [-1, 0]]


def test_a_machine_knows_its_tokens_roles_and_end() -> None:
    machine, _ = recorded(wandering, random_operands(30))
    assert machine.tokens[machine.end].symbol == "$"
    assert [machine.numbers[key_of(token)] for token in machine.tokens] == list(
        range(len(machine.tokens))
    )
    names = [role.name for role in machine.roles]
    assert [names[role] for role in machine.role] == [token.role for token in machine.tokens]
    assert machine.broadcast_mask[names.index("number")].tolist() == [False, True]
    assert machine.broadcast_mask[names.index("row sign")].tolist() == [True, False]


def test_a_program_that_writes_nothing_is_refused() -> None:
    silent = replace(wandering, run=lambda paper, *digits: None)
    with pytest.raises(ProgramError, match="wrote nothing"):
        silent.record((1,), Vocabulary())
