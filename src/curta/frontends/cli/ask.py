"""What `ask` does: a trained run calculates. It needs neither JAX nor rich for most runs."""

import itertools
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from curta.config import files
from curta.config.errors import (
    UserError,
    as_line,
    error_prefix,
    escape_unprintable,
    notify,
    printable,
    quoted,
    refuse_if,
)
from curta.problems.problem import answer_text, malformed_text, parse
from curta.programs.user import run_snapshot
from curta.runs import folders
from curta.runs.calculator import Calculator, open_calculator
from curta.runs.folders import Folder

if TYPE_CHECKING:
    from curta.layouts import Layout


JOINED = 1000
"""Problems of a file whose windows are joined to the run's list, if any is not in it."""


def print_answers(
    run: str | None,
    problems: list[str] | None,
    file: str | None,
    trust: bool,
    trace: bool,
    member: int,
    recurrences: int | None,
) -> int:
    """Print a run's answers to problems, or those of a file, or to what is typed if None.

    Without the name of a run, the newest one answers that knows the operator.
    """
    source = "standard input" if file == "-" else repr(file)
    lines = _read_lines(file, source) if file else problems or []
    is_named = run is not None
    run = newest_run(lines[0] if lines else "") if run is None else run
    folder = folders.find(run, trust)
    calculator = None if recurrences else open_calculator(folder, member)
    if calculator is not None:  # in NumPy, at once
        texts: Calculator | Layout = calculator
        accept, write = calculator.accept, calculator.write
    else:
        from curta.frontends.api import load

        trained = load(run, recurrences)
        texts, accept = trained.layout, trained.accept
        write = lambda problems: trained.write(problems, member)

    def answers_to(lines: Sequence[str]) -> list[str]:
        if calculator is not None and not trace:
            plain = calculator.answers("\n".join(lines))
            if plain is not None:
                calculator.join(accept(lines[:JOINED]))
                return plain
        problems, answers = accept(lines), list[str]()
        for problem, tokens in zip(problems, write(problems), strict=True):
            value, text = texts.answer(problem, tokens), texts.decode(tokens)
            answer = malformed_text(text)
            if value is not None:
                answer = answer_text(value, problem.answer_base)
            line = f"{answer}\t{texts.prompt(problem)}{text}" if trace else answer
            answers.append(escape_unprintable(line, "\t"))
        if calculator is not None:
            calculator.join(problems)
        return answers

    if problems is None and not file:
        _warn(folder, member)
        return _converse(run, lambda line: answers_to([line])[0])
    try:
        answers = answers_to(lines)
    except UserError:
        for number, line in enumerate(lines if file else (), 1):
            with error_prefix(f"line {number} of {source}"):
                accept([line])
        raise
    if not is_named:
        print(f"run {printable(run)}", file=sys.stderr)
    print("\n".join(answers))
    _warn(folder, member)
    return 0


def newest_run(problem: str) -> str:
    """Return the newest trained run that can calculate a problem; of all runs without one."""
    trained = []
    for name in folders.existing():
        with suppress(OSError, ValueError):  # UserError, for damaged runs, among them
            info = folders.find(name).read_info()
            if info.checkpoint:
                trained.append((info.created, name, info.operators))
    refuse_if(not trained, "no run is trained yet: `curta train` trains one")
    refusal: UserError | None = None
    for _, name, operators in sorted(trained, reverse=True):
        if not problem:
            return name
        try:
            run_snapshot.make_known(folders.find(name).read_code())
            if parse(problem, operators).operator in operators:
                return name
        except UserError as error:
            refusal = refusal or error
    every = " ".join(dict.fromkeys(itertools.chain(*(operators for *_, operators in trained))))
    raise refusal or UserError(f"no run is trained on {quoted(problem)}: they know {every}")


def _warn(folder: Folder, member: int) -> None:
    """Warn if the certificate of this member has wrong windows."""
    with suppress(UserError):
        certificate = folder.read_certificate()
        for verdict in certificate.members if certificate else ():
            if certificate and verdict.member == member and verdict.wrong:
                notify(
                    f"member {member} of run {folder.name!r} is wrong on {verdict.wrong:,} of"
                    f" {certificate.windows:,} windows, so some of its answers are wrong"
                )


def _converse(run: str, answer: Callable[[str], str]) -> int:
    """Answer lines until the end of input; one that cannot be read costs a line."""
    with suppress(ImportError):
        import readline  # noqa: F401  (arrow keys and history, where the system has them)
    print("Type a problem, such as 12+34; Ctrl-D ends.")
    while True:
        try:
            line = input(f"{run}> ").strip()
        except EOFError:
            print()
            return 0
        if not line:
            continue
        try:
            print(answer(line))
        except UserError as error:
            print(f"curta: {as_line(str(error))}", file=sys.stderr)


def _read_lines(name: str, source: str) -> list[str]:
    """Return the problems of a file, or of standard input for `-`; blank lines at its end go."""
    if name == "-":
        with files.reading(source):
            text = sys.stdin.buffer.read().decode("utf-8-sig")
    else:
        text = files.read_text(Path(name), source)
    lines = text.rstrip().splitlines()
    if not lines:
        raise UserError(f"{source} is empty: write one problem a line, such as 12+34")
    return lines
