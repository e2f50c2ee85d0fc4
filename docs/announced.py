"""What the ladder's source announces for its last rung: `make results-announced`.

Each contender is `sources/ladder-5-answers` with what `CONTENDERS` says changed, three seeds of as
many steps each (about six minutes of one core a seed):

9, 99, 999                      sums of numbers from 0 to that
subtraction, multiplication     of numbers from 0 to 99
numeric                         sums of numbers from 0 to 99, with the numeric loss

The recipe's RoPE turns by heads, as the source writes it, so in effect these models have no
positions. The twin of a problem that is asked, b + a of a + b, may be trained on, since tables are
split by pairs: problems whose twin is not are told apart. Of each table of pairs 72 in 100 are
trained on; validation asks one part of the others, the figures are of another part. Runs are
trained in the runs folder, or gone on with.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, markdown, recipe_fields, spread, spread_of_losses

NAME, RECIPE, SEEDS = "announced", "sources/ladder-5-answers", 3
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


CONTENDERS: dict[str, dict[str, Any]] = {
    "9": numbers(9, 28),
    "99": numbers(99, 2_800),
    "999": numbers(999, 280_000),
    "subtraction": {"task.operator": "-"},
    "multiplication": {"task.operator": "*"},
    "numeric": {"training.loss": "numeric"},
}
OPERANDS = {"0 to 9": "9", "0 to 99": "99", "0 to 999": "999"}
OPERATIONS = {"`+`": "99", "`-`": "subtraction", "`*`": "multiplication"}
LOSSES = {"cross entropy": "99", "numeric": "numeric"}
"""The rows of each table, and whose figures they have."""


def main() -> None:
    options = arguments(__doc__, CONTENDERS)
    for name in options.names:
        settings = {"recipe": recipe_fields(RECIPE, changes(name)), "again": MOST}
        RESULTS.keep(NAME, name, partial(measured, name), range(SEEDS), settings, options)


def changes(name: str) -> dict[str, Any]:
    return COMMON | CONTENDERS[name]


def measured(name: str) -> dict[str, Any]:
    run = finished(f"{NAME}-{name}", RECIPE, SEEDS, changes(name))
    return scored(run) | distances(run, asked(run))


def asked(run: Any) -> list[Any]:
    """The held-out problems of the figures: those after the ones of validation."""
    from curta.problems import tasks

    (task,), watched = run.recipe.tasks, run.recipe.training.validation
    return tasks.held_out(task, range(watched, watched + run.recipe.evaluation.held_out))


def scored(run: Any) -> dict[str, Any]:
    """What a finished run has learned of its table, by member."""
    from curta.evaluation.scoring import scores
    from curta.problems import tasks

    (task,), models = run.recipe.tasks, run.load_models()
    sets = asked(run), tasks.trained_problems(task, MOST)
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
    return {name: markdown(*table) for name, table in made.items() if table[1]}


Column = tuple[str, str]
"""The head, and the name of the figure."""
PAIRS: tuple[Column, ...] = (
    ("pairs", "pairs"),
    ("trained on", "pairs in training"),
    ("held out, asked", "asked"),
    ("of these without a trained twin", "without twin"),
    ("steps", "steps"),
)
LEARNED: tuple[Column, ...] = (
    ("loss on held-out answers", "held-out loss"),
    ("exact match, held out", "exact match"),
    ("of those without a trained twin", "exact match without twin"),
    ("exact match, trained on", "exact match in training"),
)
NUMBERS: tuple[Column, ...] = (
    ("mean absolute error of held-out answers", "absolute error"),
    ("answers that are no number", "malformed"),
)
SPEED: tuple[Column, ...] = ((f"{ENOUGH} of validation reached, steps", "enough"),)


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
