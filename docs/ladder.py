"""Gives every published encoding a fair chance: `make results-ladder`.

All entries have the same transformer, optimiser and problems, of 1 to 10 digits except where the
name says another length; what differs stands in `ENTRIES`. Each is given as many steps as 20
minutes of one core hold. Its learning rate is found first: those of `RATES` are tried for a tenth
of these steps each, and that with the least training loss is taken. Then three seeds are trained
until exact match of problems like those of training is at least 0.99, or to the end of the steps
(`until`). `whole` trains to the end in any case. `python -m docs.ladder until Abacus` does one
stage of one entry.

For contrast, the recipe `addition`, whose model is given a program, is evaluated on the same test
problems (`PROGRAM`).

The search and every seed of an entry are results of their own in docs/results/encodings.json; runs
lie in the runs folder, where an interrupted training continues.
"""

import argparse
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from statistics import median
from typing import Any

from curta.config.errors import UserError
from curta.problems import tasks
from docs.evidence import RESULTS, Results, arguments
from docs.shared import (
    best_rate,
    markdown,
    on_one_core,
    recipe_fields,
    search_rates,
    shares_right,
    slug,
    spread,
    trained,
)

FILE = "encodings"
STAGES = ("until", "whole")
SEEDS = (0, 1, 2)
RATES = (0.0005, 0.001, 0.002, 0.004)
BUDGET = 20 * 60.0
"""Seconds of one core for a seed."""
SEARCH = 10
"""A learning rate is tried for this part of the steps: one in ten."""
ENOUGH = 0.99
"""Exact match of problems like those of training at which a training ends."""
SIZES = (10, 15, 20, 30, 40, 60, 100)
COUNT = 100
"""Problems of a size and slice."""

COMMON: dict[str, Any] = {
    "task.digits": [1, 10], "task.special": 0.25,
    "model.width": 128, "model.heads": 4, "model.num_layers": 2,
    "model.num_attention_layers": 2, "model.mlp_ratio": 2, "model.activation": "gelu",
    "model.role_embeddings": False,
    "optimizer.name": "adamw", "optimizer.warmup": 0.05,
    "training.batch": 128, "training.checkpoint_every": 1000, "training.checkpoints": 1,
    "training.validate_every": 100, "training.validation": 1000,
}  # fmt: skip
"""What all entries have in common."""

BLOCK = {"model.num_layers": 1, "model.num_attention_layers": 1}
"""The authors' design of Position Coupling: one layer; the rest is the recipe's."""
EQUAL = {
    "model.gated": False, "model.norm_placement": "pre", "model.attention_scale": True,
    "model.tie_embeddings": False,
}  # fmt: skip
"""What the recipe of Position Coupling has beyond the others, taken away."""

MUON = {"optimizer.name": "muon"}
FAR = {"positions.rows": 256, "positions.max_offset": 90}
"""Abacus, with offsets as far as sums of a hundred digits."""
WAVES = {"positions.name": "coupled-sinusoidal", "positions.period": 256.0}
"""Waves that do not repeat within a sum of a hundred digits."""
THIRTY = {"task.digits": [1, 30]}
"""As long as the sums that the authors of Position Coupling train on."""

ENTRIES: dict[str, tuple[str, dict[str, Any]]] = {
    "Position Coupling": ("position-coupling", BLOCK),
    "Abacus": ("abacus", FAR),
    "Abacus, Muon": ("abacus", FAR | MUON),
    "Abacus, not padded": ("abacus", FAR | {"layout": "reversed"}),
    "reversed (RoPE)": ("reversed", {}),
    "plain (learned positions)": ("plain", {"positions.length": 512}),
    "coupled vectors": ("coupled", {"positions.rows": 256, "positions.max_start": 90}),
    "blanks (learned positions)": ("blanks", {"positions.length": 512}),
    "reversed and padded (RoPE)": ("reversed", {"layout": "padded"}),
    "reversed (NoPE)": ("reversed", {"positions.name": "nope"}),
    "reversed (ALiBi)": ("alibi", {}),
    "reversed (T5)": ("t5", {}),
    "reversed (FIRE)": ("fire", {}),
    "index hints (FIRE, random positions)": ("hints", {"positions.max_length": 1024}),
    "Position Coupling, block as in the others": ("position-coupling", EQUAL),
    "coupled waves": ("coupled", WAVES),
    "Position Coupling, up to 30 digits": ("position-coupling", BLOCK | THIRTY),
    "Abacus, up to 30 digits": ("abacus", FAR | THIRTY),
}
"""Recipe and changes of each, in the order in which they are trained.

Random positions and starts reach as far as sums of a hundred digits need.
"""

PROGRAM = "Curta, given a program"
"""The result of the recipe `addition`, on the same test problems."""
VALIDATED = {"training.validate_every": 100, "training.validation": 1000}
"""The only change to that recipe."""


def main() -> None:
    options = arguments(__doc__, [*STAGES, *ENTRIES])
    on_one_core()
    names = [name for name in options.names if name in ENTRIES] or [*ENTRIES]
    for stage in [stage for stage in options.names if stage in STAGES] or STAGES:
        for seed in SEEDS:
            for name in names:
                search(name, options)
                one_seed(name, stage, seed, options)
    settings = {"recipe": recipe_fields("addition", VALIDATED), "sizes": SIZES}
    RESULTS.keep(FILE, PROGRAM, program, SEEDS, settings, options)


