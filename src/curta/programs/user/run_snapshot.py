"""What a run folder keeps of code that is not Curta's own: copies of files, and some problems.

    program.py, positions.py   the user's files, as they were; run.json has their SHA-256
    problems.jsonl             problems of the evaluation, each with its right text

So a run is asked, evaluated and shown without executing what came with it.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
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
from curta.programs import BUILT_IN
from curta.programs.declared import Declared
from curta.programs.machine import Program, store
from curta.programs.machine.machine import Machine
from curta.programs.machine.program import Text
from curta.programs.machine.survey import Recorder
from curta.programs.user import registry, userfiles
from curta.programs.user.userfiles import KeptFile

PROBLEMS = "problems.jsonl"

COUNT = 20
"""Problems of each size and slice that are kept, at most."""

DIGITS = 4_000
"""Digits of a problem's operands at most: JSON is not read with longer whole numbers."""

TOKENS = 20_000
"""Tokens of these, at most, but for one problem."""


@dataclass(frozen=True)
class RunCode:
    """Where a run lies, its operators and programs, and what files of code it has kept."""

    path: Path
    operators: Sequence[str] = ()
    programs: Sequence[str] = ()
    files: Sequence[KeptFile] = ()


def tags(recipe: Recipe) -> dict[str, str]:
    """The user's files that a recipe names, and what each is called in a run folder."""
    own_tags = filter(userfiles.is_tag, recipe.programs)
    names = {name: f"program{i or ''}.py" for i, name in enumerate(own_tags)}
    if isinstance(recipe.positions, UserEncoding):
        names[recipe.positions.file] = "positions.py"
    return names


def keep(path: Path, recipe: Recipe) -> tuple[KeptFile, ...]:
    """Copies the user's files into a run folder; what run.json says of them."""
    copies = []
    for tag, name in tags(recipe).items():
        file = userfiles.known(tag)
        if file is not None:
            files.write(path / name, file.content)
            copies.append(KeptFile(name, file.name, file.sha256))
    return tuple(copies)


def make_known(run: RunCode) -> None:
    """Makes the operators of a run known: by its program where that is known, else by its format.

    Executes only files that were executed on this machine before.
    """
    userfiles.remembered(run.path, run.files)
    symbols = [symbol for symbol in run.operators if symbol not in BUILT_IN]
    if not symbols:
        return
    programs = {p.operator: p for name in run.programs for p in registry.known(name)}
    machine, _ = store.read(run.path / "machine.json", run.path.name)
    for symbol in symbols:
        if symbol in programs:
            registry.adopt(programs[symbol])
        elif symbol in machine.formats:
            form = machine.formats[symbol]
            OPERATIONS[symbol] = Declared(symbol, form, None, partial(_truth, run, symbol))


def formats_known(machine: Machine) -> None:
    """Makes operators of a machine known that nobody brought: without any truth."""

    def refuse(operands: tuple[int, ...]) -> Answer:
        raise UserError("the program that this model was trained on is not known here")

    for symbol, form in machine.formats.items():
        if symbol not in OPERATIONS:
            OPERATIONS[symbol] = Declared(symbol, form, None, refuse)


def refusal(run: RunCode) -> UserError:
    """What is said where the code of a run's program would be needed."""
    program_files = [file for file in run.files if file.file != "positions.py"]
    names = ", ".join(map(userfiles.shown, run.programs)) or "its program"
    if not program_files:
        return UserError(f"the code of {names} is not known here: register the program first")
    copies = ", ".join(
        f"{file.file} of this run (sha256 {file.sha256[:12]})" for file in program_files
    )
    return UserError(f"the code of {names} was not run: add --trust to run {copies}")


@dataclass(frozen=True)
class Stored:
    """A problem of the evaluation, and its right text: a line of `problems.jsonl`."""

    operator: str
    size: str
    slice_name: Annotated[str, Field(alias="slice")]
    operands: tuple[int, ...]
    answer: bool | int | str | tuple[int, ...]
    """As `plain_answer` makes it."""
    tokens: list[int]
    prompt: int

    @property
    def truth(self) -> Answer:
        return of_exact(self.answer) if isinstance(self.answer, str) else self.answer


def _find(run: RunCode, operator: str, operands: Sequence[int]) -> Stored:
    """Return a kept problem; UserError for any other."""
    for problem in stored(run.path):
        if (problem.operator, problem.operands) == (operator, tuple(operands)):
            return problem
    raise refusal(run)


def _truth(run: RunCode, operator: str, operands: tuple[int, ...]) -> Answer:
    """Return the truth of a problem that a run has kept."""
    return _find(run, operator, operands).truth


@dataclass(frozen=True, eq=False)
class StoredTexts(Recorder):
    """In place of a program's code: the texts that its run has kept."""

    run: RunCode

    @classmethod
    def of(cls, run: RunCode) -> "StoredTexts":
        """Return the texts of a run; looking a program of it up says that its code is missing."""

        class Refusing(dict[str, Program]):
            def __missing__(self, operator: str) -> NoReturn:
                raise refusal(run)

        return cls(Refusing(), {}, run)

    def record(self, operator: str, operands: Sequence[int]) -> Text:
        """Return a kept text; UserError for any other."""
        problem = _find(self.run, operator, operands)
        return problem.tokens, problem.prompt

    def problems(
        self, operator: str, size: int | str, slice_name: str, count: int
    ) -> list[Problem]:
        """Kept problems of one size and slice; UserError if there are none of the size."""
        of_operator = [row for row in stored(self.run.path) if row.operator == operator]
        of_size = [row for row in of_operator if row.size == str(size)]
        if not of_size:
            sizes = ", ".join(dict.fromkeys(r.size for r in of_operator if r.size)) or "no size"
            refused = refusal(self.run)
            raise UserError(f"problems of {sizes} digits are kept, not of {size}; {refused}")
        rows = [row for row in of_size if row.slice_name == slice_name]
        return [Problem(row.operator, row.operands) for row in rows[:count]]


def save(path: Path, problems: Sequence[tuple[str, str, Problem]], record: Recorder) -> None:
    """Keeps problems with their right texts, each with its size and slice."""
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
    """The problems that a run has kept; none if it has kept none."""
    file = path / PROBLEMS
    return _read(file, file.stat().st_mtime_ns) if file.exists() else ()


@lru_cache(maxsize=16)
def _read(file: Path, changed: int) -> tuple[Stored, ...]:
    where = f"run {file.parent.name!r}"
    rows = files.read_own(file, where).splitlines()
    return tuple(typed.parse(Stored, row, where, PROBLEMS) for row in rows)
