"""summary.json: says what the run's files say, and says it in plain JSON."""

import json
import math
from pathlib import Path
from typing import Any

import jax
import pytest

from curta.config.task import Task
from curta.config.typed import as_json
from curta.evaluation.results import SummaryStatistics
from curta.frontends import api
from curta.frontends.run import Run
from curta.layouts.texts import layout_of
from curta.runs import folders
from curta.runs.results import TaskSummary
from curta.runs.summary import _task, summary, summary_statistics
from tests import tiny

CHANGES = {
    "task__values": [0, 9], "task__held_out": 40, "task__special": 0.0, "task__rows": 50,
    "training__validate_every": 10, "training__validation": 24,
    "evaluation__named": ["1+2", "9+9"], "evaluation__grid": 2, "evaluation__grid_count": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(tmp_path_factory.mktemp("runs")))
        made = api.begin("addition", 2, "mine", tiny.overrides(**CHANGES))
        made.train()
        made.evaluate(report=False)
    return made


@pytest.fixture
def found(run: Run) -> Any:
    """The file as another program would read it: NaN and infinity are no JSON."""

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    return json.loads((run.folder.path / "summary.json").read_text(), parse_constant=refuse)


def test_it_says_what_ran_and_on_what(run: Run, found: Any) -> None:
    info = run.folder.read_info()
    assert found["run"]["name"] == "mine"
    assert found["run"]["seeds"] == [0, 1]
    assert found["run"]["status"] == info.status == "finished"
    assert found["run"] | {"format": info.FORMAT, "done": list(info.done)} == as_json(info)


def test_it_says_how_problems_are_written(run: Run, found: Any) -> None:
    assert (found["data"]["layout"], found["data"]["programs"]) == ("program", ["addition"])
    assert len(found["data"]["vocabulary"]) == len(run.layout.characters)
    assert {"7 sum +1", "$ end 0"} <= set(found["data"]["vocabulary"])


def test_it_counts_the_data(found: Any) -> None:
    (task,) = found["data"]["tasks"]
    assert (task["settings"]["operator"], task["settings"]["values"]) == ("+", [0, 9])
    assert task["problems_a_step"] == 8
    assert "digits" not in task["settings"]
    assert (task["table_rows"], task["trained_rows"]) == (100, 50)
    split = {"operator": "+", "training": 50, "held_out": 40, "overlap": 0}
    (counted,) = found["data"]["splits"]
    names = [part["part"] for part in counted.pop("answers")]
    assert names == ["training", "validation", "held out"]
    assert counted == split


def test_it_describes_the_model_shape_by_shape(run: Run, found: Any) -> None:
    shapes = found["model"]["shapes"]
    learned = jax.tree.leaves(jax.tree.map(lambda leaf: leaf[0], run.load_models().stacked))
    assert sorted(map(tuple, shapes.values())) == sorted(leaf.shape for leaf in learned)
    assert shapes["attention.query"] == [1, 16, 16]
    sizes = [math.prod(shape) for shape in shapes.values()]
    assert found["run"]["parameters"] == sum(sizes) == run.folder.read_info().parameters
    file = run.folder.path / found["model"]["checkpoint"]["file"]
    assert file.stat().st_size == found["model"]["checkpoint"]["bytes"]


@pytest.mark.parametrize("name", ["99999999.json", "99999999.safetensors"])
def test_a_checkpoint_that_lacks_a_file_is_left_out(run: Run, name: str) -> None:
    stray = run.folder.checkpoints / name
    stray.write_text("{}")
    newest = summary(run.folder).model.checkpoint
    stray.unlink()
    assert newest is not None
    assert newest.step == run.step


def test_it_has_every_setting(found: Any) -> None:
    settings = found["hyperparameters"]
    assert settings["positions"]["name"] == "window"
    assert settings["optimizer"]["name"] == "adamw"
    assert (settings["model"]["width"], settings["training"]["batch"]) == (16, 8)


def test_figures_of_training_are_those_of_the_metrics(run: Run, found: Any) -> None:
    training = found["training"]
    assert (training["steps"], training["steps_planned"], training["problems"]) == (20, 20, 160)
    rows = [row for row in run.folder.read_metrics() if row.member == 1]
    loss, validation = training["loss"][1], training["validation_exact_match"][1]
    assert (loss["last"], loss["last_step"]) == (rows[-1].loss, 20)
    assert loss["best"] == min(row.loss for row in rows)
    first = next(row.step for row in rows if row.loss == loss["best"])
    assert first == loss["best_step"]
    assert validation["best"] == max(row.validation_exact_match or 0 for row in rows)


def test_results_are_those_of_the_evaluation(run: Run, found: Any) -> None:
    evaluation = run.folder.read_evaluation()
    assert evaluation is not None
    for short, row in zip(found["results"]["lengths"], evaluation.lengths, strict=True):
        assert short["slice"] == row.slice_name
        assert short["exact_match"]["members"] == row.exact_match
        assert short["exact_match"]["min"] == min(row.exact_match)
        assert short["token_accuracy"]["members"] == row.token_accuracy
        assert short["perplexity"]["max"] == max(row.perplexity)
    (whole,), (grid,) = evaluation.grids, found["results"]["grids"]
    cells = [cell for row in whole.exact_match[1] for cell in row]
    assert grid["mean"]["members"][1] == pytest.approx(sum(cells) / 4)
    assert grid["lowest_cell"]["members"][1] == min(cells)
    assert found["named"] == [as_json(one) for one in evaluation.named]


def test_a_run_without_validation_splits_or_named_problems_has_none(tmp_path: Path) -> None:
    folder = folders.create(
        tiny.recipe(), layout_of(tiny.recipe()), "addition", [0], "young", inside=tmp_path
    )
    found = summary(folder)
    assert found.named == found.data.splits == found.results.lengths == []
    assert found.training.validation_loss == ()
    (task,) = found.data.tasks
    assert task.settings["digits"] == [1, 4]
    assert task.table_rows is None
    assert not {"held_out", "twins_together", "split"} & set(task.settings)
    assert found.model.checkpoint is None


def test_what_is_no_number_is_left_out_of_statistics() -> None:
    found = summary_statistics([0.5, None, math.inf, 1.0])
    assert found == SummaryStatistics([0.5, None, None, 1.0], 0.75, 0.5, 1.0)
    assert summary_statistics([None, math.nan]) == SummaryStatistics([None, None])


def test_a_fixed_set_of_problems_is_told() -> None:
    task = Task(rows=50, split=7)
    told = _task(task, {"operator": "+", "rows": 50, "split": 7}, 8)
    assert told == TaskSummary({"operator": "+", "rows": 50, "split": 7}, 8, trained_rows=50)
