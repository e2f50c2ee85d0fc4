"""Programs: an algorithm that writes on squared paper, its prompt, its answer and its truth."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from curta.config.errors import UserError, quoted
from curta.problems.numerals import places_of, to_digits, to_text
from curta.problems.numerals import written as in_base
from curta.problems.operations import OPERATIONS
from curta.problems.operations import Answer as TrueAnswer
from curta.programs.machine import fitting
from curta.programs.machine.paper import Paper, ProgramError, Vocabulary
from curta.programs.machine.prompt import Answer, Format, Part

LIMIT = 2_000_000
"""Most tokens of one text, while it is recorded."""

Text = tuple[list[int], int]
"""A text's tokens, and how many of them are its prompt's."""

Algorithm = Callable[..., None]
Draw = Callable[..., tuple[int, ...]]
"""`draw(rng, *digits)`: operands of so many digits each, by a `random.Random`."""


@dataclass(frozen=True, eq=False)
class Program:
    """One algorithm for one operator.

    `run` is given a paper and the operands' digits, least significant first; without one, the
    answer is written at once, digit after digit. `broadcast` names the axes on which a role
    that is written is found from everywhere. `reach` is how far neighbours are looked for.

    `truth` is plain Python on whole numbers; None where the operator is one of `operations`.
    `refuse` says why operands have no answer. `cases` draw rare problems, each by its name.
    `commutes` says that the order of its operands makes no difference to the truth.
    `in_base` makes the same program for digits of another base. Programs of one `family` share
    their roles, where several stand in one machine.

    `sizes` says what to train on where no recipe does: `digits`, `second` and `operands`, each
    the fewest and the most. `draw` draws the operands in place of uniform digits. `file` tells
    the file of a user's from which a program comes.
    """

    name: str
    operator: str
    axes: tuple[str, ...]
    prompt: tuple[Part, ...]
    answer: Answer
    run: Algorithm | None = None
    broadcast: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reach: int = 1
    truth: Callable[..., Any] | None = None
    refuse: Callable[..., str | None] | None = None
    cases: Mapping[str, Draw] = field(default_factory=dict)
    commutes: bool = False
    example: str = ""
    in_base: Callable[[int], "Program"] | None = None
    family: str = ""
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    draw: Draw | None = None
    file: str = ""

    @property
    def title(self) -> str:
        """Its name in messages: for a program in a user's file, with file and line."""
        function = self.run or self.truth
        code = getattr(inspect.unwrap(function), "__code__", None) if function else None
        line = f" line {code.co_firstlineno}" if code else ""
        where = f"{self.file.rpartition('@')[0]}{line}: " if self.file else ""
        return f"{where}program {self.name!r}"

    @cached_property
    def format(self) -> Format:
        return Format(self.axes, self.prompt, self.answer)

    @property
    def base(self) -> int:
        """In which operands are written."""
        return self.format.base

    @property
    def summary(self) -> str:
        """The first line of the algorithm's own description."""
        return ((self.run.__doc__ if self.run else "") or self.name).strip().partition("\n")[0]

    def record(self, operands: Sequence[int], vocabulary: Vocabulary) -> Text:
        """The tokens of a whole text, and how many of them are the prompt's.

        Raises ProgramError for a program that writes nothing, or never ends.
        """
        paper = Paper(self.axes, vocabulary, LIMIT)
        digits, numbers = self.format.digits(operands), vocabulary.numbers
        prompt = [numbers[key] for key in self.format.prompt(digits)]
        if self.run is None:
            write_answer(paper, self.format, self.true_answer(operands))
        else:
            with self._naming(operands):
                self.run(paper, *digits)
        if not paper.tokens:
            raise ProgramError(
                f"{self.title} wrote nothing: call paper.write(...), then paper.end()"
            )
        return prompt + paper.tokens, len(prompt)

    def true_answer(self, operands: Sequence[int]) -> TrueAnswer:
        """Return the truth, by the program itself or by the operation that it is for.

        Raises UserError for what is no answer of the program's kind.
        """
        with self._naming(operands):
            answer = (self.truth or OPERATIONS[self.operator].truth)(*operands)
        if self.answer.fraction:
            fits, kind = isinstance(answer, Fraction), "a fractions.Fraction"
        elif self.answer.many:
            numbers, kind = answer if isinstance(answer, tuple) else (), "a tuple of ints"
            fits = bool(numbers) and all(isinstance(number, int) for number in numbers)
        else:
            fits, kind = isinstance(answer, int), "an int or a bool"
        if not fits:
            raise UserError(
                f"{self.title}: the truth of {self.problem_text(operands)} is"
                f" {quoted(answer)}: it must return {kind}"
            )
        return answer

    def problem_text(self, operands: Sequence[int]) -> str:
        """Return a problem as people write it, shortened for a message."""
        operation = OPERATIONS.get(self.operator)
        if operation is None:
            return quoted(f"{self.operator} {','.join(map(to_text, operands))}")[1:-1]
        texts = tuple(in_base(value, operation.base or 10) for value in operands)
        return quoted(operation.text(texts))[1:-1]

    @contextmanager
    def locating(self) -> Iterator[None]:
        """Name the program's file and line in what is wrong with the texts that it writes."""
        try:
            yield
        except UserError as error:
            name = self.file.rpartition("@")[0]
            if not name or str(error).startswith(f"{name} line "):
                raise
            raise type(error)(f"{self.title}: {error}") from error

    @contextmanager
    def _naming(self, operands: Sequence[int]) -> Iterator[None]:
        """Name the problem in what the program's own code raises."""
        try:
            yield
        except UserError as error:
            raise type(error)(f"{error}, in {self.problem_text(operands)}") from error
        except Exception as error:
            error.add_note(f"in {self.problem_text(operands)} of program {self.name!r}")
            raise


