"""What no program should be given: one printable line and exit code 2, never a traceback."""

import io
import json
from pathlib import Path

import pytest

from curta.frontends import api
from curta.frontends.cli import main

LONG, HUGE = "n" * 300, "7" * 5_000
DEEP = "[" * 5_000 + "1" + "]" * 5_000
STRANGE = {
    "empty": "", "blank": " ", "zero": "a\0b", "long": LONG, "longer": "n" * 5_000, "huge": HUGE,
    "deep": DEEP, "bell": "a\ab", "lines": "a\nb", "colour": "\x1b[31mred", "turned": "a\u202eb",
    "bytes": "a\udcffb", "markup": "[bold]a[/red]",
}  # fmt: skip
"""Texts where a name, a value or a problem is expected."""


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line with which a command is refused."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("curta: ")
    assert err.endswith("\n")
    line = err[:-1]
    assert line.isprintable(), line
    assert len(line) <= 300, line
    return line


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run that is not trained."""
    root = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(root))
        api.begin("addition", 1, "mine", {})
    return str(root / "mine")


@pytest.fixture(autouse=True)
def _nothing_is_trained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not refused is made in an empty folder, and fails."""
    monkeypatch.chdir(tmp_path)
    for place in ("curta.runs.session.Session.train", "curta.frontends.serve.serve"):
        monkeypatch.setattr(place, None)


@pytest.fixture(params=STRANGE)
def strange(request: pytest.FixtureRequest) -> str:
    return STRANGE[request.param]


