"""Every study still asks what its kept results were measured for."""

import importlib
import sys
from typing import Any

import pytest

from docs import ELSEWHERE, STUDIES, evidence
from docs.evidence import RESULTS, Results
from docs.ladder import ENTRIES
from docs.price import GIVEN

SEARCHED = {"ladder": ("encodings", ENTRIES), "price": ("price", GIVEN)}
"""Studies that look for learning rates first, their files and the names of their entries."""


def names(study: str) -> list[str]:
    """What a study is asked for: all, or what has a learning rate."""
    if study not in SEARCHED:
        return []
    file, every = SEARCHED[study]
    known = RESULTS.records(file)
    return [name for name in every if f"{name}: rates" in known]


def others(study: str, monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Kept results of a study whose seeds or settings are not those it asks for."""
    found = set()

    def keep(
        results: Results, file: str, name: str, measure: Any, seeds: Any, settings: Any, _: Any
    ) -> None:
        known = results.records(file).get(name)
        if known is None or known.get("settings") is None or "superseded" in known["header"]:
            return
        if evidence._request(known) != evidence._plain([list(seeds), settings]):
            found.add((file, name))

    module = importlib.import_module(f"docs.{study}")
    cores = RESULTS.records("profiling")["machine"]["settings"]["cores"]
    monkeypatch.setattr("docs.profiling.CORES", cores)  # this machine may have others
    monkeypatch.setattr(Results, "keep", keep)
    monkeypatch.setattr(module, "on_one_core", lambda: None, raising=False)
    monkeypatch.setattr(sys, "argv", [study, *names(study)])
    module.main()
    return found


EARLIER = ("programs", "controls", "phases", "scaling", "findings", "better", "gpu")
"""Studies of programs, measured before training showed all listed windows and repaired wrong ones.

The results page says so. A study that is measured again leaves this list.
"""


@pytest.mark.parametrize("study", [*STUDIES, *ELSEWHERE])
def test_results_are_kept_for_what_is_asked(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bool(others(study, monkeypatch)) == (study in EARLIER)


def test_a_result_for_something_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docs.looped.OFFSETS", (1, 2))
    assert others("looped", monkeypatch)
