"""The cost model: what follows from constants, by hand."""

from benchmarks import cost

STAGES = cost.STAGES
COSTS: cost.Costs = {
    "platform": "cpu",
    "start": 2.0,
    "first": dict(zip(STAGES, (1.0, 10.0, 5.0, 3.0, 20.0, 2.0), strict=True)),
    "later": dict(zip(STAGES, (1.0, 1.0, 5.0, 3.0, 1.0, 2.0), strict=True)),
    "several": dict(zip(STAGES, (1.0, 1.0, 40.0, 10.0, 8.0, 2.0), strict=True)),
    "members": [
        {"count": 1, "step": 0.001, "memory": 2_000_000},
        {"count": 16, "step": 0.016, "memory": 32_000_000},
    ],
    "steps": 1000,
    "checkpoint_bytes": 200_000,
    "run_bytes": 1_000_000,
    "run_files": 12,
}


def test_runs_on_nodes_come_in_waves_of_which_the_first_compiles() -> None:
    """The first takes 43 s, later ones 15 s: 43 + 9 x 15 s on ten nodes, 43 + 99 x 15 s on one."""
    rows = dict(cost.of_runs(COSTS, 100, 10))
    assert rows["first run, later run"] == "43.00 s, 15.00 s"
    assert (rows["all on 10 nodes"], rows["all on one node"]) == ("3 min", "25 min")
    assert rows["left on disk"] == "100.0 MB, 1,200 files"


def test_members_cost_what_the_line_through_those_measured_says() -> None:
    """2 MB, 1 ms and 200 kB a member; each more is evaluated in 1 s and certified in 1 s."""
    rows = dict(cost.of_population(COSTS, 4096))
    assert rows["memory of the steps, members at once"] == "8.2 GB"
    assert rows["1,000 steps, at the pace of this cpu"] == "68 min"
    assert rows["a checkpoint"] == "819.2 MB"
    assert (rows["evaluating"], rows["certifying"]) == ("68 min", "68 min")
    assert rows["reporting"] == "2 s"
