"""metrics.jsonl: the last lines of however many members."""

from pathlib import Path

import pytest

from curta.runs import metrics
from curta.runs.info import Metric


@pytest.mark.parametrize("members", [1, 3, 2_000])
def test_the_last_line_of_every_member_is_found(members: int, tmp_path: Path) -> None:
    """Two thousand members have more of them than are read at first."""
    path = tmp_path / "metrics.jsonl"
    for step in (10, 20, 30):
        rows = [Metric(step, n, 0.5, 0.25, float(step)) for n in range(members)]
        metrics.add(path, rows)
    found = metrics.read_last(path, members)
    assert sorted(row.member for row in found) == [*range(members)]
    assert {row.step for row in found} == {30}
