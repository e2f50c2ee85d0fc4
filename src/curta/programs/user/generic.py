"""The recipe of a program for which nobody wrote one: sizes from the program, the rest as usual."""

from collections.abc import Sequence
from typing import Any

from curta.programs.machine import Program

DIGITS = (1, 4)
"""Digits of the operands of a program that does not say on which it is trained."""


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
    digits = {
        program.operator: [_size(program, factor) for factor in factors] for program in programs
    }
    sizes = digits if len(digits) > 1 else next(iter(digits.values()))
    return {"digits": sizes, "count": 50, "held_out": 200}


def _size(program: Program, factor: int) -> int | str:
    """The largest size of training, so many times as long: 20, `20x4` of four, `20/5` and 5.

    A second operand that always has as many digits keeps them.
    """
    sizes, most = program.sizes, factor * program.sizes.get("digits", DIGITS)[1]
    if "operands" in sizes:
        return f"{sizes['operands'][1]}x{most}"
    if "second" not in sizes:
        return most
    few, many = sizes["second"]
    return f"{most}/{many if few == many else factor * many}"
