"""How a recipe's problems are written: windows that are fixed, surveys that are kept."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curta.config import files
from curta.config.errors import UserError
from curta.layouts import texts
from curta.layouts.texts import layout_of
from curta.problems.problem import Problem
from curta.programs import PROGRAMS
from curta.programs.machine.machine import Machine, Windows
from curta.programs.user import registry
from curta.runs import folders
from tests import paper, tiny

CUT = ["a place+1", "b place+1"]


def fixed(**neighbours: list[str]) -> Windows:
    return paper.layout(tiny.recipe(positions={"neighbours": neighbours} | NAMED)).windows


NAMED = {"name": "window"}


def test_a_recipe_may_fix_what_some_roles_see() -> None:
    """All others see what was found for them."""
    found = paper.layout(tiny.recipe()).windows
    mine = fixed(sum=CUT)
    assert mine == found | {"sum": (("a", (1,)), ("b", (1,)))}
    assert found["sum"] != mine["sum"]
    assert fixed(equals=[])["equals"] == ()


def test_neighbours_have_a_displacement_on_each_axis() -> None:
    recipe = tiny.recipe(
        program="multiplication",
        task__operator="*",
        positions=NAMED | {"neighbours": {"part": ["b place-1 row+2", "sum row-1", "kept"]}},
    )
    layout = paper.layout(recipe)
    assert layout.axes == ("place", "row")
    assert layout.windows["part"] == (("b", (-1, 2)), ("sum", (0, -1)), ("kept", (0, 0)))


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty cache, and nothing remembered in this process, nor after the test."""
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    texts._of_programs.cache_clear()
    yield tmp_path / "machines"
    texts._of_programs.cache_clear()


def same(one: tuple[Machine, Windows], other: tuple[Machine, Windows]) -> bool:
    fields = ("axes", "tokens", "roles", "formats")
    return one[1] == other[1] and all(getattr(one[0], f) == getattr(other[0], f) for f in fields)


def test_what_was_surveyed_is_kept_and_not_surveyed_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    survey = texts.survey.survey
    monkeypatch.setattr("curta.programs.machine.survey.TOKENS", 3000)
    monkeypatch.setattr(texts.survey, "survey", lambda *of: made.append(of) or survey(*of))
    found = []
    for digits in (3, 3, 4):
        texts._of_programs.cache_clear()
        layout = paper.layout(tiny.recipe(task__digits=[1, digits]))
        found.append((layout.machine, layout.windows))
    assert len(made) == len(list(cache.iterdir())) == 2  # other sizes are another survey
    assert same(found[0], found[1])
    kept = [json.loads(files.read_entry(path) or b"") for path in cache.iterdir()]
    assert [one["axes"] for one in kept] == [["place"]] * 2


def test_the_machine_of_another_run_is_one_line() -> None:
    recipe, other = tiny.recipe(), tiny.recipe(program="copy", task={"operator": "copy"})
    folder = folders.create(recipe, paper.layout(recipe), "addition", [0], "mine")
    theirs = folders.create(other, paper.layout(other), "copying", [0], "theirs")
    folder.machine.write_bytes(theirs.machine.read_bytes())
    with pytest.raises(UserError) as caught:
        folders.layout_in(folder)
    assert str(caught.value) == "run 'mine': the machine is of 'copy', the recipe of '+'"


def test_held_out_problems_can_be_put_as_a_program_of_the_users_puts_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mine = replace(PROGRAMS["spaced-apart"], name="mine")
    monkeypatch.setitem(registry.REGISTERED, "mine", mine)
    table = {"task__values": (0, 9), "task__special": 0.0, "task__held_out": 40}
    recipe = tiny.recipe(program="spaced", **table, evaluation__layouts=["mine"])
    layout, problem = layout_of(recipe), Problem("+", (1, 2))
    assert layout.other("mine").prompt(problem) != layout.prompt(problem)
    with pytest.raises(UserError, match="unknown other way to write these problems 'addition'"):
        layout.other("addition")
