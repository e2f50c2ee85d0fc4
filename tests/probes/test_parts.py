"""Parts taken away, held against models that lack their weights; and parts patched.

Patching must have its whole effect in some places, and can have none in others.
"""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.evaluation.scoring import Models
from curta.model.transformer import Transformer
from curta.probes.ablation import NOTHING, Ablation
from curta.probes.patching import Patching
from curta.problems import task_sizes
from curta.problems.problem import parse
from curta.problems.tasks import RANDOM, problems
from curta.runs.run import Run
from tests import adder, tiny

from .helpers import ModelSubject, alone, examined, only


def without(model: Transformer, part: str) -> Transformer:
    """The model with the weights that lead out of a part set to zero."""
    words = part.split()
    layer = int(words[1])
    if words[2] == "MLP":
        return replace(model, mlp=replace(model.mlp, down=model.mlp.down.at[layer].set(0.0)))
    head, size = int(words[3]), model.config.head_dim
    out = model.attention.out.at[layer, head * size : (head + 1) * size].set(0.0)
    return replace(model, attention=replace(model.attention, out=out))


def right_digits(run: Run, count: int) -> Callable[[Transformer], dict[int, float]]:
    """Of a model the share of each digit of the answers that follows true texts, digit by digit."""
    (task,), layout = run.recipe.tasks, run.layout
    sample = problems(task.operator, RANDOM, task_sizes.widest(task), count, 1)
    bounds = layout.bounds_of(sample)
    text = tiny.text(layout, sample, bounds.total)
    where, every = layout.where(text), tiny.every_index(text)
    logits = jax.jit(lambda model: model(text.tokens, where, every, bounds))

    def shares(model: Transformer) -> dict[int, float]:
        best, by_digit = np.asarray(logits(model)).argmax(-1), dict[int, list[bool]]()
        for row, problem in enumerate(sample):
            tokens, prompt = layout.tokens_of(problem)
            digits = [slot for slot in range(prompt, len(tokens)) if tokens[slot] != layout.end]
            for number, slot in enumerate(digits):
                by_digit.setdefault(number, []).append(bool(best[row, slot - 1] == tokens[slot]))
        return {number: float(np.mean(right)) for number, right in by_digit.items()}

    return shares


@pytest.mark.parametrize("name", ["windowed", "dense"])
def test_a_part_that_is_zero_is_one_without_weights(
    name: str, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue(name)
    finding = examined(Ablation(count=20), run)
    removals = dict.fromkeys(row["without"] for row in finding.rows)
    assert len(removals) > 5
    shares_of = right_digits(run, 20)
    for member in (0, 1):
        model = jax.tree.map(jnp.asarray, run.load_models().member(member))
        for part in (part for part in removals if not part.startswith("neighbour")):
            lacking = model if part == NOTHING else without(model, part)
            expected = shares_of(lacking)
            rows = only(finding, without=part)
            shares = {row["digit"]: row["members"][member] for row in rows}
            assert shares == pytest.approx(expected, abs=1e-6)


def effects(models: Models, target: str, source: str) -> dict[str, list[float]]:
    """Of each part the effect at every position."""
    probe = Patching(problem=target, other=source)
    table: dict[str, list[float]] = {}
    for row in probe.examine(ModelSubject(models)).rows:
        table.setdefault(row["part"], []).append(row["median"])
    return table


def test_in_a_solved_adder_the_digit_goes_from_its_token_to_the_query() -> None:
    """Everything is carried by the changed token's embedding, then by the one head at the query."""
    models = alone(adder.solved())
    target, source = "1234567890+1111111114", "1234567890+1111111115"
    table = effects(models, target, source)
    first, second = (models.layout.prompt_tokens(parse(text)) for text in (target, source))
    (changed,) = [place for place, pair in enumerate(zip(first, second, strict=True))
                  if pair[0] != pair[1]]  # fmt: skip
    last = len(table["embedding"]) - 1
    assert last != changed
    for part, where in (
        ("embedding", changed), ("layer 0 head 0", last), ("state after layer 0", last),
    ):  # fmt: skip
        expected = np.zeros(last + 1)
        expected[where] = 1
        np.testing.assert_allclose(table[part], expected, atol=1e-3, err_msg=part)
    assert not np.any(np.delete(table["layer 0 MLP"], last))


def test_parts_in_which_nothing_differs_have_no_effect(windowed: Run) -> None:
    finding = examined(Patching(problem="57+68", other="57+69"), windowed)
    text = "75+86=521$"
    assert "'5' or '6'" in finding.notes[0]
    for row in finding.rows:
        assert row["token"] == text[row["position"]]
        if row["part"] == "embedding":
            assert row["median"] == pytest.approx(float(row["position"] == 3), abs=1e-4)
    last = only(finding, part="state after layer 1", position=5)
    assert last[0]["members"] == pytest.approx([1, 1], abs=1e-4)
    others = [row for row in finding.rows if "layer" in row["part"] and row["position"] < 5]
    assert all(value == pytest.approx(0, abs=1e-4) for row in others for value in row["members"])


def test_recurrences_and_encoders_are_patched_too() -> None:
    for changes in (
        tiny.WRITTEN_WITH_ROPE | {"model__num_recurrences": 2},
        {"layout": "framed", "model__causal": False, "positions__name": "learned",
         "positions__length": 64},
    ):  # fmt: skip
        recipe = tiny.recipe(model__num_layers=1, **changes)
        models = alone(tiny.drawn(recipe, tiny.layout_of(recipe)))
        table = effects(models, "1+3", "1+4")
        assert sum(np.abs(table["embedding"]) > 1e-3) == 1
        assert max(table["embedding"]) == pytest.approx(1, abs=1e-3)
        ends = [part for part in table if part.startswith("state after")]
        assert max(table[ends[-1]]) == pytest.approx(1, abs=1e-3)
