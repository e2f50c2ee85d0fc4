"""What a step costs: tables of hand-made figures, operations by hand, and small measurements."""

from pathlib import Path
from typing import Any

import pytest

from curta.frontends import api
from docs import profiled, profiling, sizes
from docs.evidence import Results
from tests.docs.handmade import kept

ROOFS = {
    "1": {"operations": [90_000_000_000, 100_000_000_000], "bytes": [10_000_000_000]},
    "2": {"operations": [200_000_000_000], "bytes": [16_000_000_000, 20_000_000_000]},
}


def process(way: str, cores: int) -> dict[str, Any]:
    """A step of 8 billion operations that takes 0.2 s on one core, half of it on two."""
    slower = 2 if way == "loop" else 1
    return {
        "way": way,
        "cores": cores,
        "parameters": 520_936,
        "operations": 8_000_000_000,
        "tracing": 3.0,
        "compiling": 20.0 / slower,
        "step": [0.2 * slower / cores, 0.16 * slower / cores, 0.4 * slower / cores],
        "planned bytes": 130_000_000,
        "peak bytes": {"traced": 3, "compiled": 5, "after the steps": 700_000_000},
        "XLA": {"operations": 8_400_000_000 / slower / cores, "bytes": 1_600_000_000 / cores},
    }


def known() -> dict[str, Any]:
    found = [process(way, cores) for way in profiling.WAYS for cores in (1, 2)]
    return {"machine": ROOFS, "0.5M": found}


def test_nothing_measured_makes_no_table(tmp_path: Path) -> None:
    assert profiling.tables(Results(tmp_path)) == {}
    assert profiling.tables(kept(tmp_path, "profiling", {"machine": ROOFS})) == {}


def test_the_tables_put_each_size_below_its_roof(tmp_path: Path) -> None:
    found = profiling.tables(kept(tmp_path, "profiling", known()))
    made = {name: list(lines)[2:] for name, lines in found.items()}
    assert made["profiling, machine"] == [
        "| 1 | 100.0 | 90.0 | 10.0 | 10.0 |",
        "| 2 | 200.0 | 200.0 | 20.0 | 10.0 |",
    ]
    assert made["profiling"] == [
        "| 0.5M | 520,936 | 1 | 8.00 | 8.40 | 4.20 | 1.60 | 5.0 | 40.0 | 80% | 8.0 | 80% |",
        "| 0.5M | 520,936 | 2 | 8.00 | 8.40 | 4.20 | 1.60 | 5.0 | 80.0 | 80% | 16.0 | 80% |",
    ]
    assert made["profiling, layers"] == [
        f"| 0.5M | {kind} | 3000 (all) | {compiling} (all) | {step} | {planned} | 700 (all) |"
        for kind, compiling, step, planned in (
            ("1 | written out", 20000, "200.0 (160.0 to 400.0)", 130),
            ("1 | loop", 10000, "400.0 (320.0 to 800.0)", 130),
            ("2 | written out", 20000, "100.0 (80.0 to 200.0)", 260),
            ("2 | loop", 10000, "200.0 (160.0 to 400.0)", 260),
        )
    ]
    assert made["profiling, ratios"] == [
        "| 0.5M | 1 | -50% | +100% | +0% | +0% | 100% | 100% |",
        "| 0.5M | 2 | -50% | +100% | +0% | +0% | 50% | 50% |",
    ]


def test_operations_by_hand_are_those_of_every_product() -> None:
    """`#12+34=` is 7 tokens and `046$` 4, the last of which is followed by nothing."""
    recipe = api.resolve(sizes.RECIPE, sizes.design("2M"))
    width, layers, tokens, asked, characters = 208, 4, 10, 4, 17
    linear, attention = width * width, 2 * tokens * width  # queries with keys, weights with values
    block = 4 * linear + 2 * 4 * linear + attention
    last = asked * (block - 2 * linear) + tokens * 2 * linear
    adds = (layers - 1) * tokens * block + last + asked * width * characters
    assert profiled.operations(recipe) == 3 * 2 * 256 * adds


@pytest.mark.slow
def test_it_is_measured_in_processes_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(profiling, "RESULTS", Results(tmp_path))
    monkeypatch.setattr(profiling, "PASSES", 1)
    monkeypatch.setattr(profiling, "TIMES", {"rounds": 2, "steps": 1})
    monkeypatch.setattr(profiling, "LARGE", {"rounds": 2, "side": 64, "count": 1 << 10})
    monkeypatch.setattr("sys.argv", ["profiling", "machine", "0.5M"])
    profiling.main()
    (found,) = profiling.profiles(profiling.RESULTS)
    counted = found.counted("written out", "operations", 1)
    assert found.operations < counted < 1.15 * found.operations
    assert found.counted("loop", "operations", 1) < 0.6 * counted, "one of three layers is counted"
    for roof in profiling.roofs_of(profiling.RESULTS):
        assert len(found.steps("written out", roof.cores)) == 2
        assert 0 < roof.at(found.intensity(roof.cores)) <= roof.operations
    cores, made = len(profiling.CORES), profiling.tables(profiling.RESULTS)
    assert [len([*lines]) - 2 for lines in made.values()] == [cores, cores, 2 * cores, cores]
