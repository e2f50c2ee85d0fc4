"""Problems examined and answers written per second: `python -m benchmarks.throughput`.

A model of the default recipe, trained here first, is examined and asked through the
calls that `curta evaluate` and `curta ask` make; writing the problems down and reading
the answers back count. Everything is called once before it is measured. Examining
is one teacher-forced pass; answers are generated token by token. The prompt's pass
belongs to the time of an answer.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from docs.shared import scratch_runs, timed

from .spread import Row, Spread, Table, explained, main

if TYPE_CHECKING:
    from curta import Run

HEAD = ["", "count", "a second", "seconds"]


@contextmanager
def trained(steps: int, seeds: int = 1) -> Iterator["Run"]:
    """A run of the default recipe in a folder that is removed afterwards; 0 are its own steps."""
    import curta

    with scratch_runs():
        settings: dict[str, Any] = {"training.steps": steps} if steps else {}
        yield curta.train("addition", seeds, **settings, evaluate=False)


def tables(quick: bool) -> Iterator[Table]:
    from curta.evaluation.scoring import exact_match
    from curta.evaluation.suite import grid_row

    repeats = 1 if quick else 7
    with trained(600 if quick else 0) as run:
        rows = list[Row]()
        for digits, count in ((20, 4096), (100, 2048)):
            exam = _sums(digits, count // 64 if quick else count)
            name = f"sums of {digits} digits"
            call = partial(exact_match, run.load_models(), exam)
            rows.append(_row(name, len(exam), call, repeats))
        size = 4 if quick else 40
        settings = replace(run.recipe.evaluation, grid=size, grid_count=20)
        row = partial(grid_row, run.load_models(), "+", settings)
        grid = lambda: [row(first) for first in range(1, size + 1)]
        name = f"grid of {size} x {size} lengths, 20 sums each"
        rows.append(_row(name, size * size * 20, grid, min(repeats, 3)))
        yield Table("Examining", explained(__doc__), HEAD, rows)

        exam = _sums(20, 32 if quick else 512)
        single = exam[: len(exam) // 16]
        in_turn = lambda: [run.write([problem]) for problem in single]
        rows = [
            _row("20 digits, all in one call", len(exam), lambda: run.write(exam), repeats),
            _row("20 digits, one a call", len(single), in_turn, repeats),
        ]
        yield Table("Asking", "", HEAD, rows)

        rows = []
        for digits in (20, 100) if quick else (100, 1000, 5000):
            exam = _sums(digits, 1)
            tokens = len(run.write(exam)[0])  # rates count the tokens that the model wrote
            seconds = timed({"": partial(run.write, exam)}, repeats)[""]
            rate, cost = [tokens / each for each in seconds], [each / tokens for each in seconds]
            cells = [Spread.of(rate), Spread.of(cost, 1e6)]
            rows.append([f"{digits:,} digits", f"{tokens:,}", *cells])
        head = ["length of operands", "tokens written", "tokens a second", "µs a token"]
        yield Table("Writing long answers, one at a time", "", head, rows)


def _sums(digits: int, count: int) -> list[Any]:
    from curta.problems.tasks import problems

    return problems("+", "random", (digits, digits), count, seed=2)


def _row(name: str, count: int, call: Callable[[], Any], repeats: int) -> Row:
    """Time a call after a first one."""
    seconds = timed({name: call}, repeats)[name]
    return [name, f"{count:,}", Spread.of([count / each for each in seconds]), Spread.of(seconds)]


if __name__ == "__main__":
    main(tables)
