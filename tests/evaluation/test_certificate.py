"""The certificate: its lists, which are kept, what it says of each member, what it finds wrong."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

from curta.config import files
from curta.config.errors import Notice
from curta.config.recipe import Recipe
from curta.evaluation import certificate
from curta.evaluation.certificate import WindowCatalogue
from curta.evaluation.generation import generate
from curta.evaluation.results import Certificate
from curta.frontends import api
from curta.layouts.program import ProgramLayout
from curta.problems.problem import parse
from curta.programs import PROGRAMS
from curta.programs.machine import Answer, Given, Paper, Program, Sign, program
from curta.runs import run as run_module
from curta.runs.run import Run
from curta.training import records
from tests import paper, tiny

LUHN = {
    "training.steps": 500, "training.problems": 400, "training.batch": 256, "model.width": 16,
    "training.repair": 0, "training.held_out_windows": 0.0,
    "model.heads": 2, "model.num_layers": 2, "evaluation.digits": [5], "evaluation.count": 5,
    "evaluation.generated": 2, "evaluation.certificate": 4_000,
}  # fmt: skip


class Trained(NamedTuple):
    run: Run
    window: tuple[int, ...]
    """The one that was taught wrongly."""
    target: int
    taught: int


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trained]:
    """Two members that are right everywhere but where they were taught wrongly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(tmp_path_factory.mktemp("runs")))
        taught: list[Any] = []
        whole = records.training_data

        def wrongly(*given: Any) -> Any:
            data, bounds = whole(*given)
            rows, targets = data.shared
            place = len(np.unique(np.asarray(rows), axis=0)) // 2
            before, row = int(targets[place]), tuple(np.asarray(rows[place]).tolist())
            other = int(next(t for t in np.asarray(targets) if t not in (before, given[1].end)))
            taught[:] = [row, before, other]
            return data._replace(shared=(rows, targets.at[place].set(jnp.int32(other)))), bounds

        run = api.begin("luhn", 2, "luhn", LUHN)
        with pytest.MonkeyPatch.context() as teaching:
            teaching.setattr(run_module.records, "training_data", wrongly)
            run.train()
        yield Trained(run, *taught)


@pytest.fixture(scope="module")
def content(planted: Trained) -> Certificate:
    return planted.run.certify()


def layout_of(run: Run) -> ProgramLayout:
    assert isinstance(run.layout, ProgramLayout)
    return run.layout


def windows_in(run: Run, text: str) -> dict[tuple[int, ...], int]:
    """Every window of a problem and what follows it, by plain loops."""
    return dict(paper.windows(layout_of(run), parse(text)))


def test_what_was_taught_wrongly_is_all_that_is_found(
    planted: Trained, content: Certificate
) -> None:
    machine = layout_of(planted.run).machine
    assert (content.grade, content.conflicts, content.unwritable) == ("closed", 0, [])
    assert [one.wrong for one in content.members] == [1, 1]
    assert [one.member for one in content.wrong] == [0, 1]
    for one in content.wrong:
        assert one.window[0] == machine.tokens[planted.window[0]].text
        assert one.expected == machine.tokens[planted.target].text
        assert one.written == machine.tokens[planted.taught].text
        assert one.margin < 0
        assert one.shown
    run = planted.run
    for one in content.wrong:
        problem = one.problem
        assert windows_in(run, problem)[planted.window] == planted.target
        tokens, prompt = layout_of(run).tokens_of(parse(problem))
        assert paper.window(layout_of(run), tokens[: one.at + 1]) == planted.window
        (written,) = generate(run.load_models(), [(one.member, parse(problem))], None)
        at = one.at + 1 - prompt
        assert written[:at] == tokens[prompt : prompt + at]
        assert written[at] == planted.taught


def test_problems_without_it_are_right_and_with_it_wrong(
    planted: Trained, content: Certificate
) -> None:
    run, rng, met = planted.run, Random(1), 0
    for _ in range(100):
        text = f"luhn {rng.randrange(10 ** rng.randint(1, 12))}"
        holds = planted.window in windows_in(run, text)
        tokens, prompt = layout_of(run).tokens_of(parse(text))
        (written,) = generate(run.load_models(), [(0, parse(text))], None)
        assert (written != tokens[prompt:]) == holds, text
        met += holds
    assert 0 < met < 100


def test_a_window_after_which_two_operators_want_different_tokens_is_a_conflict() -> None:
    rows, targets = np.array([[1, 2], [1, 3]]), np.array([5, 6])
    listing: Any = None  # not looked at
    found = WindowCatalogue("+", 10, rows, targets, [(1, 2)] * 2, [], 0, [], listing, {})
    other = found._replace(operator="-", targets=np.array([5, 7]))
    listed = certificate.merge_catalogues([found, other])
    assert (listed.conflicts, listed.targets.tolist()) == (1, [5, 6])
    assert certificate.merge_catalogues([found, found]).conflicts == 0


# Lists are read back the same, and never for another program or other sizes.


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
        files._notify_once.cache_clear()
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
