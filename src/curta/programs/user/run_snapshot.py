"""What a run folder stores of user code: copies of files, and some problems.

    program.py, positions.py   the user's files at training; run.json has their SHA-256
    problems.jsonl             problems of the evaluation, each with its right text

With these, a run can be used, evaluated and shown without executing the code that came with it.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, NoReturn

from pydantic import Field

from curta.config import files, typed
from curta.config.errors import UserError
from curta.config.positions import UserEncoding
from curta.config.recipe import Recipe
from curta.problems.numerals import of_exact, plain_answer
from curta.problems.operations import OPERATIONS, Answer
from curta.problems.problem import Problem, widths
from curta.programs import BUILT_IN, PROGRAMS
from curta.programs.declared import Declared
from curta.programs.machine import Program, store
from curta.programs.machine.machine import Machine
from curta.programs.machine.program import RecordedText
from curta.programs.machine.survey import Recorder
from curta.programs.user import registry, userfiles
from curta.programs.user.userfiles import KeptFile

PROBLEMS = "problems.jsonl"

COUNT = 20
"""Most problems stored of each size and slice."""

DIGITS = 4_000
"""Most digits of a stored problem's operands: JSON readers refuse longer integers."""

TOKENS = 20_000
"""Most tokens stored of each size and slice, unless the first problem alone has more."""


@dataclass(frozen=True)
class RunCode:
    """A run's folder, operators, programs and stored code files."""

    path: Path
    operators: Sequence[str] = ()
    programs: Sequence[str] = ()
    files: Sequence[KeptFile] = ()


def tags(recipe: Recipe) -> dict[str, str]:
    """Return the file name in a run folder of each user file that a recipe names, by tag."""
    own_tags = filter(userfiles.is_tag, recipe.programs)
    names = {name: f"program{i or ''}.py" for i, name in enumerate(own_tags)}
    if isinstance(recipe.positions, UserEncoding):
        names[recipe.positions.file] = "positions.py"
    return names


def keep(path: Path, recipe: Recipe) -> tuple[KeptFile, ...]:
    """Copy the user's files into a run folder, and describe them for run.json."""
    copies = []
    for tag, name in tags(recipe).items():
        file = userfiles.executed(tag)
        if file is not None:
            files.write(path / name, file.content)
            copies.append(KeptFile(name, file.name, file.sha256))
    return tuple(copies)


def make_known(run: RunCode) -> None:
    """Register the operators of a run: by its program if known here, else by its format.

    Executes only files that were executed on this machine before.
    """
    userfiles.remembered(run.path, run.files)
    symbols = [symbol for symbol in run.operators if symbol not in BUILT_IN]
    if not symbols:
        return
    programs = {p.operator: p for name in run.programs for p in registry.find_programs(name)}
    machine, _ = store.read(run.path / "machine.json", run.path.name)
    for symbol in symbols:
        if symbol in programs:
            registry.adopt(programs[symbol])
        elif symbol in machine.formats:
            form = machine.formats[symbol]
            truth = lambda operands, symbol=symbol: _find(run, symbol, operands).truth
            OPERATIONS[symbol] = Declared(symbol, form, None, truth)


def formats_known(machine: Machine) -> None:
    """Register a machine's unknown operators, without a truth."""

    def refuse(operands: tuple[int, ...]) -> Answer:
        raise UserError("the program that this model was trained on is not known here")

    for symbol, form in machine.formats.items():
        if symbol not in OPERATIONS:
            OPERATIONS[symbol] = Declared(symbol, form, None, refuse)


