"""Layouts: the device's text against plain Python's, and both against Python's ints."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.typing import ArrayLike

from curta.config.errors import UserError
from curta.layouts import LAYOUTS, Layout, ShapeBounds, Text, TokenPositions
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem
from tests import covering, tiny

BATCH, WIDTH, SEVERAL = 8, 6, 4


every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
every_pair = pytest.mark.parametrize(
    ("layout", "symbol"),
    covering.parameters(
        [(layout, symbol) for layout in LAYOUTS.values() for symbol in layout.operators]
    ),
    ids=lambda value: getattr(value, "name", value),
)

write = jax.jit(lambda layout, *rest: layout.tokens(*rest), static_argnums=(0, 1, 3))
_follow = jax.jit(lambda layout, *rest: layout.follow(*rest), static_argnums=0)


def follow(
    layout: Layout, tokens: ArrayLike, lengths: ArrayLike
) -> tuple[np.ndarray, TokenPositions]:
    """As NumPy arrays: a slice of a device's array is a program of its own."""
    return jax.device_get(_follow(layout, tokens, lengths))


def most(layout: Layout, symbol: str) -> int:
    """The most operands of the problems that are written here."""
    return min(layout.most or SEVERAL, OPERATIONS[symbol].most or SEVERAL)


def width(layout: Layout, digits: int = WIDTH) -> int:
    """So many digits, or as many as can be written here."""
    return min(digits, layout.longest or digits)


def problems(layout: Layout, symbol: str, digits: int = 40) -> st.SearchStrategy[Problem]:
    return tiny.problems(symbol, width(layout, digits), most(layout, symbol))


def batches(layout: Layout, symbol: str) -> st.SearchStrategy[list[Problem]]:
    """Problems of one operation, of all sizes that fit the same room."""
    return tiny.batches(BATCH, width(layout), symbol, most(layout, symbol))


def bounds_for(layout: Layout, symbol: str, digits: int = WIDTH) -> ShapeBounds:
    return tiny.bounds(layout, width(layout, digits), symbol, most(layout, symbol))


def lines(layout: Layout, text: Text) -> list[str]:
    rows = zip(np.asarray(text.tokens), text.lengths.tolist(), strict=True)
    return [layout.decode(row[:length].tolist()) for row, length in rows]


@every_pair
@given(data=st.data())
def test_reading_what_was_written_gives_pythons_answer(
    layout: Layout, symbol: str, data: st.DataObject
) -> None:
    problem = data.draw(problems(layout, symbol))
    whole, prompt = layout.write(problem), layout.prompt(problem)
    assert whole.startswith(prompt)
    found = layout.read(symbol, whole.removeprefix(prompt))
    assert found == problem.truth
    assert type(found) is type(problem.truth)


@every_pair
@given(data=st.data())
def test_a_completion_without_an_end_or_without_digits_has_no_answer(
    layout: Layout, symbol: str, data: st.DataObject
) -> None:
    problem = data.draw(problems(layout, symbol, 5))
    tokens, prompt = layout.tokens_of(problem)
    assert layout.read(symbol, layout.decode(tokens[prompt:-1])) is None
    for text in ("", "$", "=$", "+$", "-$", ",$", "=,1$", "=1,$", "1a$"):
        assert layout.read(symbol, text) is None


@every_pair
@settings(max_examples=10)
@given(data=st.data())
def test_the_device_writes_what_plain_python_writes(
    layout: Layout, symbol: str, data: st.DataObject
) -> None:
    batch = data.draw(batches(layout, symbol))
    operands = tiny.numbers(batch, width(layout), most(layout, symbol))
    text = write(layout, symbol, operands, bounds_for(layout, symbol))
    assert lines(layout, text) == [layout.write(problem) for problem in batch]
    assert text.prompts.tolist() == [len(layout.prompt_tokens(problem)) for problem in batch]


@every_pair
@settings(max_examples=10)
@given(data=st.data())
def test_coordinates_are_within_the_extents_of_the_room(
    layout: Layout, symbol: str, data: st.DataObject
) -> None:
    batch = data.draw(batches(layout, symbol))
    text = tiny.text(layout, batch, bounds_for(layout, symbol).total)
    _, where = follow(layout, text.tokens, text.lengths)
    for row, problem in enumerate(batch):
        bounds = layout.bounds(symbol, [len(str(value)) for value in problem.operands])
        low, high = np.array(bounds.extents).T
        written = where.coordinates[row, : text.lengths[row]]
        assert ((written >= low) & (written <= high)).all()


# Texts that a model may write.


# What a layout says of itself, and what it refuses.


@every_layout
def test_a_layout_refuses_other_operators(layout: Layout) -> None:
    for symbol in set(OPERATIONS) - set(layout.operators):
        with pytest.raises(UserError, match=f"layout '{layout.name}' has no"):
            layout.accept(symbol, [1] * OPERATIONS[symbol].least)
