"""The exported graph under onnxruntime: the model's logits at any length, and its answers."""

import json
import os
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.export.base import machine_data
from curta.export.huggingface.asking_curta import prompt
from curta.export.room import rooms
from curta.model import recipes
from curta.model.transformer import Transformer
from curta.problems.problem import parse
from curta.programs.machine.writing import write
from curta.runs.run import Run

from .made import asked as problems
from .made import begun

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_spec("onnxruntime"), reason="needs curta[onnx]"),
]

SMALL = {"model.width": 16, "model.heads": 2, "model.mlp_ratio": 1}
ONE = {"model.num_layers": 1, "model.num_attention_layers": 1}
DESIGNS: dict[str, tuple[str, dict[str, Any]]] = {
    "axes": ("multiplication", SMALL),
    "recurrences": ("sources/looped-abacus-small", SMALL | {"model.num_recurrences": 2}),
    "fire": ("addition-fire", SMALL | ONE),
    "learned": ("addition-plain", SMALL | ONE | {"positions.length": 24}),
    "encoder": ("sources/digit-encoder", SMALL),
    "residues": ("grokking-113", SMALL),
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
    import onnxruntime

    return onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])


def writing(graph: Path) -> Any:
    from docs.examples.onnx_writer import Writer

    return Writer(str(graph))


def asked(session: Any, row: list[int], first: int | None = None) -> np.ndarray:
    """Logits of the graph for what follows each token of a text, which may come in two calls."""
    sizes = {"batch": 1, "past": 0}
    past = {
        each.name: np.zeros(
            [sizes.get(size, size) for size in each.shape],
            np.int32 if "int32" in each.type else np.float32,
        )
        for each in session.get_inputs()
        if each.name.startswith("past_")
    }
    logits, names = [], ["logits", *(name.replace("past", "present") for name in past)]
    for piece in (row[:first], row[first:] if first else []):
        if piece:
            tokens = {"tokens": np.array([piece], np.int32)}
            found, *present = session.run(names, past | tokens)
            past = dict(zip(past, present, strict=True))
            logits.append(found)
    return np.concatenate(logits, axis=1)


@pytest.mark.parametrize("token", [-1, 999])
def test_an_unknown_token_is_refused(graphs: dict[str, tuple[Run, Path]], token: int) -> None:
    for name in ("axes", "encoder", "recurrences"):
        with pytest.raises(Exception, match="refuses a token that is none of the"):
            asked(opened(graphs[name][1]), [1, token, 2])


def test_a_text_that_is_too_long_is_refused(graphs: dict[str, tuple[Run, Path]]) -> None:
    session = opened(graphs["learned"][1])
    assert session.get_modelmeta().custom_metadata_map["longest_text"] == "24"
    assert asked(session, [1] * 24).shape[1] == 24
    with pytest.raises(Exception, match="refuses a text of more than 24 tokens"):
        asked(session, [1] * 25, first=20)


def test_a_coordinate_that_is_too_high_is_refused(graphs: dict[str, tuple[Run, Path]]) -> None:
    run, graph = graphs["recurrences"]
    session = opened(graph)
    most = int(session.get_modelmeta().custom_metadata_map["highest_coordinate"])
    digit = run.layout.characters.index("1")
    assert asked(session, [digit] * most).shape[1] == most
    with pytest.raises(Exception, match=f"refuses a coordinate above {most}"):
        asked(session, [digit] * (most + 10))


def test_a_graph_says_what_it_is_and_writes_as_the_model(
    graphs: dict[str, tuple[Run, Path]],
) -> None:
    run, graph = graphs["axes"]
    layout, session = run.layout, opened(graph)
    about = session.get_modelmeta().custom_metadata_map
    assert (about["run"], about["seed"], about["layout"]) == ("axes", "1", "program")
    assert recipes.parse(tomllib.loads(about["recipe"]), where="the graph") == run.recipe
    machine = json.loads(about["machine"])
    held = rooms(run.recipe, member(run))
    assert machine == json.loads(json.dumps(machine_data(layout, held)))
    look, writer = run.load_models().memo.look(1), writing(graph)
    for problem in problems("*"):
        given = prompt(machine, "*", problem.operands)
        written = write(layout.machine, layout.windows, look, [given], 9)[0]
        assert list(writer.write(given, layout.end, 9)) == written
    for wrong in ((1, 2, 3), (True, 1), (10 ** (held["*"].digits), 1)):
        with pytest.raises(ValueError, match=r"^\* takes 2 whole numbers from 0 up, of at most"):
            writer.ask("*", *wrong)


def test_the_example_writes_texts(graphs: dict[str, tuple[Run, Path]]) -> None:
    run, graph = graphs["fire"]
    layout, writer = run.layout, writing(graph)
    for problem, tokens in zip(problems("+"), run.write(problems("+"), member=1), strict=True):
        found = writer.complete(layout.prompt(problem), len(tokens))
        assert found == layout.decode(tokens)
    residues, given = writing(graphs["residues"][1]), parse("100+12 mod 113")
    tokens = graphs["residues"][0].write([given], member=1)[0]
    assert residues.complete("100+12=", 1) == graphs["residues"][0].layout.decode(tokens)
    with pytest.raises(ValueError, match=r"'x' is no token of this model: it knows .*\+"):
        writer.complete("1x=")
    takes = r"\+ takes 2 whole numbers from 0 up, of at most 1000 digits, such as 21\+43="
    for wrong in ("12+34", "1+2+3=", "-1+2=", "", "1" * 1001 + "+1="):
        with pytest.raises(ValueError, match=rf"^{takes} \(got '"):
            writer.complete(wrong)
