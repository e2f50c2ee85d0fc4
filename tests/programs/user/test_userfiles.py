"""Programs, encodings and probes from a user's files: the whole story, and what must not happen."""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import curta
from curta.config.errors import UserError
from curta.config.recipe import as_table
from curta.export import import_run
from curta.frontends.cli import main
from curta.frontends.serve.server import APP
from curta.model import recipes
from curta.problems.operations import OPERATIONS
from curta.problems.problem import parse
from curta.programs import BUILT_IN
from curta.programs.declared import Declared
from curta.programs.machine import Answer, Given, Sign, check, survey, written
from curta.programs.user import registry, userfiles
from curta.runs import folders

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
SHORT = {
    "training.steps": 300, "training.batch": 128, "training.problems": 200, "model.width": 16,
    "evaluation.count": 5, "evaluation.generated": 2, "evaluation.digits": [4, 8],
    "evaluation.certificate": 3000,
}  # fmt: skip
OPTIONS = [f"{name}={json.dumps(value)}" for name, value in SHORT.items()]

MARKED = """
from pathlib import Path
marker = Path({marker!r})
marker.write_text((marker.read_text() if marker.exists() else "") + "executed ")
"""


@pytest.fixture(autouse=True)
def _nothing_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test begins as a new process on a new machine does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(userfiles, "_marker", lambda digest: tmp_path / "executed" / digest)
    monkeypatch.setattr(survey, "TOKENS", 12_000)
    monkeypatch.setattr(check, "TOKENS", 2_000)
    forget()
    yield
    forget()


def test_a_first_program_is_written_that_passes_its_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "--new", "double"]) == 0
    assert "check double.py" in capsys.readouterr().out
    lines = (tmp_path / "double.py").read_text().splitlines()
    assert len(lines) < 30
    assert main(["check", "double.py"]) == 0
    assert "It can be learned" in capsys.readouterr().out
    assert parse("double 57").truth == 114
    assert main(["check", "--new", "double.py"]) == 2
    assert "exists already" in capsys.readouterr().err
    for words in (["--new", "gcd"], ["--new", "A"], ["--new", "class"], ["--new", "x", "gcd"], []):
        assert main(["check", *words]) == 2
    assert [path.name for path in tmp_path.glob("*.py")] == ["double.py"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("2 * digit", "digit", "double 1: wrote 1, should be 2"),
        ('"sum"', '"total"', "the answer is read from role 'sum', which the program never writes"),
    ],
)
def test_a_wrong_program_is_told_with_what_it_wrote(
    old: str, new: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["check", "--new", "double"])
    head, body = (tmp_path / "double.py").read_text().split("def double")
    (tmp_path / "double.py").write_text(f"{head}def double{body.replace(old, new)}")
    assert main(["check", "double.py"]) == 1
    assert says in capsys.readouterr().out


def test_the_example_of_a_program_is_one_that_it_accepts() -> None:
    less = written(
        "less", axes=("place",), prompt=(Given("a", "place"), Given("b", "place"), Sign("=")),
        answer=Answer("out"), truth=lambda a, b: a - b,
        refuse=lambda a, b: "a must be at least b" if a < b else None,
    )  # fmt: skip
    assert Declared.of(less).example == "less 34,12"


def forget() -> None:
    """As a new process: no file was executed, no operator is known that is not built in."""
    userfiles.EXECUTED.clear()
    registry.installed.cache_clear()
    registry.REGISTERED.clear()
    for symbol in set(OPERATIONS) - set(BUILT_IN):
        del OPERATIONS[symbol]


