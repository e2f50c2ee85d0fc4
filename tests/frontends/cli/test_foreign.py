"""Runs that somebody else has made: their words are printed as letters, and never obeyed."""

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import tomli_w

from curta.config.errors import printable
from curta.frontends.cli import display
from tests.made_once import Shared
from tests.runs.test_folders import change

from .conftest import Curta

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


@pytest.fixture(autouse=True)
def _terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a wide terminal with colours and links."""
    terminal = lambda: display.Screen(force_terminal=True, width=400)
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


@pytest.fixture
def said(curta: Curta) -> Callable[..., str]:
    """Call a command; return all that it printed, as a terminal would show it."""
    return lambda *words, code=0: "".join(map(plain, curta(*words, code=code)))


@pytest.mark.parametrize("name", NAMES)
def test_runs_shows_foreign_names_as_letters(
    copy: Copy, name: str, said: Callable[..., str]
) -> None:
    copy(name)
    text = said("runs")
    assert printable(name) in text
    if name.isprintable():
        assert SHOWN in text
        assert "finished" in text
    else:
        assert "has unprintable characters" in text


@pytest.mark.slow
@pytest.mark.parametrize("name", ["[link=y]", "[red]x"])
def test_commands_show_foreign_texts_as_letters(
    copy: Copy, name: str, said: Callable[..., str]
) -> None:
    copy(name)
    assert f"{printable(name)} is finished" in said("train", "--resume", name)
    assert printable(name) in said("evaluate", name, "count=4")
    assert printable(name) in said("report", name)
    assert printable(name) in said("page", name)
    assert printable(name) in said("probe", name, "tokens")
    assert "carries" in said("probe", name)
    said("ask", name, "1+2", "--trace")
    said("show", name, "1+2")
    said("show", name, "--layers")
    assert printable(name) in said("ask", name, "1*2", code=2)


def test_symbols_and_roles_of_a_foreign_machine_are_letters(
    copy: Copy, said: Callable[..., str]
) -> None:
    folder = copy("mine")
    text = (folder / "machine.json").read_text().replace('"sum"', json.dumps(EVIL))
    (folder / "machine.json").write_text(text)
    assert r"\x1b[2J[bold]x[/bold][link=file:///etc]y[/link]\u202e" in said(
        "show", "mine", "--window"
    )
    said("show", "mine", "1+2", code=2)
