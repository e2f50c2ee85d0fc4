"""Sums with spaces, trained by Curta and by transformers with TRL: `make results-spaced`.

The recipe's problems are written as a data set. TRL trains transformers' own `GPT2LMHeadModel` on
it, from random weights, with the source's settings: completions alone, 20 epochs of batches of 64,
AdamW at 5e-4 falling linearly. What it saves is read back, and both models are tested on the same
held-out problems, with the spaces of training and with others. Needs
`pip install 'curta[trl,data]'`.

data                       what the splits of the table hold
curta                      three seeds, the weights of the last step
trl, `trl, seed 1` and 2   by transformers with TRL, the weights of the last step
"""

import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from curta.config.recipe import Recipe
from curta.evaluation import evaluation_set, suite
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
from docs.shared import finished, held_out, markdown, recipe_fields, side_by_side, spread

NAME, RECIPE = "spaced", "sources/spaced-addition"
EPOCHS, BATCH = 20, 64
LAST = {"training.keep": "last", "training.validation": 1000}
"""What is changed in the recipe for the weights of the last step."""
SPACINGS = {"id": "spaces as in training", "ood": "spaces elsewhere"}
MATCHES = {"exact": "to the letter", "spaces left out": "without spaces"}
WORDS = {"curta": "Curta", "trl": "TRL"}
"""The contenders, as pages call them."""
TRL = {"trl": 0, "trl, seed 1": 1, "trl, seed 2": 2}
"""Seeds of TRL, by the names of their results."""


def main() -> None:
    studies: dict[str, tuple[list[int], Callable[[], dict[str, Any]]]] = {
        "data": ([], data),
        "curta": ([0, 1, 2], of_curta),
        **{name: ([seed], partial(of_trl, seed)) for name, seed in TRL.items()},
    }
    options = arguments(__doc__, studies)
    devices.configure()
    for name in options.names:
        seeds, measure = studies[name]
        fields = recipe_fields(RECIPE, {} if name == "data" else LAST)
        settings = {"recipe": fields, "epochs": EPOCHS, "batch": BATCH}
        RESULTS.keep(NAME, name, measure, seeds, settings, options)


def tables(results: Results) -> dict[str, Iterable[str]]:
    by_tool = contenders(results.read(NAME))
    rows = [
        [words, *(spread(of[spacing]["exact"], 4) for of in by_tool.values())]
        for spacing, words in SPACINGS.items()
    ]
    seconds = ["seconds of a seed", *(f"{of['seconds']:,.0f}" for of in by_tool.values())]
    return {NAME: markdown(["", *WORDS.values()], [*rows, seconds])}


def contenders(numbers: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of Curta and of TRL, seed by seed; seconds are those of one seed."""
    curta, trl = numbers["curta"], [numbers[name] for name in TRL]
    spacings = side_by_side([{name: seed[name] for name in SPACINGS} for seed in trl])
    return {
        "curta": curta | {"seconds": curta["seconds"] / len(TRL)},
        "trl": spacings | {"seconds": median(seed["seconds"] for seed in trl)},
    }


def data() -> dict[str, Any]:
    """Return the sums of each split: how many, their range, mean, deviation and histogram."""
    (task,), watched = recipe().tasks, recipe().training.validation
    tests = evaluation_set.held_out_places(task, watched, recipe().evaluation).values()
    splits = {"train": tasks.trained(task), "validation": range(watched)}
    splits |= dict(zip(("test_id", "test_ood"), tests, strict=True))
    answers = {sums.part: vars(sums) for sums in tasks.answer_histograms(task, splits)}
    table = tasks.table(task)
    pairs = {name: np.asarray(table.pairs(jnp.array(of))).tolist() for name, of in splits.items()}
    sets = {name: {tuple(pair) for pair in of} for name, of in pairs.items()}
    either = {name: {tuple(sorted(pair)) for pair in of} for name, of in pairs.items()}
    return {
        name: {
            "problems": answers[name]["problems"],
            "in another split": sum(len(sets[name] & of) for n, of in sets.items() if n != name),
            "in training too, either way round": len(either[name] & either["train"]),
            **{field: value for field, value in answers[name].items() if field != "part"},
        }
        for name in pairs
    }


def of_curta() -> dict[str, Any]:
    run = finished(f"{NAME}-curta", RECIPE, 3, LAST)
    info = run.folder.read_info()
    cost = {"seconds": info.training_seconds, "parameters": info.parameters}
    return _by_spacing(held_out(run)) | cost


def of_trl(seed: int) -> dict[str, Any]:
    settings = recipe()
    (task,) = settings.tasks
    with tempfile.TemporaryDirectory() as folder:
        path, seconds = trained_by_trl(Path(folder), seed)
        model = HuggingFace().read(path).model
    stacked = jax.tree.map(lambda leaf: np.asarray(leaf)[None], model)
    models = Models(stacked, layout_of(settings), 1)
    rows = suite.evaluate_held_out(models, task, settings.training.validation, settings.evaluation)
    return _by_spacing(rows) | {"seconds": round(seconds)}


def recipe() -> Recipe:
    return api.resolve(RECIPE, {})


def _by_spacing(rows: Iterable[SliceResult]) -> dict[str, Any]:
    """Return both matches of both spacings: to the letter, and without the answer's spaces."""
    return {
        name: {
            "problems": row.count,
            "exact": row.exact_match,
            "spaces left out": row.generated.exact_match,
        }
        for name, row in zip(SPACINGS, rows, strict=True)
    }


def trained_by_trl(folder: Path, seed: int) -> tuple[Path, float]:
    """Return where TRL saved its model, and seconds of training."""
    from datasets import load_dataset
    from transformers import AutoTokenizer, GPT2LMHeadModel, set_seed
    from trl import SFTConfig, SFTTrainer

    set_seed(seed)
    blank, settings = folder / "blank", recipe()
    key = jax.random.key(seed)
    model = Transformer.init(settings.model, settings.positions, layout_of(settings), key=key)
    api.data(RECIPE, settings.tasks[0].rows, folder / "sums", form="jsonl")
    HuggingFace().write(Exported("blank", seed, settings, model), blank)
    rows = load_dataset(str(folder / "sums"), split="train", cache_dir=str(folder / "cache"))
    trainer = SFTTrainer(
        GPT2LMHeadModel(GPT2LMHeadModel.from_pretrained(blank).config),
        SFTConfig(
            output_dir=str(folder / "out"), num_train_epochs=EPOCHS, seed=seed,
            per_device_train_batch_size=BATCH, learning_rate=5e-4, lr_scheduler_type="linear",
            warmup_steps=0, weight_decay=0.0, max_grad_norm=1.0, completion_only_loss=True,
            bf16=False, use_cpu=True, gradient_checkpointing=False, dataloader_pin_memory=False,
            report_to=[], save_strategy="no",
        ),
        train_dataset=rows.select_columns(["prompt", "completion"]),
        processing_class=AutoTokenizer.from_pretrained(blank, trust_remote_code=True),
    )  # fmt: skip
    begun = time.perf_counter()
    trainer.train()
    seconds = time.perf_counter() - begun
    trainer.save_model(str(folder / "saved"))
    return folder / "saved", seconds


if __name__ == "__main__":
    main()
