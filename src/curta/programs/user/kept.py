"""What a run folder keeps of code that is not Curta's own: copies of files, and some problems.

    program.py, positions.py   the user's files, as they were; run.json has their SHA-256
    problems.jsonl             problems of the evaluation, each with its right text

So a run is asked, evaluated and shown without executing what came with it.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

from pydantic import Field

from curta.config import files, typed
from curta.config.errors import UserError
from curta.config.positions import UserEncoding
from curta.config.recipe import Recipe
from curta.problems.numerals import of_exact, to_exact
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
    own = filter(userfiles.is_tag, recipe.programs)
    found = {name: f"program{i or ''}.py" for i, name in enumerate(own)}
    if isinstance(recipe.positions, UserEncoding):
        found[recipe.positions.file] = "positions.py"
    return found


def keep(path: Path, recipe: Recipe) -> tuple[KeptFile, ...]:
    """Copies the user's files into a run folder; what run.json says of them."""
    found = []
    for tag, name in tags(recipe).items():
        file = userfiles.known(tag)
        if file is not None:
            files.write(path / name, file.content)
            found.append(KeptFile(name, file.name, file.sha256))
    return tuple(found)


def make_known(run: RunCode) -> None:
    """Makes the operators of a run known: by its program where that is known, else by its format.

    Executes only files that were executed on this machine before.
    """
    userfiles.remembered(run.path, run.files)
    own = [symbol for symbol in run.operators if symbol not in BUILT_IN]
    if not own:
        return
    programs = {p.operator: p for name in run.programs for p in registry.known(name)}
    machine, _ = store.read(run.path / "machine.json", run.path.name)
    for symbol in own:
        if symbol in programs:
            registry.adopt(programs[symbol])
        elif symbol in machine.formats:
            form = machine.formats[symbol]
            OPERATIONS[symbol] = Declared(symbol, form, None, partial(_answer, run, symbol))


def formats_known(machine: Machine) -> None:
    """Makes operators of a machine known that nobody brought: without any truth."""

    def refuse(operands: tuple[int, ...]) -> Answer:
        raise UserError("the program that this model was trained on is not known here")

    for symbol, form in machine.formats.items():
        if symbol not in OPERATIONS:
            OPERATIONS[symbol] = Declared(symbol, form, None, refuse)


def refusal(run: RunCode) -> UserError:
    """What is said where the code of a run's program would be needed."""
    kept = [one for one in run.files if one.file != "positions.py"]
    names = ", ".join(map(userfiles.shown, run.programs)) or "its program"
    if not kept:
        return UserError(f"the code of {names} is not known here: register the program first")
    mine = ", ".join(f"{one.file} of this run (sha256 {one.sha256[:12]})" for one in kept)
    return UserError(f"the code of {names} was not run: add --trust to run {mine}")


@dataclass(frozen=True)
class Stored:
    """A problem of the evaluation, and its right text: a line of `problems.jsonl`."""

    operator: str
    size: str
    slice_name: Annotated[str, Field(alias="slice")]
    operands: tuple[int, ...]
    answer: bool | int | str | tuple[int, ...]
    """As `plain` makes it."""
    tokens: list[int]
    prompt: int

    @property
    def truth(self) -> Answer:
        return of_exact(self.answer) if isinstance(self.answer, str) else self.answer


def _find(run: RunCode, operator: str, operands: Sequence[int]) -> Stored:
    """A kept problem; UserError for any other."""
    for one in stored(run.path):
        if (one.operator, one.operands) == (operator, tuple(operands)):
            return one
    raise refusal(run)


def _answer(run: RunCode, operator: str, operands: tuple[int, ...]) -> Answer:
    """The truth of a problem that a run has kept."""
    return _find(run, operator, operands).truth


class StoredTexts(Recorder):
    """In place of a program's code: the texts that its run has kept."""

    def __init__(self, run: RunCode) -> None:
        super().__init__(_Absent(run), {})
        object.__setattr__(self, "run", run)

    run: RunCode

    def record(self, operator: str, operands: Sequence[int]) -> Text:
        """A kept text; UserError for any other."""
        found = _find(self.run, operator, operands)
        return found.tokens, found.prompt

    def problems(
        self, operator: str, size: int | str, slice_name: str, count: int
    ) -> list[Problem]:
        """Kept problems of one size and slice; UserError if there are none of the size."""
        mine = [one for one in stored(self.run.path) if one.operator == operator]
        sized = [one for one in mine if one.size == str(size)]
        if not sized:
            there = ", ".join(dict.fromkeys(one.size for one in mine if one.size)) or "no size"
            refused = refusal(self.run)
            raise UserError(f"problems of {there} digits are kept, not of {size}; {refused}")
        found = [one for one in sized if one.slice_name == slice_name]
        return [Problem(one.operator, one.operands) for one in found[:count]]


class _Absent(dict[str, Program]):
    """Programs that are not known: asking for one says so."""

    def __init__(self, run: RunCode) -> None:
        self.run = run

    def __missing__(self, operator: str) -> NoReturn:
        raise refusal(self.run)


def save(path: Path, problems: Sequence[tuple[str, str, Problem]], record: Recorder) -> None:
    """Keeps problems with their right texts, each with its size and slice."""
    rows = []
    for _, group in itertools.groupby(problems, lambda one: (one[2].operator, *one[:2])):
        spare = TOKENS
        for size, slice_name, problem in itertools.islice(group, COUNT):
            if sum(widths(problem)) > DIGITS:
                break
            tokens, prompt = record.record(problem.operator, problem.operands)
            if spare < TOKENS and len(tokens) > spare:
                break
            spare -= len(tokens)
            operator, operands, answer = problem.operator, problem.operands, plain(problem.truth)
            rows.append(Stored(operator, size, slice_name, operands, answer, tokens, prompt))
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


def plain(answer: Any) -> Any:
    """An answer as JSON has it: a fraction is text."""
    return to_exact(answer) if isinstance(answer, Fraction) else answer
