"""A certificate as it is printed, and a run shown by its own machine."""

import io

import pytest
from rich.console import Console

from curta.frontends.cli import main
from curta.frontends.cli.paper import certificate_view
from curta.runs.run import program_layout
from tests.made_once import Shared


def test_a_run_is_shown_by_its_own_machine(
    shared_runs: Shared, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", str(shared_runs.finished().folder.path), "12+34"]) == 0
    lines = capsys.readouterr().out.replace("│", " ").splitlines()
    assert ["sum", "4", "6"] in [line.split() for line in lines]


def test_wrong_windows_are_printed_on_squared_paper(shared_runs: Shared) -> None:
    run, out = shared_runs.finished(), io.StringIO()
    content = run.folder.read_certificate()
    assert content is not None
    Console(file=out, width=80).print(certificate_view(content, program_layout(run), drawn=1))
    wrong, text = content.wrong[0], " ".join(out.getvalue().split())
    assert f"writes {wrong.written} where {wrong.expected} is right" in text
    assert f"in {wrong.problem}, after token {wrong.at + 1}" in text
    assert "┌" in text
    total = sum(member.wrong for member in content.members)
    assert f"and {total - 1:,} more" in text
