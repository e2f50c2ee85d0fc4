"""What trackers are given after the training, each by its real library."""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import curta
from curta.config.errors import Notice
from curta.evaluation.results import Certificate, Evaluation
from curta.frontends import api
from curta.frontends.run import Run
from curta.runs import trackers
from tests import tiny
from tests.runs.trackers.readers import (
    Found,
    found_in_tensorboard,
    found_in_trackio,
    found_in_wandb,
)

READERS: dict[str, Callable[[Run], Found]] = {
    "tensorboard": found_in_tensorboard,
    "wandb": found_in_wandb,
    "trackio": found_in_trackio,
}

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # those of libraries that are not ours
]


def evaluated(found: Evaluation) -> Found:
    """What is to be kept of an evaluation of addition by the seeds 5 and 7."""
    rows = {f"{row.size}/{row.slice_name}": row.exact_match for row in found.lengths}
    (gap,) = found.gaps
    rows["1-to-4-digits/trained"] = gap.trained.exact_match
    rows["1-to-4-digits/held-out"] = gap.held_out.exact_match
    rows["1-to-4-digits/gap"] = gap.gap
    return {
        f"evaluation/addition/{name}/{column}": value
        for name, values in rows.items()
        for column, value in columns(values).items()
    }


def certified(found: Certificate) -> Found:
    """What is to be kept of a certificate of two members."""
    figures = {
        "wrong": columns([one.wrong for one in found.members]),
        "margin": columns([one.margin for one in found.members]),
    }
    return {
        "certificate/grade": found.grade,
        "certificate/perfect": found.perfect,
        "certificate/windows": found.windows,
    } | {f"certificate/{name}/{c}": v for name, own in figures.items() for c, v in own.items()}


def columns(values: Any) -> dict[str, float]:
    every = {"median": median(values), "min": min(values), "max": max(values)}
    return {f"seed-{seed}": value for seed, value in zip((5, 7), values, strict=True)} | every


def trained(track: str) -> Run:
    """A run of two seeds, as another process finds it."""
    api.begin("addition", [5, 7], "found", tiny.overrides(), track).train()
    return curta.load("found")


@pytest.mark.parametrize("name", READERS)
def test_a_tracker_is_given_what_is_found_later(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    library = trackers.TRACKERS[name].library
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    pytest.importorskip(library, reason=f"{library} is not installed: pip install 'curta[{name}]'")
    run = trained(name)
    expected = evaluated(run.evaluate(report=False)) | certified(run.certify(report=False))
    run.evaluate(report=False)  # the same again
    found = READERS[name](run)
    kept = {key: value for key, value in found.items() if key in expected}
    assert {key for key in found if key.startswith(("evaluation", "certificate"))} == set(expected)
    assert kept == pytest.approx(expected)
    assert not capsys.readouterr().out  # where `--json` prints


class Listening(trackers.Tracker):
    """Keeps what is found, and at which step."""

    name, library = "listening", "json"
    heard: list[Any]

    def __init__(self, run: trackers.Tracked) -> None:
        self.step = run.step

    def add(self, rows: Any) -> None:
        """Not looked at here."""

    def conclude(self, found: trackers.Findings) -> None:
        self.heard.append((self.step, *found.figures))

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setitem(trackers.TRACKERS, "listening", Listening)
    monkeypatch.setattr(Listening, "heard", [], raising=False)
    return Listening.heard


def test_a_resumed_run_gives_its_trackers_what_the_recipe_asks_for(heard: list[Any]) -> None:
    overrides = tiny.overrides(evaluation__certificate=0)
    api.begin("addition", [5, 7], "found", overrides, "listening", evaluate=True).train()
    run = curta.load("found")
    run.complete()
    step, *names = heard.pop()
    assert step == 20
    assert "evaluation/addition/3/random" in names
    assert not heard
    run.evaluate(count=4)
    run.evaluate(member=1)
    assert not heard


def test_a_run_is_evaluated_where_its_tracker_is_not_installed(
    heard: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = trained("listening")
    monkeypatch.setattr(Listening, "library", "no_such_library")
    with pytest.warns(Notice, match="listening is not given what was found: no_such_library is"):
        run.evaluate()
    assert run.folder.read_evaluation() is not None
    assert not heard
