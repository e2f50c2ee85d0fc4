"""What the ladder's source announces for its last rung: `make results-announced`.

Each contender is `sources/announced` with what `CONTENDERS` says changed, trained for the same
number of steps (about six minutes of one core a seed):

9, 99, 999                      sums of numbers from 0 to that
subtraction, multiplication     of numbers from 0 to 99
numeric                         sums of numbers from 0 to 99, with the numeric loss
together                        sums, differences and products, a third of every step each
9: range, 99: range, ...        operands that training never had, asked of the first three

The recipe's RoPE turns over heads, as the source writes it, so these models have no positions in
effect. Tables are split by pairs, so the mirrored pair b + a of a held-out a + b may be trained on:
problems whose mirrored pair is not are counted separately. Of each table of pairs 72 in 100 are
trained on; validation uses one part of the others, the figures another. Runs lie in the runs
folder; an interrupted one continues.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, markdown, recipe_fields, spread, spread_of_losses

NAME, RECIPE, SEEDS = "announced", "sources/announced", 3
COMMON = {
    "training.steps": 2800,
    "training.checkpoint_every": 700,
    "training.validate_every": 140,
}
"""A third of the recipe's steps: a hundred epochs of the sums up to 99 + 99."""
ENOUGH = 0.99
"""Exact match of the validation problems that a training is timed to."""
MOST = 1400
"""Problems of a part: validation, the figures, and the training set scored again."""


