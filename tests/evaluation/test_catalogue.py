"""Lists of windows are kept: read back the same, and never for another program's or other sizes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.config import cache as entries
from curta.config.errors import Notice
from curta.config.recipe import Recipe
from curta.evaluation import catalogue
from curta.layouts.program import ProgramLayout
from curta.programs import PROGRAMS
from curta.programs.machine import Answer, Given, Paper, Program, Sign, program
from tests import paper, tiny


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One for each list that was made."""
    made, whole = list[int](), catalogue.list_and_prove

    def noted(*given: Any, **named: Any) -> Any:
        made.append(1)
        return whole(*given, **named)

    monkeypatch.setattr(catalogue, "list_and_prove", noted)
    return made


def of(**changes: Any) -> tuple[Recipe, ProgramLayout]:
    recipe = tiny.recipe(program="luhn", task__operator="luhn", **changes)
    return recipe, paper.layout(recipe)


def found(recipe: Recipe, layout: ProgramLayout) -> catalogue.WindowCatalogue:
    return catalogue.of_task(recipe, layout, recipe.tasks[0])


def timeless(one: catalogue.WindowCatalogue) -> catalogue.WindowCatalogue:
    return one._replace(listing=replace(one.listing, seconds=0.0))


def same(one: catalogue.WindowCatalogue, other: catalogue.WindowCatalogue) -> bool:
    pairs: list[Any] = [*zip(timeless(one)[:-1], timeless(other)[:-1], strict=True)]
    assert one.evidence.keys() == other.evidence.keys()
    pairs += [(array, other.evidence[name]) for name, array in one.evidence.items()]
    return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)


def test_a_second_list_is_read_and_the_same(cache: Path, listings: list[int]) -> None:
    recipe, layout = of()
    first = found(recipe, layout)
    count = len(listings)
    assert count > 0
    assert len(first.rows) == len(first.targets) == len(first.examples) > 100
    assert same(found(recipe, layout), first)
    assert len(listings) == count


@pytest.mark.parametrize(
    "changes", [{"task__digits": [1, 3]}, {"evaluation__certificate": 5_000}], ids=str
)
def test_other_sizes_and_budgets_are_listed_anew(
    cache: Path, listings: list[int], changes: dict[str, Any]
) -> None:
    found(*of())
    count = len(listings)
    found(*of(**changes))
    assert len(listings) > count


@pytest.mark.parametrize("damage", [b"", b"\xff" * 64, None], ids=["empty", "other", "torn"])
def test_damage_is_listed_anew(
    cache: Path, listings: list[int], damage: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries._notify_once.cache_clear()
    recipe, layout = of()
    first = found(recipe, layout)
    (path,) = (cache / "windows").iterdir()
    path.write_bytes(path.read_bytes()[:-9] if damage is None else damage)
    with pytest.warns(Notice, match="a damaged entry of the cache .* is computed again"):
        assert same(found(recipe, layout), first)
    count = len(listings)
    assert same(found(recipe, layout), first)
    assert len(listings) == count


def test_what_a_user_registers_is_never_kept() -> None:
    """Its name does not tell its code."""

    @program("odd", axes=("x",), prompt=(Given("a", "x"), Sign("=")), answer=Answer("out"))
    def odd(paper: Paper, a: list[int]) -> None:
        """The digits again."""
        for digit in a:
            paper.move(x=+1).write("out", digit)
        paper.end()

    assert isinstance(odd, Program)
    assert not catalogue.unchanging(odd)
    assert not catalogue.unchanging(replace(PROGRAMS["subtraction"], name="mine"))
    assert catalogue.unchanging(PROGRAMS["subtraction"])
    _, layout = of()
    assert layout.recorder is not None
    assert catalogue.unchanging(layout.recorder.programs["luhn"])
