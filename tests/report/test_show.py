"""`curta show` of programs, and a certificate, as they are printed."""

import io
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from curta.evaluation.results import Certificate
from curta.frontends.cli import main
from curta.frontends.cli.paper import certificate_view

from . import sample
from .certified import certificate as certified
from .certified import layout_named, write_certified


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
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_certified(tmp_path / "mine", "addition", problems=5)
    assert ["sum", "4", "6"] in rows(shown(capsys, str(tmp_path / "mine"), "12+34"))


def test_wrong_windows_are_printed_on_squared_paper() -> None:
    layout = layout_named("multiplication")
    content, _ = certified(layout, members=1, problems=50, wrong=((0, 300), (0, 500)))
    text = printed(certificate_view(sample.of(Certificate, content), layout, drawn=1))
    one = content["wrong"][0]
    assert f"writes {one['written']} where {one['expected']} is right" in " ".join(text.split())
    assert f"in {one['problem']}, after token {one['at'] + 1}" in text
    assert "┌" in text
    assert "and 1 more" in text
