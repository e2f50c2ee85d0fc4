"""Prompts of problems, and answers read from texts: plain Python over plain data.

A machine is its description in config.json: its `tokens`, each with the `home` and the `offset` of
its move on every axis, and a format for each operator: the `parts` of a prompt, and where an
`answer` is.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from numbers import Integral
from typing import Any

Key = tuple[Any, ...]
"""The traits of a token: digit or sign, role, carry, and the move on each axis."""


def prompt(machine: dict[str, Any], operator: str, operands: Sequence[Any]) -> list[int]:
    """Return the tokens of a problem; ValueError for one that the model does not take."""
    if operator not in machine["formats"]:
        raise ValueError(f"operator {operator!r} is none of {', '.join(machine['formats'])}")
    form, axes = machine["formats"][operator], machine["axes"]
    givens = [part for part in form["parts"] if part["kind"] == "given"]
    bases, most = [part["base"] for part in givens], len(givens)
    if any(part["many"] for part in givens):
        most = form.get("operands")
    values = checked(operator, operands, bases, most, form.get("digits"))
    remaining, keys = _operands(givens, values), list[Key]()
    for part in form["parts"]:
        if part["kind"] == "sign":
            keys.append(_sign(part, axes))
            continue
        count = 1 if part["many"] is None else len(remaining)
        for number, digits in enumerate(remaining[:count]):
            keys += _number(part, digits, number, axes)
        remaining = remaining[count:]
    numbers = {_key(token): number for number, token in enumerate(machine["tokens"])}
    for symbol, role, *_ in (key for key in keys if key not in numbers):
        raise ValueError(f"{symbol!r} as {role} is no token of this model: it never met one there")
    return [numbers[key] for key in keys]


def checked(
    operator: str,
    operands: Sequence[Any],
    bases: Sequence[int],
    most: int | None,
    digits: int | None,
) -> list[int]:
    """Return the operands as whole numbers; ValueError where a model cannot take them.

    `bases` has the base of each operand; its last one also applies to further operands. There are
    at most `most` operands of at most `digits` digits; None is any number.
    """
    least, wrong = len(bases), ""
    if len(operands) < least or (most is not None and len(operands) > most):
        wrong = f"{len(operands)} number{'' if len(operands) == 1 else 's'}"
    for place, value in enumerate(operands):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
            wrong = wrong or repr(value)[:40]
        elif digits is not None and value >= bases[min(place, least - 1)] ** digits:
            wrong = wrong or (str(value) if value < 10**24 else "a longer one")
    if wrong:
        raise ValueError(f"{takes(operator, bases, most, digits)} (got {wrong})")
    if operator in ("//", "%") and not operands[1]:
        raise ValueError("division by zero has no answer")
    return [int(value) for value in operands]


def takes(operator: str, bases: Sequence[int], most: int | None, digits: int | None) -> str:
    """Return such as `+ takes 2 whole numbers from 0 up, of at most 10 digits`."""
    least = len(bases)
    count = f"{least}" if most == least else f"{least} to {most}" if most else f"{least} or more"
    numbers = "whole number" if most == 1 else "whole numbers"
    length = f", of at most {digits} digits" if digits else ""
    base = f" in base {bases[0]}" if digits and {*bases} != {10} else ""
    return f"{operator} takes {count} {numbers} from 0 up{length}{base}"


def answer(machine: dict[str, Any], operator: str, text: Sequence[int], start: int) -> Any:
    """Return the answer in a text that was written from token `start` on; None if there is none."""
    form, places = machine["formats"][operator]["answer"], list(_squares(machine, text))[start:]
    if not places or places[-1][0]["role"] != "end":
        return None
    base, role, point_role = form["base"], form["role"], form["fraction"]
    digits_of: dict[tuple[str, int], list[int]] = {}  # by role and by line
    for token, position in places:
        if token["role"] in (role, point_role) and token["value"] is not None:
            line = position[machine["axes"].index(form["many"])] if form["many"] else 0
            digits_of.setdefault((token["role"], line), []).append(token["value"])
    if any(digit >= base for digits in digits_of.values() for digit in digits):
        return None
    minus = any(t["role"] == form["sign"] and t["symbol"] == "-" for t, _ in places)
    if point_role:
        below, above = digits_of.get((point_role, 0)), digits_of.get((role, 0))
        if not below or not above:
            return None
        digits = (above + below)[::-1] if form["high_first"] else below + above
        value = Fraction(_value(digits, base), base ** len(below))
        return -value if minus else value
    order = -1 if form["high_first"] else 1
    numbers = [_value(digits[::order], base) for digits in digits_of.values()]
    if form["many"]:
        return tuple(numbers)
    if not numbers or form["truth"]:
        return bool(numbers[0]) if numbers and numbers[0] in (0, 1) else None
    return -numbers[0] if minus else numbers[0]


def _squares(
    machine: dict[str, Any], text: Sequence[int]
) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Yield each token and its square, up to the end sign."""
    position = [0] * len(machine["axes"])
    for number in text:
        token = machine["tokens"][number]
        moves = zip(position, token["home"], token["offset"], strict=True)
        position = [offset if home else at + offset for at, home, offset in moves]
        yield token, position
        if token["role"] == "end":
            return


