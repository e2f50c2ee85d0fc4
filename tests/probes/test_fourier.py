"""Frequencies, against waves that are added up by hand and against sums over all problems."""

import math

import numpy as np
import pytest

from curta.frontends import api
from curta.probes.fourier import Fourier, of_logits, of_neurons, of_vectors
from curta.problems.problem import Problem
from curta.runs import checkpoints
from curta.runs.run import Run
from tests import naive

from .helpers import examined, only

MODULUS = 11


def wave(name: str, frequency: int, count: int) -> np.ndarray:
    turn = getattr(math, name)
    return np.array([turn(2 * math.pi * frequency * a / count) for a in range(count)])


@pytest.mark.parametrize("count", [2, 7, 12])
def test_norms_are_those_of_waves_one_by_one(count: int) -> None:
    """Each cosine and sine, made of norm one, times the table."""
    table = np.random.default_rng(count).normal(size=(count, 5))
    waves = of_vectors(table)
    assert len(waves["share"]) == count // 2
    for frequency in range(1, count // 2 + 1):
        for name in ("cos", "sin"):
            single = wave(name, frequency, count)
            size = np.linalg.norm(single)
            expected = np.linalg.norm(single @ table) / size if size > 1e-9 else 0.0
            assert waves[name][frequency - 1] == pytest.approx(expected, abs=1e-9)
    less_mean = table - table.mean(axis=0)
    squares = waves["cos"] ** 2 + waves["sin"] ** 2
    assert squares.sum() == pytest.approx((less_mean**2).sum())
    assert waves["share"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("second", [1, -1, 0], ids=["sum", "difference", "first alone"])
def test_logits_of_one_frequency_have_all_their_variance_in_it(second: int) -> None:
    """cos(2 pi 3 (a + b - c) / p) and the like."""
    a, b, c = np.indices((MODULUS,) * 3)
    logits = 3.0 + 5.0 * np.cos(2 * math.pi * 3 * (a + second * b - c) / MODULUS)
    assert of_logits(logits).round(9).tolist() == [0, 0, 1, 0, 0]


def test_a_neuron_of_one_frequency_is_counted_and_one_of_two_is_not() -> None:
    """Of waves one by one, by plain loops: the share of 85 % is that of squares."""
    residues, turn = range(MODULUS), 2 * math.pi / MODULUS
    neurons = [
        lambda a, b: 7 + math.cos(3 * turn * (a + b)),
        lambda a, b: math.cos(3 * turn * a) - 2 * math.sin(3 * turn * b),
        lambda a, b: 3 * math.cos(5 * turn * (a - b)) + math.sin(turn * a),  # 90 % in one
        lambda a, b: 2 * math.cos(5 * turn * (a - b)) + math.sin(turn * a),  # 80 %
        lambda a, b: math.cos(2 * turn * a) * math.cos(turn * b),
        lambda a, b: 4.0,
    ]
    inner = np.array([[[neuron(a, b) for neuron in neurons] for b in residues] for a in residues])
    assert of_neurons(inner) == pytest.approx([0, 0, 2 / 6, 0, 1 / 6])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two members that are hardly trained, whose kept vectors are replaced by known waves."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(tmp_path_factory.mktemp("fourier")))
        made = api.begin("grokking-97", 2, "known", {
            "layout": f"residues-{MODULUS}", "task.operator": f"+ mod {MODULUS}",
            "task.values": [0, MODULUS - 1], "task.held_out": 40, "model.width": 8,
            "model.heads": 2, "training.steps": 4, "training.batch": 16,
            "training.history_every": 2, "training.validation": 10, "evaluation.named": [],
        })  # fmt: skip
        made.train()
        vectors = np.zeros((2, MODULUS + 4, 8), np.float32)
        vectors[1, :MODULUS, 7] = 2 + wave("cos", 4, MODULUS)
        checkpoints.save_vectors(made.folder.history, 4, vectors)
        yield made


def test_shares_of_logits_are_those_of_plain_numpy_problem_by_problem(run: Run) -> None:
    """A member's own logits, one text at a time, over all 121 problems."""
    finding = examined(Fourier(top=2), run, 1)
    (row, _) = only(finding, of=f"logits of + mod {MODULUS}")
    (kept,) = only(finding, of="embedding", step=4, rank=1)
    assert (kept["frequency"], kept["share"]) == (4, 1.0)
    weights = naive.weights_of(run.load_models().member(1))
    every = np.zeros((MODULUS, MODULUS, MODULUS))
    for a, b in np.ndindex(MODULUS, MODULUS):
        tokens, _ = run.layout.tokens_of(Problem(f"+ mod {MODULUS}", (a, b)))
        logits = naive.Forward(run.recipe, weights, run.layout, tokens).all_logits()
        every[a, b] = logits[3, :MODULUS]
    share = of_logits(every)
    assert row["frequency"] == 1 + share.argmax()
    assert row["share"] == pytest.approx(share.max(), abs=1e-5)
