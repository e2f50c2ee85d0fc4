"""What people read: the terminal, errors and pages, as tests/snapshots holds them.

A transcript has a line `$ curta ...` for each command, and below it what the command prints and
an exit code that is not 0. To add a command, or an error, add its line; `UPDATE=1` in the
environment writes the rest anew. Times, paths and what is learnt are masked.
"""

import html
import io
import math
import os
import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from curta.export.html.page import Carried, render_page
from curta.frontends import api
from curta.frontends.cli import display, main
from curta.problems.operations import OPERATIONS
from curta.programs import BUILT_IN
from curta.programs.machine import check
from curta.programs.proof import closing
from curta.runs import folders
from tests.designs import design
from tests.made_once import Shared

pytestmark = pytest.mark.usefixtures("empty_pictures")

KEPT = Path(__file__).with_name("snapshots")
EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"


def same(name: str, now: str) -> None:
    """Require the text that is kept by this name; with UPDATE=1, keep this one."""
    path = KEPT / f"{name}.txt"
    if os.environ.get("UPDATE"):
        path.write_text(now, "utf-8")
    assert now == path.read_text("utf-8")


def masked(text: str, folder: Path) -> str:
    """Return a text without what is of the day, the machine or the processor."""
    text = text.replace(str(folder), "FOLDER")
    for pattern, instead in (
        (r"\b\d[\d.]* ?(s|ms|us|seconds?|minutes?)\b", r"# \1"),
        (r"20\d\d-\d\d-\d\d[T ][0-9:+-]*", "DATE"),
        (r"[\d,]+ tokens a second", "# tokens a second"),
        (r"[\d,]+ windows; rounding.*", "# windows; rounding ..."),  # the listing ends by the clock
        (r"(?m)^(Command|Code|Versions|Device) .*", r"\1 ..."),
        (r"(?m)^invalid: .*", "invalid: ..."),
        (r"(?s)\nmember \d+ writes .*?(\nand \d+ more|\nReport)", r"\nmember ... writes ...\1"),
        (r"[─━]{2,}", "─"),
        (r"[ \t]+\n", "\n"),
    ):
        text = re.sub(pattern, instead, text)
    return text


def make_runs(shared_runs: Shared) -> None:
    shared_runs.finished("small")
    api.begin("addition", 1, "begun", {})
    api.begin("subtraction", 1, "minus", {})
    api.begin("addition-reversed", 1, "rope", {})
    for name, file, content in DAMAGED:
        shutil.copytree(folders.root() / "small", folders.root() / name)
        (folders.root() / name / file).write_text(content, "utf-8")


@pytest.fixture
def place(
    brief: None, shared_runs: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The current folder, with runs and files of all sorts; each transcript has its own."""
    folder = tmp_path / "place"
    shutil.copytree(shared_runs.made("place", lambda: make_runs(shared_runs)), folder / "runs")
    for name, content in FILES.items():
        (folder / name).write_text(content, "utf-8")
    (folder / "bytes.toml").write_bytes(b"\xff\xfe")
    shutil.copy(EXAMPLES / "digit_sum.py", folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CURTA_RUNS", "runs")
    return folder


FILES = {
    "sums.txt": "1+2\n30+4\n",
    "empty.txt": "\n",
    "products.txt": "1+2\n3*4\n",
    "mixed.txt": "1+2\n0x1+0x2\n",
    "wrong.toml": "a",
    "field.toml": 'program = "addition"\n[training]\nstep = 3\n',
    "number.toml": 'program = "addition"\n[training]\nsteps = ' + "7" * 5_000,
    "none.py": "x = 1\n",
    "syntax.py": "def\n",
    "mill.toml": "[clutser]\ntime = 1\n",
    "titel.toml": 'titel = "Two"\n',
    "title.toml": 'title = 2\nentries = [{ recipe = "addition" }]\n',
    "entry.toml": 'title = "Two"\nentries = [{ name = "x" }]\n',
}
DAMAGED = (
    ("torn", "run.json", "{"),
    ("newer", "run.json", '{"format": 99}'),
    ("listed", "evaluation.json", "[]"),
    ("other", "recipe.toml", "a"),
)


def told(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what a command prints, and its exit code if that is not 0."""
    try:
        code: Any = main(shlex.split(command)[1:])
    except Exception as error:
        code = repr(error)
    out, err = capsys.readouterr()
    return out + err + (f"[{code}]\n" if code else "")


@pytest.mark.parametrize("name", sorted(p.stem for p in KEPT.glob("*.txt") if "page" not in p.stem))
def test_transcript(
    name: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("1+2\n"))
    # Tokens end a check, a proof ends by itself, and no line is due after some seconds: no clock.
    monkeypatch.setattr(display, "SILENT", math.inf)
    monkeypatch.setattr(check, "SECONDS", math.inf)
    monkeypatch.setattr(closing, "SECONDS", math.inf)
    if name == "errors":
        nothing_is_trained(monkeypatch)
        for symbol in {*OPERATIONS} - {*BUILT_IN}:  # what earlier tests of this process brought
            monkeypatch.delitem(OPERATIONS, symbol)
    kept = (KEPT / f"{name}.txt").read_text("utf-8")
    commands = re.findall(r"^\$ (.*)$", kept, re.MULTILINE)
    mask = without_numbers if name == "learnt" else masked
    said = (f"$ {command}\n{mask(told(command, capsys), place)}" for command in commands)
    same(name, "".join(said))


def without_numbers(text: str, folder: Path) -> str:
    """Return a text of what was learnt: as `masked`, with nothing that depends on numbers."""
    text = re.sub(r"[-+]?(#|\d)[\d,.#]*(e[-+]\d+)?", "#", masked(text, folder))
    text = re.sub(r"(?m)^invalid: .*", "#", text)  # a wrong answer may be no number
    # how many members are right
    text = re.sub(r"(Of the # windows (listed|that can occur), ).*", r"\1...", text)
    # which windows a wrong text meets
    text = re.sub(r" For # further windows? it is unknown whether they can occur\.", "", text)
    text = re.sub(r"(?m)^\+ is (learned|memorised|not learned).*", "+ is ...", text)
    return re.sub(r" *[─━┃│╇┡┩┏┓└┘┴┬┼═]+ *|  +", " ", text)


def nothing_is_trained(patch: pytest.MonkeyPatch) -> None:
    """What is not refused fails."""
    for work in ("runs.run.Run.train", "frontends.serve.server.serve"):
        patch.setattr(f"curta.{work}", None)


PAGES: dict[str, Callable[[Path], Path]] = {
    "report": lambda place: api.load("small").write_report(place / "report"),
    "page": lambda place: api.load("small").write_page(out=place / "page.html"),
    "whole page": lambda place: whole_page(place / "whole.html"),
}


def whole_page(path: Path) -> Path:
    """The page of a model over whole texts, with random weights."""
    of = design("llama")
    run = Carried("mine", of.recipe, of.layout, [of.weights])
    path.write_text(render_page(run, 0), "utf-8")
    return path


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, place: Path) -> None:
    """Each line once; rows of figures, and what a member does wrong, are left out."""
    lines = without_numbers(visible(PAGES[name](place)), place).splitlines()
    left_out = r"#|Member # writes|\W*\w{0,2}\W*$|[\w=+ ]{1,20}( #| yes| —)+$"
    told = dict.fromkeys(line for line in lines if not re.match(left_out, line))
    same(f"page of {name}", "\n".join(told) + "\n")


