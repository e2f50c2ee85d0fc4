"""Layouts: the device's text against plain Python's, and both against Python's ints."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.typing import ArrayLike

from curta.config.errors import UserError
from curta.layouts import LAYOUTS, Layout, ShapeBounds, Text, TokenPositions, layout_named
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model import recipes
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, parse
from tests import tiny

BATCH, WIDTH, SEVERAL = 8, 6, 4


every_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)


def pairs() -> Iterator[Any]:
    """Yield each layout with each operator; where neither is the first of its kind, it is slow."""
    seen = set()
    for layout in LAYOUTS.values():
        for symbol in layout.operators:
            marks = [pytest.mark.slow] * ({layout.name, symbol} <= seen)
            seen |= {layout.name, symbol}
            yield pytest.param(layout, symbol, marks=marks, id=f"{layout.name}-{symbol}")


every_pair = pytest.mark.parametrize(("layout", "symbol"), [*pairs()])

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


@every_layout
def test_a_layout_refuses_other_operators(layout: Layout) -> None:
    for symbol in set(OPERATIONS) - set(layout.operators):
        with pytest.raises(UserError, match=f"layout '{layout.name}' has no"):
            layout.accept(symbol, [1] * OPERATIONS[symbol].least)


KNOWN = json.loads((Path(__file__).parent / "coordinates.json").read_text("utf-8"))
"""By layout: texts, the role of each token in hexadecimal, and its coordinate."""


@pytest.mark.parametrize("name", LAYOUTS)
def test_coordinates_of_texts_stay_what_they_are(name: str) -> None:
    layout = layout_named(name)
    written = [layout.encode(text) for text, _, _ in KNOWN[name]]
    tokens = np.zeros((len(written), max(map(len, written))), np.int32)
    for row, line in zip(tokens, written, strict=True):
        row[: len(line)] = line
    lengths = jnp.array(list(map(len, written)))
    where = jax.jit(layout.follow)(jnp.asarray(tokens), lengths)[1]
    for number, (line, (_, roles, coordinates)) in enumerate(
        zip(written, KNOWN[name], strict=True)
    ):
        found = np.asarray(where.role)[number, : len(line)]
        assert found.tolist() == [int(role, 16) for role in roles]
        assert np.asarray(where.coordinates)[number, : len(line), 0].tolist() == coordinates


def layout(name: str) -> ProgramLayout:
    found = layout_of(recipes.load(name))
    assert isinstance(found, ProgramLayout)
    return found


@pytest.mark.parametrize(("name", "base"), [("addition", 10), ("base-2", 2), ("base-16", 16)])
def test_a_text_is_as_long_as_that_of_the_largest_operands_in_their_base(
    name: str, base: int
) -> None:
    of = layout(name)
    longest = [problem.operands for problem in of.long_problems("+", (3, 1))]
    assert longest == [(base**3 - 1, base - 1), (base**2, 1)]
    tokens, prompt = of.tokens_of(Problem("+", (base**4 - 1, base**4 - 1), base))
    bounds = of.bounds("+", (4, 4))
    assert (bounds.prompt, bounds.total) == (prompt, len(tokens))
    assert of.estimate_tokens("+", (4, 4)) == len(tokens)


@pytest.mark.parametrize(
    ("problem", "text", "tokens"),
    [
        ("12+5 mod 97", "12+5=17", [12, 97, 5, 100, 17]),
        ("90+10 mod 97", "90+10=3", [90, 97, 10, 100, 3]),
        ("5-7 mod 97", "5-7=95", [5, 98, 7, 100, 95]),
        ("200*3 mod 97", "6*3=18", [6, 99, 3, 100, 18]),
    ],
)
def test_a_residue_is_one_token(problem: str, text: str, tokens: list[int]) -> None:
    layout, asked = layout_named("residues-97"), parse(problem)
    assert layout.write(asked) == text
    assert layout.tokens_of(asked) == (tokens, 4)
    assert layout.encode(text).tolist() == tokens
    assert layout.answer(asked, tokens[4:]) == asked.truth


def test_only_a_residue_is_an_answer() -> None:
    layout, asked = layout_named("residues-97"), Problem("+ mod 97", (12, 5))
    written = [[0], [96], [97], [100], [], [1, 7]]
    assert [layout.answer(asked, tokens) for tokens in written] == [0, 96, None, None, None, 17]
    assert layout.read("+ mod 97", "97") is None
    assert layout.read("+ mod 97", "07") is None