def written_file(folder: Path, text: str, name: str = "digit_sum.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture
def marked(tmp_path: Path) -> tuple[Path, Path]:
    """A program's file that leaves a mark wherever it is executed, and that mark."""
    marker = tmp_path / "marker"
    text = (EXAMPLES / "digit_sum.py").read_text() + MARKED.format(marker=str(marker))
    return written_file(tmp_path, text), marker


@pytest.mark.slow
def test_the_whole_story(
    marked: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, marker = marked
    assert main(["check", str(path)]) == 0
    assert "at most 1 neighbour" in capsys.readouterr().out
    assert main(["train", str(path), "--run", "mine", *OPTIONS]) == 0
    capsys.readouterr()
    folder = tmp_path / "runs" / "mine"
    assert json.loads((folder / "certificate.json").read_text())["members"][0]["wrong"] == 0
    assert (folder / "program.py").read_bytes() == path.read_bytes()
    info = json.loads((folder / "run.json").read_text())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert info["files"] == [{"file": "program.py", "name": "digit_sum.py", "sha256": digest}]
    assert str(tmp_path) not in (folder / "recipe.toml").read_text()
    assert marker.read_text() == "executed "

    forget()  # another process of the same user: the file was executed here before
    assert main(["ask", "mine", "digitsum(12345)"]) == 0
    assert capsys.readouterr().out == "5\n"
    assert main(["evaluate", "mine", "digits=6", "count=4"]) == 0
    assert marker.read_text() == "executed executed "

    shutil.rmtree(tmp_path / "executed")  # a machine on which it never was
    foreign(folder, marker, capsys)


def foreign(folder: Path, marker: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of somebody else's run nothing is executed until that is asked for."""
    forget()
    marker.unlink()
    capsys.readouterr()
    assert main(["ask", "mine", "digitsum(12345)"]) == 0
    assert capsys.readouterr().out == "5\n"
    assert main(["evaluate", "mine", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert [(row["size"], row["count"]) for row in table["lengths"]] == [("4", 5), ("8", 5)]
    assert all(row["generated"]["agrees"] for row in table["lengths"])
    for command in (["runs"], ["report", "mine"]):
        assert main(command) == 0
    assert main(["page", "mine"]) == 0
    assert main(["export", "mine", "--to", "huggingface"]) == 0
    assert import_run("huggingface", folder / "huggingface-0", "again").name == "again"
    assert main(["probe", "mine"]) == 0
    served(folder)
    assert main(["show", "mine", "digitsum 12"]) == 2
    capsys.readouterr()
    wanted = "the code of digit_sum.py was not run: add --trust to run program.py of this run"
    for command in (["evaluate", "mine", "digits=50"], ["certify", "mine"]):
        forget()
        assert main(command) == 2
        assert wanted in capsys.readouterr().err
    assert not marker.exists()
    assert main(["evaluate", "mine", "digits=12", "count=4", "--trust"]) == 0
    assert marker.exists()
    forget()
    shutil.rmtree(marker.parent / "executed")
    (folder / "program.py").write_text("print('changed')")
    assert main(["ask", "mine", "digitsum 1", "--trust"]) == 2
    assert "is not the file it was made with" in capsys.readouterr().err


def served(folder: Path) -> None:
    """Every page of the server that is made of the run."""
    client = TestClient(APP, "http://localhost")
    for name in ("report.html", "page-0.html"):
        (folder / name).unlink()
    for leaf in ("live.html", "report.html", "page-0.html", "metrics.json"):
        assert client.get(f"/runs/{folder.name}/{leaf}").status_code == 200, leaf
    assert client.get("/").status_code == 200


BEGIN = (
    "from curta import Answer, Given, Paper, Sign, program\n\n"
    '@program("spin", axes=("place",), prompt=(Given("n", "place"), Sign("=")),\n'
    '         answer=Answer("out"), truth=lambda n: n)\n'
    "def spin(paper, n):\n"
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\ny = z\n", "mistaken.py line 2: NameError: name 'z' is not defined"),
        (BEGIN + "    paper.move(plaec=1)\n", "mistaken.py line 6: unknown axis 'plaec'"),
        (BEGIN + "    n[99]\n", "mistaken.py line 6: IndexError: list index out of range"),
        (BEGIN + "    while True:\n        n.append(0) if not n else n\n",
         "mistaken.py line [67]: stopped after 0.5 seconds of one call \\(does it ever end"),
        (BEGIN + "    pass\n", "mistaken.py line 3: program 'spin' wrote nothing"),
        (BEGIN + "    paper.write('out', 1)\n",
         "mistaken.py line 3: program 'spin' never ends a text: call paper.end"),
        (BEGIN.replace("lambda n: n", "lambda n: str(n)") + "    paper.write('out', 1).end()\n",
         "mistaken.py line 3: program 'spin': the truth of spin . is '.': it must return an int"),
        (BEGIN.replace("truth=", "refuse=lambda n: 'no', truth=") + "    pass\n",
         "mistaken.py line 3: program 'spin' refused all of 1,000 random problems"),
        (BEGIN + "    paper.write('out', 1).write('out', 2).end()\n",
         "mistaken.py line 3: program 'spin': role 'out' is written twice on one square"),
        (BEGIN + "    paper.write('out', 1).move(place=10**9).write('out', 2).end()\n",
         "mistaken.py line 3: program 'spin': tokens of one text stand too far apart"),
        (BEGIN.replace('"spin"', '"spin2"') + "    pass\n",
         "mistaken.py line 3: operator 'spin2', the program's name, must be letters only"),
        (BEGIN.replace("truth=lambda n: n", "sizes=(1, 2)") + "    pass\n",
         "mistaken.py line 3: program 'spin' needs truth="),
        (BEGIN + "    pass\n\n" + BEGIN.partition("\n\n")[2].replace("def spin", "def again")
         + "    pass\n", "mistaken.py line 8: a second program for operator 'spin'"),
    ],
)  # fmt: skip
def test_mistakes_are_told_with_their_line(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(userfiles, "SECONDS", 0.5)
    path = written_file(tmp_path, text, "mistaken.py")
    with pytest.raises(UserError, match=says):
        curta.check(path)


def test_a_recipe_names_a_file_beside_it(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "digit_sum.py", tmp_path / "mine.py")
    (tmp_path / "mine.toml").write_text(
        'program = "mine.py"\n[task]\noperator = "digitsum"\n[model]\nnum_attention_layers = 1\n'
    )
    read = recipes.load(str(tmp_path / "mine.toml"))
    assert read.programs == (userfiles.load(tmp_path / "mine.py").tag,)
    assert recipes.parse(as_table(read), "again") == read


@pytest.mark.parametrize(
    ("name", "operator", "says"),
    [
        ("addition", "+", "'addition' is Curta's own"),
        ("mine", "copy", "operator 'copy' is Curta's own"),
    ],
)
def test_what_is_curtas_own_is_never_replaced(name: str, operator: str, says: str) -> None:
    prompt = (Given("a", "place"), Sign("?"), Given("b", "place"), Sign("="))
    with pytest.raises(UserError, match=says):
        curta.register(
            written(name, operator, prompt=prompt, answer=Answer("out"), truth=lambda a, b: a)
        )


PACKAGE = """
from curta import Answer, Given, Sign, written
parts = dict(prompt=(Given("n", "place"), Sign("=")), answer=Answer("out"))
half = written("half", truth=lambda n: n // 2, **parts)
own = written("gcd", truth=lambda n: n, **parts)
both = [own, written("thrice", truth=lambda n: 3 * n, **parts)]
"""


def test_installed_packages_bring_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    about = tmp_path / "brought-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: brought\nVersion: 1.0\n")
    points = "half = brought_here:half\nboth = brought_here:both\nnone = brought_here:nothing\n"
    (about / "entry_points.txt").write_text(f"[curta.programs]\n{points}")
    (tmp_path / "brought_here.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert registry.programs_of("gcd")[0].truth is not None
    assert "brought_here" not in sys.modules
    assert registry.programs_of("thrice")[0].operator == "thrice"
    assert parse("half 9").truth == 4
    told = capsys.readouterr().err
    assert "curta: brought: program 'gcd' is Curta's own: left out" in told
    assert "curta: brought: cannot be read (AttributeError" in told
    assert parse("gcd 12,18").truth == 6


@pytest.mark.slow
def test_an_encoding_of_the_users_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(shutil.copy(EXAMPLES / "decay.py", tmp_path))
    options = [f"positions.name={path}", "positions.strength=0.25"]
    options += ["training.steps=4", "evaluation.digits=[2]", "evaluation.count=4"]
    assert main(["train", "addition-reversed", "--run", "own", "--no-evaluation", *options]) == 0
    run = curta.load("own")
    made: Any = run.recipe.positions
    assert made.settings == {"strength": 0.25}
    assert "Positions (decay): scores fall by strength" in run.folder.read_info().structure
    assert run.write(["12+34"])
    forget()
    shutil.rmtree(tmp_path / "executed")
    with pytest.raises(UserError, match=r"position encoding decay.py was not run: add --trust"):
        curta.load("own").write(["12+34"])
    assert curta.load("own", trust=True).write(["12+34"]) == run.write(["12+34"])
    capsys.readouterr()
    assert main(["train", "addition-reversed", options[0], "positions.strenght=1"]) == 2
    assert "did you mean 'positions.strength'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "truth=lambda n: sum(map(int, str(n))) % 10",
            "truth=lambda n: {n: sum(map(int, str(n))) % 10 for n in range(10_000)}[n]",
            r"digit_sum.py line 11: KeyError: \d+, in digitsum \d+",
        ),
        (
            'paper.move(place=+1).write("so far", total)',
            'paper.move(place=+1).write("so far", 0)',
            r"evaluation.digits: no digitsum of 4 digits: two tokens follow one window",
        ),
    ],
    ids=["truth that raises", "conflict"],
)
def test_what_cannot_be_evaluated_is_refused_before_it_is_trained(
    old: str, new: str, says: str, tmp_path: Path
) -> None:
    text = (EXAMPLES / "digit_sum.py").read_text()
    assert old in text
    path = written_file(tmp_path, text.replace(old, new))
    with pytest.raises(UserError, match=f"^{says}"):
        curta.train(str(path), run="mine", **(SHORT | {"evaluation.digits": [4, 8]}))
    assert "mine" not in [path.name for path in folders.root().glob("*")]


PROBE = """
from dataclasses import dataclass
from typing import ClassVar

from curta import Finding, Probe, option


@dataclass(frozen=True)
class Count(Probe):
    name: ClassVar[str] = "count-members"
    summary: ClassVar[str] = "How many members there are"
    times: int = option(1, "how often each is counted")

    def examine(self, subject):
        return Finding(("members",), [{"members": self.times * len(subject.members)}], None)
"""


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two steps, of Curta's own program."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("short"))
        patch.setenv("CURTA_RUNS", str(Path.cwd()))
        changes = SHORT | {"training.steps": 2}
        return curta.train("copying", 2, "short", **changes, evaluate=False).folder.path


@pytest.mark.slow
def test_a_users_probe_is_put_to_a_run(
    short: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written_file(tmp_path, PROBE, "count.py")
    assert main(["probe", str(short), str(path), "times=3", "--json"]) == 0
    table = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (table["probe"], table["rows"]) == ("count-members", [{"members": 6}])
    assert table == json.loads((short / "probes" / "count-members.json").read_text())
    assert "How many members there are" in (short / "report.html").read_text()
    assert main(["probe", str(short), str(path), "--member", "1"]) == 0
    assert "Member" in (short / "report.html").read_text()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("self.times *", "self.time *", "mistaken.py line 15: AttributeError: .*'time'"),
        ("len(subject.members)", "set()", "mistaken.py line 15: TypeError"),
        ("[{", "[b'', {", "mistaken.py: TypeError: Object of type bytes is not JSON"),
        ("        return", "        return 1 or", "mistaken.py: examine.subject. gives no Finding"),
        ('option(1, "how often each is counted")', "1", r"write times = option\(default,"),
        ("times", "member", "mistaken.py: every probe has an option member"),
    ],
)
def test_mistakes_in_a_probe_are_told_in_one_line(
    old: str, new: str, says: str, short: Path, tmp_path: Path
) -> None:
    path = written_file(tmp_path, PROBE.replace(old, new), "mistaken.py")
    with pytest.raises(UserError, match=says):
        curta.probe(curta.load(str(short)), str(path))


def test_whatever_uses_a_program_refuses_wrong_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = (EXAMPLES / "digit_sum.py").read_text().replace("(total + digit)", "digit")
    path = str(written_file(tmp_path, wrong))
    out = str(tmp_path / "set")
    lines = set()
    for command in (
        ["train", path],
        ["show", path, "digitsum 93"],
        ["data", path, "--rows", "9", "--out", out],
        ["compare", path, "addition"],
    ):
        assert main(command) == 2
        lines.add(capsys.readouterr().err.rpartition("program 'digitsum' of ")[2])
    (line,) = lines
    assert line.startswith("digit_sum.py is wrong: it writes ")
    assert not Path(out).exists()
