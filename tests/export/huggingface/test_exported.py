"""The folder and its way back: refusals, the card, the same bits again, and further training."""

import functools
import json
from itertools import islice
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from curta.config.errors import UserError
from curta.evaluation.results import Evaluation, Generated, SliceResult
from curta.export import dataset, import_run
from curta.export.base import SPARE, longest, weights_of
from curta.export.huggingface import HuggingFace
from curta.frontends import api
from curta.frontends.cli import main
from curta.layouts import layout_named
from curta.model.transformer import Transformer
from curta.problems.sizes import Sizes
from curta.programs import PROGRAMS
from curta.programs.machine import sampling
from curta.programs.machine.paper import Vocabulary
from curta.programs.machine.survey import Recorder
from tests import tiny
from tests.designs import DESIGNS

from ..made import begun, drawn, example_problems, inside, rows
from .made import GPT2, LLAMA, folder, opened, tokenizer

pytestmark = pytest.mark.slow

CLASSES: dict[str, dict[str, Any]] = {
    "program": {},
    "own": tiny.DENSE | {"positions__name": "rope"},
    "gpt2, tied": GPT2 | {
        "model__tie_embeddings": True, "model__width": 24, "model__attention_scale": False,
    },
    "gpt2, plain norm": GPT2 | {"model__tie_embeddings": True, "model__norm": "plain"},
    "gpt2, random positions": {
        "layout": "plain", "positions__name": "randomised", "positions__max_length": 40,
        "model__role_embeddings": False, "model__norm": "layer", "model__activation": "relu2",
        "model__num_attention_layers": 2, "model__biases": ("out", "norms"),
    },
    "llama, no scale": LLAMA | {"model__width": 32, "model__attention_scale": False},
}  # fmt: skip
"""What the designs of `test_conformance.py` have not; a width of 24 has no scale of a power of two.
"""
SMALL = {path: value for path, value in tiny.overrides().items() if path != "program"}


def export(*more: str) -> int:
    return main(["export", "mine", "--to", "huggingface", *more])


def back(path: Path) -> Transformer:
    return HuggingFace().read(path).model


@pytest.mark.parametrize("name", ["gpt2", "llama", "t5", "coupled, looped", "window, two axes"])
def test_every_weight_comes_back_bit_for_bit(tmp_path: Path, name: str) -> None:
    of = tiny.recipe(**DESIGNS[name])
    model = drawn(of)
    imported = HuggingFace().read(folder(tmp_path / "own", of, model))
    assert tiny.same(imported.model, model)
    assert (imported.recipe, imported.run, imported.seed) == (of, "mine", 3)


@pytest.mark.parametrize("name", CLASSES)
def test_a_class_calculates_the_same_and_what_it_saves_comes_back(
    tmp_path: Path, name: str
) -> None:
    """All weights, and the last norm's gain changed by its factor, where a model has one."""
    import torch

    of = tiny.recipe(**CLASSES[name])
    model, there = drawn(of), opened(folder(tmp_path / "own", of))
    assert type(there).__name__.startswith("Curta") == (name in ("program", "own"))
    for text in rows(model, example_problems()):
        with torch.no_grad():
            logits = there(torch.tensor([text])).logits[0]
        np.testing.assert_allclose(logits, inside(model, [text])[0]["logits"], rtol=0, atol=1e-4)
    there.save_pretrained(tmp_path / "saved")
    for weight, value in weights_of(back(tmp_path / "saved")).items():
        np.testing.assert_allclose(value, weights_of(model)[weight], rtol=1e-6, err_msg=weight)
    with torch.no_grad():
        for weight, value in there.named_parameters():
            if weight in ("model.norm.weight", "transformer.ln_f.weight"):
                value *= 2.0
    there.to(torch.bfloat16).save_pretrained(tmp_path / "changed")
    if model.gain is None:
        with pytest.raises(UserError, match=r"ln_f\.weight is not .* everywhere"):
            back(tmp_path / "changed")
        return
    changed = back(tmp_path / "changed")
    np.testing.assert_allclose(changed.gain, 2 * np.asarray(model.gain), rtol=2**-7)
    assert {np.asarray(leaf).dtype for leaf in jax.tree.leaves(changed)} == {np.dtype(np.float32)}


