"""TRL trains an exported model on the rows of an exported data set, and it comes back."""

from pathlib import Path

import numpy as np
import pytest

from curta.export import dataset
from curta.export.huggingface import HuggingFace
from curta.layouts import layout_named
from tests import tiny

from .made import GPT2, folder, opened, tokenizer

pytestmark = pytest.mark.slow


@pytest.mark.filterwarnings("ignore:`gradient_checkpointing` is deprecated")  # TRL's own default
def test_a_step_of_sft(tmp_path: Path) -> None:
    """Prompts and completions; only what Curta's models have is learned."""
    from datasets import load_dataset
    from trl import SFTConfig, SFTTrainer

    of = tiny.recipe(training__validation=8, evaluation__held_out=8, **GPT2)
    dataset.write(of, 32, tmp_path / "sums", form="jsonl")
    rows = load_dataset(
        str(tmp_path / "sums"), split="train", cache_dir=str(tmp_path / "cache")
    ).select_columns(["prompt", "completion"])
    at = folder(tmp_path / "own", of)
    model, before = opened(at), HuggingFace().read(at).model
    for name, weight in model.named_parameters():
        weight.requires_grad = name not in model.config.curta["fixed"]
    settings = SFTConfig(
        output_dir=str(tmp_path / "out"), max_steps=1, per_device_train_batch_size=4,
        learning_rate=0.01, report_to=[], use_cpu=True, bf16=False, dataloader_pin_memory=False,
    )  # fmt: skip
    trainer = SFTTrainer(model, settings, train_dataset=rows, processing_class=tokenizer(at))
    batch = next(iter(trainer.get_train_dataloader()))
    layout = layout_named(of.layout)
    scored = [layout.decode(row[row != -100].tolist()) for row in batch["labels"]]
    assert set(scored) <= set(rows["completion"])
    trainer.train()
    trainer.save_model(str(tmp_path / "tuned"))
    after = HuggingFace().read(tmp_path / "tuned").model
    assert not np.array_equal(after.mlp.up, before.mlp.up)
    assert not np.array_equal(after.tokens, before.tokens)
    assert opened(tmp_path / "tuned").config.curta["run"] == "mine"
