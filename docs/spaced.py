"""Sums with spaces, trained by Curta and by transformers with TRL: `make results-spaced`.

The recipe's problems are written as a data set. TRL trains transformers' own `GPT2LMHeadModel` on
it, from random weights, with the source's settings: completions alone, 20 epochs of batches of 64,
AdamW at 5e-4 falling linearly. What it saves is read back, and both models answer the same held-out
problems, with the spaces of training and with others. Needs `pip install 'curta[trl,data]'`.

data                       what the parts of the table hold
curta, best                the recipe: the best of a hundred validations of 10,000 sums, seed 0
trl, best                  by transformers with TRL, the best of as many evaluations, seed 0
curta                      three seeds, the weights of the last step instead of the best
trl, `trl, seed 1` and 2   by transformers with TRL, the weights of the last step
"""

import csv
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from curta.config.recipe import Recipe
from curta.evaluation import evaluation_set, exact_match
from curta.evaluation.results import SliceResult
from curta.evaluation.scoring import Models
from curta.export.base import Exported
from curta.export.huggingface import HuggingFace
from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.model.transformer import Transformer
from curta.problems import tasks
from curta.training import devices
from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, markdown, recipe_fields, spread

NAME, RECIPE = "spaced", "sources/spaced-addition"
EPOCHS, BATCH, EVERY = 20, 64, 156
LAST = {"training.keep": "last", "training.validation": 1000}
"""What is changed in the recipe for the weights of the last step."""
SPACINGS = {"id": "spaces as in training", "ood": "spaces elsewhere"}
MATCHES = {"exact": "to the letter", "spaces left out": "without spaces"}
WORDS = {
    "curta": "Curta, last weights",
    "curta, best": "Curta, best weights",
    "trl": "TRL, last weights",
    "trl, best": "TRL, best weights",
}
"""The contenders, as pages call them."""


def main() -> None:
    options = arguments(__doc__, MEASURED)
    devices.configure()
    for name in options.names:
        changed = {} if name == "data" or name.endswith("best") else LAST
        settings = {"recipe": recipe_fields(RECIPE, changed), "epochs": EPOCHS, "batch": BATCH}
        RESULTS.keep(NAME, name, MEASURED[name], SEEDS[name], settings, options)
    write_csv(RESULTS.read(NAME))


def tables(results: Results) -> dict[str, Iterable[str]]:
    known = results.read(NAME)
    made: dict[str, Iterable[str]] = {}
    if "data" in known:
        made["spaced, data"] = _splits(known["data"])
    if told := contenders(known):
        made["spaced"] = _told(told)
    return made


def contenders(known: dict[str, Any]) -> dict[str, Any]:
    """What is measured of Curta and of TRL, seed by seed; seconds are those of a seed."""
    found = {}
    if "curta" in known:
        of = known["curta"]
        found["curta"] = of | {"seconds": of["seconds"] / len(SEEDS["curta"])}
    if trl := [known[name] for name in TRL if name in known]:
        found["trl"] = _together(trl)
    found |= {name: known[name] for name in BEST if name in known}
    return {name: found[name] for name in WORDS if name in found}


