"""The price of a hint: the same for all but what is given, counted seed by seed."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from curta.frontends import api
from curta.problems.problem import Problem
from docs import price
from docs.evidence import Results

FOUND = {"0.001": None, "0.003": 6400, "0.01": 12_800}


def searched(sums: dict[str, int | None], right: float = 1.0) -> dict[str, Any]:
    return {rate: one(found, right) for rate, found in sums.items()}


def one(sums: int | None, right: float) -> dict[str, Any]:
    lengths = {str(size): 0.0 for size in price.LENGTHS}
    return {"sums": sums, "exact match": right, "lengths": lengths, "parameters": 1234}


def test_only_what_is_given_differs() -> None:
    recipes = {name: api.resolve(*price.changed(name, 0.003)) for name in price.GIVEN}
    first = recipes["nothing"]
    for name, recipe in recipes.items():
        assert recipe.task == first.task, name
        assert recipe.optimizer == first.optimizer, name
        assert recipe.training.steps == first.training.steps, name
        assert recipe.model.width == first.model.width, name
        assert ("roles" in name) == recipe.model.role_embeddings, name
        assert ("window" in name) == (recipe.positions.name == "window"), name
        assert ("places" in name) == (recipe.positions.name == "coupled"), name


LAYOUTS = [name for name, (written, _) in price.GIVEN.items() if written not in price.PROGRAMS]


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_layout_is_the_one_of_its_name(name: str) -> None:
    from curta.layouts import layout_named

    written = layout_named(price.GIVEN[name][0]).write(Problem("+", (57, 6)))
    text = written.translate(dict.fromkeys(map(ord, ".'")))
    assert ("carries" in name) == (len(written) - len(text) == len("063"))
    assert ("order" in name) == text.endswith("36" + "0" * ("padding" in name) + "$")
    assert ("padding" in name) == (len(text) == len("57+06=063$"))


def test_checks_are_dense_at_first_and_end_with_the_last_step() -> None:
    steps = list(price.checks(price.STEPS))
    assert steps[:10] == [*range(10, 101, 10)]
    assert steps[-1] == price.STEPS
    assert all(0 < (b - a) <= max(10, a / 100 * 10) for a, b in itertools.pairwise(steps))


def test_the_rate_with_the_fewest_sums_is_taken_and_else_the_most_right() -> None:
    assert price.best_rate(searched(FOUND)) == 0.003
    never: dict[str, Any] = {
        str(rate): one(None, right)
        for rate, right in zip(price.RATES, (0.2, 0.1, 0.7), strict=True)
    }
    assert price.best_rate(never) == 0.01


def test_tables_count_every_seed_and_say_who_never_was(tmp_path: Path) -> None:
    known = {"order: rates": searched(FOUND)}
    sums = (640, None, 1280, 1280, 640, 1920, 1280, None)
    known |= {f"order: seed {s}": one(n, 0.99) for s, n in enumerate(sums)}
    known |= {"padding: rates": searched(FOUND), "padding: seed 0": one(640, 1.0)}
    records = {name: {"header": {}, "numbers": numbers} for name, numbers in known.items()}
    (tmp_path / "price.json").write_text(json.dumps(records), "utf-8")
    (line,) = list(price.tables(Results(tmp_path))["price"])[2:]
    assert line.startswith("| order | 0.003 | 6 of 8 | 1,280 (640 to more than 1,024,000) |")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["order, places", "trace", "window, trace"])
def test_a_training_shows_as_many_sums_as_it_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(price, "RECORDED", 500)
    price.shape.cache_clear()
    found = price.measured(name, 0.003, 0, steps=30)
    assert found["shown"] == 30 * price.BATCH
    assert 0 <= found["exact match"] <= 1
    price.shape.cache_clear()


@pytest.mark.parametrize("name", price.PROGRAMS)
def test_moves_have_no_price_since_symbol_and_role_say_them(name: str) -> None:
    """Of all tokens that a program writes for many sums."""
    from curta.layouts.texts import layout_of

    layout: Any = layout_of(api.resolve(name, {}))
    written = set[int]()
    for number in range(1000):
        tokens, prompt = layout.tokens_of(Problem("+", (number, 7 * number % 1000)))
        written |= set(tokens[prompt:])
    tokens = [layout.machine.tokens[one] for one in written]
    assert len({(one.symbol, one.role) for one in tokens}) == len(tokens) > 10
