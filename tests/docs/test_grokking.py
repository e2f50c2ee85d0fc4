"""The study of grokking: what it changes, and what its table and its picture say of each seed."""

import json
from pathlib import Path
from typing import Any

import pytest

from curta.frontends import api
from curta.problems import tasks
from docs import grokking
from docs.evidence import Results


def one(held_out: int | None, training: int = 400) -> dict[str, Any]:
    """A seed that knows its problems at one step, and others at another or never."""
    curve = [
        [step, 0.1, float(step >= training), 0.2, float(bool(held_out and step >= held_out))]
        for step in range(200, 2001, 200)
    ]
    waves = {part: [0.0] * 10 for part in grokking.PARTS}
    waves |= {"before": [0.1] * 10, "after": [0.5, 0.5, *[0.0] * 8]}
    return {"curve": curve, "held out": 0.5 if held_out is None else 1.0, **waves}


@pytest.fixture
def known(tmp_path: Path) -> Results:
    found = {"97-50: seed 0": one(1800), "97-50: seed 1": one(None), "113-30: seed 1": one(2000)}
    records = {name: {"header": {}, "numbers": numbers} for name, numbers in found.items()}
    (tmp_path / "grokking.json").write_text(json.dumps(records), "utf-8")
    return Results(tmp_path)


@pytest.mark.parametrize("name", grokking.CONFIGURATIONS)
def test_a_configuration_is_what_it_is_called(name: str) -> None:
    modulus, share, *more = name.split("-")
    recipe = api.resolve(*grokking.CONFIGURATIONS[name])
    (task,) = recipe.tasks
    assert task.operator == f"+ mod {modulus}"
    assert task.values == (0, int(modulus) - 1)
    assert tasks.trained_count(task) == pytest.approx(int(share) / 100 * int(modulus) ** 2, abs=1)
    assert not task.twins_together
    assert recipe.optimizer.weight_decay == (0.0 if more else 1.0)
    assert recipe.optimizer.warmup * recipe.training.steps == pytest.approx(10, abs=0.1)
    assert recipe.training.history_every > 0


def test_the_table_has_every_seed_and_says_who_never_was(known: Results) -> None:
    first, second = list(grokking.tables(known)["grokking"])[2:]
    assert first == (
        "| modulo 97, 50 % of the table | 2 | 400, 400 | 1,800, never |"
        " 0.000 (all) | 0.750 (0.500 to 1.000) |"
        " 0.500 (all) | 1.000 (all) | 0.000 (all) | 0.000 (all) |"
    )
    assert second.startswith("| modulo 113, 30 % of the table | 1 | 400 | 2,000 | 0.0")


def test_without_results_there_is_no_table(tmp_path: Path) -> None:
    assert grokking.tables(Results(tmp_path)) == {}


def test_the_picture_has_a_line_for_each_seed(known: Results) -> None:
    figure = grokking.draw(known)
    half, last, before, after = figure.axes
    assert [len(axes.lines) for axes in (half, last)] == [4, 2]
    assert half.get_xscale() == "log"
    assert half.get_title(loc="left") == "modulo 97, 50 % of the table"
    assert [len(axes.collections) for axes in (before, after)] == [1, 1]
    assert after.get_title(loc="left").endswith("30 % of the table: embedding after training")
