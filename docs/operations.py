"""Five operations of three digits, as their source has them: `make results-operations`.

small, seed 0 to 2   `sources/five-operations-small`, trained to its end
small, seed 2, on    the same run, trained on to 60,000 steps, and then to 100,000; any other too
pairs, seed 0 to 2   the small one for a quarter of its steps, twice: with the same pairs held out
                     of every operation, and with others of each, as in the source, where a // b
                     is in training for 98 % of the held-out a % b

The table also has the full design trained to its end, which docs/gpu.py does on a GPU. (`full` in
docs/results/operations.json is its first hour on one core, from an earlier commit.)

Of held-out problems the result's digits count, in what was written token by token, as the source
marks them. Runs lie in the runs folder, where an interrupted training continues.
"""

from collections.abc import Iterable
from functools import partial
from itertools import pairwise
from typing import Any

from curta.frontends import api
from curta.runs import folders
from docs.evidence import RESULTS, Results, arguments
from docs.shared import (
    beyond_defaults,
    held_out,
    markdown,
    on_one_core,
    recipe_fields,
    spread,
    spread_of_counts,
    trained,
)

NAME, SMALL = "operations", "sources/five-operations-small"
SEEDS = range(3)
OPERATORS = ("+", "-", "*", "//", "%")
ENDS = (40_000, 60_000, 100_000)
"""Steps at which the small one ends, first and when it is trained on."""
PAIRS, SHORT = "pairs, seed {}", ENDS[0] // 4
DESIGNS = {
    "small": (NAME, "small, seed {}"),
    "full": ("gpu", "five operations, seed {}"),
}
"""Columns of the table: file and title of their results."""


def course(end: int) -> dict[str, Any]:
    """Return what changes in the small one when it was trained to that end over earlier ones."""
    earlier = [step for step in ENDS if step < end]
    changes = {"training.validate_every": 100, "training.steps": end}
    return changes | ({"training.extended_at": earlier} if earlier else {})


def main() -> None:
    names = {f"small, seed {seed}{on}": (seed, on) for on in ("", ", on") for seed in SEEDS}
    options = arguments(__doc__, [*names, *map(PAIRS.format, SEEDS)])
    on_one_core()
    for name in options.names:
        if name not in names:
            seed = int(name[-1])
            settings = {kind: recipe_fields(SMALL, held_out_pairs(kind)) for kind in KINDS}
            RESULTS.keep(NAME, name, partial(of_pairs, seed), [seed], settings, options)
            continue
        seed, on = names[name]
        end = ENDS[-1] if on else ENDS[0]
        settings = {"recipe": recipe_fields(SMALL, course(end))}
        RESULTS.keep(NAME, name, partial(measured, seed, end), [seed], settings, options)


KINDS = ("shared", "separate")


def held_out_pairs(kind: str) -> dict[str, Any]:
    """Return what changes with the same pairs held out of every operation, or with others."""
    tasks = [beyond_defaults(task) for task in api.resolve(SMALL, {}).tasks]
    shared = [task | {"split": 42} for task in tasks]
    return {
        "task": shared if kind == "shared" else tasks,
        "training.validate_every": 1000, "training.steps": SHORT,
    }  # fmt: skip


def of_pairs(seed: int) -> dict[str, Any]:
    """Train a seed with shared and with separate held-out pairs, and score both."""
    figures = dict[str, Any]()
    for kind in KINDS:
        run, seconds = trained(f"{NAME}-{kind}-{seed}", SMALL, [seed], held_out_pairs(kind))
        figures[kind] = {"seconds": seconds} | scored(run)
    return figures


def measured(seed: int, end: int) -> dict[str, Any]:
    """Train a seed to that end, over the earlier ones, and score what is held out.

    A run that was trained on is no run of 40,000 steps any more: remove it to measure that again.
    """
    name = f"{NAME}-small-{seed}"
    for step, later in pairwise(ENDS):
        exists = name in folders.existing()
        if later <= end and (not exists or api.load(name).recipe.training.steps <= step):
            trained(name, SMALL, [seed], course(step))
            api.extend(name, later)
    run, seconds = trained(name, SMALL, [seed], course(end))
    return {"seconds": seconds} | scored(run)


def scored(run: Any) -> dict[str, Any]:
    """Return how a run of one member does on held-out problems, and what it was trained on."""
    rows = {row.operator: row for row in held_out(run)}
    return {
        "parameters": run.folder.read_info().parameters,
        "steps": run.step,
        "problems trained on": run.step * run.recipe.training.batch,
        "result": {o: rows[o].generated.exact_match[0] for o in OPERATORS},
        "problems": {o: rows[o].count for o in OPERATORS},
    }


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return a column for each design: exact match of results, the mean last, and costs."""
    columns = dict[str, dict[str, str]]()
    for name, (file, form) in DESIGNS.items():
        numbers = results.read(file)
        seeds = [numbers[title] for title in map(form.format, SEEDS) if title in numbers]
        shares = [x["result"] for x in seeds]
        column = {o: spread((share[o] for share in shares), 4) for o in OPERATORS}
        means = (sum(share.values()) / len(share) for share in shares)
        column["mean"] = spread(means, 4)
        for cost in ("parameters", "problems trained on", "seconds"):
            column[cost] = spread_of_counts(x[cost] for x in seeds)
        column["seconds"] += " (GPU)" * ("device" in seeds[0])
        columns[name] = column
    first = next(iter(columns.values()))
    rows = ([row, *(column[row] for column in columns.values())] for row in first)
    made: dict[str, Iterable[str]] = {NAME: markdown(["", *columns], rows)}
    numbers = results.read(NAME)
    seeds = [numbers[name] for name in map(PAIRS.format, SEEDS) if name in numbers]
    if seeds:
        by_kind = {
            kind: [spread((x[kind]["result"][o] for x in seeds), 4) for o in OPERATORS]
            for kind in KINDS
        }
        made["pairs"] = markdown(
            ["held-out pairs", *OPERATORS], [[k, *v] for k, v in by_kind.items()]
        )
    return made


if __name__ == "__main__":
    main()
