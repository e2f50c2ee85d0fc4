"""The exported graph under onnxruntime: the model's logits at any length, and its answers."""

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

import tiny
from curta import api, checkpoints, training
from curta import recipe as recipes
from curta.layouts import Layout, layout_named
from curta.model import Transformer
from curta.problems import Problem
from curta.session import Run

SMALL = {"model.width": 16, "model.heads": 2, "model.mlp_factor": 1}
ONE = {"model.blocks": 1, "model.attending": 1}
DESIGNS: dict[str, tuple[str, dict[str, Any], list[tuple[int, ...]]]] = {
    "window": ("addition", SMALL, [(5, 7), (123, 45678)]),
    "groups": ("calculator", SMALL, [(5, 7), (123, 456)]),
    "loops": ("sources/looped-abacus-small", SMALL | {"model.loops": 2}, [(12, 34), (1, 999)]),
    "fire": ("addition-fire", SMALL | ONE, [(12, 34), (1, 999)]),
    "rope": ("sources/ladder-5-answers", SMALL, [(12, 34), (1, 99)]),
    "encoder": ("sources/digit-encoder", SMALL, [(12, 34), (1, 999)]),
}
"""A recipe, smaller; and operands of problems for its first operation."""

LEARNS = {
    "training.steps": 400,
    "task.digits": [1, 5],
    "evaluation.digits": [3],
    "evaluation.count": 8,
    "evaluation.grid": 0,
}
"""Enough to write numbers, most of them right."""

EXPORTS = """
import sys
from curta.cli import main
for name in sys.argv[1:]:
    assert main(["export", name, "--to", "onnx", "--out", name + ".onnx", "--member", "1"]) == 0
"""


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Run, Path]]:
    """Runs as training begins them, and what one process of the command made of them."""
    folder = tmp_path_factory.mktemp("onnx")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(folder / "runs"))
        runs = {name: begun(name, of, changes) for name, (of, changes, _) in DESIGNS.items()}
        runs["adder"] = api.train("addition", 2, "adder", LEARNS)
        command = [sys.executable, "-c", EXPORTS, *runs]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert not done.stderr, "a converter's warnings are not for users"
    return {name: (run, folder / f"{name}.onnx") for name, run in runs.items()}


def begun(name: str, of: str, changes: dict[str, Any]) -> Run:
    run = api.begin(of, 2, name, changes)
    state = training.init(run.recipe, jnp.asarray(run.seeds))
    checkpoints.save(run.folder.checkpoints, 1, state)
    return run


def member(run: Run) -> tuple[Layout, Transformer]:
    return layout_named(run.recipe.layout), jax.tree.map(jnp.asarray, run.model(1))


def opened(graph: Path) -> Any:
    return onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])


def asked(session: Any, *rows: np.ndarray) -> np.ndarray:
    """Logits of the graph for what follows each token of each row."""
    tokens = np.stack(rows).astype(np.int32)
    positions = np.broadcast_to(np.arange(tokens.shape[1], dtype=np.int32), tokens.shape)
    return session.run(["logits"], {"tokens": tokens, "positions": positions})[0]


@pytest.mark.parametrize("name", DESIGNS)
def test_logits_are_those_of_the_model(graphs: dict[str, tuple[Run, Path]], name: str) -> None:
    run, graph = graphs[name]
    (layout, model), session = member(run), opened(graph)
    operator = run.recipe.tasks[0].operator
    room = layout.room(operator, (5, 5))
    for values in DESIGNS[name][2]:
        text = layout.write(Problem(operator, values))
        batch = tiny.text(layout, [Problem(operator, values)], room.total)
        ours = model(batch.tokens, layout.where(batch), tiny.every_index(batch), room)
        found = asked(session, layout.encode(text))[0]
        np.testing.assert_allclose(found, np.asarray(ours)[0, : len(text)], atol=1e-4, rtol=0)


def test_a_batch_is_its_rows(graphs: dict[str, tuple[Run, Path]]) -> None:
    run, graph = graphs["window"]
    layout, session = layout_named(run.recipe.layout), opened(graph)
    rows = [layout.encode(text) for text in ("12+34=46", "99+10=90")]
    found = asked(session, *rows)
    for row, one in zip(rows, found, strict=True):
        np.testing.assert_allclose(one, asked(session, row)[0], atol=1e-6)


def test_a_graph_says_what_it_is_and_writes_as_the_model(
    graphs: dict[str, tuple[Run, Path]],
) -> None:
    run, graph = graphs["adder"]
    session = opened(graph)
    about = session.get_modelmeta().custom_metadata_map
    assert (about["run"], about["seed"], about["layout"]) == ("adder", "1", "coupled")
    assert recipes.parse(tomllib.loads(about["recipe"]), where="the graph") == run.recipe
    layout = layout_named(run.recipe.layout)
    problems = tiny.random_sums(5, 3)
    for problem in problems:
        text = layout.prompt(problem)
        while not text.endswith(about["end"]) and len(text) < 20:
            likeliest = asked(session, layout.encode(text))[0, -1].argmax()
            text += about["characters"][likeliest]
        found = layout.read("+", text.removeprefix(layout.prompt(problem)))
        assert found is not None, text
        assert found == run.ask(problem, 1)
