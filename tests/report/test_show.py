"""`curta show` of programs, and a certificate, as they are printed."""

import io

import pytest
from rich.console import Console, RenderableType

from curta.frontends.cli import main
from curta.frontends.cli.paper import certificate_view
from tests.made_once import Shared


def printed(view: RenderableType, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(view)
    return out.getvalue()


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["show", *arguments]) == 0
    return capsys.readouterr().out


def rows(text: str) -> list[list[str]]:
    lines = [line.replace("│", " ").split() for line in text.splitlines() if "│" in line]
    return [line for line in lines if line]


def test_a_text_is_drawn_on_squared_paper(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, "addition", "123+45")
    assert "123+45 = 168: 7 tokens are given, 4 are written" in text
    found = rows(text)
    assert found[0] == ["place", "2", "1", "0", "-1"]
    assert ["a", "1", "2", "3"] in found
    assert ["sum", "1", "6", "8"] in found


def test_a_run_is_shown_by_its_own_machine(
    shared_runs: Shared, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared_runs.finished().folder.path
    assert ["sum", "4", "6"] in rows(shown(capsys, str(path), "12+34"))


def test_wrong_windows_are_printed_on_squared_paper(shared_runs: Shared) -> None:
    run = shared_runs.finished()
    content = run.folder.read_certificate()
    assert content is not None
    text = printed(certificate_view(content, run.program, drawn=1))
    wrong = content.wrong[0]
    assert f"writes {wrong.written} where {wrong.expected} is right" in " ".join(text.split())
    assert f"in {wrong.problem}, after token {wrong.at + 1}" in text
    assert "┌" in text
    total = sum(member.wrong for member in content.members)
    assert f"and {total - 1:,} more" in text
