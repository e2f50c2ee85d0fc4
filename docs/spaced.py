"""Sums with spaces, trained by Curta and by transformers with TRL: `python docs/spaced.py`.

The recipe's problems are written as a data set. TRL trains transformers' own `GPT2LMHeadModel` on
it, from random weights, with the source's settings: completions alone, 20 epochs of batches of 64,
AdamW at 5e-4 falling linearly. What it saves is read back, and both models answer the same held-out
problems, with the spaces of training and with others. Needs `pip install 'curta[trl,data]'`.

curta   all seeds of the run `spaced-addition`, which is trained if it is not there
trl     one seed
"""

import csv
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from shared import arguments, keep, read

from curta.config.recipe import Recipe
from curta.evaluation import exact_match
from curta.evaluation.results import SliceResult
from curta.evaluation.scoring import Models
from curta.export.base import Exported
from curta.export.huggingface import HuggingFace
from curta.frontends import api
from curta.layouts.texts import layout_of
from curta.model.transformer import Transformer
from curta.problems import tasks
from curta.runs import folders
from curta.training import devices

RECIPE, RUN = "sources/spaced-addition", "spaced-addition"
FOLDER = Path(__file__).parent / "results"
RESULTS, TABLE = FOLDER / "spaced-addition.json", FOLDER / "spaced-addition.csv"
EPOCHS, BATCH, SEED = 20, 64, 0


def main() -> None:
    options = arguments(__doc__, "contenders: data, curta, trl").parse_args()
    devices.configure()
    for name in () if options.tables else options.names or MEASURED:
        keep(RESULTS, name, MEASURED[name]())
    write_csv(read(RESULTS))


def data() -> dict[str, Any]:
    """The sums of each split: how many, their range, mean and deviation, and a histogram."""
    (task,), watched = recipe().tasks, recipe().training.validation
    count = recipe().evaluation.held_out
    splits = {
        "train": tasks.trained(task),
        "validation": range(watched),
        "test_id": range(watched, watched + count),
        "test_ood": range(watched + count, watched + 2 * count),
    }
    table = tasks.table(task)
    pairs = {name: np.asarray(table.pairs(jnp.array(of))) for name, of in splits.items()}
    either = {name: {tuple(sorted(pair)) for pair in of.tolist()} for name, of in pairs.items()}
    return {
        name: {
            "problems": len(of),
            "in training too, either way round": len(either[name] & either["train"]),
            **_sums(of.sum(axis=1)),
        }
        for name, of in pairs.items()
    }


def _sums(sums: np.ndarray) -> dict[str, Any]:
    counts, edges = np.histogram(sums, bins=18, range=(2000, 20_000))
    return {
        "least": int(sums.min()),
        "most": int(sums.max()),
        "mean": round(float(sums.mean()), 1),
        "deviation": round(float(sums.std()), 1),
        "histogram": dict(zip(map(int, edges), map(int, counts), strict=False)),
    }


def of_curta() -> dict[str, Any]:
    """What the run's own evaluation says; a run that is not there is trained first."""
    if RUN not in folders.existing():
        api.train(RECIPE, seeds=3, run=RUN)
    folder = folders.find(RUN)
    found, info = folder.read_evaluation(), folder.read_info()
    rows = [row for row in found.lengths if row.slice_name.startswith("held out")]
    named = {name: _row(row) for name, row in zip(("id", "ood"), rows, strict=True)}
    return named | {"seeds": list(info.seeds), "seconds": info.training_seconds}


def of_trl() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        saved, losses = trained_by_trl(Path(folder))
        seconds = time.perf_counter() - begun
        model = HuggingFace().read(saved).model
    stacked = jax.tree.map(lambda leaf: np.asarray(leaf)[None], model)
    found = scored(recipe(), Models(stacked, layout_of(recipe()), 1))
    return found | {"seeds": [SEED], "seconds": round(seconds), "losses": losses}


def recipe() -> Recipe:
    return api.resolve(RECIPE, {})


def scored(of: Recipe, models: Models) -> dict[str, Any]:
    """Both matches of both spacings: the text to the letter, and the answer without its spaces."""
    (task,) = of.tasks
    rows = exact_match.held_out(models, task, of.training.validation, of.evaluation)
    return {name: _row(row) for name, row in zip(("id", "ood"), rows, strict=True)}


def _row(row: SliceResult) -> dict[str, Any]:
    return {
        "problems": row.count,
        "exact": row.exact_match,
        "spaces left out": row.generated.exact_match,
        "token accuracy": row.token_accuracy,
    }


def _blank() -> Transformer:
    of = recipe()
    return Transformer.init(of.model, of.positions, layout_of(of), key=jax.random.key(SEED))


def trained_by_trl(folder: Path) -> tuple[Path, list[tuple[int, float]]]:
    """Where TRL has left the model that it trained, and its losses by step."""
    from datasets import load_dataset
    from transformers import AutoTokenizer, GPT2LMHeadModel, set_seed
    from trl import SFTConfig, SFTTrainer

    set_seed(SEED)
    api.write_data(RECIPE, recipe().tasks[0].rows, folder / "sums", form="jsonl")
    at = folder / "blank"
    HuggingFace().write(Exported("blank", SEED, recipe(), _blank()), at)
    rows = load_dataset(str(folder / "sums"), split="train", cache_dir=str(folder / "cache"))
    settings = SFTConfig(
        output_dir=str(folder / "out"), num_train_epochs=EPOCHS, seed=SEED,
        per_device_train_batch_size=BATCH, learning_rate=5e-4, lr_scheduler_type="linear",
        warmup_steps=0, weight_decay=0.0, max_grad_norm=1.0, completion_only_loss=True,
        bf16=False, use_cpu=True, gradient_checkpointing=False, dataloader_pin_memory=False,
        save_strategy="no", logging_steps=156, report_to=[],
    )  # fmt: skip
    trainer = SFTTrainer(
        GPT2LMHeadModel(GPT2LMHeadModel.from_pretrained(at).config), settings,
        train_dataset=rows.select_columns(["prompt", "completion"]),
        processing_class=AutoTokenizer.from_pretrained(at, trust_remote_code=True),
    )  # fmt: skip
    trainer.train()
    trainer.save_model(str(folder / "saved"))
    log = [(row["step"], row["loss"]) for row in trainer.state.log_history if "loss" in row]
    return folder / "saved", log


def write_csv(found: dict[str, Any]) -> None:
    """A line for each contender, spacing and seed."""
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["contender", "spacing", "seed", *MEASURES])
        for contender in ("curta", "trl"):
            of = found.get(contender, {})
            for spacing in ("id", "ood") if of else ():
                columns = zip(*(of[spacing][name] for name in MEASURES), strict=True)
                for seed, values in zip(of["seeds"], columns, strict=True):
                    lines.writerow([contender, spacing, seed, *values])


MEASURES = ("exact", "spaces left out", "token accuracy")
MEASURED: dict[str, Callable[[], dict[str, Any]]] = {
    "data": data,
    "curta": of_curta,
    "trl": of_trl,
}

if __name__ == "__main__":
    main()