def _key(token: dict[str, Any]) -> Key:
    move = tuple(zip(token["home"], token["offset"], strict=True))
    symbol = token["symbol"] if token["value"] is None else token["value"]
    return symbol, token["role"], token["carry"], move


def _sign(part: dict[str, Any], axes: Sequence[str]) -> Key:
    """Return a sign's key, one square before the origin unless the format says otherwise."""
    role = part["role"] or {"=": "equals"}.get(part["symbol"], "operator")
    if part["step"] is not None:
        move = tuple((False, part["step"].get(axis, 0)) for axis in axes)
    else:
        move = tuple((True, part["at"].get(axis, -(place == 0))) for place, axis in enumerate(axes))
    return part["symbol"], role, 0, move


def _operands(parts: Sequence[dict[str, Any]], operands: Sequence[int]) -> list[list[int]]:
    """Return the digits of each operand, padded with zeros where the format requires it."""
    each = [*parts, *[parts[-1]] * (len(operands) - len(parts))]
    numbers = [_digits(value, part["base"]) for value, part in zip(operands, each, strict=False)]
    pairs = list(zip(numbers, each, strict=False))
    longest = max((len(digits) for digits, part in pairs if part["filled"]), default=0)
    for digits, part in pairs:
        width = longest if part["filled"] else len(digits)
        digits += [0] * (width + -width % part["multiple"] - len(digits))
    return numbers


def _number(
    part: dict[str, Any], digits: Sequence[int], number: int, axes: Sequence[str]
) -> Iterator[Key]:
    """Yield the digits of an operand; a sign precedes all but the first operand."""
    role, still = part["role"], tuple((False, 0) for _ in axes)
    onward = tuple((False, int(axis == part["along"])) for axis in axes)
    if number:
        back = {part["along"]: (True, -1), part["many"]: (False, 1)}
        move = tuple(back.get(axis, (False, 0)) for axis in axes)
        yield part["between"], f"{role} between", 0, move
    for place, digit in enumerate(digits[::-1] if part["high_first"] else digits):
        first = not (place or number or part["follows"])
        yield digit, role, 0, tuple((True, 0) for _ in axes) if first else onward
        if part["gap"] and not place:
            yield part["gap"], f"{role} gap", 0, still


def _digits(value: int, base: int) -> list[int]:
    """Return the digits of a number, least significant first."""
    digits = [value % base]
    while value := value // base:
        digits.append(value % base)
    return digits


def _value(digits: Sequence[int], base: int) -> int:
    """Return the number of digits, least significant first."""
    number = 0
    for digit in reversed(digits):
        number = number * base + digit
    return number
