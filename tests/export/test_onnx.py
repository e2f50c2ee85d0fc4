"""The exported graph under onnxruntime: the model's logits at any length, and its answers."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import pytest

from curta.export.base import machine_data
from curta.export.huggingface.asking_curta import prompt
from curta.frontends.run import Run
from curta.model import recipes
from curta.model.transformer import Transformer
from curta.programs.machine.writing import write_one

from .made import asked as problems
from .made import begun, logits, rows

pytestmark = pytest.mark.slow

SMALL = {"model.width": 16, "model.heads": 2, "model.mlp_ratio": 1}
ONE = {"model.num_layers": 1, "model.num_attention_layers": 1}
DESIGNS: dict[str, tuple[str, dict[str, Any]]] = {
    "window": ("addition", SMALL),
    "axes": ("multiplication", SMALL),
    "recurrences": ("sources/looped-abacus-small", SMALL | {"model.num_recurrences": 2}),
    "fire": ("addition-fire", SMALL | ONE),
    "encoder": ("sources/digit-encoder", SMALL),
}
"""A recipe, smaller."""

EXPORTS = """
import sys
from curta.frontends.cli import main
for name in sys.argv[1:]:
    assert main(["export", name, "--to", "onnx", "--out", name + ".onnx", "--member", "1"]) == 0
"""


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Run, Path]]:
    """Runs as training begins them, and what one process of the command made of them."""
    folder = tmp_path_factory.mktemp("onnx")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(folder / "runs"))
        runs = {name: begun(of, 2, name, **changes) for name, (of, changes) in DESIGNS.items()}
        command = [sys.executable, "-c", EXPORTS, *runs]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, "a converter's warnings are not for users"
    return {name: (run, folder / f"{name}.onnx") for name, run in runs.items()}


def member(run: Run) -> Transformer:
    return jax.tree.map(jnp.asarray, run.model(1))


def opened(graph: Path) -> Any:
    return onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])


def asked(session: Any, *rows: np.ndarray) -> np.ndarray:
    """Logits of the graph for what follows each token of each row."""
    tokens = np.stack(rows).astype(np.int32)
    positions = np.broadcast_to(np.arange(tokens.shape[1], dtype=np.int32), tokens.shape)
    return session.run(["logits"], {"tokens": tokens, "positions": positions})[0]


@pytest.mark.parametrize("name", DESIGNS)
def test_logits_are_those_of_the_model(graphs: dict[str, tuple[Run, Path]], name: str) -> None:
    """Of written problems and of tokens of any kind, at different lengths."""
    run, graph = graphs[name]
    model, session, rng = member(run), opened(graph), np.random.default_rng(0)
    anything = rng.integers(0, len(model.layout.characters), (1, 61)).tolist()
    texts = [*rows(model, problems(run.recipe.tasks[0].operator)), *anything]
    for ours, text in zip(logits(model, texts), texts, strict=True):
        found = asked(session, np.array(text))[0]
        np.testing.assert_allclose(found, ours, atol=1e-5 * max(1, np.abs(ours).max()), rtol=0)


def test_a_batch_is_its_rows(graphs: dict[str, tuple[Run, Path]]) -> None:
    run, graph = graphs["window"]
    session = opened(graph)
    pair = np.random.default_rng(0).integers(0, len(run.layout.characters), (2, 9))
    found = asked(session, *pair)
    for row, one in zip(pair, found, strict=True):
        np.testing.assert_allclose(one, asked(session, row)[0], atol=1e-6)


def test_a_graph_says_what_it_is_and_writes_as_the_model(
    graphs: dict[str, tuple[Run, Path]],
) -> None:
    run, graph = graphs["axes"]
    layout, session = run.layout, opened(graph)
    about = session.get_modelmeta().custom_metadata_map
    assert (about["run"], about["seed"], about["layout"]) == ("axes", "1", "program")
    assert recipes.parse(tomllib.loads(about["recipe"]), where="the graph") == run.recipe
    machine = json.loads(about["machine"])
    assert machine == json.loads(json.dumps(machine_data(layout)))
    look = run.load_models().memo.look(1)
    for problem in problems("*"):
        given = prompt(machine, "*", problem.operands)
        text = list(given)
        for _ in range(9):
            text.append(int(asked(session, np.array(text))[0, -1].argmax()))
        written = write_one(layout.machine, layout.windows, look, given, 9)
        assert text[len(given) :][: len(written)] == written


def test_a_graph_of_a_layout_has_its_characters(graphs: dict[str, tuple[Run, Path]]) -> None:
    run, graph = graphs["fire"]
    about = opened(graph).get_modelmeta().custom_metadata_map
    assert (about["characters"], about["end"]) == (run.layout.characters, "$")
