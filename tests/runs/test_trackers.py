"""Trackers: they are given what metrics.jsonl and results say, and each library keeps it."""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import pytest

import curta
from curta.config.errors import UserError
from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.runs import folders, trackers
from curta.runs.folders import Folder
from tests import tiny

pytestmark = pytest.mark.filterwarnings("ignore")  # those of libraries that are not ours

SEEDS = (5, 7)


class Remembering(trackers.Tracker):
    """Keeps everything in a list, to see what the loop says, and when."""

    name, library = "remembering", "json"
    heard: list[Any]

    def open(self) -> None:
        self.heard.append((self.folder.name, self.step))

    def log(self, results: trackers.Results, step: int) -> None:
        self.heard.append((step, results))

    def close(self) -> None:
        self.heard.append("closed")


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setitem(trackers.TRACKERS, "remembering", Remembering)
    monkeypatch.setattr(Remembering, "heard", [], raising=False)
    return Remembering.heard


def columns(name: str, values: Sequence[Any]) -> dict[str, Any]:
    every = {"median": median(values), "min": min(values), "max": max(values)}
    by_seed = {f"seed-{seed}": value for seed, value in zip(SEEDS, values, strict=True)}
    return {f"{name}/{column}": value for column, value in (by_seed | every).items()}


WATCHED = {
    "+ 2": "evaluated/addition/2",
    "+ 4": "evaluated/addition/4",
    "+ trained": "evaluated/addition/trained",
    "+ held out": "evaluated/addition/held-out",
}
"""The names of watched curves in metrics.jsonl, and for trackers."""


def test_a_tracker_is_given_what_the_run_writes(heard: list[Any]) -> None:
    watched = {"evaluate_every": 10, "evaluate_count": 4, "evaluate_digits": [2, 4]}
    validated = {"validate_every": 10, "validation": 4}
    changes = {f"training__{name}": value for name, value in (validated | watched).items()}
    run = api.begin("addition", list(SEEDS), "mine", tiny.overrides(**changes), "remembering")

    def stop(progress: Any) -> None:
        raise OSError("killed")

    with pytest.raises(OSError, match="killed"):
        run.train(stop)
    curta.load("mine").train()
    rows: dict[int, dict[str, float]] = {10: {}, 20: {}}
    for row in run.folder.read_metrics():
        figures = {WATCHED[name]: value for name, value in row.evaluated.items()}
        for name in ("loss", "exact_match", "seconds", "learning_rate"):
            figures[name] = getattr(row, name)
        for name in ("loss", "exact_match", "token_accuracy"):
            figures[f"validation_{name}"] = getattr(row, f"validation_{name}")
        rows[row.step] |= {f"{k}/seed-{SEEDS[row.member]}": v for k, v in figures.items()}
    assert heard == [
        ("mine", 0), (10, rows[10]), "closed", ("mine", 10), (20, rows[20]), "closed"
    ]  # fmt: skip

    heard.clear()
    later = curta.load("mine")  # as another process finds it
    evaluation, certificate = later.evaluate(report=False), later.certify(report=False)
    shares = {f"{row.size}/{row.slice_name}": row.exact_match for row in evaluation.lengths}
    (gap,) = evaluation.gaps
    shares |= {
        "1-to-4-digits/trained": gap.trained.exact_match,
        "1-to-4-digits/held-out": gap.held_out.exact_match, "1-to-4-digits/gap": gap.gap,
    }  # fmt: skip
    expected: dict[str, Any] = {}
    for name, values in shares.items():
        expected |= columns(f"evaluation/addition/{name}", values)
    proof = {f"certificate/{k}": getattr(certificate, k) for k in ("grade", "perfect", "windows")}
    for name in ("wrong", "margin"):
        values = [getattr(member, name) for member in certificate.members]
        proof |= columns(f"certificate/{name}", values)
    (evaluated, results), (certified, verdict) = heard[1], heard[4]
    assert (evaluated, certified) == (20, 20)
    assert results == pytest.approx(expected)
    assert verdict.pop("certificate/grade") == proof.pop("certificate/grade")
    assert verdict == pytest.approx(proof)


# Each library keeps it.

METRICS = {"loss/seed-5": 0.5, "loss/seed-7": 0.25, "validation/addition/seed-7": 1.0}
RESULTS: dict[str, float | str] = {
    "evaluation/addition/2/random/seed-5": 0.5, "evaluation/addition/2/random/median": 0.75,
    "certificate/grade": "closed", "certificate/windows": 240,
}  # fmt: skip


