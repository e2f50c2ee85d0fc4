"""Programs: an algorithm that writes on squared paper, its prompt, its answer, and the truth."""

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial, update_wrapper
from typing import Any

from curta.config.errors import UserError, quoted, unknown
from curta.problems.numerals import format_number, places_of, to_digits, to_text
from curta.problems.operations import OPERATIONS
from curta.problems.operations import Answer as TrueAnswer
from curta.programs.machine.paper import Paper, ProgramError, Vocabulary
from curta.programs.machine.prompt import Answer, Format, Given, Part, Sign

LIMIT = 2_000_000
"""Most tokens of one recorded text."""

SIZES = ("digits", "second", "operands")
"""The keys of `Program.sizes`."""

RecordedText = tuple[list[int], int]
"""A text's tokens, and the length of its prompt."""

Algorithm = Callable[..., None]
Draw = Callable[..., tuple[int, ...]]
"""`draw(rng, *digits)`: operands with these numbers of digits, by a `random.Random`."""


@dataclass(frozen=True, eq=False)
class Program:
    """An algorithm for one operator, the format of its problems, and the truth to check it by.

    Programs are made by the decorator `program`, or by `written` for those without an algorithm.
    """

    name: str
    """The program's name, as in a recipe."""
    operator: str
    """The operator that it computes, in letters such as `gcd` or symbols such as `+`."""
    axes: tuple[str, ...]
    """The names of the paper's axes, such as `("place", "row")`."""
    prompt: tuple[Part, ...]
    """The operands and signs of a problem, in the order in which they are written."""
    answer: Answer
    """Where the answer stands in what the program writes."""
    run: Algorithm | None = None
    """The algorithm, a function `run(paper, *digits)` that takes the digits of each operand as a
    list, least significant first. Without it, the answer is written at once, digit after digit."""
    broadcast: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By role, the axes on which its newest token is seen from every square."""
    reach: int = 1
    """How far the model sees on each axis, in squares."""
    truth: Callable[..., Any] | None = None
    """Returns the right answer for integer operands; None for a built-in operator."""
    refuse: Callable[..., str | None] | None = None
    """Returns why integer operands have no answer, such as division by zero; None if they do."""
    cases: Mapping[str, Draw] = field(default_factory=dict)
    """By name, functions `draw(rng, *digits)` that return the operands of rare problems."""
    commutes: bool = False
    """Whether swapping the operands leaves the truth unchanged."""
    example: str = ""
    """A problem to show."""
    in_base: Callable[[int], "Program"] | None = None
    """Returns the program for digits of another base. An algorithm that takes `base=` gets one."""
    family: str = ""
    """Programs of one family share their roles when a model learns several of them."""
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Sizes to train on without a recipe, each as (fewest, most). The keys are `digits` of the
    operands, `second` for the digits of all but the first operand, and `operands` for their number.
    """
    draw: Draw | None = None
    """Draws random operands, `draw(rng, *digits)`, in place of uniformly random digits."""
    file: str = ""
    """The tag of the Python file that the program comes from; empty if there is none."""

    @property
    def where(self) -> str:
        """The file and line of a program in a user's file, as a prefix of messages."""
        function = self.run or self.truth
        code = getattr(inspect.unwrap(function), "__code__", None) if function else None
        line = f" line {code.co_firstlineno}" if code else ""
        return f"{self.file.rpartition('@')[0]}{line}: " if self.file else ""

    @property
    def title(self) -> str:
        """The program's name in messages, with file and line for one in a user's file."""
        return f"{self.where}program {self.name!r}"

    @cached_property
    def format(self) -> Format:
        """The format of its prompts and answers."""
        return Format(self.axes, self.prompt, self.answer)

    @property
    def base(self) -> int:
        """The base in which operands are written."""
        return self.format.base

    @property
    def summary(self) -> str:
        """The first line of the algorithm's docstring, or else the program's name."""
        return ((self.run.__doc__ if self.run else "") or self.name).strip().partition("\n")[0]

    def record(self, operands: Sequence[int], vocabulary: Vocabulary) -> RecordedText:
        """Write the text of a problem, and return its tokens and the length of the prompt.

        Args:
            operands: Integer operands.
            vocabulary: Token numbers, which grow as new tokens are written.

        Raises:
            ProgramError: The algorithm writes nothing, or more than 2,000,000 tokens.
        """
        paper = Paper(self.axes, vocabulary, LIMIT)
        digits = self.format.digits(operands)
        prompt = [vocabulary[key] for key in self.format.prompt(digits)]
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
        """Return the right answer, from the program's `truth` or its built-in operator.

        Raises:
            UserError: The answer is not of the type that the program's `answer` describes.
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
        """Return a problem as people write it, such as `12+34`, shortened for a message."""
        operation = OPERATIONS.get(self.operator)
        if operation is None:
            return quoted(f"{self.operator} {','.join(map(to_text, operands))}")[1:-1]
        texts = tuple(format_number(value, operation.base or 10) for value in operands)
        return quoted(operation.text(texts))[1:-1]

    @contextmanager
    def locating(self) -> Iterator[None]:
        """Return a context in which errors name the program's file and line."""
        try:
            yield
        except UserError as error:
            name = self.file.rpartition("@")[0]
            if not name or str(error).startswith(f"{name} line "):
                raise
            raise type(error)(f"{self.title}: {error}") from error

    @contextmanager
    def _naming(self, operands: Sequence[int]) -> Iterator[None]:
        """Add the problem to exceptions of the program's own code."""
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
    **fields: Any,
) -> Callable[[Algorithm], Program]:
    """Turn an algorithm into a `Program`; use it as a decorator.

    Example::

        @curta.program(
            "digitsum",
            axes=("place",),
            prompt=(Given("n", along="place"), Sign("=")),
            answer=Answer("sum"),
            truth=lambda n: sum(map(int, str(n))) % 10,
        )
        def digit_sum(paper, n):
            total = 0
            for digit in n:  # least significant first
                total = (total + digit) % 10
                paper.move(place=+1).write("so far", total)
            paper.write("sum", total).end()

    Args:
        name: Name of the program.
        operator: Operator that it computes; by default its name.
        axes: Names of the paper's axes.
        prompt: Operands and signs of a problem, in order.
        answer: Where the answer stands.
        fields: Further fields of `Program`. `sizes` may be two numbers of digits, such as `(1, 4)`.

    Raises:
        ProgramError: The parts contradict each other, or the function does not take the operands of
            the prompt.
    """
    blank = written(name, operator, axes=axes, prompt=prompt, answer=answer, **fields)

    def decorate(run: Algorithm) -> Program:
        operands = [part.name for part in blank.format.givens]
        signature = inspect.signature(run)
        try:
            signature.bind(None, *operands)
        except TypeError:
            raise ProgramError(
                f"program {name!r}: its function takes {str(signature).partition(' ->')[0]}, but"
                f" its prompt has the operands of (paper, {', '.join(operands)})"
            ) from None
        program = replace(blank, run=run)
        base = signature.parameters.get("base")
        takes_base = base is not None and base.kind is inspect.Parameter.KEYWORD_ONLY
        if blank.in_base is None and takes_base:
            program = replace(program, in_base=partial(_in_base, program))
        return program

    return decorate


