"""Layouts: the device's text against plain Python's, and both against Python's ints."""

import re
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tiny
from curta.errors import UserError
from curta.layouts import LAYOUTS, Layout, layout_named
from curta.problems import Problem

BATCH, WIDTH = 8, 12

every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)

write = jax.jit(lambda layout, numbers: layout.tokens(numbers), static_argnums=0)
follow = jax.jit(lambda layout, tokens, lengths: layout.follow(tokens, lengths), static_argnums=0)
step = jax.jit(lambda layout, state, token: layout.step(state, token), static_argnums=0)


class Spot(NamedTuple):
    """Kind and place of one character."""

    kind: str
    place: int


def spots(layout: Layout, problem: Problem) -> list[Spot]:
    """Kind and first coordinate of every written character, as the device sees them."""
    text = tiny.text(layout, [problem] * BATCH, tiny.room(layout, WIDTH).total)
    _, where = follow(layout, text.tokens, text.lengths)
    kinds = [layout.kinds[kind].name for kind in where.kind[0, : text.lengths[0]].tolist()]
    places = where.coordinates[0, :, 0].tolist()
    return [Spot(*spot) for spot in zip(kinds, places, strict=False)]


def coupled_spots(line: str) -> list[Spot]:
    """The definition of the coupled layout: equal significance, equal place."""
    first, second, answer = re.fullmatch(r"(\d+)\+(\d+)=(\d+)\$", line).groups()
    return [
        *(Spot("first", place) for place in range(len(first))),
        Spot("operator", len(first)),
        *(Spot("second", place) for place in range(len(second))),
        Spot("equals", -1),
        *(Spot("answer", place) for place in range(len(answer))),
        Spot("end", len(answer)),
    ]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("plain", "957+68=1025$"),
        ("reversed", "759+86=5201$"),
        ("coupled", "759+86=5201$"),
        ("padded", "759+860=5201$"),
    ],
)
def test_the_layouts_as_their_sources_show_them(name: str, line: str) -> None:
    assert layout_named(name).write(Problem("+", (957, 68))) == line


def test_padding_adds_a_place_to_the_answer_even_without_a_carry() -> None:
    assert layout_named("padded").write(Problem("+", (12, 3))) == "21+30=510$"


@every_layout
@given(problem=tiny.sums(40))
def test_reading_what_was_written_gives_pythons_sum(layout: Layout, problem: Problem) -> None:
    whole, prompt = layout.write(problem), layout.prompt(problem)
    first, second = problem.operands
    assert whole.startswith(prompt)
    assert layout.read(whole.removeprefix(prompt)) == first + second


@every_layout
@given(problem=tiny.sums(40))
def test_a_prompt_tells_the_operands_and_nothing_of_the_answer(
    layout: Layout, problem: Problem
) -> None:
    first, second = layout.prompt(problem).removesuffix("=").split("+")
    order = 1 if layout.name == "plain" else -1
    assert (int(first[::order]), int(second[::order])) == problem.operands


@every_layout
@given(completion=st.text("0123456789+=$", max_size=8))
def test_read_refuses_all_but_digits_before_an_end(layout: Layout, completion: str) -> None:
    well_formed = re.fullmatch(r"[0-9]+\$.*", completion) is not None
    assert (layout.read(completion) is not None) == well_formed


@every_layout
@given(problems=tiny.batches(BATCH, WIDTH))
def test_the_device_writes_what_plain_python_writes(
    layout: Layout, problems: list[Problem]
) -> None:
    text = write(layout, tiny.numbers(problems, WIDTH))
    for row, problem in enumerate(problems):
        line = layout.write(problem)
        assert layout.decode(np.asarray(text.tokens)[row, : len(line)].tolist()) == line
        assert text.lengths[row] == len(line)
        assert text.prompts[row] == len(layout.prompt(problem))


@every_layout
def test_the_device_writes_long_numbers_and_runs_of_carries(layout: Layout) -> None:
    nines = 10**200 - 1
    problems = [Problem("+", pair) for pair in [(nines, 1), (1, nines), (nines, nines), (0, 0)]]
    text = layout.tokens(tiny.numbers(problems, 200))
    lines = [
        layout.decode(row[:length].tolist())
        for row, length in zip(np.asarray(text.tokens), text.lengths.tolist(), strict=True)
    ]
    assert lines == [layout.write(problem) for problem in problems]


