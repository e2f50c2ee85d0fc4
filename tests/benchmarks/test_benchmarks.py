"""The benchmarks run, and compare what is the same."""

import importlib

import pytest

pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["a", "a-learned", "c"])
def test_both_sides_calculate_the_same(name: str) -> None:
    check = importlib.import_module("benchmarks.check")
    configurations = importlib.import_module("benchmarks.configurations").CONFIGURATIONS
    found = check.differences(configurations[name].recipe())
    assert set(found) == {"logits", "loss", "gradients", "updates"}
    assert max(found.values()) < check.TOLERANCE


@pytest.mark.parametrize("name", ["steps", "accuracy", "throughput", "pages"])
def test_a_quick_form_of_each_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    for table in module.tables(quick=True):
        assert len(str(table).splitlines()) > 4
