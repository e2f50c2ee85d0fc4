"""The recipe of a program for which nobody wrote one: sizes from the program, the rest as usual."""

import random
from collections.abc import Sequence
from typing import Any

from curta.config.errors import UserError
from curta.problems.sizes import Sizes
from curta.programs.machine import Program, sampling

DIGITS = (1, 4)
"""Digits of the operands of a program that does not say on which it is trained."""


def sizes(program: Program) -> Sizes:
    """Return the sizes on which a program is trained where no recipe says so."""
    digits = program.sizes.get("digits", DIGITS)
    least = len(program.format.givens)
    operands = program.sizes.get("operands", (least, least))
    return Sizes(digits, program.sizes.get("second", digits), operands)


def fields(programs: Sequence[Program], names: Sequence[str]) -> dict[str, Any]:
    """A recipe for these programs. With an algorithm they are learned under a window; without
    one, answers are learned whole, by attention to all earlier tokens.
    """
    windowed = all(program.run is not None for program in programs)
    tasks = [_task(program, windowed) for program in programs]
    summaries = dict.fromkeys(program.summary.rstrip(".") for program in programs)
    return {
        "summary": "; ".join(summaries),
        "program": names[0] if len(names) == 1 else list(names),
        "task": tasks[0] if len(tasks) == 1 else tasks,
        "evaluation": _evaluation(programs, windowed),
    } | (_windowed() if windowed else _dense())


def _task(program: Program, windowed: bool) -> dict[str, Any]:
    sizes = {"digits": DIGITS} | dict(program.sizes)
    spans = {name: list(span) for name, span in sizes.items()}
    return {"operator": program.operator, "special": 0.3 if windowed else 0.0} | spans


def _windowed() -> dict[str, Any]:
    return {
        "positions": {"name": "window"},
        "model": {
            "width": 32,
            "heads": 4,
            "num_layers": 2,
            "num_attention_layers": 1,
            "compositional_embeddings": True,
        },
        "optimizer": {"learning_rate": 0.01},
        "training": {"steps": 2000, "batch": 1024, "problems": 4000},
    }


def _dense() -> dict[str, Any]:
    return {
        "positions": {"name": "rope"},
        "model": {"width": 128, "heads": 4, "num_layers": 2, "num_attention_layers": 2},
        "optimizer": {"learning_rate": 0.001},
        "training": {"steps": 2000, "batch": 256, "problems": 8000},
    }


def _evaluation(programs: Sequence[Program], windowed: bool) -> dict[str, Any]:
    """Sizes of training and, where these are to be left behind, twice and four times as many."""
    factors = (1, 2, 4) if windowed else (1,)
    digits = {program.operator: _sizes(program, factors) for program in programs}
    sizes = digits if len(digits) > 1 else next(iter(digits.values()))
    return {"digits": sizes, "count": 50, "held_out": 200}


def _sizes(program: Program, factors: Sequence[int]) -> list[int | str]:
    """The largest size of training, so many times as long: 20, `20x4` of four, `20/5` and 5.

    A second operand that always has as many digits keeps them. Sizes of which the program refuses
    every problem are left out; if it refuses all of them, the largest that it takes is evaluated.
    """
    few, most = program.sizes.get("digits", DIGITS)
    lengths = [factor * most for factor in factors]
    taken = [one for one in lengths if _takes(program, one, one // most)]
    if not taken:
        shorter = range(most - 1, few - 1, -1)
        taken = [next((one for one in shorter if _takes(program, one, 1)), most)]
    return [_named(program, one, max(1, one // most)) for one in taken]


def _second(program: Program, first: int, factor: int) -> int:
    """Digits of each further operand, where the first has so many."""
    few, many = program.sizes.get("second", (first, first))
    return many if few == many else factor * many


def _takes(program: Program, first: int, factor: int) -> bool:
    """Whether the program has answers to problems of that size."""
    count = program.sizes.get("operands", (1, len(program.format.givens)))[1]
    digits = [first] + [_second(program, first, factor)] * (count - 1)
    try:
        sampling.draw(program, Sizes.exactly(digits), random.Random(0))
    except UserError:
        return False
    return True


def _named(program: Program, first: int, factor: int) -> int | str:
    if "operands" in program.sizes:
        return f"{program.sizes['operands'][1]}x{first}"
    return f"{first}/{_second(program, first, factor)}" if "second" in program.sizes else first