def _together(each: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Seeds that were trained on their own: shares [0.5] and [0.25] are [0.5, 0.25]."""
    shares = {
        spacing: {
            name: [share for one in each for share in one[spacing][name]] for name in MEASURES
        }
        for spacing in SPACINGS
    }
    return shares | {"seconds": median(one["seconds"] for one in each)}


def _splits(known: dict[str, Any]) -> Iterable[str]:
    """A line for each part of the data."""
    measures = [name for name in next(iter(known.values())) if name not in ("edges", "counts")]
    rows = [[f"`{name}`", *(f"{of[m]:,}" for m in measures)] for name, of in known.items()]
    return markdown(["", *measures], rows)


def _told(known: dict[str, Any]) -> Iterable[str]:
    head = ["", *(f"{WORDS[name]}, {_seeds(of)}" for name, of in known.items())]
    rows = [
        [f"{words}: {measure}", *(spread(of[spacing][measure], 4) for of in known.values())]
        for spacing, words in SPACINGS.items()
        for measure in MEASURES
    ]
    seconds = [f"{of['seconds']:,.0f}" for of in known.values()]
    return markdown(head, [*rows, ["seconds of training a seed", *seconds]])


def _seeds(of: dict[str, Any]) -> str:
    count = len(of["id"]["exact"])
    return f"{count} seed{'s' * (count > 1)}"


def data() -> dict[str, Any]:
    """The sums of each split: how many, their range, mean and deviation, and a histogram."""
    (task,), watched = recipe().tasks, recipe().training.validation
    tests = evaluation_set.held_out_places(task, watched, recipe().evaluation).values()
    splits = {"train": tasks.trained(task), "validation": range(watched)}
    splits |= dict(zip(("test_id", "test_ood"), tests, strict=True))
    answers = {one.part: vars(one) for one in tasks.answer_histograms(task, splits)}
    table = tasks.table(task)
    pairs = {name: np.asarray(table.pairs(jnp.array(of))) for name, of in splits.items()}
    either = {name: {tuple(sorted(pair)) for pair in of.tolist()} for name, of in pairs.items()}
    return {
        name: {
            "problems": answers[name]["problems"],
            "in another split": sum(_shared(pairs, name)),
            "in training too, either way round": len(either[name] & either["train"]),
            **{field: value for field, value in answers[name].items() if field != "part"},
        }
        for name in pairs
    }


def _shared(pairs: dict[str, np.ndarray], name: str) -> Iterable[int]:
    """How many pairs of a split, in their order, stand in each of the others too."""
    sets = {name: {tuple(pair) for pair in of.tolist()} for name, of in pairs.items()}
    return (len(sets[name] & of) for other, of in sets.items() if other != name)


def of_curta(name: str) -> dict[str, Any]:
    changed = {} if name.endswith("best") else LAST
    run = finished(f"{NAME}-{name.replace(', ', '-')}", RECIPE, len(SEEDS[name]), changed)
    found, info = run.folder.read_evaluation(), run.folder.read_info()
    rows = [row for row in found.lengths if row.slice_name.startswith("held out")]
    named = {name: _row(row) for name, row in zip(SPACINGS, rows, strict=True)}
    return named | {"seconds": info.training_seconds, "parameters": info.parameters}


def of_trl(seed: int, best: bool = False) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        saved, losses, seconds = trained_by_trl(Path(folder), seed, best)
        model = HuggingFace().read(saved).model
    stacked = jax.tree.map(lambda leaf: np.asarray(leaf)[None], model)
    found = scored(recipe(), Models(stacked, layout_of(recipe()), 1))
    return found | {"seconds": round(seconds), "losses": losses}


def recipe() -> Recipe:
    return api.resolve(RECIPE, {})


def scored(of: Recipe, models: Models) -> dict[str, Any]:
    """Both matches of both spacings: the text to the letter, and the answer without its spaces."""
    (task,) = of.tasks
    rows = exact_match.held_out(models, task, of.training.validation, of.evaluation)
    return {name: _row(row) for name, row in zip(SPACINGS, rows, strict=True)}


def _row(row: SliceResult) -> dict[str, Any]:
    return {
        "problems": row.count,
        "exact": row.exact_match,
        "spaces left out": row.generated.exact_match,
        "token accuracy": row.token_accuracy,
    }


def _blank(seed: int) -> Transformer:
    of = recipe()
    return Transformer.init(of.model, of.positions, layout_of(of), key=jax.random.key(seed))


def trained_by_trl(
    folder: Path, seed: int, best: bool = False
) -> tuple[Path, list[tuple[int, float]], float]:
    """Where TRL has left the model that it trained, its losses by step, seconds of training.

    With `best` the model is that of the least loss on the validation part, five checks an epoch.
    """
    from datasets import load_dataset
    from transformers import AutoTokenizer, GPT2LMHeadModel, set_seed
    from trl import SFTConfig, SFTTrainer

    set_seed(seed)
    api.data(RECIPE, recipe().tasks[0].rows, folder / "sums", form="jsonl")
    at = folder / "blank"
    HuggingFace().write(Exported("blank", seed, recipe(), _blank(seed)), at)
    rows = {
        split: load_dataset(str(folder / "sums"), split=split, cache_dir=str(folder / "cache"))
        for split in ("train", "validation")
    }
    rows = {split: of.select_columns(["prompt", "completion"]) for split, of in rows.items()}
    checks: dict[str, Any] = {"save_strategy": "no"}
    if best:
        checks = {
            "save_strategy": "steps", "save_steps": EVERY, "save_total_limit": 5,
            "eval_strategy": "steps", "eval_steps": EVERY, "per_device_eval_batch_size": 1000,
            "load_best_model_at_end": True, "metric_for_best_model": "eval_loss",
        }  # fmt: skip
    settings = SFTConfig(
        output_dir=str(folder / "out"), num_train_epochs=EPOCHS, seed=seed,
        per_device_train_batch_size=BATCH, learning_rate=5e-4, lr_scheduler_type="linear",
        warmup_steps=0, weight_decay=0.0, max_grad_norm=1.0, completion_only_loss=True,
        bf16=False, use_cpu=True, gradient_checkpointing=False, dataloader_pin_memory=False,
        logging_steps=EVERY, report_to=[], **checks,
    )  # fmt: skip
    trainer = SFTTrainer(
        GPT2LMHeadModel(GPT2LMHeadModel.from_pretrained(at).config), settings,
        train_dataset=rows["train"],
        eval_dataset=rows["validation"] if best else None,
        processing_class=AutoTokenizer.from_pretrained(at, trust_remote_code=True),
    )  # fmt: skip
    begun = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - begun
    trainer.save_model(str(folder / "saved"))
    log = [(row["step"], row["loss"]) for row in trainer.state.log_history if "loss" in row]
    return folder / "saved", log, seconds


def write_csv(found: dict[str, Any]) -> None:
    """A line for each contender, spacing and seed."""
    with (RESULTS.folder / f"{NAME}.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["contender", "spacing", "seed", *MEASURES])
        for contender, of in contenders(found).items():
            for spacing in SPACINGS:
                columns = zip(*(of[spacing][name] for name in MEASURES), strict=True)
                for seed, values in enumerate(columns):
                    lines.writerow([contender, spacing, seed, *values])


MEASURES = ("exact", "spaces left out", "token accuracy")
TRL = {"trl": 0, "trl, seed 1": 1, "trl, seed 2": 2}
"""Seeds of TRL, by the names of their results."""
BEST = ("curta, best", "trl, best")
SEEDS = {
    "data": [], "curta, best": [0], "trl, best": [0], "curta": [0, 1, 2],
    **{name: [seed] for name, seed in TRL.items()},
}  # fmt: skip
MEASURED: dict[str, Callable[[], dict[str, Any]]] = {
    "data": data,
    "curta, best": partial(of_curta, "curta, best"),
    "trl, best": partial(of_trl, 0, best=True),
    "curta": partial(of_curta, "curta"),
    **{name: partial(of_trl, seed) for name, seed in TRL.items()},
}

if __name__ == "__main__":
    main()