def refusal(run: RunCode) -> UserError:
    """Return the error for a use that needs the code of a run's program."""
    program_files = [file for file in run.files if file.file != "positions.py"]
    names = ", ".join(map(userfiles.display_name, run.programs)) or "its program"
    if not program_files and {*run.programs} <= {*PROGRAMS}:
        return UserError(
            f"{names}: written in another way since this run was trained, so only what it wrote"
            " before can be read: train it again"
        )
    if not program_files:
        return UserError(f"the code of {names} is not known here: register the program first")
    copies = ", ".join(
        f"{file.file} of this run (sha256 {file.sha256[:12]})" for file in program_files
    )
    return UserError(f"the code of {names} was not run: add --trust to run {copies}")


@dataclass(frozen=True)
class Stored:
    """A problem of the evaluation and its right text: a line of `problems.jsonl`."""

    operator: str
    size: str
    slice_name: Annotated[str, Field(alias="slice")]
    operands: tuple[int, ...]
    answer: bool | int | str | tuple[int, ...]
    """As returned by `plain_answer`."""
    tokens: list[int]
    prompt: int

    @property
    def truth(self) -> Answer:
        return of_exact(self.answer) if isinstance(self.answer, str) else self.answer


def _find(run: RunCode, operator: str, operands: Sequence[int]) -> Stored:
    """Return a stored problem; raise UserError for any other."""
    for problem in stored(run.path):
        if (problem.operator, problem.operands) == (operator, tuple(operands)):
            return problem
    raise refusal(run)


@dataclass(frozen=True, eq=False)
class StoredTexts(Recorder):
    """A recorder without the program's code: it returns the texts stored with the run."""

    run: RunCode

    @classmethod
    def of(cls, run: RunCode) -> "StoredTexts":
        """Return a run's stored texts; looking up a program raises `refusal`."""

        class Refusing(dict[str, Program]):
            def __missing__(self, operator: str) -> NoReturn:
                raise refusal(run)

        return cls(Refusing(), {}, run)

    def record(self, operator: str, operands: Sequence[int]) -> RecordedText:
        """Return a stored text; raise UserError for any other."""
        problem = _find(self.run, operator, operands)
        return problem.tokens, problem.prompt

    def problems(
        self, operator: str, size: int | str, slice_name: str, count: int
    ) -> list[Problem]:
        """Return stored problems of a size and slice; raise UserError for a size without any."""
        of_operator = [row for row in stored(self.run.path) if row.operator == operator]
        of_size = [row for row in of_operator if row.size == str(size)]
        if not of_size:
            sizes = ", ".join(dict.fromkeys(r.size for r in of_operator if r.size)) or "no size"
            refused = refusal(self.run)
            raise UserError(f"problems of {sizes} digits are kept, not of {size}; {refused}")
        rows = [row for row in of_size if row.slice_name == slice_name]
        return [Problem(row.operator, row.operands) for row in rows[:count]]


def save(path: Path, problems: Sequence[tuple[str, str, Problem]], record: Recorder) -> None:
    """Store problems with their right texts, each with its size and slice."""
    rows = []
    for _, group in itertools.groupby(problems, lambda row: (row[2].operator, *row[:2])):
        spare = TOKENS
        for size, slice_name, problem in itertools.islice(group, COUNT):
            if sum(widths(problem)) > DIGITS:
                break
            tokens, prompt = record.record(problem.operator, problem.operands)
            if spare < TOKENS and len(tokens) > spare:
                break
            spare -= len(tokens)
            row = (problem.operator, size, slice_name, problem.operands)
            rows.append(Stored(*row, plain_answer(problem.truth), tokens, prompt))
    files.write(path / PROBLEMS, typed.lines(rows))


def stored(path: Path) -> tuple[Stored, ...]:
    """Return the problems stored with a run, if any."""
    file = path / PROBLEMS
    return _read(file, file.stat().st_mtime_ns) if file.exists() else ()


@lru_cache(maxsize=16)
def _read(file: Path, changed: int) -> tuple[Stored, ...]:
    where = f"run {file.parent.name!r}"
    rows = files.read_own(file, where).splitlines()
    return tuple(typed.parse(Stored, row, where, PROBLEMS) for row in rows)
