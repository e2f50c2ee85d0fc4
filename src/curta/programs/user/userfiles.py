"""User files: programs, position encodings and probes that are not part of Curta.

A file's tag is its name and the SHA-256 of its content: `gcd.py@0f3a9c7d21b4`. Its code is executed
when the user names it on the command line or in a recipe, and never because it came with a run; see
`trust`. The SHA-256 of every executed file is remembered on the machine, so a user's own runs need
no `--trust`.

An error in such a file is reported in one line with its line number. A call that takes longer than
`SECONDS` is stopped by a timer, which only the main thread has; on other threads, only the length
of the text is limited.
"""

import functools
import hashlib
import inspect
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from curta.config import files
from curta.config.errors import UserError
from curta.programs.machine import Program

SECONDS = 10.0
"""Most seconds for one call of user code."""

LOADING = 60.0
"""Most seconds for executing a file, its imports included."""

TAG = 12
"""Hexadecimal digits of a tag."""


@dataclass(frozen=True, eq=False)
class UserFile:
    """A file that was executed in this process."""

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
    def values(self) -> list[Any]:
        """The values in its module, each once."""
        return list({id(value): value for value in vars(self.module).values()}.values())

    @property
    def programs(self) -> tuple[Program, ...]:
        """Its programs; UserError if there are none."""
        programs = [v for v in self.values if isinstance(v, Program) and v.file == self.tag]
        if not programs:
            raise UserError(f"{self.name} has no program: put @program(...) before a function")
        return tuple(programs)

    def classes(self) -> list[type[Any]]:
        """Return the classes it defines."""
        name = self.module.__name__
        return [v for v in self.values if isinstance(v, type) and v.__module__ == name]


@dataclass(frozen=True)
class KeptFile:
    """A user file stored with a run: its name in the folder, its original name, its hash."""

    file: str
    name: str
    sha256: str


EXECUTED: dict[str, UserFile] = {}
"""Files executed in this process, by tag."""


def is_file(name: str) -> bool:
    """Return whether a name is a path or tag of a user file."""
    return name.endswith(".py") or is_tag(name)


def is_tag(name: str) -> bool:
    file, at, digits = name.rpartition("@")
    return bool(at) and file.endswith(".py") and len(digits) == TAG


def display_name(name: str) -> str:
    """Return a tag's file name, or any other name unchanged."""
    return name.rpartition("@")[0] if is_tag(name) else name


def executed(tag: str) -> UserFile | None:
    """Return the file with a tag if it was executed in this process."""
    return EXECUTED.get(tag)


def load(path: str | Path) -> UserFile:
    """Execute a file once for each content; raise UserError with the line of a mistake."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        place = "" if path.is_absolute() else f" in {str(Path.cwd())!r}"
        raise UserError(f"there is no file {str(path)!r}{place}: check its path") from None
    except OSError as error:
        raise UserError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
    return _execute(path, path.name, content)


def trust(folder: Path, copies: Sequence[KeptFile]) -> None:
    """Execute the files of a run; raise UserError if they changed since its training."""
    for file in copies:
        path = folder / Path(file.file).name
        content = files.read_own(path, f"run {folder.name!r}").encode()
        if hashlib.sha256(content).hexdigest() != file.sha256:
            raise UserError(f"{file.file} of run {folder.name!r} is not the file it was made with")
        _execute(path, file.name, content)


def remembered(folder: Path, copies: Sequence[KeptFile]) -> None:
    """Execute a run's files that were executed on this machine before."""
    for file in copies:
        tag, path = f"{file.name}@{file.sha256[:TAG]}", folder / file.file
        is_hash = re.fullmatch("[0-9a-f]{64}", file.sha256)  # in a run.json it may be any text
        if tag not in EXECUTED and is_hash and _marker(file.sha256).exists() and path.exists():
            trust(folder, [file])


def _marker(digest: str) -> Path:
    """Return the path that marks a file as executed on this machine."""
    return files.cache_folder() / "executed" / digest


def _execute(path: Path, name: str, content: bytes) -> UserFile:
    """Execute a file as a module, guard its programs and register their operators."""
    from curta.programs import PROGRAMS
    from curta.programs.user.registry import adopt

    digest = hashlib.sha256(content).hexdigest()
    tag = f"{name}@{digest[:TAG]}"
    if tag in EXECUTED:
        return EXECUTED[tag]
    module = ModuleType(f"_{path.stem}_{digest[:TAG]}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module
    file = UserFile(name, content, module)
    built_in, operators = {id(program) for program in PROGRAMS.values()}, set[str]()
    try:
        with watched(path, seconds=LOADING):
            exec(compile(content, str(path), "exec"), module.__dict__)
        for variable, value in list(vars(module).items()):
            if not isinstance(value, Program) or id(value) in built_in or value.file:
                continue
            functions: dict[str, Any] = {
                field.name: guarded(function, path)
                for field in fields(value)
                if callable(function := getattr(value, field.name))
            }
            cases = {case: guarded(draw, path) for case, draw in value.cases.items()}
            program = replace(value, **functions, cases=cases, file=tag)
            setattr(module, variable, program)
            try:
                if value.operator in operators:
                    raise UserError(f"a second program for operator {value.operator!r}: rename it")
                adopt(program)
            except UserError as error:
                raise UserError(f"{program.where}{error}") from None
            operators.add(value.operator)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    files.keep_entry(_marker(digest), f"{name}\n".encode())
    return EXECUTED.setdefault(tag, file)


def guarded(function: Callable[..., Any], path: Path) -> Callable[..., Any]:
    """Wrap a function so that its errors are reported with the line of the file."""
    code = getattr(inspect.unwrap(function), "__code__", None)

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        with watched(path, declared_at=code.co_firstlineno if code else None):
            return function(*arguments, **named)

    return call


class OutOfTime(BaseException):
    """Raised in user code that takes too long; `except Exception` does not catch it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the block after `seconds`, and every second after that."""
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer") or any(signal.getitimer(signal.ITIMER_REAL)):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise OutOfTime(f"stopped after {seconds:g} seconds of one call (does it ever end?)")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def watched(
    path: Path, declared_at: int | None = None, seconds: float | None = None
) -> Iterator[None]:
    """Turn an exception from a user file into a UserError with file name and line.

    The line is the innermost one of the file in the traceback. If none of its lines ran, as in a
    call with too many arguments, it is the function's declaration. The block has so many `seconds`,
    by default `SECONDS`.
    """
    try:
        with limited(seconds or SECONDS):
            yield
    except (Exception, SystemExit, OutOfTime) as error:
        text = f"{type(error).__name__}: {' '.join(str(error).split())}"
        if isinstance(error, SyntaxError) and error.filename == str(path):
            line, text = error.lineno, f"{type(error).__name__}: {error.msg}"
        else:
            steps = traceback.walk_tb(error.__traceback__)
            lines = [line for frame, line in steps if frame.f_code.co_filename == str(path)]
            if isinstance(error, UserError) and not lines:
                raise
            if isinstance(error, UserError | OutOfTime):
                text = str(error)
            line = [declared_at, *lines][-1]
        where = f"{path.name} line {line}" if line else path.name
        kind = type(error) if isinstance(error, UserError) else UserError
        raise kind(f"{where}: {text}") from error
