"""Prompts of problems, and answers read from texts, by the description of a program's machine.

The description is in config.json: its `tokens`, each with the `home` and the `offset` of its move
on every axis, and a format for each operator: the `parts` of a prompt, and where an `answer` is.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from curta.programs.machine.store import load


def prompt(machine: dict[str, Any], operator: str, operands: Sequence[Any]) -> list[int]:
    """Return the tokens of a problem; ValueError for one that the model does not take."""
    if operator not in machine["formats"]:
        raise ValueError(f"operator {operator!r} is none of {', '.join(machine['formats'])}")
    room, paper = machine["formats"][operator], load(machine, "config.json")[0]
    form = paper.formats[operator]
    bases = [part.base for part in form.givens]
    most = room.get("operands") if form.most is None else form.most
    values = checked(operator, operands, bases, most, room.get("digits"))
    return [paper.numbers[key] for key in form.write(values)]


def answer(machine: dict[str, Any], operator: str, text: Sequence[int], start: int) -> Any:
    """Return the answer in a text that was written from token `start` on; None if there is none."""
    paper, completion = load(machine, "config.json")[0], [*text][start:]
    if paper.end not in completion:
        return None
    stop = start + completion.index(paper.end)
    squares = paper.positions(np.array(text[:stop], int)).tolist()
    pairs = [(paper.tokens[text[place]], squares[place]) for place in range(start, stop)]
    return paper.formats[operator].read(pairs)


def takes(operator: str, bases: Sequence[int], most: int | None, digits: int | None) -> str:
    """Return such as `+ takes 2 whole numbers from 0 up, of at most 10 digits`."""
    least = len(bases)
    count = f"{least}" if most == least else f"{least} to {most}" if most else f"{least} or more"
    numbers = "whole number" if most == 1 else "whole numbers"
    length = f", of at most {digits} digits" if digits else ""
    base = f" in base {bases[0]}" if digits and {*bases} != {10} else ""
    return f"{operator} takes {count} {numbers} from 0 up{length}{base}"


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
