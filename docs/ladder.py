"""Gives every published encoding a fair chance: `make results-ladder`.

All entries have the same transformer, optimiser and problems, of 1 to 10 digits except where the
name says another length; what differs stands in `ENTRIES`. Each is given as many steps as 20
minutes of one core hold. Its learning rate is found first: those of `RATES` are tried for a tenth
of these steps each, and that with the least training loss is taken. Then three seeds are trained
until exact match of problems like those of training is at least 0.99, or to the end of the steps
(`until`). `whole` trains to the end in any case. `python -m docs.ladder until Abacus` does that of
one entry.

For contrast, the recipe `addition`, whose model is given a program, is evaluated on the same test
problems (`PROGRAM`).

The search and every seed of an entry are results of their own in docs/results/encodings.json; runs
lie in the runs folder, where a training that was broken off goes on.
"""

import argparse
import re
from collections.abc import Iterable, Iterator
from functools import partial
from statistics import median
from typing import Any

from docs.evidence import RESULTS, Results, arguments
from docs.shared import (
    Spent,
    affordable,
    ended,
    markdown,
    on_one_core,
    own_run,
    recipe_fields,
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
    asked = {"recipe": recipe_fields("addition", VALIDATED), "sizes": SIZES}
    RESULTS.keep(FILE, PROGRAM, program, SEEDS, asked, options)


def program() -> list[dict[str, Any]]:
    """Exact match in training and on every size, for each seed."""
    run = own_run("encodings-program", "addition", SEEDS, VALIDATED)
    run.train()
    ended(run)
    rows = run.folder.read_metrics()[-len(SEEDS) :]
    training = [row.validation_exact_match for row in rows]
    by_size = {str(size): slices(run, size) for size in SIZES}
    return [
        {
            "training": training[member],
            "sizes": {
                size: {name: shares[member] for name, shares in by_slice.items()}
                for size, by_slice in by_size.items()
                if by_slice is not None
            },
        }
        for member in range(len(SEEDS))
    ]


def search(name: str, options: argparse.Namespace) -> None:
    """Keeps the entry's steps and what comes of every learning rate in a tenth of them."""
    recipe, changes = changed(name, RATES[0], SEARCH)
    asked = {"recipe": recipe_fields(recipe, changes), "rates": RATES, "budget": BUDGET}
    RESULTS.keep(FILE, f"{name}: rates", partial(searched, name), [SEEDS[0]], asked, options)


def searched(name: str) -> dict[str, Any]:
    steps, losses, found = affordable(*changed(name, 0.001, 10_000), BUDGET), {}, {}
    for rate in RATES:
        run, _ = trained(name, "search", SEEDS[0], rate, steps // SEARCH)
        losses[str(rate)] = _final_loss(run)
        parameters, layers = run.folder.read_info().parameters, run.recipe.model.num_layers
        found = {"parameters": parameters, "layers": layers}
        print(name, rate, losses[str(rate)], flush=True)
    return {"steps": steps, "rates": losses, **found}


def changed(name: str, rate: float, steps: int) -> tuple[str, dict[str, Any]]:
    """An entry's recipe, and all that is changed in it."""
    recipe, own = ENTRIES[name]
    return f"addition-{recipe}", {
        **COMMON, "optimizer.learning_rate": rate, "training.steps": steps, **own,
    }  # fmt: skip


def trained(name: str, stage: str, seed: int, rate: float, steps: int) -> tuple[Any, float]:
    """A run trained to its end, from where it was broken off, and its seconds of one core."""
    recipe, changes = changed(name, rate, steps)
    if stage == "until":
        changes["training.stop_at"] = ENOUGH
    slug = "-".join(["encodings", *re.findall("[a-z0-9]+", name.lower()), stage])
    own = f"{slug}-{rate}-{seed}".replace(".", "_")
    run = own_run(own, recipe, [seed], changes)
    spent = Spent(run)
    run.train(spent.keep)
    ended(run)
    return run, spent.keep()


def _final_loss(run: Any) -> float | None:
    """Mean training loss over the last tenth of the steps; None if it diverged."""
    rows = run.folder.read_metrics()
    losses = [row.loss for row in rows if row.step > 0.9 * run.recipe.training.steps]
    return None if not losses or None in losses else round(sum(losses) / len(losses), 5)


def one_seed(name: str, stage: str, seed: int, options: argparse.Namespace) -> None:
    """Keeps one seed of an entry, trained and evaluated."""
    known = entries(RESULTS)[name]
    recipe, changes = changed(name, best_rate(known), known["steps"])
    asked = {"recipe": recipe_fields(recipe, changes), "enough": ENOUGH, "sizes": SIZES}
    measure = partial(measured, name, known, stage, seed)
    RESULTS.keep(FILE, f"{name}: {stage}, seed {seed}", measure, [seed], asked, options)


def measured(name: str, known: dict[str, Any], stage: str, seed: int) -> dict[str, Any]:
    """A seed of an entry, trained at the entry's rate and evaluated.

    One that never knew enough was trained to the end the first time.
    """
    before = known.get("until", {}).get(str(seed))
    if stage == "whole" and before and before["steps"] == known["steps"]:
        found: dict[str, Any] = before
        return found
    rate = best_rate(known)
    run, seconds = trained(name, stage, seed, rate, known["steps"])
    return scored(run) | {"seconds": seconds, "rate": rate}


def entries(results: Results) -> dict[str, dict[str, Any]]:
    """What is known of each entry: steps, rates, and by stage and seed what was measured."""
    found: dict[str, dict[str, Any]] = {}
    for title, numbers in results.read(FILE).items():
        name, _, part = title.rpartition(": ")
        stage, _, seed = part.partition(", seed ")
        if seed:
            found[name].setdefault(stage, {})[seed] = numbers
        else:
            found[name] = dict(numbers)
    return {name: found[name] for name in ENTRIES if name in found}


def complete(known: dict[str, dict[str, Any]], stage: str) -> dict[str, list[dict[str, Any]]]:
    """What every seed of a stage found, of the entries of which no seed is missing."""
    found = {name: [*one.get(stage, {}).values()] for name, one in known.items()}
    return {name: each for name, each in found.items() if len(each) == len(SEEDS)}


def best_rate(known: dict[str, Any]) -> float:
    """The rate with the least training loss, of those that did not diverge."""
    losses = {rate: loss for rate, loss in known["rates"].items() if loss is not None}
    return float(min(losses, key=lambda rate: losses[rate]))


def scored(run: Any) -> dict[str, Any]:
    """Steps, exact match in training, and of each size on random problems and every slice."""
    last = run.folder.read_metrics()[-1]
    return {
        "steps": last.step,
        "training": last.validation_exact_match,
        "sizes": {
            str(size): by_slice and {name: shares[0] for name, shares in by_slice.items()}
            for size in SIZES
            for by_slice in [slices(run, size)]
        },
    }


def slices(run: Any, size: int) -> dict[str, list[float]] | None:
    """Exact match of every member by slice; None if there are no positions for this size."""
    from curta.config.errors import UserError
    from curta.evaluation import scoring
    from curta.problems import tasks

    found, models = {}, run.load_models()
    for name in tasks.slices("+"):
        asked = tasks.problems("+", name, (size, size), COUNT, 1)
        try:
            found[name] = scoring.exact_match(models, asked).mean(axis=1).tolist()
        except UserError:
            return None
    return found


def tables(results: Results) -> dict[str, Iterable[str]]:
    """How long each entry was trained and how far it reaches, for both stages; the search."""
    known = entries(results)
    made: dict[str, Iterable[str]] = {"encodings, rates": _rates(known)}
    for title, stage in (("encodings", "until"), ("encodings, whole", "whole")):
        seeds = complete(known, stage)
        training = [
            [name, *_training(known[name], found), processors(results, name, stage)]
            for name, found in seeds.items()
        ]
        reach = [[name, *_reach(found)] for name, found in seeds.items()]
        made |= {f"{title}, training": markdown(TRAINING, training)}
        made |= {f"{title}, sizes": markdown(REACH, reach)}
    return made


TRAINING = (
    "encoding", "layers", "parameters", "seeds", "0.99 reached", "exact match in training",
    "steps", "problems", "CPU seconds", "processor",
)  # fmt: skip
REACH = ("encoding", *(f"{size} digits" for size in SIZES), "0.9 up to", "0.5 up to")


def _training(known: dict[str, Any], found: list[dict[str, Any]]) -> list[str]:
    reached, batch = [one["training"] >= ENOUGH for one in found], COMMON["training.batch"]
    return [
        str(known["layers"]),
        f"{known['parameters']:,}",
        str(len(found)),
        f"{sum(reached)} of {len(found)}",
        _spread([one["training"] for one in found], 3),
        _counts([one["steps"] for one in found]),
        _counts([one["steps"] * batch for one in found]),
        _counts([round(one["seconds"]) for one in found]),
    ]


def processors(results: Results, name: str, stage: str) -> str:
    """What an entry's seeds were trained on, without what a maker writes around it."""
    records = results.records(FILE)
    found = [records[f"{name}: {stage}, seed {seed}"]["header"]["machine"]["cpu"] for seed in SEEDS]
    return ", ".join(sorted({re.sub(r"\(R\)| Processor| with .*", "", one) for one in found}))


def _reach(found: list[dict[str, Any]]) -> list[str]:
    return [
        *(_cell(found, size) for size in SIZES),
        *(_up_to(found, least) for least in (0.9, 0.5)),
    ]


def _cell(found: list[dict[str, Any]], size: int) -> str:
    """Random problems, and after a semicolon each seed's hardest slice."""
    each = [one["sizes"][str(size)] for one in found]
    if None in each:
        return "no positions"
    return "; ".join(_spread(values) for values in (_random(each), map(min, map(_values, each))))


def _random(each: list[dict[str, float]]) -> list[float]:
    return [one["random"] for one in each]


def _values(one: dict[str, float]) -> list[float]:
    return list(one.values())


def _up_to(found: list[dict[str, Any]], least: float) -> str:
    """The longest size up to which the median of random problems never falls below that."""
    reached = "none"
    for size in SIZES:
        each = [one["sizes"][str(size)] for one in found]
        if None in each or median(_random(each)) < least:
            break
        reached = str(size)
    return reached


def _spread(values: Iterable[float], places: int = 2) -> str:
    """Median (least to greatest), or a single number where all are alike."""
    known = [*values]
    middle, least, most = (f"{f(known):.{places}f}" for f in (median, min, max))
    return middle if least == most else f"{middle} ({least} to {most})"


def _counts(values: list[int]) -> str:
    least, most = min(values), max(values)
    middle = f"{median(values):,.0f}"
    return middle if least == most else f"{middle} ({least:,} to {most:,})"


def _rates(known: dict[str, Any]) -> Iterator[str]:
    """Training loss of each rate, and which was taken."""
    heads = ("encoding", "steps tried", *map(str, RATES), "taken")
    rows = (
        [name, f"{one['steps'] // SEARCH:,}", *_losses(one), str(best_rate(one))]
        for name, one in known.items()
    )
    return markdown(heads, rows)


def _losses(known: dict[str, Any]) -> list[str]:
    found = [known["rates"].get(str(rate)) for rate in RATES]
    return ["" if loss is None else f"{loss:.4f}" for loss in found]


if __name__ == "__main__":
    main()
