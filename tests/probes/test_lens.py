"""The logit lens and direct attribution, held against sums and against models by hand."""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from curta.probes.direct import BIASES, DirectLogits, contributions
from curta.probes.inside.answers import Digits
from curta.probes.lens import LogitLens

from curta.config.task import Task
from curta.evaluation.scoring import Models
from curta.frontends.run import Run
from curta.probes.inside.question import Question
from curta.problems import task_sizes
from curta.problems.problem import parse
from curta.problems.tasks import RANDOM, problems
from tests import adder, tiny

from .asked import alone, found, only

SUMS = [parse(text) for text in ("12+34", "957+68", "9+9")]
DIGITS = Task("+", digits=(1, 3))


def drawn(**changes: Any) -> Models:
    recipe = tiny.recipe(**tiny.WRITTEN_WITH_ROPE | changes)
    return alone(tiny.drawn(recipe, tiny.layout_of(recipe)))


DESIGNS: list[dict[str, Any]] = [
    {"model__num_attention_layers": 2},
    {"model__num_recurrences": 2, "model__norm": "layer"},
    {"model__final_norm": False, "model__tie_embeddings": True},
    {"model__norm": "none"},
]


@pytest.mark.parametrize("changes", DESIGNS, ids=str)
def test_what_all_parts_add_is_the_whole_logit(changes: dict[str, Any]) -> None:
    models = drawn(**changes)
    asked = Question(models, SUMS)
    digits = Digits.of(asked)
    added = contributions(models, asked, digits)
    assert BIASES not in added
    logits = np.asarray(asked.values(asked.whole, ["logits"])["logits"])[
        :, digits.problem, digits.query
    ]
    right = np.stack([logits[:, n, token] for n, token in enumerate(digits.token)], axis=1)
    np.testing.assert_allclose(
        sum(added.values()), right - logits.mean(axis=-1), rtol=1e-4, atol=1e-4
    )


def test_biases_are_what_is_left() -> None:
    """Of a model whose head alone has biases, these are the rest."""
    models = drawn(model__biases=["head"])
    model = models.member(0)
    bias = np.linspace(-1, 1, len(model.head_bias), dtype=np.float32)
    models = alone(replace(model, head_bias=jnp.asarray(bias)))
    asked = Question(models, SUMS)
    digits = Digits.of(asked)
    rest = contributions(models, asked, digits)[BIASES]
    np.testing.assert_allclose(rest[0], bias[digits.token] - bias.mean(), atol=1e-4)


def test_a_part_that_adds_nothing_has_no_share() -> None:
    model = drawn(model__num_attention_layers=2).member(0)
    silent = model.attention.out.at[1, model.config.head_dim :].set(0.0)
    down = model.mlp.down.at[0].set(0.0)
    models = alone(replace(
        model, attention=replace(model.attention, out=silent), mlp=replace(model.mlp, down=down)
    ))  # fmt: skip
    rows = DirectLogits(count=5).rows(models, DIGITS)
    for part in dict.fromkeys(row["part"] for row in rows):
        every = [row["median"] for row in rows if row["part"] == part]
        assert (part in ("layer 1 head 1", "layer 0 MLP")) == (not any(every)), part


def test_a_solved_adder_has_its_digits_after_the_mlp_only() -> None:
    """35 weights: after attention the state is no digit yet, after the MLP it is."""
    rows = LogitLens(count=30).rows(alone(adder.solved()), Task("+", digits=(10, 10)))
    shares = {s: [r["median"] for r in rows if r["state"] == s] for s in
              ("embedding", "state amid layer 0", "state after layer 0")}  # fmt: skip
    assert set(shares["state after layer 0"]) == {1.0}
    assert np.mean(shares["embedding"][:-1]) < 0.4
    assert np.mean(shares["state amid layer 0"][:-1]) < 0.9
    assert all(row["p"] > 0.5 for row in rows if row["state"] == "state after layer 0")


def test_the_last_state_reads_what_the_model_writes(windowed: Run) -> None:
    finding = found(LogitLens(count=20), windowed)
    (task,) = windowed.recipe.tasks
    expected = _right(windowed, task, 20)
    for row in only(finding, state="state after layer 1"):
        assert row["members"] == pytest.approx(expected[row["digit"]], abs=1e-6)


def _right(run: Run, task: Task, count: int) -> dict[int, list[float]]:
    """The share of each digit that each member has right, from the likeliest tokens of the run."""
    sample = problems(task.operator, RANDOM, task_sizes.widest(task), count, 1)
    made, known = run.activations(sample, "final"), dict[int, list[np.ndarray]]()
    for row, text in enumerate(made.about.positions):
        places = [n for n, one in enumerate(text) if one.after not in (None, "$")]
        for number, place in enumerate(places):
            right = made.likeliest[:, row, place] == made.goals[row, place]
            known.setdefault(number, []).append(right)
    return {number: np.mean(right, axis=0).tolist() for number, right in known.items()}


def test_models_whose_state_is_no_sum_are_refused() -> None:
    unfit = DirectLogits.unfit
    assert unfit(tiny.recipe(model__norm_placement="post_residual")) is not None
    looped = tiny.dense(model__num_recurrences=2, model__input_injection="block")
    assert unfit(looped) == "an input that is injected into the state"
    assert unfit(tiny.dense()) is None


def test_a_window_is_read_as_any_other(windowed: Run) -> None:
    finding = found(DirectLogits(count=10), windowed)
    parts = list(dict.fromkeys(row["part"] for row in finding.rows))
    assert parts == ["embedding", "layer 0 head 0", "layer 0 head 1", "layer 0 MLP", "layer 1 MLP"]