@every_layout
@given(problem=tiny.sums(WIDTH))
def test_encode_and_decode_are_inverse(layout: Layout, problem: Problem) -> None:
    line = layout.write(problem)
    assert layout.decode(layout.encode(line).tolist()) == line


@every_layout
@given(problem=tiny.sums(WIDTH))
def test_a_text_fits_into_the_room_for_its_digit_counts(layout: Layout, problem: Problem) -> None:
    room = layout.room([len(str(value)) for value in problem.operands])
    prompt = len(layout.prompt(problem))
    assert prompt <= room.prompt
    assert len(layout.write(problem)) - prompt <= room.completion
    (low, high) = room.extents[0]
    assert all(low <= spot.place <= high for spot in spots(layout, problem))


@given(problem=tiny.sums(WIDTH))
def test_coupled_kinds_and_places_are_those_of_the_definition(problem: Problem) -> None:
    layout = layout_named("coupled")
    assert spots(layout, problem) == coupled_spots(layout.write(problem))


@given(problem=tiny.sums(WIDTH))
def test_no_two_tokens_of_a_coupled_text_share_kind_and_place(problem: Problem) -> None:
    found = spots(layout_named("coupled"), problem)
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("name", ["plain", "reversed", "padded"])
@given(problem=tiny.sums(WIDTH))
def test_other_layouts_count_within_each_number(name: str, problem: Problem) -> None:
    layout = layout_named(name)
    expected = [
        place
        for part in re.findall(r"\d+|\D", layout.write(problem))
        for place in (range(len(part)) if part.isdigit() else [-1])
    ]
    assert [spot.place for spot in spots(layout, problem)] == expected


texts = st.lists(st.integers(0, 12), min_size=16, max_size=16)


@every_layout
@given(one=texts, other=texts, cut=st.integers(1, 16))
def test_later_tokens_never_change_what_is_known_of_earlier_ones(
    layout: Layout, one: list[int], other: list[int], cut: int
) -> None:
    """Even of texts that a model wrote wrong."""
    tokens = jnp.array([one, one[:cut] + other[cut:]], jnp.int32)
    _, where = follow(layout, tokens, jnp.array([16, 16], jnp.int32))
    states, _ = follow(layout, tokens, jnp.array([cut, cut], jnp.int32))
    assert (where.kind[0, :cut] == where.kind[1, :cut]).all()
    assert (where.coordinates[0, :cut] == where.coordinates[1, :cut]).all()
    assert (states[0] == states[1]).all()


@every_layout
@given(line=texts, length=st.integers(0, 16))
def test_following_a_text_is_stepping_through_its_tokens(
    layout: Layout, line: list[int], length: int
) -> None:
    tokens = jnp.array([line], jnp.int32)
    after, where = follow(layout, tokens, jnp.array([length], jnp.int32))
    state = layout.start(1)
    for index in range(length):
        state, kind, coordinates = step(layout, state, tokens[:, index])
        assert where.kind[0, index] == kind[0]
        assert (where.coordinates[0, index] == coordinates[0]).all()
    assert (after == state).all()
    assert (where.kind[0, length:] == -1).all()
    assert (where.index[0] == jnp.arange(16)).all()


@every_layout
def test_a_layout_says_what_its_tokens_mean(layout: Layout) -> None:
    assert layout.characters.startswith("0123456789")
    assert len(set(layout.characters)) == len(layout.characters)
    assert layout.summary
    assert "\n" not in layout.summary
    assert layout.start(3).shape == (3, layout.states)


def test_an_unknown_layout_is_told_with_the_nearest_one() -> None:
    with pytest.raises(UserError, match="unknown layout 'reversd': did you mean 'reversed'"):
        layout_named("reversd")


def test_a_digit_where_a_sign_should_be_is_still_a_digit() -> None:
    """Kinds of all characters in all states are kinds that exist."""
    layout = layout_named("coupled")
    walk = partial(follow, layout)
    tokens = jax.random.randint(jax.random.key(0), (64, 16), 0, len(layout.characters))
    _, where = walk(tokens, jnp.full(64, 16, jnp.int32))
    digit = np.array([kind.digit for kind in layout.kinds])
    assert ((where.kind >= 0) & (where.kind < len(layout.kinds))).all()
    assert (digit[np.asarray(where.kind)] == (np.asarray(tokens) < 10)).all()