STRANGE = (
    "", " ", "a\0b", "n" * 300, "n" * 5_000, "7" * 5_000, "[" * 5_000 + "1" + "]" * 5_000, "a\ab",
    "a\nb", "\x1b[31mred", "a\u202eb", "a\udcffb", "-1", "nan", "1e3", "1.5", str(10**30),
    "\u0663x",
)  # fmt: skip
PLACES = """
train X|check X|train --resume X|ask X 1+2|ask small X|evaluate X|certify X|probe X
probe small X|report X|page X|export X --to onnx|export small --to X|show addition X+|compare X
compare X addition-plain|train positions.name=X|train task.operator=X|train layout=X
train training.steps=X|train model.X=3|train --track=X,|train evaluation.named=X
train positions.neighbours=X|train --seeds X|train X.width=3|compare addition=X
compare addition gcd model.X=3|data addition-plain --rows X --out x|ask small 1+2 --member X
ask small --file X|evaluate small digits=X|evaluate small count=X
probe small longer count=X|probe small top-k problem=X+|serve --port X|page small --member X
train strange.toml|compare strange.toml|ask small --file strange.txt
"""
"""Where a command may be given anything: in its words, and in files."""


def test_what_makes_no_sense_is_refused_in_one_line(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing_is_trained(monkeypatch)
    wrong = []
    for word in STRANGE:
        for name in ("strange.toml", "strange.txt"):
            Path(name).write_text(f"{word}\n1+", "utf-8", "surrogatepass")
        for words in re.split(r"[|\n]", PLACES.strip()):
            given = [part.replace("X", word) for part in words.split()]
            try:
                code: Any = main(given)
            except Exception as error:
                code = repr(error)
            out, err = capsys.readouterr()
            line = err.removesuffix("\n")
            if (code, out) != (2, "") or not line.isprintable() or len(line) > 300:
                wrong.append((words, word[:20], code, err[:80]))
    assert not wrong, "\n".join(map(str, wrong))


def visible(page: Path) -> str:
    """Return the text of a page that a reader sees, a line for each block."""
    text = page.read_text("utf-8")
    text = re.sub(r"(?s)<(script|style|svg|head)\b.*?</\1>", "", text)
    blocks = "p|h[1-6]|li|tr|div|section|figure|table|option|button|summary|details|pre"
    text = re.sub(rf"</?({blocks})\b[^>]*>", "\n", text)
    lines = (html.unescape(re.sub(r"<[^>]+>", " ", line)) for line in text.split("\n"))
    return "\n".join(filter(None, (" ".join(line.split()) for line in lines))) + "\n"
