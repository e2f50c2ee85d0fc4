"""Figures of a table's parts, of any run that holds problems out and is asked in other layouts."""

from pathlib import Path

import curta
from tests import tiny


def test_a_report_draws_the_answers_of_each_part_and_exact_match_of_each_spacing() -> None:
    changes = tiny.overrides(
        layout="spaced", task__values=[10, 99], task__held_out=600, task__special=0.0,
        task__twins_together=False,
        positions__name="rope", evaluation__layouts=["spaced-apart"], evaluation__held_out=100,
        training__validate_every=10, training__validation=200, model__role_embeddings=False,
        evaluation__digits=[2],
    )  # fmt: skip
    run = curta.train("addition-reversed", run="spaces", seeds=2, **changes)
    found = run.folder.read_evaluation()
    assert found is not None
    (split,) = found.splits
    assert [(part.part, part.problems) for part in split.answers] == [
        ("training", 7500), ("validation", 200), ("held out", 100), ("held out, spaced-apart", 100),
    ]  # fmt: skip
    assert len({tuple(part.edges) for part in split.answers}) == 1
    page = run.folder.report.read_text()
    for name in ("answers", "held-out", "learning", "learning-linear"):
        assert Path(run.folder.path / f"{name}.svg").stat().st_size > 5000
        assert f"{name}.svg" in page
    assert '<th scope="row">held out, spaced-apart</th><td>100</td>' in page