def numbers(high: int, held_out: int) -> dict[str, Any]:
    """Operands from 0 to `high`, of whose pairs so many are held out."""
    part = min(held_out // 2, MOST)
    return {
        "task.values": [0, high], "task.held_out": held_out, "training.validation": part,
        "evaluation.held_out": part, "evaluation.digits": [len(str(high))],
    }  # fmt: skip


TABLE: dict[str, Any] = {
    "values": [0, 99], "held_out": 2_800, "twins_together": False, "special": 0.0
}  # fmt: skip
CONTENDERS: dict[str, dict[str, Any]] = {
    "9": numbers(9, 28),
    "99": numbers(99, 2_800),
    "999": numbers(999, 280_000),
    "subtraction": {"task.operator": "-"},
    "multiplication": {"task.operator": "*"},
    "numeric": {"training.loss": "numeric"},
    "together": {"task": [TABLE | {"operator": operator} for operator in "+-*"]},
}
RANGES = {f"{name}: range": name for name in ("9", "99", "999")}
"""Results on operands that training never had, with the contenders that they are of."""
FEWER = {"together": 1, **dict.fromkeys(RANGES, 1)}
"""How many seeds there are of results that have not `SEEDS`."""
EACH = 200
"""Problems of each range of operands."""
OPERANDS = {"0 to 9": "9", "0 to 99": "99", "0 to 999": "999"}
OPERATIONS = {"`+`": "99", "`-`": "subtraction", "`*`": "multiplication"}
LOSSES = {"cross entropy": "99", "numeric": "numeric"}
"""The rows of each table, and whose figures they have."""


def main() -> None:
    options = arguments(__doc__, [*CONTENDERS, *RANGES])
    for name in options.names:
        contender = RANGES.get(name, name)
        settings: dict[str, Any] = {"recipe": recipe_fields(RECIPE, changes(contender))}
        settings |= {"each": EACH} if name in RANGES else {"again": MOST}
        measure = out_of_range if name in RANGES else measured
        RESULTS.keep(NAME, name, partial(measure, contender), range(seeds(name)), settings, options)


def seeds(name: str) -> int:
    return FEWER.get(name, SEEDS)


def changes(name: str) -> dict[str, Any]:
    return COMMON | CONTENDERS[name]


def measured(name: str) -> dict[str, Any]:
    """What the contender has learned of each of its tables, by member."""
    if name != "together":
        run = finished(f"{NAME}-{name}", RECIPE, SEEDS, changes(name))
        return scored(run) | distances(run, asked(run))

    def of_one(run: Any) -> dict[str, Any]:
        return {
            task.operator: scored(run, task) | distances(run, asked(run, task))
            for task in run.recipe.tasks
        }

    return of_each_seed(f"{NAME}-{name}", RECIPE, seeds(name), changes(name), of_one)


def out_of_range(name: str) -> dict[str, Any]:
    """What is right of sums whose operands training never had, by member.

    `longer` has two operands of one digit more than the largest of training.
    """

    def of_one(run: Any) -> dict[str, Any]:
        (task,) = run.recipe.tasks
        limit = task.values[1] + 1
        return {
            "parameters": run.folder.read_info().parameters,
            "pairs in training": tasks.trained_count(task),
            "range": by_range(run),
            "longer": beyond(run, (limit, 10 * limit - 1)),
        }

    from curta.problems import tasks

    count = seeds(f"{name}: range")
    return of_each_seed(f"{NAME}-{name}", RECIPE, count, changes(name), of_one)


def of_each_seed(
    name: str,
    recipe: str,
    count: int,
    changed: dict[str, Any],
    measure: Callable[[Any], dict[str, Any]],
) -> dict[str, Any]:
    """The figures of runs of one seed each, so that seeds can be added; counts are of the first.

    Of {"loss": [0.5], "asked": 9} and {"loss": [0.25], "asked": 9}: {"loss": [0.5, 0.25],
    "asked": 9}. Seconds are those of all.
    """
    each = []
    for seed in range(count):
        run = finished(f"{name}-seed-{seed}", recipe, [seed], changed)
        each.append(measure(run) | {"seconds": run.folder.read_info().training_seconds})
    return joined(each) | {"seconds": sum(one["seconds"] for one in each)}


def joined(each: Sequence[dict[str, Any]]) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    for name, value in each[0].items():
        values = [one[name] for one in each]
        if isinstance(value, dict):
            figures[name] = joined(values)
        elif isinstance(value, list):
            figures[name] = [of_member for of_seed in values for of_member in of_seed]
        else:
            figures[name] = value
    return figures


def by_range(run: Any) -> dict[str, list[float]]:
    """Exact match of the operand-range probe, by the range that operands lie in."""
    from curta.frontends import api

    rows = api.probe(run, "operand-range", count=EACH)
    return {f"{row['range']}, {row['beyond']} beyond": row["members"] for row in rows}


def beyond(run: Any, span: tuple[int, int], count: int = 1000, seed: int = 1) -> dict[str, Any]:
    """What members answer of random sums whose two operands lie in a range."""
    from random import Random

    from curta.evaluation.scoring import scores
    from curta.problems.problem import Problem

    rng = Random(seed)
    problems = [Problem("+", (rng.randint(*span), rng.randint(*span))) for _ in range(count)]
    figures = scores(run.load_models(), problems, run.layout.bounds_of(problems))
    return {
        "exact match": figures.exact_match.mean(axis=1).round(5).tolist(),
        "token accuracy": figures.token_accuracy.round(5).tolist(),
        "loss": figures.loss.round(4).tolist(),
    }


def asked(run: Any, task: Any = None) -> list[Any]:
    """The held-out problems of the figures, of a task or the only one: those after validation's."""
    from curta.problems import tasks

    watched = run.recipe.training.validation
    places = range(watched, watched + run.recipe.evaluation.held_out)
    return tasks.held_out(task or run.recipe.tasks[0], places)


def scored(run: Any, task: Any = None) -> dict[str, Any]:
    """What a finished run has learned of a table (its only one), by member."""
    from curta.evaluation.scoring import scores
    from curta.problems import tasks

    task, models = task or run.recipe.tasks[0], run.load_models()
    sets = asked(run, task), tasks.trained_problems(task, MOST)
    found, again = (scores(models, one, run.layout.bounds_of(one)) for one in sets)
    info = run.folder.read_info()
    return {
        "parameters": info.parameters,
        "steps": run.step,
        "pairs": tasks.table(task).rows,
        "pairs in training": tasks.trained_count(task),
        "asked": len(sets[0]),
        "training loss": final_losses(run),
        "held-out loss": [float(f"{loss:.3g}") for loss in found.loss],
        "exact match": found.exact_match.mean(axis=1).round(5).tolist(),
        **without_twin(task, sets[0], found.exact_match),
        "token accuracy": found.token_accuracy.round(5).tolist(),
        "exact match in training": again.exact_match.mean(axis=1).round(5).tolist(),
        "enough": reached(run),
        "seconds": info.training_seconds,
    }


def without_twin(task: Any, problems: Sequence[Any], right: np.ndarray) -> dict[str, Any]:
    """How many problems have no twin in training, and what is right of these, by member."""
    from curta.problems import tasks

    known = {problem.operands for problem in tasks.with_trained_twin(task, problems)}
    alone = [problem.operands not in known for problem in problems]
    shares = right[:, alone].mean(axis=1).round(5).tolist() if any(alone) else [None] * len(right)
    return {"without twin": sum(alone), "exact match without twin": shares}


def final_losses(run: Any) -> list[float | None]:
    """Each member's mean training loss over the last tenth of the steps; None if it diverged."""
    rows = [row for row in run.folder.read_metrics() if row.step > 0.9 * run.recipe.training.steps]
    each = [[row.loss for row in rows if row.member == m] for m in range(len(run.seeds))]
    return [None if not one or None in one else round(sum(one) / len(one), 6) for one in each]


def reached(run: Any) -> list[int | None]:
    """The first validation at which each member had `ENOUGH`, by its step; None: none."""
    rows = [row for row in run.folder.read_metrics() if row.validation_exact_match is not None]
    good = [row for row in rows if row.validation_exact_match >= ENOUGH]
    steps = ([row.step for row in good if row.member == m] for m in range(len(run.seeds)))
    return [min(one, default=None) for one in steps]


def distances(run: Any, problems: Sequence[Any]) -> dict[str, Any]:
    """How far the answers that members write are from the truth, and how many are no number.

    Of answers 7, 9 and none where 7 is right, the mean absolute error is 1, and 1 is no number.
    """
    errors, malformed = [], []
    for member in range(len(run.seeds)):
        texts = run.write(problems, member)
        answers = [run.layout.answer(p, text) for p, text in zip(problems, texts, strict=True)]
        off = [abs(a - p.truth) for a, p in zip(answers, problems, strict=True) if a is not None]
        errors.append(round(sum(off) / len(off), 5) if off else None)
        malformed.append(len(problems) - len(off))
    return {"absolute error": errors, "malformed": malformed}


def tables(results: Results) -> dict[str, Iterable[str]]:
    known = results.read(NAME)
    made = {
        f"{NAME}, operands": _table(known, "operands", OPERANDS, (*PAIRS, *LEARNED)),
        f"{NAME}, operations": _table(known, "operation", OPERATIONS, (*LEARNED, *NUMBERS)),
        f"{NAME}, losses": _table(known, "loss", LOSSES, (*LEARNED, *NUMBERS, *SPEED)),
    }
    figures: dict[str, Iterable[str]] = {
        name: markdown(*table) for name, table in made.items() if table[1]
    }
    if known_ranges := ranges(known):
        figures[f"{NAME}, ranges"] = _ranges(known_ranges)
    if "together" in known:
        figures[f"{NAME}, together"] = _together(known)
    return figures


def ranges(known: dict[str, Any]) -> dict[str, Any]:
    """The figures out of range, by the operands of training."""
    return {
        words: known[f"{name}: range"]
        for words, name in OPERANDS.items()
        if f"{name}: range" in known
    }


def _ranges(known: dict[str, Any]) -> Iterable[str]:
    """A line for each range of training: exact match by the range that is evaluated."""
    columns = list(next(iter(known.values()))["range"])
    head = [
        "operands of training", "pairs trained on", "seeds", *columns,
        "both one digit longer", "token accuracy there", "loss there",
    ]  # fmt: skip
    rows = [
        [
            words, f"{of['pairs in training']:,}", str(len(of["longer"]["loss"])),
            *(spread(of["range"][column]) for column in columns),
            spread(of["longer"]["exact match"]), spread(of["longer"]["token accuracy"]),
            spread_of_losses(of["longer"]["loss"]),
        ]
        for words, of in known.items()
    ]  # fmt: skip
    return markdown(head, rows)


def _together(known: dict[str, Any]) -> Iterable[str]:
    """A line for each operation: alone, and in the one model for all."""
    head = ["operation", "model", "seeds", *(words for words, _ in LEARNED), NUMBERS[0][0]]
    rows = []
    for words, name in OPERATIONS.items():
        models = {"of its own": known.get(name), "one for all": known["together"][words.strip("`")]}
        for model, of in models.items():
            if of:
                cells = (cell(of[figure], figure) for _, figure in (*LEARNED, NUMBERS[0]))
                rows.append([words, model, str(len(of["exact match"])), *cells])
    return markdown(head, rows)


Column = tuple[str, str]
"""The head, and the name of the figure."""
PAIRS: tuple[Column, ...] = (
    ("pairs", "pairs"),
    ("trained on", "pairs in training"),
    ("held out, evaluated", "asked"),
    ("of these, mirrored pair not in training", "without twin"),
    ("steps", "steps"),
)
LEARNED: tuple[Column, ...] = (
    ("loss on held-out answers", "held-out loss"),
    ("exact match, held out", "exact match"),
    ("exact match, mirrored pair not in training", "exact match without twin"),
    ("exact match, trained on", "exact match in training"),
)
NUMBERS: tuple[Column, ...] = (
    ("mean absolute error of held-out answers", "absolute error"),
    ("answers that are not numbers", "malformed"),
)
SPEED: tuple[Column, ...] = ((f"steps to {ENOUGH} of validation", "enough"),)


def _table(
    known: dict[str, Any], of: str, rows: dict[str, str], columns: Sequence[Column]
) -> tuple[list[str], list[list[str]]]:
    """A head and the rows that are measured."""
    head = [of, *(words for words, _ in columns), "seconds a seed"]
    told = {words: known[name] for words, name in rows.items() if name in known}
    return head, [
        [words, *(cell(one[name], name) for _, name in columns), f"{one['seconds'] / SEEDS:,.0f}"]
        for words, one in told.items()
    ]


def cell(value: Any, name: str) -> str:
    """A count, or what the members have, as a table says it."""
    if isinstance(value, int):
        return f"{value:,}"
    there = [one for one in value if one is not None]
    if name in ("enough", "malformed"):
        return _counts(there, len(value))
    if not there:
        return "none"
    return spread_of_losses(there) if name.endswith("loss") else spread(there)


def _counts(there: list[int], members: int) -> str:
    """Least to greatest of the members that have one; how many, if not all do."""
    if not there:
        return f"0 of {members}"
    least, most = min(there), max(there)
    of = "" if len(there) == members else f"{len(there)} of {members}: "
    return f"{of}{least:,}" if least == most else f"{of}{least:,} to {most:,}"


if __name__ == "__main__":
    main()
