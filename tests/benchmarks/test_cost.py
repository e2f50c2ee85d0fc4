"""The cost model: what follows from constants, by hand."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import cost
from benchmarks.cost import Costs, Members, Stages
from curta.config import files, typed

COSTS = Costs(
    recipe="addition",
    device="2 x cpu",
    platform="cpu",
    versions={"jax": "0.10.2"},
    start=2.0,
    first=Stages(1.0, 10.0, 5.0, 3.0, 20.0, 2.0),
    later=Stages(1.0, 1.0, 5.0, 3.0, 1.0, 2.0),
    several=Stages(1.0, 1.0, 40.0, 10.0, 8.0, 2.0),
    members=(Members(1, 0.001, 2_000_000), Members(16, 0.016, 32_000_000)),
    steps=1000,
    operations=5e6,
    saving=0.01,
    saving_several=0.08,
    checkpoint_bytes=200_000,
    checkpoints=3,
    run_bytes=1_000_000,
    run_files=12,
)


def rows(table: cost.Table) -> dict[str, str]:
    return dict(table.rows)


def test_a_file_of_costs_holds_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "cost.json"
    files.write(path, files.json_text(typed.as_json(COSTS)))
    assert typed.read(Costs, path, "costs") == COSTS


def test_runs_on_nodes_come_in_waves_of_which_the_first_compiles() -> None:
    """The first takes 43 s, later ones 15 s: 43 + 9 x 15 s on ten nodes, 43 + 99 x 15 s on one."""
    found = rows(cost.of_runs(COSTS, 100, 10))
    assert found["first run, later run"] == "43.00 s, 15.00 s"
    assert (found["waves"], found["all runs"]) == ("10", "3 min")
    assert found["the same on one node"] == "25 min"
    assert found["left on disk"] == "100.0 MB, 1,200 files"
    assert found["checkpoints, those that are replaced included"] == "60.0 MB"


def test_one_run_more_than_nodes_is_one_wave_more() -> None:
    assert [rows(cost.of_runs(COSTS, runs, 10))["waves"] for runs in (1, 10, 11)] == [
        "1", "1", "2"
    ]  # fmt: skip


def test_members_cost_what_the_line_through_those_measured_says() -> None:
    """2 MB, 1 ms and 200 kB a member; each more is evaluated in 1 s and certified in 1 s."""
    found = rows(cost.of_population(COSTS, 4096))
    assert found["memory of the steps, members at once"] == "8.2 GB"
    assert found["a step, as measured on cpu"] == "4.10 s"
    assert found["1,000 steps of that"] == "68 min"
    assert found["operations of a step"] == "2e+10"
    assert found["a checkpoint"] == "819.2 MB, 40.96 s"
    assert (found["evaluating"], found["certifying"]) == ("68 min", "68 min")
    assert found["reporting"] == "2 s"


def test_what_falls_with_members_by_chance_is_taken_as_level() -> None:
    odd = replace(COSTS, members=(Members(1, 0.02, 5), Members(16, 0.01, 5)))
    assert cost.line(odd.members, "step", 4096) == pytest.approx(0.01)


def test_every_constant_is_shown() -> None:
    found = rows(cost.constants(COSTS))
    assert found["first run: compiling"] == "10.00 s"
    assert found["step of 16 members"] == "16.00 ms"
    assert found["memory of such steps, one member at once"] == "2.0 MB"
    assert len(found) == 1 + 3 * 6 + 2 * 2 + 3
    busy = rows(cost.constants(replace(COSTS, load=7.25)))
    assert busy["processes that wanted a core meanwhile"] == "7.2"
