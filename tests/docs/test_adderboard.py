"""The smallest adders: how often a training came out, here and before."""

from pathlib import Path
from typing import Any

from docs import adderboard
from docs.adderboard import BEFORE, MODELS
from tests.docs.handmade import kept


def seeds(*found: tuple[str, float]) -> dict[str, Any]:
    return {
        "parameters": 44,
        "seeds": [
            {"seed": seed, "grade": grade, "exact_match": right, "margin": 0.5, "cases": 9}
            for seed, (grade, right) in enumerate(found)
        ],
    }


def test_what_was_measured_before_stands_beside_it(tmp_path: Path) -> None:
    first, second, *_ = MODELS
    known = {
        first: seeds(("proved", 1.0), ("open", 0.99)),
        BEFORE + first: seeds(("proved", 1.0), ("wrong", 0.5)),
        second: seeds(("wrong", 0.0)),
    }
    found = {
        name: [*t] for name, t in adderboard.tables(kept(tmp_path, "adderboard", known)).items()
    }
    assert found["adderboard before"][2:] == [f"| `{first}` | 2 | 1 | 1 | 2 | 1 |"]
    assert len(found["adderboard models"]) == 2 + 2
    assert len(found["adderboard seeds"]) == 2 + 3


def test_the_other_seeds_are_others() -> None:
    assert not {*adderboard.EIGHT} & {*adderboard.OTHERS}
