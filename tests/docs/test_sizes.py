"""The ladder's last rung at several sizes: their parameters, tables, and a small search."""

import argparse
from pathlib import Path
from typing import Any

import pytest

from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.model import model_cost
from curta.runs import folders
from docs import sizes
from docs.evidence import Results
from tests.docs.handmade import kept

SMALL = {
    "model.width": 8, "model.heads": 1, "model.num_layers": 1, "model.num_attention_layers": 1,
    "training.validation": 14, "evaluation.held_out": 14,
}  # fmt: skip
RATES = {"0.0003": 1.5, "0.001": 1.125, "0.003": None}
SEARCHED = {"steps": 12_340, "rates": RATES}


def size(parameters: int) -> dict[str, Any]:
    return {
        "width": 104,
        "parameters": parameters,
        "steps": 2000,
        "rate": 0.001,
        "training loss": [0.5, 0.25, 0.125],
        "held-out loss": [0.4, 0.2, 0.1],
        "exact match": [0.9, 1.0, 0.95],
        "exact match without twin": [0.8, 0.9, 0.7],
        "beyond": {
            "exact match": [0.0, 0.0, 0.0],
            "token accuracy": [0.3, 0.4, 0.5],
            "loss": [5.0, 6.0, 7.0],
        },
        "range": {"below L, none beyond": [0.9, 1.0, 0.95], "at L, one beyond": [0.0, 0.0, 0.5]},
        "seconds": 906.0,
    }


@pytest.mark.parametrize("name", sizes.WIDTHS)
def test_a_size_has_as_many_parameters_as_it_says(name: str) -> None:
    recipe = api.resolve(sizes.RECIPE, sizes.changes(name, 0.001, 1000))
    rows = model_cost.layers(recipe, layout_of(recipe), keys=1)
    millions = sum(row.parameters for row in rows) / 1e6
    assert millions == pytest.approx(float(name.removesuffix("M")), rel=0.1)
    assert recipe.model.head_dim == api.resolve(sizes.RECIPE, {}).model.head_dim == 8


def test_nothing_measured_makes_no_table(tmp_path: Path) -> None:
    assert sizes.tables(Results(tmp_path)) == {}
    searched = kept(tmp_path, "sizes", {"2M: rates": SEARCHED})
    assert sizes.tables(searched) == {}


def test_the_tables_have_every_size_in_order(tmp_path: Path) -> None:
    known = {"2M": size(2_080_208), "2M: rates": SEARCHED, "0.5M": size(520_936)}
    found = sizes.tables(kept(tmp_path, "sizes", known))
    made = {name: list(lines) for name, lines in found.items()}
    assert made["sizes"][2:] == [
        f"| {name} | 104 | {parameters} | 2,000 | 0.001 | 0.250 (0.125 to 0.500)"
        " | 0.200 (0.100 to 0.400) | 0.950 (0.900 to 1.000)"
        " | 0.800 (0.700 to 0.900) | 0.000 (all) | 0.400 (0.300 to 0.500) | 302 |"
        for name, parameters in (("0.5M", "520,936"), ("2M", "2,080,208"))
    ]
    assert made["sizes, range"][2] == "| 0.5M | 0.950 | 0.000 |"
    assert made["sizes, rates"][2:] == ["| 2M | 1,234 | 1.5000 | 1.1250 | diverged |"]


def test_the_rate_is_that_of_least_training_loss() -> None:
    assert sizes.best_rate(RATES) == 0.001
    assert sizes.best_rate({"0.0003": 1.5, "0.003": 1.25}) == 0.003


@pytest.mark.slow
def test_what_is_kept_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "RESULTS", Results(tmp_path / "results"))
    monkeypatch.setattr(sizes, "WIDTHS", {"0.5M": 8})
    monkeypatch.setattr(sizes, "design", lambda name: SMALL)
    monkeypatch.setattr(sizes, "on_one_core", lambda: None)
    monkeypatch.setattr(sizes, "affordable", lambda *asked, chunk: 40)
    monkeypatch.setattr(sizes, "COUNT", 20)
    monkeypatch.setattr(sizes, "EACH", 20)
    monkeypatch.setattr(sizes, "BESIDES", {"count": 20, "each": 20})
    monkeypatch.setattr("sys.argv", ["sizes"])
    sizes.main()
    found = sizes.trained(sizes.RESULTS)["0.5M"]
    assert found["steps"] == 40
    assert {len(values) for values in (*found["range"].values(), *found["beyond"].values())} == {3}
    runs = folders.existing()
    assert len(runs) == len(sizes.RATES) + 1
    for name in runs:
        folders.find(name).metrics.unlink()  # whoever trains again writes them anew
    sizes.search("0.5M", argparse.Namespace(again=False))
    sizes.main()
    assert sizes.trained(sizes.RESULTS)["0.5M"] == found
