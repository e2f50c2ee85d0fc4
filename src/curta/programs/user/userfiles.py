"""Files of a user's: programs, position encodings and probes that are no part of Curta.

A file is known by its name and the SHA-256 of its content: `gcd.py@0f3a9c7d21b4`. Its code is
executed when its user names it on the command line or in a recipe, and never because it came
with a run: see `trust`. What was executed once on this machine is remembered by its SHA-256, so
that runs of one's own need no `--trust`.
"""

import ast
import hashlib
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from curta.config import cache, files
from curta.config.errors import UserError
from curta.programs.machine import Program
from curta.programs.user.guarding import guarded, watched

LOADING = 60.0
"""Seconds that executing a file may take, what it imports included."""

TAG = 12
"""Hexadecimal digits of a tag."""


@dataclass(frozen=True, eq=False)
class UserFile:
    """A file that was executed in this process: its content, and what it defines."""

    name: str
    content: bytes
    module: ModuleType

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def tag(self) -> str:
        return f"{self.name}@{self.sha256[:TAG]}"

    @property
    def programs(self) -> tuple[Program, ...]:
        """Its programs, each for an operator of its own; UserError if there is none."""
        found = [value for value in _values(self.module) if isinstance(value, Program)]
        mine = [program for program in found if program.file == self.tag]
        if not mine:
            raise UserError(f"{self.name} has no program: put @program(...) before a function")
        return tuple(mine)

    def classes(self) -> list[type[Any]]:
        """The classes that are defined in it."""
        own = self.module.__name__
        return [v for v in _values(self.module) if isinstance(v, type) and v.__module__ == own]


KNOWN: dict[str, UserFile] = {}
"""Every file that was executed in this process, by its tag."""


def is_file(name: str) -> bool:
    """Whether a name is that of a user's file, by path or by tag."""
    return name.endswith(".py") or is_tag(name)


def is_tag(name: str) -> bool:
    file, at, digits = name.rpartition("@")
    return bool(at) and file.endswith(".py") and len(digits) == TAG


def load(path: str | Path) -> UserFile:
    """Executes a file, once for each content; UserError with its own line for a mistake in it."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    return _known(path, path.name, content)


@dataclass(frozen=True)
class KeptFile:
    """A user's file that a run has kept: its name in the folder, its own name, its hash."""

    file: str
    name: str
    sha256: str


def trust(folder: Path, kept: Sequence[KeptFile]) -> None:
    """Executes the files that a run keeps; UserError if they are not those it was trained with."""
    for one in kept:
        path = folder / Path(one.file).name
        content = files.read_own(path, f"run {folder.name!r}").encode()
        if hashlib.sha256(content).hexdigest() != one.sha256:
            where = f"{one.file} of run {folder.name!r}"
            raise UserError(f"{where} is not the file it was made with")
        _known(path, one.name, content)


def remembered(folder: Path, kept: Sequence[KeptFile]) -> None:
    """Executes those of a run's files that were executed on this machine before."""
    for one in kept:
        tag, path = f"{one.name}@{one.sha256[:TAG]}", folder / one.file
        if tag not in KNOWN and _is_marked(one.sha256) and path.exists():
            trust(folder, [one])


def known(tag: str) -> UserFile | None:
    """The file of that tag, if it was executed in this process."""
    return KNOWN.get(tag)


def shown(name: str) -> str:
    """A file's name without its SHA-256; any other name as it is."""
    return name.rpartition("@")[0] if is_tag(name) else name


def _known(path: Path, name: str, content: bytes) -> UserFile:
    tag = f"{name}@{hashlib.sha256(content).hexdigest()[:TAG]}"
    if tag not in KNOWN:
        KNOWN[tag] = _executed(path, name, content)
    return KNOWN[tag]


def _executed(path: Path, name: str, content: bytes) -> UserFile:
    """Runs the file as a module of its own; its programs are guarded and made known."""
    digest = hashlib.sha256(content).hexdigest()
    module = ModuleType(f"_{path.stem}_{digest[:TAG]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    try:
        with watched(path, LOADING):
            exec(compile(content, str(path), "exec"), module.__dict__)
        file = UserFile(name, content, module)
        _mark(file, path)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    cache.keep(_marker(digest), f"{name}\n".encode())
    return file


def _mark(file: UserFile, path: Path) -> None:
    """Puts the file's tag on its programs, guards their code, and makes their operators known."""
    from curta.programs import PROGRAMS
    from curta.programs.user.registry import adopt

    built_in, operators = {id(program) for program in PROGRAMS.values()}, dict[str, str]()
    for name, value in list(vars(file.module).items()):
        if isinstance(value, Program) and id(value) not in built_in and not value.file:
            where = f"{file.name} line {_declared_at(file, name)}"
            if value.operator in operators:
                raise UserError(
                    f"{where}: a second program for operator {value.operator!r}: rename it"
                )
            operators[value.operator] = name
            mine = replace(_guarded(value, path), file=file.tag)
            setattr(file.module, name, mine)
            try:
                adopt(mine)
            except UserError as error:
                raise UserError(f"{where}: {error}") from None


def _declared_at(file: UserFile, name: str) -> int:
    """Return the line on which a name of the file gets its value, or its first decorator."""
    for statement in reversed(ast.parse(file.content).body):
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            return min([statement.lineno, *(one.lineno for one in statement.decorator_list)])
        if isinstance(statement, ast.Assign) and name in map(ast.unparse, statement.targets):
            return statement.lineno
    return 1


def _guarded(program: Program, path: Path) -> Program:
    """The program with all its functions guarded."""
    functions: dict[str, Any] = {
        field.name: guarded(value, path)
        for field in fields(program)
        if callable(value := getattr(program, field.name))
    }
    cases = {name: guarded(case, path) for name, case in program.cases.items()}
    return replace(program, **functions, cases=cases)


def _values(module: ModuleType) -> list[Any]:
    """What stands in a module, each thing once."""
    return list({id(value): value for value in vars(module).values()}.values())


def _marker(digest: str) -> Path:
    """Where it is remembered that a file was executed here."""
    return files.cache_folder() / "executed" / digest


def _is_marked(digest: str) -> bool:
    """Whether a file of that hash was executed here; the hash may be any text, from a run.json."""
    try:
        return bool(re.fullmatch("[0-9a-f]{64}", digest)) and _marker(digest).exists()
    except OSError:
        return False