def program() -> list[dict[str, Any]]:
    """Return exact match in training and on every size, for each seed."""
    run, _ = trained("encodings-program", "addition", SEEDS, VALIDATED)
    rows = run.folder.read_metrics()[-len(SEEDS) :]
    return [
        {"training": row.validation_exact_match, "sizes": sizes}
        for row, sizes in zip(rows, by_size(run), strict=True)
    ]


def search(name: str, options: argparse.Namespace) -> None:
    """Keep the entry's steps, and the loss of every learning rate in a tenth of them."""
    recipe, changes = changed(name, RATES[0], SEARCH)
    settings = {"recipe": recipe_fields(recipe, changes), "rates": RATES, "budget": BUDGET}
    measure = partial(search_rates, FILE, name, partial(changed, name), RATES, BUDGET)
    RESULTS.keep(FILE, f"{name}: rates", measure, [SEEDS[0]], settings, options)


def changed(name: str, rate: float, steps: int) -> tuple[str, dict[str, Any]]:
    """Return an entry's recipe, and all that is changed in it."""
    recipe, changes = ENTRIES[name]
    pace = {"optimizer.learning_rate": rate, "training.steps": steps}
    return f"addition-{recipe}", COMMON | pace | changes


def one_seed(name: str, stage: str, seed: int, options: argparse.Namespace) -> None:
    """Keep one seed of an entry, trained and evaluated."""
    entry = entries(RESULTS)[name]
    recipe, changes = changed(name, best_rate(entry["rates"]), entry["steps"])
    settings = {"recipe": recipe_fields(recipe, changes), "enough": ENOUGH, "sizes": SIZES}
    measure = partial(measured, name, entry, stage, seed)
    RESULTS.keep(FILE, f"{name}: {stage}, seed {seed}", measure, [seed], settings, options)


def measured(name: str, entry: dict[str, Any], stage: str, seed: int) -> dict[str, Any]:
    """Train a seed of an entry at the entry's rate, and evaluate it.

    One that never reached `ENOUGH` was trained to the end the first time.
    """
    before: dict[str, Any] | None = entry.get("until", {}).get(str(seed))
    if stage == "whole" and before and before["steps"] == entry["steps"]:
        return before
    rate = best_rate(entry["rates"])
    recipe, changes = changed(name, rate, entry["steps"])
    if stage == "until":
        changes["training.stop_at"] = ENOUGH
    run, seconds = trained(slug(FILE, name, stage, str(rate), str(seed)), recipe, [seed], changes)
    last, (sizes,) = run.folder.read_metrics()[-1], by_size(run)
    return {
        "steps": last.step,
        "training": last.validation_exact_match,
        "sizes": sizes,
        "seconds": seconds,
        "rate": rate,
    }


def by_size(run: Any) -> list[dict[str, dict[str, float] | None]]:
    """Return each member's exact match by size and slice; None if a size has no positions."""
    models = run.load_models()
    sizes: list[dict[str, dict[str, float] | None]] = [{} for _ in run.seeds]
    for size in SIZES:
        for by_slice in sizes:
            by_slice[str(size)] = None
        with suppress(UserError):
            shares = {
                name: shares_right(models, tasks.problems("+", name, (size, size), COUNT, 1))
                for name in tasks.slices("+")
            }
            for member, by_slice in enumerate(sizes):
                by_slice[str(size)] = {name: shares[name][member] for name in shares}
    return sizes


def entries(results: Results) -> dict[str, dict[str, Any]]:
    """Return each measured entry: steps, rates, and the figures by stage and seed."""
    all_entries: dict[str, dict[str, Any]] = {}
    for title, numbers in results.read(FILE).items():
        name, _, end = title.rpartition(": ")
        stage, _, seed = end.partition(", seed ")
        if seed:
            all_entries[name].setdefault(stage, {})[seed] = numbers
        else:
            all_entries[name] = dict(numbers)
    return {name: all_entries[name] for name in ENTRIES if name in all_entries}


def complete(all_entries: dict[str, dict[str, Any]], stage: str) -> dict[str, list[dict[str, Any]]]:
    """Return the figures of every seed of a stage, for entries with all seeds."""
    seeds = {name: [*entry.get(stage, {}).values()] for name, entry in all_entries.items()}
    return {name: figures for name, figures in seeds.items() if len(figures) == len(SEEDS)}


TABLE_SIZES = {"until": (15, 20, 30), "whole": (20, 30, 60, 100)}
"""Digits that the table of each stage has; the file has all sizes."""


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return how far each entry reaches that solves any longer sum, a table for each stage."""
    all_entries, by_name = entries(results), dict[str, Iterable[str]]()
    for title, stage in (("encodings", "until"), ("encodings, whole", "whole")):
        sizes, rows = TABLE_SIZES[stage], list[list[str]]()
        for name, seeds in complete(all_entries, stage).items():
            training = median(seed["training"] for seed in seeds)
            shares = [[seed["sizes"][str(size)]["random"] for seed in seeds] for size in sizes]
            if any(map(max, shares)):  # the picture shows the others, too
                rows.append([name, f"{training:.3f}", *(spread(of_size, 2) for of_size in shares)])
        head = ["encoding", "in training", *(f"{size} digits" for size in sizes)]
        by_name[title] = markdown(head, rows)
    return by_name


if __name__ == "__main__":
    main()
