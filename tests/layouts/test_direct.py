"""The direct layouts: as their sources show them, and where their tokens stand."""

import re
from typing import NamedTuple

import pytest
from hypothesis import given

import tiny
from curta.layouts import Layout, layout_named
from curta.problems import Problem, parse

WIDTH = 12


class Spot(NamedTuple):
    """Kind and place of one character."""

    kind: str
    place: int


def spots(layout: Layout, problem: Problem) -> list[Spot]:
    """Kind and first coordinate of every written character, as the device sees them."""
    text = tiny.text(layout, [problem], tiny.room(layout, WIDTH, problem.operator).total)
    where = layout.where(text)
    kinds = [layout.kinds[kind].name for kind in where.kind[0, : text.lengths[0]].tolist()]
    places = where.coordinates[0, :, 0].tolist()
    return [Spot(*spot) for spot in zip(kinds, places, strict=False)]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("plain", "957+68=1025$"),
        ("reversed", "759+86=5201$"),
        ("coupled", "759+86=5201$"),
        ("padded", "759+860=5201$"),
        ("position-coupling", "957+068=5201$"),
    ],
)
def test_the_layouts_as_their_sources_show_them(name: str, line: str) -> None:
    assert layout_named(name).write(Problem("+", (957, 68))) == line


def test_padding_adds_a_place_to_the_answer_even_without_a_carry() -> None:
    assert layout_named("padded").write(Problem("+", (12, 3))) == "21+30=510$"


@pytest.mark.parametrize(
    ("problem", "plain", "turned"),
    [
        ("1+22+333", "1+22+333=356$", "1+22+333=653$"),
        ("12-34", "12-34=-22$", "21-43=-22$"),
        ("40-13", "40-13=27$", "04-31=72$"),
        ("12*34", "12*34=408$", "21*43=804$"),
        ("123//4", "123/4=30$", "321/4=03$"),
        ("123%4", "123%4=3$", "321%4=3$"),
        ("12<34", "12<34=1$", "21<43=1$"),
        ("sort 210,7,33", "s210,7,33=7,33,210$", "s012,7,33=7,33,012$"),
        ("copy 120", "c120=120$", "c021=021$"),
        ("reverse 120", "r120=21$", "r021=12$"),
    ],
)
def test_every_operation_as_people_write_it_and_turned_around(
    problem: str, plain: str, turned: str
) -> None:
    assert layout_named("plain").write(parse(problem)) == plain
    assert layout_named("reversed").write(parse(problem)) == turned


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


@given(problem=tiny.sums(WIDTH))
def test_coupled_kinds_and_places_are_those_of_the_definition(problem: Problem) -> None:
    layout = layout_named("coupled")
    assert spots(layout, problem) == coupled_spots(layout.write(problem))


def test_position_coupling_ids_by_hand() -> None:
    """The example of the paper's first figure, at start 1."""
    layout, problem = layout_named("position-coupling"), Problem("+", (653, 49))
    assert layout.write(problem) == "653+049=2070$"
    ids = [spot.place + 1 for spot in spots(layout, problem)]
    assert ids == [2, 3, 4, 5, 2, 3, 4, 5, 4, 3, 2, 1, 0]


@given(problem=tiny.sums(WIDTH))
def test_position_coupling_ids_are_the_sources(problem: Problem) -> None:
    """Its `__getitem__`, with start = 1."""
    layout = layout_named("position-coupling")
    a, b, answer = re.fullmatch(r"(\d+)\+(\d+)=(\d+)\$", layout.write(problem)).groups()
    end = 1 + max(len(a), len(b)) + 1
    inputs = [*range(end - len(a), end + 1), *range(end - len(b), end + 1)]
    labels = list(range(end - len(answer), end))[::-1]
    ids = [spot.place + 1 for spot in spots(layout, problem)]
    assert ids == [*inputs, *labels, 0]


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


def test_a_minus_of_the_answer_is_no_operator() -> None:
    kinds = [spot.kind for spot in spots(layout_named("plain"), Problem("-", (1, 12)))]
    after = ["equals", "sign", "answer", "answer", "end"]
    assert kinds == ["first", "operator", "second", "second", *after]
