"""Layouts: the device's text against plain Python's, and both against Python's ints."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.typing import ArrayLike

from curta.config.errors import UserError
from curta.layouts import LAYOUTS, Layout, ShapeBounds, Text, TokenPositions, layout_named
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem
from tests import covering, tiny

BATCH, WIDTH, SEVERAL = 8, 6, 4

COUNTING = (
    "plain", "reversed", "padded", "blanks", "hints", "fields", "framed", "spaced", "spaced-apart",
    "begun", "filled", "filled-left", "labelled", "plain-padded", "carries",
)  # fmt: skip
"""Layouts whose only coordinate is the index within a number, or a field."""

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
_step = jax.jit(lambda layout, *rest: layout.step(*rest), static_argnums=0)


def follow(
    layout: Layout, tokens: ArrayLike, lengths: ArrayLike
) -> tuple[np.ndarray, TokenPositions]:
    """As NumPy arrays: a slice of a device's array is a program of its own."""
    return jax.device_get(_follow(layout, tokens, lengths))


def step(layout: Layout, state: ArrayLike, token: ArrayLike) -> tuple[np.ndarray, ...]:
    return jax.device_get(_step(layout, state, token))


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


def texts(layout: Layout, most: int) -> st.SearchStrategy[str]:
    """What at most so many tokens spell, in any order."""
    return st.lists(st.sampled_from(layout.characters), max_size=most).map("".join)


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
@given(data=st.data())
def test_whatever_a_model_writes_is_an_answer_or_none(
    layout: Layout, symbol: str, data: st.DataObject
) -> None:
    end = data.draw(st.sampled_from(["", "$", "=1$", "1$"]))
    found = layout.read(symbol, data.draw(texts(layout, 8)) + end)
    expected = type(Problem(symbol, (1,) * OPERATIONS[symbol].least).truth)
    assert found is None or type(found) is expected


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


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name not in COUNTING])
@settings(max_examples=10)
@given(data=st.data())
def test_no_two_tokens_of_a_text_share_kind_and_coordinates(name: str, data: st.DataObject) -> None:
    """On the axes where their role is not broadcast."""
    layout = layout_named(name)
    symbol = data.draw(st.sampled_from(layout.operators))
    batch = data.draw(batches(layout, symbol))
    text = tiny.text(layout, batch, bounds_for(layout, symbol).total)
    _, where = follow(layout, text.tokens, text.lengths)
    tame = np.array([[axis not in role.broadcast for axis in layout.axes] for role in layout.roles])
    for row, length in enumerate(text.lengths.tolist()):
        roles = where.role[row, :length]
        spots = where.coordinates[row, :length] * tame[roles]
        assert len(set(map(tuple, np.c_[roles, spots].tolist()))) == length


# Texts that a model may write.


def soup(layout: Layout, length: int = 16) -> st.SearchStrategy[list[int]]:
    token = st.integers(0, len(layout.characters) - 1)
    return st.lists(token, min_size=length, max_size=length)


@every_layout
@given(data=st.data(), cut=st.integers(1, 16))
def test_later_tokens_never_change_what_is_known_of_earlier_ones(
    layout: Layout, data: st.DataObject, cut: int
) -> None:
    one, other = data.draw(soup(layout)), data.draw(soup(layout))
    tokens = np.array([one, one[:cut] + other[cut:]], np.int32)
    _, where = follow(layout, tokens, np.array([16, 16], np.int32))
    states, _ = follow(layout, tokens, np.array([cut, cut], np.int32))
    assert (where.role[0, :cut] == where.role[1, :cut]).all()
    assert (where.coordinates[0, :cut] == where.coordinates[1, :cut]).all()
    assert (states[0] == states[1]).all()


@every_layout
@settings(max_examples=10)
@given(data=st.data(), length=st.integers(0, 16))
def test_following_a_text_is_stepping_through_its_tokens(
    layout: Layout, data: st.DataObject, length: int
) -> None:
    tokens = np.array([data.draw(soup(layout))], np.int32)
    after, where = follow(layout, tokens, np.array([length], np.int32))
    state = layout.start(1)
    for index in range(length):
        state, role, coordinates = step(layout, state, tokens[:, index])
        assert where.role[0, index] == role[0]
        assert (where.coordinates[0, index] == coordinates[0]).all()
    assert (after == state).all()
    assert (where.role[0, length:] == -1).all()
    assert (where.index[0] == np.arange(16)).all()


# What a layout says of itself, and what it refuses.


@every_layout
def test_a_layout_refuses_other_operators(layout: Layout) -> None:
    for symbol in set(OPERATIONS) - set(layout.operators):
        with pytest.raises(UserError, match=f"layout '{layout.name}' has no"):
            layout.accept(symbol, [1] * OPERATIONS[symbol].least)
