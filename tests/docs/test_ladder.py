"""The ladder of encodings: the same chance for each, kept one by one, and what its table says."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from curta.frontends import api
from curta.runs import folders
from docs import ladder
from docs.evidence import Results

EVERYWHERE = {"random": 1.0, "carry": 0.9}


RATES = {"parameters": 1234, "layers": 2, "steps": 5000} | {
    "rates": {"0.0005": 0.5, "0.001": 0.25, "0.002": 0.75}
}
OPTIONS = argparse.Namespace(again=False)


def kept(folder: Path, *seeds: dict[str, Any]) -> Results:
    """A file with what is known of an entry."""
    known = {"Abacus: rates": RATES}
    known |= {f"Abacus: until, seed {number}": one for number, one in enumerate(seeds)}
    header = {"machine": {"cpu": "Mill(R) Processor with grain"}}
    records = {name: {"header": header, "numbers": numbers} for name, numbers in known.items()}
    (folder / "encodings.json").write_text(json.dumps(records), "utf-8")
    return Results(folder)


def seed(training: float, last: float) -> dict[str, Any]:
    """A seed that is exact but for sizes from 40 on, which an encoding lacks at 100."""
    sizes: dict[str, Any] = {str(size): EVERYWHERE for size in (10, 15, 20, 30)}
    sizes |= {size: {"random": last, "carry": 0.0} for size in ("40", "60")} | {"100": None}
    return {"steps": 700, "training": training, "sizes": sizes, "seconds": 61.4}


def test_only_what_the_entry_is_about_differs() -> None:
    recipes = [api.resolve(*ladder.changed(name, 0.002, 100)) for name in ladder.ENTRIES]
    for name, recipe in zip(ladder.ENTRIES, recipes, strict=True):
        assert recipe.training == recipes[0].training, name
        longest = 30 if name.endswith("up to 30 digits") else 10
        assert recipe.task == replace(recipes[0].task, digits=(1, longest)), name
        assert name.endswith("Muon") or recipe.optimizer == recipes[0].optimizer, name
        if ladder.ENTRIES[name][1].keys().isdisjoint(ladder.BLOCK):
            assert recipe.model == recipes[1].model, name


def test_the_rate_is_that_of_least_training_loss() -> None:
    assert ladder.best_rate(RATES) == 0.001


def test_the_tables_count_every_seed(tmp_path: Path) -> None:
    known = kept(tmp_path, seed(0.995, 0.9), seed(0.98, 0.4), seed(0.991, 0.6))
    found = ladder.tables(known)
    assert list(found["encodings, training"])[-1] == (
        "| Abacus | 2 | 1,234 | 3 | 2 of 3 | 0.991 (0.980 to 0.995) | 700 | 89,600 | 61 | Mill |"
    )
    assert list(found["encodings, sizes"])[-1] == (
        "| Abacus | 1.00; 0.90 | 1.00; 0.90 | 1.00; 0.90 | 1.00; 0.90"
        " | 0.60 (0.40 to 0.90); 0.00 | 0.60 (0.40 to 0.90); 0.00 | no positions | 30 | 60 |"
    )
    assert list(found["encodings, rates"])[-1].endswith("| 0.5000 | 0.2500 | 0.7500 |  | 0.001 |")


def test_an_entry_is_shown_once_all_its_seeds_are_there(tmp_path: Path) -> None:
    two = ladder.entries(kept(tmp_path, seed(0.995, 0.9), seed(0.98, 0.4)))
    assert ladder.complete(two, "until") == {}
    three = ladder.entries(kept(tmp_path, *[seed(0.995, 0.9)] * 3))
    assert ladder.complete(three, "until") == {"Abacus": [seed(0.995, 0.9)] * 3}
    assert ladder.complete(three, "whole") == {}


def test_a_training_that_was_not_stopped_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = seed(0.9, 0.1) | {"steps": 5000}
    monkeypatch.setattr(ladder, "RESULTS", kept(tmp_path, ended))
    ladder.one_seed("Abacus", "whole", 0, OPTIONS)
    assert ladder.entries(ladder.RESULTS)["Abacus"]["whole"] == {"0": ended}


@pytest.mark.slow
def test_what_is_kept_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURTA_RUNS", str(tmp_path / "runs"))
    monkeypatch.setattr(ladder, "RESULTS", Results(tmp_path / "results"))
    monkeypatch.setattr(ladder, "affordable", lambda name, changes, budget: 1000)
    monkeypatch.setattr(ladder, "SIZES", (2, 400))
    common = ladder.COMMON | {"model.width": 8, "training.validation": 10}
    monkeypatch.setattr(ladder, "COMMON", common)
    ladder.search("Abacus", OPTIONS)
    ladder.one_seed("Abacus", "until", 0, OPTIONS)
    found = ladder.entries(ladder.RESULTS)["Abacus"]
    assert [*found["rates"]] == [str(rate) for rate in ladder.RATES]
    one = found["until"]["0"]
    assert (one["steps"], one["sizes"]["400"]) == (1000, None)
    assert 0 <= one["sizes"]["2"]["random"] <= 1
    assert one["seconds"] > 0
    runs = folders.existing()
    assert len(runs) == len(ladder.RATES) + 1
    for name in runs:
        folders.find(name).metrics.unlink()  # whoever trains again writes them anew
    ladder.search("Abacus", OPTIONS)
    ladder.one_seed("Abacus", "until", 0, OPTIONS)
    assert ladder.entries(ladder.RESULTS)["Abacus"] == found
