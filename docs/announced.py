"""What the ladder's source announces for its last rung: `make results-announced`.

Each contender is `sources/announced` with what `CONTENDERS` says changed, trained for the same
number of steps (about six minutes of one core a seed):

9, 99, 999                      sums of numbers from 0 to that
subtraction, multiplication     of numbers from 0 to 99
numeric                         sums of numbers from 0 to 99, with the numeric loss
together                        `+`, `-` and `*` in one model, three times as many steps
9: range, 99: range, ...        the first three on operands beyond those of training

The recipe's RoPE turns over heads, as the source writes it, so these models have no positions in
effect. Tables are split by pairs, so the mirrored pair b + a of a held-out a + b may be trained on:
problems whose mirrored pair is not are counted separately. Of each table of pairs 72 in 100 are
trained on; validation uses one part of the others, the figures another. Runs lie in the runs
folder; an interrupted one continues.
"""

from collections.abc import Iterable
from functools import partial
from random import Random
from typing import Any

from curta.evaluation.scoring import scores
from curta.frontends import api
from curta.problems import tasks
from docs.evidence import RESULTS, Results, arguments
from docs.shared import (
    final_losses,
    finished,
    markdown,
    of_each_seed,
    recipe_fields,
    spread,
    spread_of_losses,
    sums_of,
)

NAME, RECIPE, SEEDS = "announced", "sources/announced", 3
COMMON = {
    "training.steps": 2800,
    "training.checkpoint_every": 700,
    "training.validate_every": 140,
}
"""A third of the recipe's steps: a hundred epochs of the sums up to 99 + 99."""
MOST = 1400
"""Problems of validation, of the figures, and of the training set scored again."""


