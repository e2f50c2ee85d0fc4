"""The exported graph under onnxruntime: the model's logits at any length, and its answers."""

import json
import os
import subprocess
import sys
import tomllib
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from curta.export.base import machine_data, rooms
from curta.export.huggingface.asking_curta import prompt
from curta.model import recipes
from curta.model.transformer import Transformer
from curta.programs.machine.writing import write
from curta.runs.run import Run

from .made import begun
from .made import example_problems as problems

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_spec("onnxruntime"), reason="needs curta[onnx]"),
]

SMALL = {"model.width": 16, "model.heads": 2, "model.mlp_ratio": 1}
ONE = {"model.num_layers": 1, "model.num_attention_layers": 1}
DESIGNS: dict[str, tuple[str, dict[str, Any]]] = {
    "axes": ("multiplication", SMALL),
    "recurrences": ("sources/looped-abacus-small", SMALL | {"model.num_recurrences": 2}),
    "learned": ("addition-plain", SMALL | ONE | {"positions.length": 24}),
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


def writing(graph: Path) -> Any:
    from docs.examples.onnx_writer import Writer

    return Writer(str(graph))


def test_tokens_indices_and_coordinates_beyond_their_limits_are_refused(
    graphs: dict[str, tuple[Run, Path]],
) -> None:
    writer = writing(graphs["learned"][1])
    assert len(list(writer.write([1] * 20, -1, 4))) == 4
    run, graph = graphs["recurrences"]
    most = int(writing(graph).about["highest_coordinate"])
    high = [run.layout.characters.index("1")] * (most + 10)
    for name, tokens, count in (
        *((name, [1, token, 2], 1) for name in graphs for token in (-1, 999)),
        *(("learned", [1] * begun_with, 6) for begun_with in (20, 25)),  # of 24
        ("recurrences", high, 1),
    ):
        with pytest.raises(Exception, match="out of data bounds"):
            list(writing(graphs[name][1]).write(tokens, -1, count))


def test_a_graph_says_what_it_is_and_writes_as_the_model(
    graphs: dict[str, tuple[Run, Path]],
) -> None:
    run, graph = graphs["axes"]
    layout, writer = run.layout, writing(graph)
    about = writer.about
    assert (about["run"], about["seed"], about["layout"]) == ("axes", "1", "program")
    assert recipes.parse(tomllib.loads(about["recipe"]), where="the graph") == run.recipe
    machine = json.loads(about["machine"])
    held = rooms(run.recipe, member(run))
    assert machine == json.loads(json.dumps(machine_data(layout, held)))
    look = partial(run.load_models().memo.tokens, member=1)
    for problem in problems("*"):
        tokens = prompt(machine, "*", problem.operands)
        completion = write(layout.machine, layout.windows, look, [tokens], 9)[0]
        assert list(writer.write(tokens, layout.end, 9)) == completion
    for wrong in ((1, 2, 3), (True, 1), (10 ** (held["*"].digits), 1)):
        with pytest.raises(ValueError, match=r"^\* takes 2 whole numbers from 0 up, of at most"):
            writer.ask("*", *wrong)


def test_the_example_writes_texts(graphs: dict[str, tuple[Run, Path]]) -> None:
    run, graph = graphs["learned"]
    layout, writer = run.layout, writing(graph)
    for problem, tokens in zip(problems("+"), run.write(problems("+"), member=1), strict=True):
        text = writer.complete(layout.prompt(problem), min(len(tokens), 12))
        assert text == layout.decode(tokens[:12])
    with pytest.raises(ValueError, match=r"'x' is no token of this model: it knows .*\+"):
        writer.complete("1x=")