def _in_base(program: Program, base: int) -> Program:
    """Return a program whose algorithm takes `base=`, for digits of another base."""
    prompt = (replace(p, base=base) if isinstance(p, Given) else p for p in program.prompt)
    assert program.run is not None
    return replace(
        program,
        prompt=tuple(prompt),
        answer=replace(program.answer, base=base),
        run=update_wrapper(partial(program.run, base=base), program.run),
        in_base=partial(_in_base, program),
    )


def written(
    name: str,
    operator: str = "",
    *,
    axes: Sequence[str] = ("place",),
    prompt: Sequence[Part],
    answer: Answer,
    broadcast: Mapping[str, Sequence[str]] | None = None,
    sizes: Mapping[str, Sequence[int]] | Sequence[int] = (),
    **fields: Any,
) -> Program:
    """Return a program without an algorithm: it writes the answer at once, digit after digit.

    Such a program shows what a model learns without being taught intermediate steps.

    Args:
        name: Name of the program.
        operator: Operator that it computes; by default its name.
        axes: Names of the paper's axes.
        prompt: Operands and signs of a problem, in order.
        answer: Where the answer stands.
        broadcast: By role, the axes on which its newest token is seen from every square.
        sizes: Sizes to train on, as in `Program`, or two numbers of digits, such as `(1, 4)`.
        fields: Further fields of `Program`.

    Raises:
        ProgramError: The parts contradict each other.
    """
    names = [field.name for field in dataclasses.fields(Program)]
    for field_name in fields:
        if field_name not in names:
            raise unknown("field of a program", field_name, names)
    # ("place") and (Given(...)) without their comma are no tuples
    if isinstance(axes, str):
        raise ProgramError(f"program {name!r}: axes must be a tuple: write ({axes!r},)")
    if isinstance(prompt, Given | Sign):
        kind = type(prompt).__name__
        raise ProgramError(f"program {name!r}: prompt must be a tuple: write ({kind}(...),)")
    table = sizes if isinstance(sizes, Mapping) else {"digits": sizes} if sizes else {}
    for size, span in table.items():
        if size not in SIZES:
            raise unknown("size", size, SIZES)
        is_pair = isinstance(span, Sequence) and len(span) == 2
        if not is_pair or not all(isinstance(n, int) for n in span) or not 1 <= span[0] <= span[1]:
            raise ProgramError(
                f"sizes: {size} must be two counts, the fewest and the most, such as (1, 4)"
                f" (got {span!r})"
            )
    spans = {size: (span[0], span[1]) for size, span in table.items()}
    blank = Program(
        name, operator or name, tuple(axes), tuple(prompt), answer, sizes=spans, **fields
    )
    _check(blank, broadcast or {})
    everywhere = {role: tuple(role_axes) for role, role_axes in (broadcast or {}).items()}
    return replace(blank, broadcast=everywhere)


