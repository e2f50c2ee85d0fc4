"""The earlier systems' questions: what is asked, and the table beside what they report."""

from pathlib import Path

import pytest

from curta.frontends import api
from curta.runs import folders
from docs import better
from docs.evidence import RESULTS, Results
from tests.docs.handmade import kept

REPORTED = {
    "digit-encoder": {"share right of all 100 single-digit sums": 0.81},
    "component-ladder": {"operand-range probe": {"right": 0, "of": 14}},
}


def test_every_question_is_one_that_is_measured_of_a_source_that_reports() -> None:
    reported = RESULTS.read("sources")
    for source, _, figure in better.ASKED:
        assert figure is None or figure in reported[source], source
    questions = [question for _, question, _ in better.ASKED]
    measured = [question for found in RESULTS.read("better").values() for question in found]
    assert sorted(questions) == sorted(measured)


def test_the_table_has_each_seed_beside_the_source(tmp_path: Path) -> None:
    kept(tmp_path, "sources", REPORTED)
    assert better.tables(Results(tmp_path)) == {}
    known = {"addition": {"single digits": [1.0, 0.5, 0.75]}} | {
        "range": {"fourteen sums with 50": [1.0, 1.0, 1.0]}
    }
    rows = list(better.tables(kept(tmp_path, "better", known))["better"])[2:]
    assert rows == [
        "| digit-encoder | single digits | 0.81 | `addition` | 0.750 (0.500 to 1.000) |",
        "| component-ladder | fourteen sums with 50 | right: 0, of: 14"
        " | `sources/range-window` | 1.000 (all) |",
    ]


def test_random_problems_have_every_pair_of_lengths() -> None:
    drawn = list(better._drawn("+", range(1, 3), range(4, 6)))
    lengths = {tuple(len(str(number)) for number in one.operands) for one in drawn}
    assert lengths == {(1, 4), (1, 5), (2, 4), (2, 5)}
    assert len(drawn) == 4 * better.EACH


@pytest.mark.slow
def test_what_is_kept_is_what_the_run_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(better, "RESULTS", Results(tmp_path))
    monkeypatch.setattr("sys.argv", ["better", "ladder"])
    better.main()
    (found,) = better.RESULTS.read("better").values()
    (run,) = map(api.load, folders.existing())
    (row,) = run.folder.read_evaluation().lengths[:1]
    assert found == {"held-out sums up to 99 + 99": row.exact_match}
    assert len(row.exact_match) == better.SEEDS
