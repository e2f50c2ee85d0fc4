"""A study measures for real what is not there, and makes a table of it."""

import sys
from pathlib import Path

import pytest

from docs import programs
from docs.evidence import RESULTS, Results


@pytest.mark.slow
def test_a_program_is_measured_once_and_has_its_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(RESULTS, "folder", tmp_path)
    monkeypatch.setattr(programs, "SEEDS", [8])
    monkeypatch.setattr(sys, "argv", ["programs", "luhn"])
    monkeypatch.setenv("CURTA_RUNS", str(tmp_path))  # what the study changes is changed back
    programs.main()
    assert "measuring luhn" in capsys.readouterr().out
    programs.main()
    assert capsys.readouterr().out == "programs: luhn is kept\n"
    *_, row = programs.tables(Results(tmp_path))["programs"]
    assert row.startswith(
        "| `luhn` | 1 to 10 digits | 240 | closed | 0 in 1 | luhn 1000: 1.000 of 100 |"
    )
    record = Results(tmp_path).records("programs")["luhn"]
    assert record["header"]["seeds"] == [8]
    assert record["settings"]["recipe"]["program"] == "luhn"
