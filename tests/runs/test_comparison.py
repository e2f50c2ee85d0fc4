"""Several runs side by side: what is found is what each run found, and nothing is done twice."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import curta
from curta.config.errors import UserError
from curta.programs.user import userfiles
from curta.runs import comparison_spec
from curta.runs.comparison import Comparison
from curta.runs.comparison_spec import Row
from curta.runs.folders import Folder, read_comparison
from curta.runs.info import slice_summary
from curta.runs.run import Run
from tests import tiny

WORDS = (
    "window: addition",
    "plain: addition layout=plain positions.name=learned positions.length=24",
)
pytestmark = pytest.mark.usefixtures("brief")

COMMON = tiny.overrides(
    training__steps=4,
    training__checkpoint_every=2,
    evaluation__digits=[3, 20],
    evaluation__all_sizes=True,
    evaluation__count=4,
    evaluation__generated=2,
    evaluation__grid=0,
)


def planned(*words: str, seeds: int = 2, **changes: Any) -> comparison_spec.ComparisonSpec:
    more = {path.replace("__", "."): value for path, value in changes.items()}
    return comparison_spec.plan(words or WORDS, COMMON | more, seeds)


def begun(name: str = "two", **changes: Any) -> Comparison:
    return Comparison.begin(planned(**changes), name)


class Trained:
    """Trains, and keeps the names of what it trained; interrupted before the entry named."""

    def __init__(self, until: str = "") -> None:
        self.names: list[str] = []
        self.until = until

    def __call__(self, row: Row, run: Run) -> None:
        if row.name == self.until:
            raise KeyboardInterrupt
        self.names.append(row.name)
        run.train()


def weights(folder: Path) -> dict[str, bytes]:
    paths = sorted(folder.glob("*/checkpoints/*.safetensors"))
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def times(folder: Path) -> dict[str, int]:
    """When each file of the runs was written."""
    paths = [path for path in folder.glob("*/**/*") if path.is_file()]
    return {str(path): path.stat().st_mtime_ns for path in paths}


@pytest.fixture(scope="module")
def done(brief: None, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Two small entries of two seeds, carried out."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(tmp_path_factory.mktemp("runs")))
        comparison = begun()
        assert comparison.run_comparison()
    return comparison


@pytest.mark.slow
def test_the_table_holds_what_each_run_found(done: Comparison) -> None:
    results = done.read_results()
    assert results == read_comparison(done.path)
    for row in results.rows:
        folder = Folder(done.path / row.run)
        info, evaluation = folder.read_info(), folder.read_evaluation()
        assert info.status == row.status == "finished"
        for field in ("steps", "parameters", "training_seconds", "structure"):
            assert getattr(row, field) == getattr(info, field)
        assert evaluation is not None
        assert row.lengths == [slice_summary(length) for length in evaluation.lengths]
        assert row.loss is not None
        assert row.loss.members == [metric.loss for metric in folder.read_metrics()[-2:]]
    window, plain = results.rows
    assert [{length.size for length in row.lengths} for row in (window, plain)] == [
        {"3", "20"}, {"3"}
    ]  # fmt: skip
    (missing,) = plain.unplaced
    assert (window.unplaced, missing.operator, missing.size) == ([], "+", "20")
    assert "too long for this model" in missing.reason
    assert (done.path / "plain" / "report.html").exists()


@pytest.mark.slow
def test_interrupted_twice_it_goes_on_where_it_was_and_may_grow(
    done: Comparison, runs_folder: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):  # before the second entry has a step
        begun().run_comparison(Trained(until="plain"))
    waiting = Comparison.load("two").read_results().rows
    assert [row.status for row in waiting] == ["finished", "created"]

    def interrupted(row: Row, run: Run) -> None:  # as a run that is interrupted within itself ends
        run.folder.update(status="interrupted")

    assert not Comparison.load("two").run_comparison(interrupted)
    assert not (runs_folder / "two" / "report.html").exists()
    trained = Trained()
    assert Comparison.load("two").run_comparison(trained)
    assert trained.names == ["plain"]
    assert weights(runs_folder / "two") == weights(done.path)

    larger = planned(*WORDS, "hot: addition optimizer.learning_rate=1e20")
    trained, before = Trained(), times(runs_folder / "two")
    assert Comparison.begin(larger, "two").run_comparison(trained)
    assert trained.names == ["hot"]
    assert before.items() <= times(runs_folder / "two").items()  # what is finished is not redone
    rows = Comparison.load("two").read_results().rows
    assert [row.status for row in rows] == ["finished", "finished", "stopped"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [{"training__steps": 5}, {"seeds": 3}, {"words": (*WORDS[:1], "sums")}],
    ids=["steps", "seeds", "entries"],
)
def test_other_content_is_refused_by_name_and_else_numbered(
    done: Comparison, runs_folder: Path, other: dict[str, Any]
) -> None:
    shutil.copytree(done.path, runs_folder / "two")
    before = times(runs_folder / "two")
    spec = planned(*other.pop("words", WORDS), **other)
    with pytest.raises(UserError, match="'two' exists already with other runs"):
        Comparison.begin(spec, "two")
    assert Comparison.begin(replace(spec, base="two")).name == "two-2"
    assert Comparison.begin(replace(planned(), base="two")).name == "two"
    assert times(runs_folder / "two") == before


def test_a_file_that_names_code_is_refused_and_nothing_is_executed(
    runs_folder: Path, tmp_path: Path
) -> None:
    comparison, code = begun("sent"), tmp_path / "code.py"
    code.write_text("from pathlib import Path\nPath(__file__).with_name('executed').touch()\n")
    comparison.path.mkdir(parents=True)
    comparison.save()
    content = json.loads((comparison.path / "comparison.json").read_text())
    content["rows"][0]["settings"]["program"] = str(code)
    (comparison.path / "comparison.json").write_text(json.dumps(content))
    with pytest.raises(UserError, match=r"names the file '.*code\.py'"):
        Comparison.load("sent")
    assert not (tmp_path / "executed").exists()


def test_a_comparison_keeps_the_files_of_code_that_its_recipes_name(runs_folder: Path) -> None:
    """So its runs can begin in another process; a file that is another is not executed."""
    decay = Path(__file__).parents[2] / "docs" / "examples" / "decay.py"
    words = ["one: addition-reversed", f"two: addition-reversed positions.name={decay}"]
    comparison = Comparison.begin(comparison_spec.plan(words), "own")
    comparison.save()
    (code,) = comparison.code
    assert (comparison.path / code.file).read_bytes() == decay.read_bytes()
    assert {part.state for part in curta.verify("own")} == {"whole"}
    userfiles.EXECUTED.clear()
    assert Comparison.load("own").spec.rows == comparison.spec.rows
    assert userfiles.executed(code.file) is not None
    userfiles.EXECUTED.clear()
    (comparison.path / code.file).write_text("raise SystemExit")
    with pytest.raises(UserError, match=r"is not the file it was made with"):
        Comparison.load("own")
    assert "damaged" in {part.state for part in curta.verify("own")}
