"""The ladder's last rung at four sizes, an hour of a core each: `make results-sizes`.

`sources/ladder-5-answers`, sums up to 99 + 99, with 0.5 to 10 million parameters. In effect they
have no positions: the recipe's RoPE turns by heads, as the source writes it. They differ in width
alone: four layers, heads of width 8, as in the recipe. Each has three seeds of as many steps of 64
problems as 20 minutes of one core hold, so the larger a model is, the fewer it meets.

Its learning rate is found first: those of `RATES`, the range that the source gives, are tried for
a tenth of the steps each, and that with the least training loss is taken. The search and the
trainings of a size are results of their own; runs are trained in the runs folder, or gone on with.
"""

import argparse
from collections.abc import Iterable, Iterator
from functools import partial
from statistics import median
from typing import Any

from curta.config.table import decimal
from docs.announced import cell, final_losses, scored
from docs.evidence import RESULTS, Results, arguments
from docs.shared import (
    affordable,
    ended,
    finished,
    markdown,
    on_one_core,
    own_run,
    recipe_fields,
    spread,
)

NAME, RECIPE, SEEDS = "sizes", "sources/ladder-5-answers", 3
WIDTHS = {"0.5M": 104, "2M": 208, "5M": 320, "10M": 456}
"""Width of each size, by about how many parameters it has."""
RATES = (0.0003, 0.001, 0.003)
BUDGET, BATCH, SEARCH = 20 * 60.0, 64, 10
"""Seconds of one core for a seed, problems of a step, and the part of the steps to try a rate."""
BEYOND, COUNT, SEED = (100, 999), 1000, 1
"""Operands out of range, how many sums of them are asked, and what they are drawn from."""
EACH = 200
"""Sums that are asked of each range of the operand-range probe."""
BESIDES: dict[str, Any] = {"beyond": BEYOND, "count": COUNT, "each": EACH}


def main() -> None:
    options = arguments(__doc__, WIDTHS)
    on_one_core()
    for name in options.names:
        search(name, options)
        found = RESULTS.read(NAME)[f"{name}: rates"]
        asked = changes(name, best_rate(found["rates"]), found["steps"])
        settings = {"recipe": recipe_fields(RECIPE, asked), **BESIDES}
        RESULTS.keep(NAME, name, partial(measured, name, asked), range(SEEDS), settings, options)


def changes(name: str, rate: float, steps: int) -> dict[str, Any]:
    """What is changed in the recipe."""
    return design(name) | {
        "optimizer.learning_rate": rate,
        "training.steps": steps,
        "training.batch": BATCH,
        "training.checkpoint_every": max(1, steps // 4),
        "training.checkpoints": 1,
        "training.validate_every": max(1, steps // 10),
        "evaluation.count": 50,
    }


def design(name: str) -> dict[str, Any]:
    """A size, with heads of width 8."""
    return {"model.width": WIDTHS[name], "model.heads": WIDTHS[name] // 8}


def search(name: str, options: argparse.Namespace) -> None:
    """Keeps the size's steps, and the training loss of every learning rate in a tenth of them."""
    asked = {"recipe": recipe_fields(RECIPE, changes(name, RATES[0], 1))}
    besides = {"rates": RATES, "budget": BUDGET}
    RESULTS.keep(NAME, f"{name}: rates", partial(searched, name), [0], asked | besides, options)


def searched(name: str) -> dict[str, Any]:
    steps, losses = affordable(RECIPE, changes(name, RATES[0], 1000), BUDGET, chunk=10), {}
    for rate in RATES:
        own = f"{NAME}-{name}-{rate}".replace(".", "_")
        run = own_run(own, RECIPE, 1, changes(name, rate, steps // SEARCH))
        run.train()
        ended(run)
        (losses[str(rate)],) = final_losses(run)
    return {"steps": steps, "rates": losses}


def best_rate(losses: dict[str, float | None]) -> float:
    """The rate with the least training loss, of those that did not diverge."""
    known = {rate: loss for rate, loss in losses.items() if loss is not None}
    return float(min(known, key=lambda rate: known[rate]))


def measured(name: str, asked: dict[str, Any]) -> dict[str, Any]:
    from curta.frontends import api

    run = finished(f"{NAME}-{name}".replace(".", "_"), RECIPE, SEEDS, asked)
    rows = api.probe(run, "operand-range", count=EACH)
    return scored(run) | {
        "width": WIDTHS[name],
        "rate": asked["optimizer.learning_rate"],
        "beyond": beyond(run),
        "range": {f"{row['range']}, {row['beyond']} beyond": row["members"] for row in rows},
    }


def beyond(run: Any) -> dict[str, list[float]]:
    """By member, what is right of sums whose operands are both out of range."""
    from random import Random

    from curta.evaluation.scoring import scores
    from curta.problems.problem import Problem

    rng = Random(SEED)
    asked = [Problem("+", (rng.randint(*BEYOND), rng.randint(*BEYOND))) for _ in range(COUNT)]
    found = scores(run.load_models(), asked, run.layout.bounds_of(asked))
    return {
        "exact match": found.exact_match.mean(axis=1).round(5).tolist(),
        "token accuracy": found.token_accuracy.round(5).tolist(),
        "loss": found.loss.round(4).tolist(),
    }


def trained(results: Results) -> dict[str, Any]:
    """The figures of each size that has them."""
    known = results.read(NAME)
    return {name: known[name] for name in WIDTHS if name in known}


def tables(results: Results) -> dict[str, Iterable[str]]:
    known = trained(results)
    if not known:
        return {}
    ranges = {name: one["range"] for name, one in known.items()}
    head = ["", *next(iter(ranges.values()))]
    return {
        NAME: markdown(HEAD, (_row(name, one) for name, one in known.items())),
        f"{NAME}, range": markdown(head, _ranges(ranges)),
        f"{NAME}, rates": markdown(
            ["", "steps tried", *map(str, RATES)], _rates(results.read(NAME))
        ),
    }


HEAD = (
    "",
    "width",
    "parameters",
    "steps",
    "learning rate",
    "training loss",
    "loss on held-out answers",
    "exact match, held out",
    "of those without a trained twin",
    "exact match, {} to {}".format(*BEYOND),
    "token accuracy there",
    "seconds a seed",
)


def _row(name: str, of: dict[str, Any]) -> list[str]:
    return [
        name,
        str(of["width"]),
        f"{of['parameters']:,}",
        f"{of['steps']:,}",
        str(of["rate"]),
        *(cell(of[loss], loss) for loss in ("training loss", "held-out loss")),
        *(spread(of[measure]) for measure in ("exact match", "exact match without twin")),
        *(spread(of["beyond"][measure]) for measure in ("exact match", "token accuracy")),
        f"{of['seconds'] / SEEDS:,.0f}",
    ]


def _ranges(known: dict[str, dict[str, list[float]]]) -> Iterator[list[str]]:
    """The median of the seeds: most are alike."""
    for name, shares in known.items():
        yield [name, *(decimal(median(values)) for values in shares.values())]


def _rates(known: dict[str, Any]) -> Iterator[list[str]]:
    for name in WIDTHS:
        if found := known.get(f"{name}: rates"):
            losses = found["rates"].values()
            told = ["diverged" if one is None else f"{one:.4f}" for one in losses]
            yield [name, f"{found['steps'] // SEARCH:,}", *told]


if __name__ == "__main__":
    main()
