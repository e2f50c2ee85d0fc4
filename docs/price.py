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

import argparse
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from docs.evidence import RESULTS, Results, arguments
from docs.shared import markdown, recipe_fields, spread_of

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
        keep(f"{name}: rates", name, partial(searched, name), SEARCHED, options)
        rate = best_rate(RESULTS.read(FILE)[f"{name}: rates"])
        for seed in SEEDS:
            keep(f"{name}: seed {seed}", name, partial(measured, name, rate, seed), seed, options)
        # Compiled programs of all combinations together would fill the memory.
        shape.cache_clear()
        jax.clear_caches()


def keep(
    title: str, name: str, measure: Callable[[], Any], seed: int, options: argparse.Namespace
) -> None:
    settings: dict[str, Any] = {"recipe": recipe_fields(*changed(name, RATES[0]))}
    settings |= {"rates": RATES, "tried": TRIED, "asked": ASKED, "enough": ENOUGH}
    RESULTS.keep(FILE, title, measure, [seed], settings, options)


def changed(name: str, rate: float) -> tuple[str, dict[str, Any]]:
    """The recipe of what is given, as a shipped one and all that is changed in it."""
    layout, changes = GIVEN[name]
    source = layout if layout in PROGRAMS else "addition-plain"
    by = {"training.problems": RECORDED} if layout in PROGRAMS else {"layout": layout}
    return source, COMMON | by | {"optimizer.learning_rate": rate} | changes


def searched(name: str) -> dict[str, Any]:
    """Of each rate, what its training came to."""
    return {str(rate): measured(name, rate, SEARCHED, TRIED) for rate in RATES}


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
    from curta.frontends import api
    from curta.training import trainer

    model, recipe = shape(name), api.resolve(*changed(name, rate))
    state = trainer.init(recipe, model.layout, jnp.asarray([seed]))
    state, data, step = trainer.shard(state, model.mesh), model.data(seed), 0
    before = reached = None
    for check in checks(steps):
        while step < check:
            count = min(trainer.CHUNK, check - step)
            state, _ = model.call(state, data, jnp.int32(step), jnp.int32(count))
            step += count
        solved = model.right(state.model, model.held_out(0)) >= ENOUGH
        if solved and before is not None:
            reached = before
            break
        before = check if solved else None
    return {
        "sums": None if reached is None else reached * BATCH,
        "shown": step * BATCH,
        "exact match": model.right(state.model, model.held_out(ASKED)),
        "lengths": {str(size): model.right(state.model, of_length(size)) for size in LENGTHS},
        "parameters": sum(leaf.size for leaf in jax.tree.leaves(state.model)),
    }


def checks(steps: int) -> Iterator[int]:
    """Steps at which is asked: each ten, then each tenth more: 10, 20, ..., 190, 200, 220, ..."""
    step = 10
    while step < steps:
        yield step
        step += max(10, step // 100 * 10)
    yield steps


def of_length(size: int) -> list[Any]:
    from curta.problems import tasks

    return tasks.problems("+", tasks.RANDOM, (size, size), COUNT, 1)


@cache
def shape(name: str) -> "Shape":
    return Shape(name)


class Shape:
    """What is given, compiled once: recipe, layout and a chunk of steps for one member."""

    def __init__(self, name: str) -> None:
        from curta.frontends import api
        from curta.layouts.texts import layout_of
        from curta.training import records, trainer

        recipe = api.resolve(*changed(name, RATES[0]))
        self.layout = layout_of(recipe)
        self.windows = name.startswith("window")
        if self.windows:
            batch = round(BATCH * windows_of_a_sum(recipe, self.layout))
            recipe = replace(recipe, training=replace(recipe.training, batch=batch))
        self.recipe, self.mesh = recipe, trainer.training_mesh(recipe, 1)
        _, bounds = records.training_data(recipe, self.layout, [SEARCHED])
        self.call = trainer.compile_steps(recipe, bounds, self.mesh)

    def data(self, seed: int) -> Any:
        """Return the training data of a member."""
        from curta.training import records, trainer

        data, _ = records.training_data(self.recipe, self.layout, [seed])
        return trainer.place_data(data, self.mesh)

    def held_out(self, first: int) -> list[Any]:
        """Return sums of the table that no training shows, from that place on."""
        from curta.problems import tasks

        return tasks.held_out(self.recipe.tasks[0], range(first, first + ASKED))

    def right(self, stacked: Any, problems: list[Any]) -> float:
        """Return the share of problems with every token right after the true ones before it."""
        from curta.evaluation import memo
        from curta.evaluation.scoring import Models, exact_match
        from curta.programs.machine.recording import Recording, recorded_windows

        layout: Any = self.layout
        if not self.windows:
            return float(exact_match(Models(stacked, layout, 1), problems).mean())
        texts = Recording.of([layout.tokens_of(problem) for problem in problems])
        windows = recorded_windows(layout.machine, texts, layout.windows)
        wrong = memo.calculate(stacked, windows.rows, windows.targets).token[0] != windows.targets
        count = np.bincount(windows.text, weights=wrong, minlength=len(problems))
        return float((count == 0).mean())


def windows_of_a_sum(recipe: Any, layout: Any) -> float:
    """How many tokens the program writes for a sum, in the mean of a thousand."""
    from curta.training import records

    (task,) = recipe.tasks
    sums = records.problems(recipe, layout, task, SEARCHED)[:1000]
    texts = [layout.recorder.record(task.operator, operands) for operands in sums]
    return sum(len(tokens) - prompt for tokens, prompt in texts) / len(texts)


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return a row for each combination of hints, those with the fewest sums first."""
    by_hints = entries(results)
    head = ("hints", "seeds of 8", "sums until solved")
    return {"price": markdown(head, (_row(name, by_hints[name]) for name in order(by_hints)))}


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


def _row(name: str, seeds: list[dict[str, Any]]) -> list[str]:
    return [
        name,
        str(sum(seed["sums"] is not None for seed in seeds)),
        spread_of(sums(seeds), lambda value: f"{value:,.0f}" if np.isfinite(value) else "never"),
    ]


if __name__ == "__main__":
    main()
