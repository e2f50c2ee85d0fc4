"""The price of a hint: `make results-price`.

How many sums up to 999 + 999 must be shown until a model is right on 99 of 100 that it has not met,
by what it is given beyond the text as people write it. Every step shows 64 sums of the table; the
transformer, the optimiser and the steps are the same for all. What is given stands in `GIVEN`:

order     the answer, and the operands, least significant digit first
padding   operands of one width, the answer of one more
places    a learned vector for the place of a digit, instead of rotary positions
roles     a learned vector for the part of the sum to which a character belongs
carries   a mark of what is carried before each digit of the answer
trace     the text of a program: carries are marked, or the sum is worked out before it is written;
          in a program's tokens, which tell digits of different roles apart, and moves; operands
          of one width
window    attention to the neighbours on which the program's next token depends, on one layer

Of the structure of a program one part has no price of its own, its moves: they are in the tokens
of operands wherever there is a trace.

A learning rate is found first: each of `RATES` is tried for a quarter of the steps, with a seed
that is not reported. Then eight seeds. The search and each seed are results of their own in
docs/results/price.json.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from curta.evaluation.scoring import Models
from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.problems import tasks
from curta.training import records, trainer
from docs.evidence import RESULTS, Results, arguments
from docs.shared import markdown, random_problems, recipe_fields, shares_right, spread_of

FILE = "price"
SEEDS = range(8)
SEARCHED = 100
"""The seed of the search."""
RATES = (0.001, 0.003, 0.01)
BATCH = 64
"""Sums of a step; under a window, as many windows as these have."""
STEPS = 16_000
TRIED = 4_000
"""Steps with each rate in the search."""
ENOUGH = 0.99
ASKED = 500
"""Sums of a check, and again as many that say at the end what is right."""
LENGTHS = (6, 20, 100)
COUNT = 100
RECORDED = 64_000
"""Sums that a program is recorded on, each seed its own."""

COMMON: dict[str, Any] = {
    "task.values": [0, 999], "task.held_out": 2 * ASKED,
    "task.special": 0.0, "task.digits": [1, 10],
    "model.width": 64, "model.heads": 4, "model.mlp_ratio": 2, "model.activation": "gelu",
    "model.num_layers": 2, "model.num_attention_layers": 2, "model.role_embeddings": False,
    "model.compositional_embeddings": False,
    "optimizer.name": "adamw", "optimizer.schedule": "constant", "optimizer.warmup": 0.02,
    "training.batch": BATCH, "training.steps": STEPS,
    "training.validate_every": 0, "evaluation.grid": 0,
}  # fmt: skip
"""What all models have in common."""

ROPE = {"positions.name": "rope", "positions.base": 10000.0}
PLACES = {"positions.name": "coupled", "positions.rows": 128, "positions.max_start": 0}
ROLES = {"model.role_embeddings": True}
WINDOW = {
    "positions.name": "window", "model.num_attention_layers": 1, "training.sampling": "frequency",
}  # fmt: skip

GIVEN: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": ("plain", ROPE),
    "roles": ("plain", ROPE | ROLES),
    "padding": ("plain-padded", ROPE),
    "padding, roles": ("plain-padded", ROPE | ROLES),
    "padding, places": ("plain-padded", PLACES),
    "padding, places, roles": ("plain-padded", PLACES | ROLES),
    "order": ("reversed", ROPE),
    "order, roles": ("reversed", ROPE | ROLES),
    "order, padding": ("padded", ROPE),
    "order, padding, roles": ("padded", ROPE | ROLES),
    "order, places": ("coupled", PLACES),
    "order, places, roles": ("coupled", PLACES | ROLES),
    "order, padding, places": ("padded", PLACES),
    "order, padding, places, roles": ("padded", PLACES | ROLES),
    "carries, order, padding": ("carries", ROPE),
    "carries, order, padding, roles": ("carries", ROPE | ROLES),
    "carries, order, padding, places": ("carries", PLACES),
    "carries, order, padding, places, roles": ("carries", PLACES | ROLES),
    "trace": ("spaced", ROPE),
    "trace, order": ("carried", ROPE),
    "trace, order, places, roles": ("carried", PLACES | ROLES),
    "window": ("addition", WINDOW),
    "window, trace": ("carried", WINDOW),
}
"""Layout or program, and positions, by what is given. Order, places and roles are in a window."""

PROGRAMS = ("spaced", "carried", "addition")


def main() -> None:
    options = arguments(__doc__, GIVEN)
    for name in options.names:
        settings: dict[str, Any] = {"recipe": recipe_fields(*changed(name, RATES[0]))}
        settings |= {"rates": RATES, "tried": TRIED, "asked": ASKED, "enough": ENOUGH}
        search = lambda name=name: {
            str(rate): measured(name, rate, SEARCHED, TRIED) for rate in RATES
        }
        RESULTS.keep(FILE, f"{name}: rates", search, [SEARCHED], settings, options)
        rate = best_rate(RESULTS.read(FILE)[f"{name}: rates"])
        for seed in SEEDS:
            measure = partial(measured, name, rate, seed)
            RESULTS.keep(FILE, f"{name}: seed {seed}", measure, [seed], settings, options)
        # Compiled programs of all combinations together would fill the memory.
        compiled.cache_clear()
        jax.clear_caches()


def changed(name: str, rate: float) -> tuple[str, dict[str, Any]]:
    """The recipe of what is given, as a shipped one and all that is changed in it."""
    layout, changes = GIVEN[name]
    source = layout if layout in PROGRAMS else "addition-plain"
    by = {"training.problems": RECORDED} if layout in PROGRAMS else {"layout": layout}
    return source, COMMON | by | {"optimizer.learning_rate": rate} | changes


def best_rate(searches: dict[str, Any]) -> float:
    """Return the rate with the fewest sums until right, or else with the most right."""

    def cost(rate: float) -> tuple[float, float]:
        figures = searches[str(rate)]
        return figures["sums"] or np.inf, -figures["exact match"]

    return min(RATES, key=cost)


def measured(name: str, rate: float, seed: int, steps: int = STEPS) -> dict[str, Any]:
    """Return the sums shown until right, None if never, and what is right at the end.

    It is right at the first of two checks in a row that find so many right.
    """
    shape, layout, mesh, call = compiled(name)
    recipe = api.resolve(*changed(name, rate))
    state = trainer.shard(trainer.init(recipe, layout, jnp.asarray([seed])), mesh)
    data = trainer.place_data(records.training_data(shape, layout, [seed])[0], mesh)
    held_out = partial(tasks.held_out, recipe.tasks[0])

    def right(problems: list[Any]) -> float:
        return shares_right(Models(state.model, layout, 1), problems)[0]

    step = 0
    before = reached = None
    for check in checks(steps):
        while step < check:
            count = min(trainer.CHUNK, check - step)
            state, _ = call(state, data, jnp.int32(step), jnp.int32(count))
            step += count
        solved = right(held_out(range(ASKED))) >= ENOUGH
        if solved and before is not None:
            reached = before
            break
        before = check if solved else None
    lengths = {size: random_problems("+", (size, size), COUNT) for size in LENGTHS}
    return {
        "sums": None if reached is None else reached * BATCH,
        "shown": step * BATCH,
        "exact match": right(held_out(range(ASKED, 2 * ASKED))),
        "lengths": {str(size): right(problems) for size, problems in lengths.items()},
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(state.model)),
    }


@cache
def compiled(name: str) -> tuple[Any, Any, Any, Any]:
    """Return recipe, layout, mesh and a chunk of steps for one member, compiled once for all."""
    recipe = api.resolve(*changed(name, RATES[0]))
    layout: Any = layout_of(recipe)
    if name.startswith("window"):
        # as many windows a step as the other models' sums have tokens, in the mean of a thousand
        (task,) = recipe.tasks
        drawn = records.problems(recipe, layout, task, SEARCHED)[:1000]
        texts = [layout.recorder.record(task.operator, operands) for operands in drawn]
        each = sum(len(tokens) - prompt for tokens, prompt in texts) / len(texts)
        batch = round(BATCH * each)
        recipe = replace(recipe, training=replace(recipe.training, batch=batch))
    mesh = trainer.training_mesh(recipe, 1)
    _, bounds = records.training_data(recipe, layout, [SEARCHED])
    return recipe, layout, mesh, trainer.compile_steps(recipe, bounds, mesh)


def checks(steps: int) -> Iterator[int]:
    """Steps at which is asked: each ten, then each tenth more: 10, 20, ..., 190, 200, 220, ..."""
    step = 10
    while step < steps:
        yield step
        step += max(10, step // 100 * 10)
    yield steps


def order(by_hints: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """Return the hints, that with the fewest sums until solved first, then the most right."""
    cost = {
        name: (median(sums(seeds)), -median(seed["exact match"] for seed in seeds))
        for name, seeds in by_hints.items()
    }
    return sorted(by_hints, key=lambda name: cost[name])


def entries(results: Results) -> dict[str, list[dict[str, Any]]]:
    """Return the figures of each seed, of the hints with all seeds."""
    numbers = results.read(FILE)
    titles = {name: [f"{name}: seed {seed}" for seed in SEEDS] for name in GIVEN}
    return {
        name: [numbers[title] for title in all_seeds]
        for name, all_seeds in titles.items()
        if all(title in numbers for title in all_seeds)
    }


def sums(seeds: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the sums until solved of each seed, infinite where it never was."""
    return [seed["sums"] or np.inf for seed in seeds]


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return a row for each combination of hints, those with the fewest sums first.

    Without those with which most seeds fail: the picture shows them, too.
    """
    by_hints, rows = entries(results), list[list[str]]()
    form = lambda value: f"{value:,.0f}" if np.isfinite(value) else "never"
    for name in order(by_hints):
        if np.isfinite(median(sums(by_hints[name]))):
            rows.append([name, spread_of(sums(by_hints[name]), form)])
    return {"price": markdown(("hints", "sums until solved"), rows)}


if __name__ == "__main__":
    main()
