"""Whether the parts of a program fit together: axes, operands, sizes. Found out when it is made."""

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from curta.config.errors import UserError, unknown
from curta.programs.machine.paper import ProgramError
from curta.programs.machine.prompt import Answer, Format, Given, Part, Sign

if TYPE_CHECKING:
    from curta.programs.machine.program import Program

SIZES = ("digits", "second", "operands")


def check(of: "Program") -> None:
    """Raises ProgramError for an axis that there is not, and for a prompt without operands."""
    axes, answer, where = of.axes, of.answer, f"program {of.name!r}"
    if not axes or isinstance(axes, str) or len(set(axes)) < len(axes):
        raise ProgramError(f"{where}: axes must be different names, such as ('place',)")
    if not isinstance(answer, Answer):
        raise ProgramError(f"{where}: answer must be an Answer, such as Answer('out')")
    for part in of.prompt:
        if not isinstance(part, Given | Sign):
            raise ProgramError(f"{where}: its prompt takes Given and Sign only (got {part!r})")
        _known(axes, _axes_of(part), f"{where}, {part.name!r} of its prompt")
    if not of.format.givens:
        raise ProgramError(f"{where}: its prompt has no operand: add Given('n', {axes[0]!r})")
    names = [part.name for part in of.prompt]
    for part in of.prompt:
        if names.count(part.name) > 1:
            raise ProgramError(
                f"{where}: two parts of its prompt have the role {part.name!r}:"
                " give one of them another, by role="
            )
    if any(part.many for part in of.format.givens[:-1]):
        raise ProgramError(f"{where}: only its last operand may have many=")
    _check_compound(where, of.format)
    if answer.fraction and (answer.many or answer.truth or answer.base != 10):
        raise ProgramError(
            f"{where}: an answer with fraction= is one decimal number: leave out many, truth, base"
        )
    for role, found in of.broadcast.items():
        _known(axes, found, f"{where}, broadcast of {role!r}")
    _known(axes, [answer.many] if answer.many else [], f"{where}, its answer")


def _check_compound(program: str, form: Format) -> None:
    """Raises ProgramError for a number of several operands that people could not write."""
    givens = form.givens
    for number, part in enumerate(form.parts):
        if not isinstance(part, Given) or not part.follows:
            continue
        where = f"{program}: {part.role!r} has follows=True, so"
        before = form.parts[max(0, number - 1)]
        if part is givens[0] or not isinstance(before, Sign) or before.step is None:
            raise ProgramError(f"{where} an operand and a sign with step= must stand before it")
        if any(one.many or one.base != 10 for one in givens):
            raise ProgramError(f"{where} no operand may have many=, and all must be decimal")


def check_arguments(of: "Program", run: Callable[..., Any]) -> None:
    """Raises ProgramError if the algorithm cannot be called with a paper and the operands."""
    givens = [part.name for part in of.format.givens]
    try:
        inspect.signature(run).bind(None, *givens)
    except TypeError:
        takes = str(inspect.signature(run)).partition(" ->")[0]
        raise ProgramError(
            f"program {of.name!r}: its function takes {takes}, but its prompt has the operands of"
            f" (paper, {', '.join(givens)})"
        ) from None


def sizes(given: Mapping[str, Sequence[int]] | Sequence[int]) -> dict[str, tuple[int, int]]:
    """Sizes by name; two counts alone are those of digits."""
    table = given if isinstance(given, Mapping) else {"digits": given} if given else {}
    for name, span in table.items():
        if name not in SIZES:
            raise unknown("size", name, SIZES)
        pair = isinstance(span, Sequence) and len(span) == 2
        if not pair or not all(isinstance(n, int) for n in span) or not 1 <= span[0] <= span[1]:
            raise ProgramError(
                f"sizes: {name} must be two counts, the fewest and the most, such as (1, 4)"
                f" (got {span!r})"
            )
    return {name: (span[0], span[1]) for name, span in table.items()}


def fields(of: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields as they were given; UserError for one that a program has not."""
    known = [field.name for field in dataclasses.fields(of)]
    for name in given:
        if name not in known:
            raise unknown("field of a program", name, known)
    return dict(given)


def _axes_of(part: Part) -> list[str]:
    if isinstance(part, Given):
        return [part.along, *part.everywhere, *([part.many] if part.many else [])]
    return [*part.everywhere, *part.at, *(part.step or {})]


def _known(axes: Sequence[str], used: Iterable[str], where: str) -> None:
    if isinstance(used, str):
        raise ProgramError(f"{where}: axes must be a tuple: write ({used!r},)")
    for axis in used:
        if axis not in axes:
            raise UserError(f"{where}: {unknown('axis', axis, axes)}")
