"""`curta ask`: answers of a trained model, at once where NumPy can calculate them."""

import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from curta.config import files
from curta.config.errors import UserError, as_line, escape_unprintable, notify
from curta.frontends.cli import options

if TYPE_CHECKING:
    from curta.layouts import Layout
    from curta.problems.problem import Problem
    from curta.runs.calculator import Calculator
    from curta.runs.folders import Folder

JOINED = 1000
"""Problems of a file whose windows are joined to the run's list, if any is not in it."""

NEGATIVE = re.compile(r"-\s*[0-9]+\s*[^0-9\s]")
"""How a problem begins whose first operand is negative: no option, and refused as a problem."""


class _Ask(click.Command):
    """A command that takes `-3+5` for a problem, so that the complaint is about the operand."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" not in args:
            problems = [word for word in args if NEGATIVE.match(word)]
            args = [word for word in args if not NEGATIVE.match(word)]
            args += ["--", *problems] if problems else []
        return super().parse_args(ctx, args)


@click.command(cls=_Ask)
@options.run
@click.argument("problems", nargs=-1, metavar="[PROBLEM]...")
@options.trust
@click.option(
    "--file", type=options.NAME, metavar="F", help="One problem a line; - reads standard input."
)
@click.option("--trace", is_flag=True, help="Show the model's own writing.")
@options.member
@options.recurrences
def ask(
    run: str,
    problems: tuple[str, ...],
    trust: bool,
    file: str | None,
    trace: bool,
    member: int,
    recurrences: int | None,
) -> int:
    """Let a trained model calculate each PROBLEM, such as 12+34.

    Without a problem it answers what you type, line by line.
    """
    if problems and file is not None:
        raise UserError("give problems, such as 12+34, or --file F, not both")
    converses = not problems and file is None and sys.stdin.isatty()
    if not problems and not converses:
        file = file or "-"
    lines = list(problems) if file is None else _lines(file)
    from curta.runs import folders
    from curta.runs.calculator import open_calculator

    folder = folders.find(run)
    calculator = None if trust or recurrences else open_calculator(folder, member)
    if calculator is not None:
        texts: Calculator | Layout = calculator
        accept, write, answers = calculator.accept, calculator.write, calculator.answers
    else:
        from curta.frontends.api import load

        trained = load(run, recurrences, trust)
        texts, accept = trained.layout, trained.accept
        write = lambda problems: trained.write(problems, member)
        answers = lambda text: trained.answers(text, member)

    def answers_to(lines: Sequence[str]) -> list[str]:
        problems = accept(lines)
        pairs = zip(problems, write(problems), strict=True)
        if calculator is not None:
            calculator.join(problems)
        return [escape_unprintable(_answer(texts, *pair, trace), "\t") for pair in pairs]

    if converses:
        _warn(folder, member)
        return _converse(run, lambda line: answers_to([line])[0])
    plain = None if trace else answers("\n".join(lines))
    if plain is not None:
        print("\n".join(plain))
        if calculator is not None:
            calculator.join(accept(lines[:JOINED]))
        _warn(folder, member)
        return 0
    try:
        print("\n".join(answers_to(lines)))
        _warn(folder, member)
    except UserError:
        for number, line in enumerate(lines if file else (), 1):
            try:
                accept([line])
            except UserError as error:
                raise UserError(f"line {number} of {file!r}: {error}") from None
        raise
    return 0


def _warn(folder: "Folder", member: int) -> None:
    """Warn if the certificate of this member has wrong windows."""
    with suppress(UserError):
        found = folder.read_certificate()
        wrong = (
            0 if found is None else {one.member: one.wrong for one in found.members}.get(member, 0)
        )
        if found is not None and wrong:
            notify(
                f"member {member} of run {folder.name!r} is wrong on {wrong:,} of"
                f" {found.windows:,} windows, so some of its answers are wrong"
            )


def _converse(run: str, answer: Callable[[str], str]) -> int:
    """Answer lines until the end of input; what cannot be read costs a line, not the session."""
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


def _lines(name: str) -> list[str]:
    """Problems of a file, or of standard input for `-`; blank lines at the end do not count."""
    if name == "-":
        with files.reading("standard input"):
            text = sys.stdin.buffer.read().decode("utf-8-sig")
    else:
        text = files.read_text(Path(name), repr(name))
    lines = text.rstrip().splitlines()
    if not lines:
        raise UserError(f"{name!r} is empty: write one problem a line, such as 12+34")
    return lines


def _answer(
    texts: "Calculator | Layout", problem: "Problem", written: list[int], trace: bool
) -> str:
    from curta.problems.problem import answer_text, malformed_text

    value = texts.answer(problem, written)
    if value is not None and not trace:
        return answer_text(value, problem.answer_base)
    text = texts.decode(written)
    answer = malformed_text(text) if value is None else answer_text(value, problem.answer_base)
    return f"{answer}\t{texts.prompt(problem)}{text}" if trace else answer
