"""Every command on a page is one: its name, its options, its recipes and their fields exist."""

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import pytest

from curta.config import recipe
from curta.config.sections import EvaluationSettings
from curta.frontends.cli import arguments, cli
from curta.frontends.cli.commands import evaluation_changes
from curta.model import recipes
from curta.probes import options
from curta.probes.inside.interventions import HOWS
from curta.problems.operations import OPERATIONS
from curta.programs import PROGRAMS
from curta.programs.user import userfiles
from curta.runs import comparison_spec

ROOT = Path(__file__).parents[2]
NAMES = ("README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))
PAGES = [name for name in NAMES if name != "docs/log.md"]
"""The log has commands of its time."""

CALLED = re.compile(
    r"(?:\$ )?(?:\.venv[/\\](?:bin|Scripts)[/\\])?(?:python -m )?curta((?: .*)?)", re.DOTALL
)
GRANTED = "gcd.py"
"""A file that a page takes for granted; one of docs/examples stands for it."""


def commands(text: str) -> Iterator[list[str]]:
    """The words after `curta` of every command in the code blocks of a page."""
    for block in re.findall(r"```\w*\n(.*?)```", text, re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r" && | \| |; ", line.strip()):
                if called := CALLED.fullmatch(part.strip()):
                    yield shlex.split(called[1], comments=True)


@pytest.fixture
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The current folder has what the pages take for granted; files of it are forgotten again."""
    examples = ROOT / "docs" / "examples"
    shutil.copytree(examples, tmp_path, dirs_exist_ok=True)
    shutil.copytree(examples, tmp_path / "docs" / "examples")
    shutil.copy(examples / "digit_sum.py", tmp_path / GRANTED)
    shipped = Path(recipe.__file__).parent
    shutil.copy(shipped / "recipes" / "addition.toml", tmp_path / "my-recipe.toml")
    shutil.copy(shipped / "comparisons" / "encodings.toml", tmp_path / "mine.toml")
    monkeypatch.chdir(tmp_path)
    known = dict(OPERATIONS)
    yield
    userfiles.EXECUTED.clear()
    for symbol in set(OPERATIONS) - set(known):
        del OPERATIONS[symbol]


def look_up(command: str, params: dict[str, Any]) -> None:
    """Look up what else a command's arguments name, once they are read."""
    names, settings = arguments.split(params.get("words", ()))
    fields = {name: text for name, text in settings.items() if not name.startswith("cluster.")}
    match command:
        case "train" | "data" if names or fields:
            name = arguments.at_most_one(names, "recipe") or "addition"
            recipes.resolve(name, arguments.values(fields), "a page")
        case "show" if names and names[0] in (*recipe.shipped_names(), GRANTED):
            recipes.resolve(names[0], arguments.values(fields), "a page")
        case "compare" if names:
            comparison_spec.plan(names, arguments.values(fields), params["seeds"])
        case "evaluate":
            assert arguments.at_most_one(names, "run")
            recipe.changed_evaluation(EvaluationSettings(), evaluation_changes(settings))
        case "probe":
            _, probe, *_ = *names, ""
            if probe == arguments.ACTIVATIONS:
                assert set(settings) <= {"sites", "seed", *HOWS}
            elif probe and not probe.endswith(".py"):
                assert set(settings) <= {option for option, *_ in options(probe)}
        case "check":
            program = params["program"]
            assert params["new"] or program in PROGRAMS or Path(program).exists()


def read(words: list[str]) -> None:
    """Read a command as the command line does, and execute nothing; raise as it does."""
    with click.Context(cli, info_name="curta", **cli.context_settings) as top:
        name, command, others = cli.resolve_command(top, words)
        assert name is not None
        assert command is not None
        with (
            suppress(click.exceptions.Exit),  # --help
            command.make_context(name, list(others), parent=top) as context,
        ):
            look_up(name, context.params)


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("page", PAGES)
def test_every_command_can_be_typed(page: str) -> None:
    typed = list(filter(None, commands((ROOT / page).read_text("utf-8"))))
    assert len(typed) >= {"docs/first-steps.md": 8, "docs/cookbook.md": 30}.get(page, 0)
    for words in typed:
        try:
            read(words)
        except Exception as error:
            raise AssertionError(f"curta {shlex.join(words)}: {error}") from error


@pytest.mark.usefixtures("_files")
def test_commands_within_the_sentences_of_the_readme_can_be_typed() -> None:
    typed = re.findall(r"`curta ([^`]+)`", (ROOT / "README.md").read_text("utf-8"))
    assert len(typed) >= 6
    for command in typed:
        read(shlex.split(command))


def test_the_program_on_the_readme_is_the_example_of_the_tutorial() -> None:
    """They differ in layout and docstrings alone."""
    example = ast.parse((ROOT / "docs" / "examples" / "digit_sum.py").read_text("utf-8"))
    function = example.body[-1]
    assert isinstance(function, ast.FunctionDef)
    del example.body[0], function.body[0]
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    (program,) = [ast.parse(block) for block in blocks if "@program" in block]
    assert ast.dump(program) == ast.dump(example)


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize(
    "typed",
    [
        "tran addition",
        "train addition model.widht=3",
        "evaluate addition digts=20",
        "compare addition RoPE:adition",
        "probe addition carrots",
    ],
)
def test_what_is_none_is_noticed(typed: str) -> None:
    with pytest.raises((click.ClickException, ValueError, AssertionError)):
        read(shlex.split(typed))
