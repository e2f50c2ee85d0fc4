"""Problems examined and answers written per second: `python -m benchmarks.throughput`.

A model of the default recipe, trained here first, is examined and asked through the
calls that `curta evaluate` and `curta ask` make; writing the problems down and reading
the answers back count. Everything is called once before it is measured. Examining
is one teacher-forced pass; answers are generated token by token. The prompt's pass
belongs to the time of an answer.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from docs.shared import scratch_runs

from .spread import Row, Spread, Table, explained, main

if TYPE_CHECKING:
    from curta import Run
    from curta.problems.problem import Problem


def tables(quick: bool) -> Iterator[Table]:
    with trained(600 if quick else 0) as run:
        repeats = 1 if quick else 7
        yield Table(
            "Examining",
            explained(__doc__),
            ["", "count", "a second", "seconds"],
            _exams(run, quick, repeats),
        )
        yield Table("Asking", "", ["", "count", "a second", "seconds"], _asks(run, quick, repeats))
        head = ["length of operands", "tokens written", "tokens a second", "µs a token"]
        yield Table("Writing long answers, one at a time", "", head, _writes(run, quick, repeats))


@contextmanager
def trained(steps: int, seeds: int = 1) -> Iterator["Run"]:
    """A run of the default recipe in a folder that is removed afterwards; 0 are its own steps."""
    import curta

    with scratch_runs():
        settings: dict[str, Any] = {"training.steps": steps} if steps else {}
        yield curta.train("addition", seeds, **settings, evaluate=False)


def _timed(call: Callable[[], Any], repeats: int) -> list[float]:
    """Seconds of each call after a first one; results are on the host when it returns."""
    call()
    seconds = []
    for _ in range(repeats):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    return seconds


def _sums(digits: int, count: int) -> "list[Problem]":
    from curta.problems.tasks import problems

    return problems("+", "random", (digits, digits), count, seed=2)


def _row(name: str, count: int, seconds: list[float]) -> Row:
    rates = [count / each for each in seconds]
    return [name, f"{count:,}", Spread.of(rates), Spread.of(seconds)]


def _exams(run: "Run", quick: bool, repeats: int) -> list[Row]:
    from curta.evaluation.scoring import exact_match
    from curta.evaluation.suite import grid_row

    rows: list[Row] = []
    for digits, count in ((20, 4096), (100, 2048)):
        exam = _sums(digits, count // 64 if quick else count)
        seconds = _timed(partial(exact_match, run.load_models(), exam), repeats)
        rows.append(_row(f"sums of {digits} digits", len(exam), seconds))
    size = 4 if quick else 40
    settings = replace(run.recipe.evaluation, grid=size, grid_count=20)
    row = partial(grid_row, run.load_models(), "+", settings)
    seconds = _timed(lambda: [row(first) for first in range(1, size + 1)], min(repeats, 3))
    return [
        *rows,
        _row(f"grid of {size} x {size} lengths, 20 sums each", size * size * 20, seconds),
    ]


def _asks(run: "Run", quick: bool, repeats: int) -> list[Row]:
    count = 32 if quick else 512
    exam = _sums(20, count)
    at_once = _timed(lambda: run.write(exam), repeats)
    single = exam[: count // 16]
    in_turn = _timed(lambda: [run.write([problem]) for problem in single], repeats)
    return [
        _row("20 digits, all in one call", count, at_once),
        _row("20 digits, one a call", len(single), in_turn),
    ]


def _writes(run: "Run", quick: bool, repeats: int) -> list[Row]:
    """Rates count the tokens of the answer, whose number is what the model wrote."""
    rows: list[Row] = []
    for digits in (20, 100) if quick else (100, 1000, 5000):
        exam = _sums(digits, 1)
        tokens = len(run.write(exam)[0])
        seconds = _timed(partial(run.write, exam), repeats)
        rates, costs = [tokens / each for each in seconds], [each / tokens for each in seconds]
        cells = [Spread.of(rates), Spread.of(costs, 1e6)]
        rows.append([f"{digits:,} digits", f"{tokens:,}", *cells])
    return rows


if __name__ == "__main__":
    main(tables)