def numbers(high: int, held_out: int) -> dict[str, Any]:
    """Return operands from 0 to `high`, with so many pairs held out."""
    half = min(held_out // 2, MOST)
    return {
        "task.values": [0, high], "task.held_out": held_out, "training.validation": half,
        "evaluation.held_out": half, "evaluation.digits": [len(str(high))],
    }  # fmt: skip


CONTENDERS: dict[str, dict[str, Any]] = {
    "9": numbers(9, 28),
    "99": numbers(99, 2_800),
    "999": numbers(999, 280_000),
    "subtraction": {"task.operator": "-"},
    "multiplication": {"task.operator": "*"},
    "numeric": {"training.loss": "numeric"},
}
TOGETHER = "together"
CONTENDERS[TOGETHER] = {
    "task": [
        {"operator": operator, "values": [0, 99], "held_out": 2800, "split": 42,
         "twins_together": False, "special": 0.0}
        for operator in ("+", "-", "*")
    ],
    "training.steps": 8400, "training.checkpoint_every": 2100, "training.validate_every": 420,
}  # fmt: skip
"""As many problems of each operation as a model of its own gets, and the same ones held out."""
RANGES = {f"{name}: range": name for name in ("9", "99", "999")}
"""Results on operands beyond training (one seed), by contender."""
EACH = 200
"""Problems of each range of operands."""
LABELS = {
    "9": "0 to 9",
    "99": "0 to 99",
    "999": "0 to 999",
    "subtraction": "0 to 99, `-`",
    "multiplication": "0 to 99, `*`",
    "numeric": "0 to 99, numeric loss",
}
FIGURES = {
    "trained on": "pairs in training",
    "held out": "exact match",
    "mirrored pair untrained": "exact match without twin",
    "in training": "exact match in training",
}
"""Columns of the table, and the figure of each."""


def main() -> None:
    options = arguments(__doc__, [*CONTENDERS, *RANGES])
    for name in options.names:
        contender = RANGES.get(name, name)
        changes = COMMON | CONTENDERS[contender]
        settings: dict[str, Any] = {"recipe": recipe_fields(RECIPE, changes)}
        if name in RANGES:
            settings["each"] = EACH
            run, seeds = f"{NAME}-{contender}-seed", [0]
            measure = partial(of_each_seed, run, RECIPE, seeds, changes, out_of_range)
        else:
            settings["again"] = MOST
            seeds = [*range(SEEDS)]
            measure = partial(measured, contender, changes)
        RESULTS.keep(NAME, name, measure, seeds, settings, options)


def measured(name: str, changes: dict[str, Any]) -> dict[str, Any]:
    run = finished(f"{NAME}-{name}", RECIPE, SEEDS, changes)
    if name != TOGETHER:
        return scored(run)
    return {task.operator: scored(run, number) for number, task in enumerate(run.recipe.tasks)}


def out_of_range(run: Any) -> dict[str, Any]:
    """Score sums whose operands are beyond training; `longer` ones have one digit more."""
    (task,), info = run.recipe.tasks, run.folder.read_info()
    limit = task.values[1] + 1
    return {
        "parameters": info.parameters,
        "pairs in training": tasks.trained_count(task),
        "range": by_range(run, count=EACH),
        "longer": beyond(run, (limit, 10 * limit - 1)),
        "seconds": info.training_seconds,
    }


def by_range(run: Any, **settings: Any) -> dict[str, list[float]]:
    """Return exact match of the operand-range probe by the range that operands lie in."""
    rows = api.probe(run, "operand-range", **settings)
    return {f"{row['range']}, {row['beyond']} beyond": row["members"] for row in rows}


def beyond(run: Any, span: tuple[int, int], count: int = 1000) -> dict[str, Any]:
    """Score random sums whose two operands lie in a range."""
    rng = Random(1)
    problems = sums_of((rng.randint(*span), rng.randint(*span)) for _ in range(count))
    figures = scores(run.load_models(), problems, run.layout.bounds_of(problems))
    return {
        "exact match": figures.exact_match.mean(axis=1).round(5).tolist(),
        "token accuracy": figures.token_accuracy.round(5).tolist(),
    }


def problems_of(run: Any, number: int = 0) -> list[Any]:
    """Return the held-out problems of a task's figures: those after validation's."""
    first = run.recipe.training.validation
    numbers = range(first, first + run.recipe.evaluation.held_out)
    return tasks.held_out(run.recipe.tasks[number], numbers)


def scored(run: Any, number: int = 0) -> dict[str, Any]:
    """Return what a finished run has learned of the table of one task, by member."""
    task, models, problems = run.recipe.tasks[number], run.load_models(), problems_of(run, number)
    trained = tasks.trained_problems(task, MOST)
    figures = scores(models, problems, run.layout.bounds_of(problems))
    again = scores(models, trained, run.layout.bounds_of(trained))
    mirrored = {problem.operands for problem in tasks.with_trained_twin(task, problems)}
    alone = [problem.operands not in mirrored for problem in problems]
    right = figures.exact_match
    shares = right[:, alone].mean(axis=1).round(5).tolist() if any(alone) else [None] * len(right)
    info = run.folder.read_info()
    return {
        "parameters": info.parameters,
        "steps": run.step,
        "pairs in training": tasks.trained_count(task),
        "training loss": final_losses(run),
        "held-out loss": [float(f"{loss:.3g}") for loss in figures.loss],
        "exact match": right.mean(axis=1).round(5).tolist(),
        "exact match without twin": shares,
        "exact match in training": again.exact_match.mean(axis=1).round(5).tolist(),
        "seconds": info.training_seconds,
    }


def tables(results: Results) -> dict[str, Iterable[str]]:
    numbers = results.read(NAME)
    labels = {label: numbers[name] for name, label in LABELS.items() if name in numbers}
    rows = [
        [label, *(cell(figures[figure], figure) for figure in FIGURES.values())]
        for label, figures in labels.items()
    ]
    made: dict[str, Iterable[str]] = {NAME: markdown(["operands", *FIGURES], rows)}
    if together := numbers.get(TOGETHER):
        shares = [spread(figures["exact match"]) for figures in together.values()]
        head = ["", *(f"`{operator}`" for operator in together)]
        made[f"{NAME}, {TOGETHER}"] = markdown(head, [["held out", *shares]])
    return made


def best_beyond(shares: dict[str, list[float]]) -> str:
    """Return exact match in the best range with an operand beyond the limit."""
    far = [values for name, values in shares.items() if name[0] in "L251"]
    return spread(max(members) for members in zip(*far, strict=True))


def cell(value: Any, name: str) -> str:
    """Return a count, or the spread over members, as a table has it."""
    if isinstance(value, int):
        return f"{value:,}"
    values = [member for member in value if member is not None]
    if not values:
        return "none"
    return spread_of_losses(values) if name.endswith("loss") else spread(values)


if __name__ == "__main__":
    main()
