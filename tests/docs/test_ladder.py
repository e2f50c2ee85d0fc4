"""The ladder of encodings: the same chance for each, kept one by one, and what its table says."""

from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from curta.frontends import api
from curta.runs import folders

DOCS = Path(__file__).parents[2] / "docs"

EVERYWHERE = {"random": 1.0, "carry": 0.9}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(DOCS)
    return import_module("ladder")


def kept(*seeds: dict[str, Any]) -> dict[str, Any]:
    """An entry as the file has it."""
    return {
        "parameters": 1234,
        "layers": 2,
        "steps": 5000,
        "rates": {"0.0005": 0.5, "0.001": 0.25, "0.002": 0.75},
        "until": {str(number): one for number, one in enumerate(seeds)},
    }


def seed(training: float, last: float) -> dict[str, Any]:
    """A seed that is exact but for sizes from 40 on, which an encoding lacks at 100."""
    sizes: dict[str, Any] = {str(size): EVERYWHERE for size in (10, 15, 20, 30)}
    sizes |= {"40": {"random": last, "carry": 0.0}, "100": None}
    return {"steps": 700, "training": training, "sizes": sizes, "seconds": 61.4}


def test_only_what_the_entry_is_about_differs(script: ModuleType) -> None:
    recipes = [api.resolve(*script.changed(name, 0.002, 100)) for name in script.ENTRIES]
    for name, recipe in zip(script.ENTRIES, recipes, strict=True):
        assert recipe.training == recipes[0].training, name
        assert recipe.task == recipes[0].task, name
        assert name.endswith("Muon") or recipe.optimizer == recipes[0].optimizer, name
        if script.ENTRIES[name][1].keys().isdisjoint(script.BLOCK):
            assert recipe.model == recipes[1].model, name


def test_the_rate_is_that_of_least_training_loss(script: ModuleType) -> None:
    assert script.best_rate(kept()) == 0.001


def test_the_tables_count_every_seed(script: ModuleType) -> None:
    known = {"Abacus": kept(seed(0.995, 0.9), seed(0.98, 0.4), seed(0.991, 0.6))}
    found = script.tables(known)
    assert list(found["encodings, training"])[-1] == (
        "| Abacus | 2 | 1,234 | 3 | 2 of 3 | 0.991 (0.980 to 0.995) | 700 | 89,600 | 61 |"
    )
    assert list(found["encodings, sizes"])[-1] == (
        "| Abacus | 1.00; 0.90 | 1.00; 0.90 | 1.00; 0.90 | 1.00; 0.90"
        " | 0.60 (0.40 to 0.90); 0.00 | no positions | 30 | 40 |"
    )
    assert list(found["encodings, rates"])[-1].endswith("| 0.5000 | 0.2500 | 0.7500 |  | 0.001 |")


def test_the_page_has_the_tables_of_the_file(script: ModuleType) -> None:
    text = script.PAGE.read_text("utf-8")
    for name, lines in script.tables(script.read(script.RESULTS)).items():
        assert f"<!-- table: {name} -->\n" + "\n".join(lines) + "\n<!-- /table -->" in text


def test_a_training_that_was_not_stopped_is_not_repeated(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "RESULTS", tmp_path / "encodings.json")
    ended = seed(0.9, 0.1) | {"steps": 5000}
    script.keep(script.RESULTS, "Abacus", kept(ended))
    script.seeds("Abacus", "whole", 0)
    assert script.read(script.RESULTS)["Abacus"]["whole"] == {"0": ended}


@pytest.mark.slow
def test_what_is_kept_is_not_trained_again(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_RUNS", str(tmp_path))
    monkeypatch.setattr(script, "RESULTS", tmp_path / "results" / "encodings.json")
    monkeypatch.setattr(script, "affordable", lambda name: 1000)
    monkeypatch.setattr(script, "SIZES", (2, 400))
    monkeypatch.setattr(
        script, "COMMON", script.COMMON | {"model.width": 8, "training.validation": 10}
    )
    script.search("Abacus")
    script.seeds("Abacus", "until", 0)
    found = script.read(script.RESULTS)
    assert [*found["Abacus"]["rates"]] == [str(rate) for rate in script.RATES]
    one = found["Abacus"]["until"]["0"]
    assert (one["steps"], one["sizes"]["400"]) == (1000, None)
    assert 0 <= one["sizes"]["2"]["random"] <= 1
    assert one["seconds"] > 0
    runs = folders.existing()
    assert len(runs) == len(script.RATES) + 1
    for name in runs:
        folders.find(name).metrics.unlink()  # whoever trains again writes them anew
    script.search("Abacus")
    script.seeds("Abacus", "until", 0)
    assert script.read(script.RESULTS) == found