class WandBRun:
    """Stands for a run of wandb: remembers how it was begun, and what it was given."""

    begun: list[dict[str, Any]]
    rows: dict[int, dict[str, float]]
    summary: dict[str, Any]

    def __init__(self, **settings: Any) -> None:
        self.begun.append(settings)

    def log(self, metrics: dict[str, float], step: int) -> None:
        self.rows[step] = metrics

    def finish(self) -> None:
        """Send what is left."""


@pytest.fixture
def wandb(monkeypatch: pytest.MonkeyPatch) -> type[WandBRun]:
    library = pytest.importorskip("wandb", reason="pip install 'curta[wandb]'")
    monkeypatch.setattr(library, "init", WandBRun)
    for name, empty in {"begun": [], "rows": {}, "summary": {}}.items():
        monkeypatch.setattr(WandBRun, name, empty, raising=False)
    return WandBRun


def in_wandb(folder: Folder) -> dict[int, dict[str, Any]]:
    assert len({settings["id"] for settings in WandBRun.begun}) == 1
    return WandBRun.rows | {20: WandBRun.summary}


def in_trackio(folder: Folder) -> dict[int, dict[str, Any]]:
    from trackio.sqlite_storage import SQLiteStorage

    rows = SQLiteStorage.get_logs("curta", folder.name)
    return {row["step"]: {key: row[key] for key in row if "/" in key} for row in rows}


def in_tensorboard(folder: Folder) -> dict[int, dict[str, Any]]:
    from tensorboardX.proto.event_pb2 import Event

    values: dict[int, dict[str, Any]] = {}
    for path in (folder.path / "tensorboard").glob("*/*"):
        column = "" if path.parent.name == "members" else f"/{path.parent.name}"
        for event in map(Event.FromString, records(path.read_bytes())):
            for value in event.summary.value:
                texts = [text.decode() for text in value.tensor.string_val]
                text = int(texts[0]) if texts and texts[0].isdigit() else (texts or [""])[0]
                name = value.tag.removesuffix("/text_summary") + column
                values.setdefault(event.step, {})[name] = text if texts else value.simple_value
    return values


def records(content: bytes) -> Iterator[bytes]:
    """Yield the records of a TensorFlow file: length, checksum, content, checksum."""
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        yield content[12 : 12 + length]
        content = content[12 + length + 4 :]


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "trackio"])
def test_a_library_keeps_metrics_and_results_that_come_twice(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    pytest.importorskip(trackers.TRACKERS[name].library, reason=f"pip install 'curta[{name}]'")
    if name == "wandb":
        request.getfixturevalue("wandb")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    recipe = tiny.recipe()
    folder = folders.create(recipe, layout_of(recipe), "addition", list(SEEDS), "mine")
    for step in (0, 20, 20):
        with trackers.opened([name], folder, step) as (tracker,):
            if step:
                tracker.conclude(RESULTS)
            else:
                tracker.log(dict(METRICS), 10)
    assert globals()[f"in_{name}"](folder) == {10: METRICS, 20: RESULTS}
    assert not capsys.readouterr().out  # where `--json` prints


def test_wandb_has_the_users_project_team_and_tags_in_every_stage(
    wandb: type[WandBRun], monkeypatch: pytest.MonkeyPatch, brief: None
) -> None:
    monkeypatch.setenv("WANDB_PROJECT", "of the environment")
    overrides = tiny.overrides(evaluation__certificate=0, evaluation__digits=[2])
    mine: Any = {"project": "us/sums", "tags": ["k=4", "first"], "online": True}
    curta.train("addition", run="mine", **overrides, track="wandb", evaluate=False, **mine)
    curta.load("mine").evaluate(report=False)
    usual = curta.train("addition", run="usual", **overrides, track="wandb", evaluate=False)
    names = ("mode", "project", "entity", "tags", "dir")
    same = ("online", "sums", "us", ("k=4", "first"), str(curta.load("mine").folder.path))
    assert [tuple(settings[name] for name in names) for settings in wandb.begun] == [
        same, same, ("offline", "of the environment", None, None, str(usual.folder.path)),
    ]  # fmt: skip
    assert len({settings["id"] for settings in wandb.begun}) == 2


def test_a_tracker_that_is_not_installed_is_refused_before_anything_is_made(
    heard: list[Any], monkeypatch: pytest.MonkeyPatch, runs_folder: Path
) -> None:
    monkeypatch.setattr(Remembering, "library", "no_such_library")
    line = r"no_such_library is not installed: pip install 'curta\[remembering\]'"
    with pytest.raises(UserError, match=line):
        curta.train("addition", track=["remembering"], **tiny.overrides())
    assert not runs_folder.exists()
    assert heard == []