@pytest.mark.parametrize(
    "before",
    [
        ["train"], ["check"], ["resume"], ["ask"], ["evaluate"], ["certify"], ["probe"],
        ["report"], ["page"], ["sweep"], ["compare"], ["compare", "addition"],
        ["import", "huggingface"], ["import"], ["export", "--to"], ["show"],
        ["data", "--rows", "5", "--out", "x"], ["train", "--positions.name"],
        ["train", "--program"], ["train", "--task.operator"],
        ["train", "addition-plain", "--layout"],
        ["train", "--optimizer.name"], ["train", "--evaluation.named"], ["train", "--track"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_strange_name_is_one_line(
    capsys: pytest.CaptureFixture[str], before: list[str], strange: str
) -> None:
    """Where a command takes a second argument, it has one."""
    more = {"ask": ["1+2"], "import": ["x"], "export": ["mine"], "show": ["1+2"]}
    more["sweep"] = ["--model.width", "8,16"]
    rest = more.get(before[0], []) if len(before) == 1 or before[0] == "export" else []
    if before == ["train", "--track"] and not strange:
        pytest.skip("no tracker is one that there may be")
    if before == ["compare"] and not strange:
        pytest.skip("tested below")
    refused(capsys, *before, strange, *rest)


@pytest.mark.parametrize("name", sorted(STRANGE))
def test_a_strange_run_name_is_one_line(capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Blanks and brackets are letters as others are."""
    if name in ("blank", "markup", "empty"):
        pytest.skip("tested below")
    refused(capsys, "train", "addition", "--run", STRANGE[name])
    refused(capsys, "compare", "addition", "gcd", "--run", STRANGE[name])
    refused(capsys, "compare", f"{STRANGE[name]}: addition", "gcd")


@pytest.mark.parametrize("name", ["", " ", "[bold]a[/red]", ".hidden", "..", "a/b"])
def test_a_run_has_a_name_of_its_own(capsys: pytest.CaptureFixture[str], name: str) -> None:
    line = refused(capsys, "train", "addition", f"--run={name}")
    assert "no name for a run" in line


@pytest.mark.parametrize("name", ["zero", "long", "longer", "bell", "lines", "bytes", "empty"])
def test_a_strange_folder_is_one_line(
    capsys: pytest.CaptureFixture[str], begun: str, name: str
) -> None:
    given = STRANGE[name]
    refused(capsys, "data", "addition-plain", "--rows", "5", "--out", given)
    refused(capsys, "report", begun, "--out", given)
    refused(capsys, "page", begun, "--out", given)
    refused(capsys, "export", begun, "--to", "adderboard", "--out", given)


@pytest.mark.parametrize(
    "field",
    [
        "training.steps", "training.batch", "optimizer.learning_rate", "task.digits",
        "evaluation.seed", "evaluation.layouts", "summary", "task.weight", "model.norm",
        "evaluation.digits", "model.causal", "positions.neighbours", "positions.neighbours.sum",
    ],
)  # fmt: skip
def test_a_strange_value_is_one_line(
    capsys: pytest.CaptureFixture[str], field: str, strange: str
) -> None:
    if field == "summary" and strange in (
        STRANGE["empty"],
        STRANGE["blank"],
        LONG,
        STRANGE["markup"],
    ):
        pytest.skip("a summary may be so")
    refused(capsys, "train", f"--{field}={strange}")


@pytest.mark.parametrize("command", ["train", "sweep", "compare"])
def test_a_strange_field_is_one_line(
    capsys: pytest.CaptureFixture[str], command: str, strange: str
) -> None:
    refused(capsys, command, "addition", f"--model.{strange}=3")
    refused(capsys, command, "addition", f"--{strange}.width=3")


def test_a_value_with_many_tables_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    refused(capsys, "train", "--positions.neighbours=" + "{a=" * 3_000 + "1" + "}" * 3_000)
    refused(capsys, "train", "--positions.neighbours." + ".".join("a" * 5_000) + "=1")
    refused(capsys, "sweep", "addition", "--model.width", ",".join(["8"] * 20_000))
    refused(capsys, "sweep", "addition", *(f"--{field}=1,2,3" for field in SWEPT))


SWEPT = [
    "training.steps", "training.checkpoint_every", "training.checkpoints", "training.problems",
    "evaluation.count", "evaluation.generated", "evaluation.grid_count", "evaluation.seed",
    "evaluation.certificate", "optimizer.clip", "optimizer.learning_rate", "training.batch",
    "model.num_layers", "model.mlp_ratio",
]  # fmt: skip
"""Three values for each of these would be five million runs."""


RECIPES = {
    "no TOML": "a",
    "a zero": 'summary = "a\0b"',
    "a bell": 'summary = "a\\u0007b"',
    "deep": f"x = {DEEP}",
    "a deep name": f"[{'.'.join('a' * 5_000)}]",
    "a long name": f"{LONG} = 1",
    "a huge number": f'program = "addition"\n[training]\nsteps = {HUGE}',
    "a huge float": 'program = "addition"\n[optimizer]\nlearning_rate = 1e999',
    "no number": 'program = "addition"\n[optimizer]\nlearning_rate = nan',
    "a long text": f'program = "addition"\nsummary = "{"n" * 100_000}"',
    "a long list": f'program = "addition"\n[evaluation]\nnamed = {["1+2"] * 20_000}',
    "a huge problem": f'program = "addition"\n[evaluation]\nnamed = ["{HUGE * 30}+1"]',
    "empty": "",
}


@pytest.mark.parametrize("content", RECIPES.values(), ids=RECIPES)
def test_a_strange_recipe_is_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str
) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(content)
    refused(capsys, "train", str(file))
    file.write_text(f"title = '''{content}'''" if "'''" not in content else content)
    refused(capsys, "compare", str(file))


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\0\0", b""])
def test_bytes_that_are_no_text_are_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, begun: str, content: bytes
) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(content)
    refused(capsys, "train", str(file))
    refused(capsys, "compare", str(file))
    refused(capsys, "ask", begun, "--file", str(file))


def test_standard_input_that_is_no_text_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, begun: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"1+2\n\xff"), "utf-8"))
    said = refused(capsys, "ask", begun, "--file", "-")
    assert said == "curta: cannot read standard input: it is no UTF-8 text"


PROBLEMS = {
    "huge": f"{'7' * 200_000}+1",
    "many": "+".join(["1"] * 5_000),
    "deep": "(" * 5_000 + "1+2" + ")" * 5_000,
    "called": "gcd(" * 5_000 + "1,2" + ")" * 5_000,
    "zero": "1+\x002",
    "bell": "1+\a2",
    "turned": "1+\u202e2",
    "digits of others": "\u0661+\u0662",
    "base": f"{HUGE}#1+{HUGE}#1",
    "based": f"0x{'f' * 90_000}+0x1",
    "markup": "[bold]1[/red]",
    "half a pair": "1+\ud800",
    "power": "2**" + HUGE,
    "signs": "-" * 5_000,
    "blanks": " " * 200_000,
    "word": "n" * 5_000 + " 1,2",
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_a_strange_problem_is_one_line(
    capsys: pytest.CaptureFixture[str], begun: str, tmp_path: Path, problem: str
) -> None:
    refused(capsys, "ask", begun, problem)
    refused(capsys, "show", "addition", problem)
    refused(capsys, "probe", begun, "top-k", "--problem", problem)
    refused(capsys, "train", "--evaluation.named", json.dumps([problem]))
    if "\ud800" not in problem:
        file = tmp_path / "problems"
        file.write_text(f"1+2\n{problem}\n")
        refused(capsys, "ask", begun, "--file", str(file))


@pytest.mark.parametrize(
    "entry",
    [
        "", " ", ": ", "a: ", "=", "addition =", "addition a", "addition a=", "addition =1",
        f"addition training.steps={HUGE}", f"addition training.steps={DEEP}",
        f"addition {LONG}=1", "addition training.steps=\0", f"{'n' * 5_000}: addition",
        "addition evaluation.named=['\a']", "a\0: addition", "addition .=1", "addition model.=1",
    ],
    ids=range(18),
)  # fmt: skip
def test_a_strange_entry_is_one_line(capsys: pytest.CaptureFixture[str], entry: str) -> None:
    refused(capsys, "compare", "addition", entry)


NUMBERS = [
    ["train", "--seeds"], ["sweep", "addition", "--model.width=8,16", "--seeds"],
    ["compare", "addition", "gcd", "--seeds"], ["ask", "mine", "1+2", "--member"],
    ["ask", "mine", "1+2", "--recurrences"], ["evaluate", "mine", "--count"],
    ["evaluate", "mine", "--grid"], ["evaluate", "mine", "--table"],
    ["evaluate", "mine", "--seed"], ["evaluate", "mine", "--member"],
    ["evaluate", "mine", "--digits"], ["probe", "mine", "longer", "--count"],
    ["probe", "mine", "longer", "--seed"], ["probe", "mine", "operand-range", "--limit"],
    ["probe", "mine", "recurrences", "--most"], ["probe", "mine", "top-k", "--k"],
    ["probe", "mine", "top-k", "--member"], ["serve", "--port"], ["page", "mine", "--member"],
    ["data", "addition-plain", "--out", "x", "--rows"],
    ["data", "addition-plain", "--out", "x", "--rows=9", "--seed"],
]  # fmt: skip


@pytest.mark.parametrize("option", NUMBERS, ids=" ".join)
@pytest.mark.parametrize(
    "number", [str(10**30), HUGE, "-1", "nan", "1e3", "", "1.5", "\0", "\u0663x"]
)
def test_a_strange_number_is_one_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    begun: str,
    option: list[str],
    number: str,
) -> None:
    monkeypatch.setenv("CURTA_RUNS", str(Path(begun).parent))
    refused(capsys, *option[:-1], f"{option[-1]}={number}")
