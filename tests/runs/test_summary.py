"""A run in short says what the run's files say, in plain JSON."""

import json
import math

import jax

import curta
from curta.evaluation.results import SummaryStatistics
from curta.runs.summary import summary_statistics
from tests.made_once import Shared
from tests.runs.test_run import table


def test_a_run_in_short_is_what_its_files_say(shared_runs: Shared) -> None:
    run = shared_runs.trained(**table())
    assert run.summary()["results"] is None
    run.evaluate(report=False)
    # NaN and infinity are no JSON
    content = json.loads(json.dumps(curta.load("run").summary(), allow_nan=False))
    assert (content["run"]["name"], content["run"]["status"]) == ("run", "finished")
    assert content["layout"] == "program"
    assert {"7 sum +1", "$ end 0"} <= set(content["vocabulary"])
    learned = jax.tree.leaves(jax.tree.map(lambda leaf: leaf[0], run.load_models().stacked))
    assert sorted(map(tuple, content["shapes"].values())) == sorted(leaf.shape for leaf in learned)
    assert sum(map(math.prod, content["shapes"].values())) == content["run"]["parameters"]
    assert content["recipe"]["model"]["width"] == 16
    rows = [row for row in run.folder.read_metrics() if row.member == 1]
    loss = content["training"]["loss"][1]
    assert loss["last"] == [rows[-1].loss, 20]
    assert loss["min"][0] == min(row.loss for row in rows if row.loss is not None)
    evaluation = run.folder.read_evaluation()
    assert evaluation is not None
    for short, row in zip(content["results"]["lengths"], evaluation.lengths, strict=True):
        assert short["exact_match"]["members"] == row.exact_match
        assert short["exact_match"]["min"] == min(row.exact_match)
    assert len(content["results"]["named"]) == len(evaluation.named)


def test_what_is_no_number_is_left_out_of_statistics() -> None:
    found = summary_statistics([0.5, None, math.inf, 1.0])
    assert found == SummaryStatistics([0.5, None, None, 1.0], 0.75, 0.5, 1.0)
    assert summary_statistics([None, math.nan]) == SummaryStatistics([None, None])