def program(
    name: str,
    operator: str = "",
    *,
    axes: Sequence[str],
    prompt: Sequence[Part],
    answer: Answer,
    **rest: Any,
) -> Callable[[Algorithm], Program]:
    """Makes a program of the algorithm below it; the fields are those of `Program`.

    `sizes` may be two digit counts alone: (1, 4). Raises ProgramError for parts that do not fit.
    """
    blank = written(name, operator, axes=axes, prompt=prompt, answer=answer, **rest)

    def made(run: Algorithm) -> Program:
        fitting.check_arguments(blank, run)
        return replace(blank, run=run)

    return made


def written(
    name: str,
    operator: str = "",
    *,
    axes: Sequence[str] = ("place",),
    prompt: Sequence[Part],
    answer: Answer,
    broadcast: Mapping[str, Sequence[str]] | None = None,
    sizes: Mapping[str, Sequence[int]] | Sequence[int] = (),
    **rest: Any,
) -> Program:
    """A program without an algorithm: the answer itself is written, digit after digit."""
    for role, found in (broadcast or {}).items():
        if isinstance(found, str):
            raise ProgramError(f"broadcast of {role!r}: axes must be a tuple: write ({found!r},)")
    everywhere = {role: tuple(found) for role, found in (broadcast or {}).items()}
    blank = Program(
        name, operator or name, tuple(axes), tuple(prompt), answer, broadcast=everywhere,
        sizes=fitting.sizes(sizes), **fitting.fields(Program, rest)
    )  # fmt: skip
    fitting.check(blank)
    return blank


def write_answer(paper: Paper, form: Format, answer: Any) -> None:
    """Writes an answer along the axis of the first operand, from the origin on.

    `-12` is a minus sign and the digits; of several numbers each stands on its own line, with a
    comma before all but the first. Digits below a point stand on their side of it. Raises
    ProgramError for what is no such answer.
    """
    along = form.givens[0].along
    if form.answer.fraction:
        return _write_fraction(paper, form, along, answer)
    wanted, many = form.answer, form.answer.many
    for line, number in enumerate(_numbers(form, answer)):
        paper.home(along)
        if line:
            assert many
            paper.move(**{along: -1, many: 1}).write(f"{wanted.role} between", ",")
        if number < 0:
            paper.move(**{along: -1}).write(wanted.sign, "-")
        digits = to_digits(abs(number), wanted.base)
        for place, digit in enumerate(reversed(digits) if wanted.high_first else digits):
            paper.move(**{along: 1 if place or line or number < 0 else 0})
            paper.write(wanted.role, digit)
    return paper.end()


def _write_fraction(paper: Paper, form: Format, along: str, answer: Any) -> None:
    """A number with a point, which is a sign of its own role."""
    wanted, places = form.answer, places_of(answer) if isinstance(answer, Fraction) else None
    if places is None:
        raise ProgramError(
            f"truth must return a fractions.Fraction with an end to its decimals (got {answer!r})"
        )
    _check_sign(form, answer)
    digits: list[int | str] = [*to_digits(int(abs(answer) * 10**places))]
    digits += [0] * (places + 1 - len(digits))
    digits.insert(places, ".")
    roles = [wanted.fraction] * places + [f"{wanted.role} point"]
    roles += [wanted.role] * (len(digits) - len(roles))
    paper.home(along)
    if answer < 0:
        paper.move(**{along: -1}).write(wanted.sign, "-").move(**{along: 1})
    for role, digit in list(zip(roles, digits, strict=True))[:: -1 if wanted.high_first else 1]:
        paper.write(role, digit).move(**{along: 1})
    paper.move(**{along: -1}).end()


def _check_sign(form: Format, least: int | Fraction) -> None:
    if least < 0 and not form.answer.sign:
        raise ProgramError(
            f"truth returned {least!r}: an answer below 0 needs Answer(..., sign='minus')"
        )


def _numbers(form: Format, answer: Any) -> list[int]:
    """The whole numbers that an answer is made of."""
    wanted = form.answer
    if isinstance(answer, list | tuple) != bool(wanted.many):
        kind = "several numbers" if wanted.many else "one number"
        raise ProgramError(f"truth must return {kind}, as answer= says (got {answer!r})")
    numbers = list(answer) if wanted.many else [answer]
    if not all(isinstance(number, int) for number in numbers):
        raise ProgramError(f"truth must return whole numbers (got {answer!r})")
    _check_sign(form, min(numbers, default=0))
    return [int(number) for number in numbers]
