"""Trackers, each by its real library: it has kept just what metrics.jsonl says."""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import curta
from curta.config.errors import UserError
from curta.evaluation.results import Certificate, Evaluation
from curta.frontends import api
from curta.runs import trackers
from curta.runs.folders import Folder
from curta.runs.run import Run
from tests import tiny
from tests.runs import tracker_readers as readers
from tests.runs.tracker_readers import Found, Kept

pytestmark = pytest.mark.filterwarnings("ignore")  # those of libraries that are not ours


WATCHED = {
    "+ 2": "evaluated/addition/2",
    "+ 4": "evaluated/addition/4",
    "+ trained": "evaluated/addition/trained",
    "+ held out": "evaluated/addition/held-out",
}
"""What trackers call what metrics.jsonl has by the first name."""


def trained(track: str, **changes: Any) -> Run:
    """A run of two seeds that is validated twice, and watched at two sizes."""
    watched = {"evaluate_every": 10, "evaluate_count": 4, "evaluate_digits": [2, 4]}
    validated = {"validate_every": 10, "validation": 4}
    both = {f"training__{name}": value for name, value in (validated | watched).items()}
    changes = both | changes
    run = api.begin("addition", [5, 7], "tracked", tiny.overrides(**changes), track)
    run.train()
    return run


def written(run: Run) -> Kept:
    """What metrics.jsonl has."""
    found: Kept = {}
    for row in run.folder.read_metrics():
        plain = {name: value for name, value in vars(row).items() if value is not None}
        watched = plain.pop("evaluated")
        assert not plain.pop("named")
        plain.pop("windows_right")  # no figure
        by_operator = plain.pop("validation_by_operator")
        plain |= {f"validation/{ {'+': 'addition'}[name] }": v for name, v in by_operator.items()}
        plain |= {WATCHED[name]: value for name, value in watched.items()}
        step, seed = plain.pop("step"), run.seeds[plain.pop("member")]
        found |= {(step, name, seed): value for name, value in plain.items()}
    return found


READERS: dict[str, tuple[Callable[[Run], Kept], Callable[[Run], Found]]] = {
    "tensorboard": (readers.in_tensorboard, readers.found_in_tensorboard),
    "wandb": (readers.in_wandb, readers.found_in_wandb),
    "trackio": (readers.in_trackio, readers.found_in_trackio),
}
"""What reads metrics, and what reads findings."""


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


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> type[readers.WandB]:
    """Its runs send nothing, and remember."""
    library = pytest.importorskip("wandb", reason="pip install 'curta[wandb]'")
    monkeypatch.setattr(library, "init", readers.WandB)
    for name, empty in {"begun": [], "rows": [], "summary": {}}.items():
        monkeypatch.setattr(readers.WandB, name, empty, raising=False)
    return readers.WandB


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_a_tracker_keeps_what_the_run_does_and_what_is_found_later(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    library = trackers.TRACKERS[name].library
    if name == "wandb":
        request.getfixturevalue("wandb")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    pytest.importorskip(library, reason=f"{library} is not installed: pip install 'curta[{name}]'")
    run = trained(name)
    expected = written(run)
    assert {metric for _, metric, _ in expected} == {
        "loss", "exact_match", "seconds", "validation_loss", "validation_token_accuracy",
        "validation_exact_match", "learning_rate", *WATCHED.values(),
    }  # fmt: skip
    read_metrics, read_findings = READERS[name]
    assert read_metrics(run) == pytest.approx(expected)
    later = curta.load("tracked")  # as another process finds it
    findings = evaluated(later.evaluate(report=False)) | certified(later.certify(report=False))
    later.evaluate(report=False)  # the same again
    found = read_findings(later)
    assert {key for key in found if key.startswith(("evaluation", "certificate"))} == set(findings)
    assert {key: found[key] for key in findings} == pytest.approx(findings)
    assert not capsys.readouterr().out  # where `--json` prints


@pytest.mark.slow
def test_wandb_has_the_users_project_team_and_tags_in_every_stage(
    wandb: type[readers.WandB], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WANDB_PROJECT", "of the environment")
    overrides = tiny.overrides(evaluation__certificate=0)
    mine = {"project": "us/sums", "tags": ["k=4", "first"], "online": True}
    curta.train("addition", run="mine", **overrides, track="wandb", evaluate=False, **mine)
    curta.load("mine").evaluate()
    usual = curta.train("addition", run="usual", **overrides, track="wandb", evaluate=False)
    names = ("mode", "project", "entity", "tags", "dir")
    same = ("online", "sums", "us", ("k=4", "first"), str(curta.load("mine").folder.path))
    assert [tuple(settings[name] for name in names) for settings in wandb.begun] == [
        same, same, ("offline", "of the environment", None, None, str(usual.folder.path)),
    ]  # fmt: skip
    assert len({settings["id"] for settings in wandb.begun}) == 2


class Remembering(trackers.Tracker):
    """Keeps everything in a list, to see what the loop says, and when."""

    name, library = "remembering", "json"
    heard: list[Any]

    def __init__(self, folder: Folder, step: int) -> None:
        self.heard.append((folder.name, step))

    def add(self, rows: Any) -> None:
        self.heard.append([(row.step, row.member) for row in rows])

    def conclude(self, found: Any) -> None:
        self.heard.append(found)

    def close(self) -> None:
        self.heard.append("closed")


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setitem(trackers.TRACKERS, "remembering", Remembering)
    monkeypatch.setattr(Remembering, "heard", [], raising=False)
    return Remembering.heard


def test_a_resumed_run_goes_on_with_its_trackers(heard: list[Any]) -> None:
    run = api.begin("addition", 1, "tracked", tiny.overrides(), "remembering")

    def stop(progress: Any) -> None:
        raise OSError("killed")

    with pytest.raises(OSError, match="killed"):
        run.train(stop)
    curta.load("tracked").train()
    begun, went_on = ("tracked", 0), ("tracked", 10)
    assert heard == [begun, [(10, 0)], "closed", went_on, [(20, 0)], "closed"]


def test_a_tracker_that_is_not_installed_is_refused_before_anything_is_made(
    heard: list[Any], monkeypatch: pytest.MonkeyPatch, runs_folder: Path
) -> None:
    monkeypatch.setattr(Remembering, "library", "no_such_library")
    line = r"no_such_library is not installed: pip install 'curta\[remembering\]'"
    with pytest.raises(UserError, match=line):
        curta.train("addition", track=["remembering"], **tiny.overrides())
    assert not runs_folder.exists()
    assert heard == []