def test_a_run_goes_out_and_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = begun(**SMALL)
    assert export() == 0
    out = run.folder.path / "huggingface-0"
    assert out.is_dir()
    assert export() == 2
    assert "exists already" in capsys.readouterr().err
    assert import_run("huggingface", out, "again").name == "again"
    again = api.load("again")
    assert tiny.same(again.model(), run.model())
    assert again.recipe == run.recipe
    assert again.folder.machine.read_bytes() == run.folder.machine.read_bytes()
    assert again.write(["1+2"]) == run.write(["1+2"])
    again.evaluate(count=2, generated=2)
    assert again.folder.report.exists()
    assert main(["train", "--resume", "again"]) == 0
    assert "finished" in capsys.readouterr().out
    with pytest.raises(UserError, match="exists already"):
        import_run("huggingface", out, "again")
    with pytest.raises(UserError, match="is a file: give the folder that was exported"):
        import_run("huggingface", out / "config.json", "file")


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("curta", None, "was not exported by Curta"),
        ("weights", None, "cannot read"),
        ("curta.format", 99, "newer version"),
        ("curta.recipe.model.width", 32, "has shape"),
        ("curta.seed", None, "curta.seed is missing"),
        ("model_type", "bert", "model_type 'bert'"),
        ("curta.machine", None, "curta.machine is missing"),
        ("curta.machine.tokens", None, "the machine is damaged"),
        ("curta.run", "../mine", "is no name for a run"),
        ("curta.recipe.program", "code.py", "code.py', as no recipe of a run does"),
        ("curta.recipe.positions", {"name": "code.py"}, "code.py', as no recipe of a run does"),
    ],
)
def test_what_is_no_export_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, value: Any, says: str
) -> None:
    """No code that a folder names is run."""
    at = folder(tmp_path / "own", tiny.recipe())
    monkeypatch.chdir(at)
    (at / "code.py").write_text("raise SystemExit('executed')")
    config = json.loads((at / "config.json").read_text())
    *holders, name = path.split(".")
    holder = functools.reduce(dict.__getitem__, holders, config)
    holder[name] = value
    (at / "config.json").write_text(json.dumps(config))
    if path == "weights":
        (at / "model.safetensors").write_bytes(b"12345678")
    with pytest.raises(UserError) as error:
        import_run("huggingface", at)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_text_is_longer_than_a_model_may_write(name: str) -> None:
    """Problems of any smaller sizes, rare ones among them: 99999//9 is longer than 99999//99999."""
    program = PROGRAMS[name]
    recorder = Recorder({program.operator: program}, {program.operator: Vocabulary()})
    count = len(program.format.givens) + 2 * (program.format.givens[-1].many is not None)
    most = SPARE * longest(recorder, program.operator, (6,) * count)
    sizes = Sizes((1, 6), (1, 6), (count, count))
    for operands in islice(sampling.drawn(program, sizes, "room", 0.3), 60):
        tokens, prompt = recorder.record(program.operator, operands)
        assert len(tokens) - prompt <= most, operands


def test_the_card_says_what_was_found(tmp_path: Path) -> None:
    from huggingface_hub import ModelCard

    run = begun(**SMALL)
    fields = {"operator": "+", "size": "3", "digits": 3, "slice_name": "carry", "count": 8}
    shares = {"exact_match": [0.625], "token_accuracy": [0.9], "perplexity": [1.5]}
    row = SliceResult(**fields, **shares, generated=Generated(1, [1.0], True, 1), errors=[])
    run.folder.save_evaluation(Evaluation(seed=1, lengths=[row], examples=[]))
    assert export("--out", str(tmp_path / "out")) == 0
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "| `+` | 3 | carry | 8 | 0.625 |" in card
    (result,) = ModelCard(card).data.eval_results
    assert (result.metric_type, result.metric_value) == ("exact_match", 0.625)
    assert "model.prompt('+', 12, 34)" in card
    assert "2 a home\n1 a +1\n+ operator home-1\n4 b home\n3 b +1\n= equals home-1\n" in card


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
