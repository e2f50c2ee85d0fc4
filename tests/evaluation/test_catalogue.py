"""Lists of windows are kept: read back the same, and never for another program's or other sizes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.config import cache as entries
from curta.config.errors import Notice
from curta.config.recipe import Recipe
from curta.evaluation import certificate
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
    made, whole = list[int](), certificate.list_and_prove

    def noted(*given: Any, **named: Any) -> Any:
        made.append(1)
        return whole(*given, **named)

    monkeypatch.setattr(certificate, "list_and_prove", noted)
    return made


def of(**changes: Any) -> tuple[Recipe, ProgramLayout]:
    recipe = tiny.recipe(program="luhn", task__operator="luhn", **changes)
    return recipe, paper.layout(recipe)


def listed(recipe: Recipe, layout: ProgramLayout) -> certificate.WindowCatalogue:
    return certificate.catalogue_of(recipe, layout, recipe.tasks[0])


def same(first: certificate.WindowCatalogue, other: certificate.WindowCatalogue) -> bool:
    """Whether all is equal but the seconds that the proof took."""
    a, b = (c._replace(listing=replace(c.listing, seconds=0.0))._asdict() for c in (first, other))
    arrays = [(x.pop("evidence") | {n: x.pop(n) for n in ("rows", "targets")}) for x in (a, b)]
    assert arrays[0].keys() == arrays[1].keys()
    return a == b and all(np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[0])


def test_a_second_list_is_read_and_the_same(
    cache: Path, listings: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other sizes and budgets are listed anew, and so are damaged entries."""
    first = listed(*of())
    assert len(first.rows) == len(first.targets) == len(first.examples) > 100
    assert same(listed(*of()), first)
    assert len(listings) == 1
    (path,) = (cache / "windows").iterdir()
    for damage in (b"", b"\xff" * 64, path.read_bytes()[:-9]):
        entries._notify_once.cache_clear()
        path.write_bytes(damage)
        with pytest.warns(Notice, match="a damaged entry of the cache .* is computed again"):
            assert same(listed(*of()), first)
    assert same(listed(*of()), first)
    assert len(listings) == 4
    listed(*of(task__digits=[1, 3]))
    listed(*of(evaluation__certificate=5_000))
    assert len(listings) == 6


def test_what_a_user_registers_is_never_kept() -> None:
    """Its name does not tell its code."""

    @program("odd", axes=("x",), prompt=(Given("a", "x"), Sign("=")), answer=Answer("out"))
    def odd(paper: Paper, a: list[int]) -> None:
        """The digits again."""
        for digit in a:
            paper.move(x=+1).write("out", digit)
        paper.end()

    assert isinstance(odd, Program)
    assert not certificate.unchanging(odd)
    assert not certificate.unchanging(replace(PROGRAMS["subtraction"], name="mine"))
    assert certificate.unchanging(PROGRAMS["subtraction"])
    _, layout = of()
    assert layout.recorder is not None
    assert certificate.unchanging(layout.recorder.programs["luhn"])
