"""Runs that somebody else has made: their words are printed as letters, and never obeyed."""

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w

from curta.config.errors import printable
from curta.frontends.cli import display, main
from tests.made_once import Shared
from tests.runs.test_folders import change

EVIL = "\x1b]0;evil\x07\x1b[2J[bold]x[/bold][link=file:///etc]y[/link]\u202e:warning:\r\n\x9bz"
"""A title for the window, an empty screen, markup, a link, letters from right to left."""

SHOWN = r"\x1b]0;evil\x07\x1b[2J[bold]x[/bold][link=file:///etc]y[/link]\u202e:warning:\r\n\x9bz"

MARKUP = "[bold]x[/bold][link=file:///etc]y[/link]:warning:" + "a" * 400
"""What a recipe may say of itself."""

NAMES = ["\x1b]0;evil\x07", "[red]x", "[link=y]", "[@click=x]y", "two\nlines", "\u202eback"]

pytestmark = pytest.mark.usefixtures("brief")

Copy = Callable[[str], Path]


@pytest.fixture(scope="module")
def trained(brief: None, shared_runs: Shared) -> Path:
    return shared_runs.made("foreign", lambda: shared_runs.finished("small")) / "small"


@pytest.fixture
def copy(trained: Path, runs_folder: Path) -> Copy:
    """Makes a run of that name, all of whose texts are foreign."""

    def made(name: str) -> Path:
        shutil.copytree(trained, folder := runs_folder / name)
        recipe = tomllib.loads((folder / "recipe.toml").read_text())
        (folder / "recipe.toml").write_text(tomli_w.dumps(recipe | {"summary": MARKUP}))
        change(folder / "run.json", name=EVIL, recipe=EVIL, device=EVIL, platform=EVIL)
        return folder

    return made


def terminal() -> display.Screen:
    return display.Screen(force_terminal=True, width=400)


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a wide terminal with colours and links."""
    monkeypatch.setattr(display, "console", terminal)


def plain(text: str) -> str:
    """What a terminal would show; fails if it would do anything but change colours."""
    from rich.text import Text

    assert "\x1b]" not in text
    for control in ("\x07", "\x1b[2J", "\u202e", "\x9b", "\r", ":warning:\r", "⚠"):
        assert control not in text
    shown = Text.from_ansi(text).plain
    assert "\x1b" not in shown
    return shown


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(words) == code
    out, err = capsys.readouterr()
    return plain(out) + plain(err)


@pytest.mark.parametrize("name", NAMES)
def test_runs_shows_foreign_names_as_letters(
    copy: Copy, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    copy(name)
    text = said(capsys, "runs")
    assert printable(name) in text
    if name.isprintable():
        assert SHOWN in text
        assert "finished" in text
    else:
        assert "has unprintable characters" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["[link=y]", "[red]x"])
def test_commands_show_foreign_texts_as_letters(
    copy: Copy, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    copy(name)
    assert f"{printable(name)} is finished" in said(capsys, "train", "--resume", name)
    assert printable(name) in said(capsys, "evaluate", name, "count=4")
    assert printable(name) in said(capsys, "report", name)
    assert printable(name) in said(capsys, "page", name)
    assert printable(name) in said(capsys, "probe", name, "tokens")
    assert "carries" in said(capsys, "probe", name)
    said(capsys, "ask", name, "1+2", "--trace")
    said(capsys, "show", name, "1+2")
    said(capsys, "show", name, "--layers")
    assert printable(name) in said(capsys, "ask", name, "1*2", code=2)


def test_symbols_and_roles_of_a_foreign_machine_are_letters(
    copy: Copy, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy("mine")
    text = (folder / "machine.json").read_text().replace('"sum"', json.dumps(EVIL))
    (folder / "machine.json").write_text(text)
    assert r"\x1b[2J[bold]x[/bold][link=file:///etc]y[/link]\u202e" in said(
        capsys, "show", "mine", "--window"
    )
    said(capsys, "show", "mine", "1+2", code=2)