def _check(blank: Program, broadcast: Mapping[str, Sequence[str]]) -> None:
    """Raise ProgramError for unknown axes and for parts that do not fit each other."""
    axes, answer, where = blank.axes, blank.answer, f"program {blank.name!r}"

    def check_axes(used: Iterable[str], place: str) -> None:
        if isinstance(used, str):
            raise ProgramError(f"{place}: axes must be a tuple: write ({used!r},)")
        for axis in used:
            if axis not in axes:
                raise UserError(f"{place}: {unknown('axis', axis, axes)}")

    if not axes or len(set(axes)) < len(axes):
        raise ProgramError(f"{where}: axes must be different names, such as ('place',)")
    if not isinstance(answer, Answer):
        raise ProgramError(f"{where}: answer must be an Answer, such as Answer('out')")
    for part in blank.prompt:
        if not isinstance(part, Given | Sign):
            raise ProgramError(f"{where}: its prompt takes Given and Sign only (got {part!r})")
        used = [part.along] if isinstance(part, Given) else [*part.at, *(part.step or {})]
        used += [part.many] if isinstance(part, Given) and part.many else []
        check_axes([*part.everywhere, *used], f"{where}, {part.name!r} of its prompt")
    givens = blank.format.givens
    if not givens:
        raise ProgramError(f"{where}: its prompt has no operand: add Given('n', {axes[0]!r})")
    names = [part.name for part in blank.prompt]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ProgramError(
            f"{where}: two parts of its prompt have the role {twice[0]!r}:"
            " give one of them another, by role="
        )
    if any(part.many for part in givens[:-1]):
        raise ProgramError(f"{where}: only its last operand may have many=")
    for before, part in zip((None, *blank.prompt), blank.prompt, strict=False):
        if not isinstance(part, Given) or not part.follows:
            continue
        follows = f"{where}: {part.role!r} has follows=True, so"
        if part is givens[0] or not isinstance(before, Sign) or before.step is None:
            raise ProgramError(f"{follows} an operand and a sign with step= must stand before it")
        if any(operand.many or operand.base != 10 for operand in givens):
            raise ProgramError(f"{follows} no operand may have many=, and all must be decimal")
    if answer.fraction and (answer.many or answer.truth or answer.base != 10):
        raise ProgramError(
            f"{where}: an answer with fraction= is one decimal number: leave out many, truth, base"
        )
    for role, role_axes in broadcast.items():
        check_axes(role_axes, f"{where}, broadcast of {role!r}")
    check_axes([answer.many] if answer.many else [], f"{where}, its answer")


def write_answer(paper: Paper, form: Format, answer: Any) -> None:
    """Write an answer along the axis of the first operand, starting at the origin.

    `-12` is a minus sign and the digits. Several numbers stand on one line each, with a comma
    before all but the first. The answer has the right type, as `true_answer` returns it. Raises
    ProgramError for a negative answer without a sign, or for a fraction with endless decimals.
    """
    along, spec = form.givens[0].along, form.answer
    numbers = list(answer) if spec.many else [answer]
    if min(numbers) < 0 and not spec.sign:
        raise ProgramError(
            f"truth returned {min(numbers)!r}: an answer below 0 needs Answer(..., sign='minus')"
        )
    for line, number in enumerate(numbers):
        if spec.fraction:
            if (places := places_of(number)) is None:
                raise ProgramError(
                    "truth must return a fractions.Fraction with an end to its decimals"
                    f" (got {number!r})"
                )
            # 3.75, its lowest digit first: 5 7 . 3, of roles fraction, fraction, point, whole
            digits = to_digits(int(abs(number) * 10**places))
            digits += [0] * (places + 1 - len(digits))
            pairs: list[tuple[str, int | str]] = [(spec.fraction, d) for d in digits[:places]]
            pairs += [(f"{spec.role} point", "."), *((spec.role, d) for d in digits[places:])]
        else:
            pairs = [(spec.role, digit) for digit in to_digits(abs(int(number)), spec.base)]
        paper.home(along)
        if line:
            assert spec.many
            paper.move(**{along: -1, spec.many: 1}).write(f"{spec.role} between", ",")
        if number < 0:
            paper.move(**{along: -1}).write(spec.sign, "-")
        for place, (role, symbol) in enumerate(pairs[:: -1 if spec.high_first else 1]):
            paper.move(**{along: 1 if place or line or number < 0 else 0}).write(role, symbol)
    paper.end()
