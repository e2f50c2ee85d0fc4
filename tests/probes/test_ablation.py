"""Parts taken away, held against models that lack their weights."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.model.transformer import Transformer
from curta.probes.ablation import NOTHING, Ablation
from curta.problems import task_sizes
from curta.problems.tasks import RANDOM, problems
from curta.runs.run import Run
from tests import tiny

from .helpers import examined, only


def without(model: Transformer, part: str) -> Transformer:
    """The model with the weights that lead out of a part set to zero."""
    words = part.split()
    layer = int(words[1])
    if words[2] == "MLP":
        return replace(model, mlp=replace(model.mlp, down=model.mlp.down.at[layer].set(0.0)))
    head, size = int(words[3]), model.config.head_dim
    out = model.attention.out.at[layer, head * size : (head + 1) * size].set(0.0)
    return replace(model, attention=replace(model.attention, out=out))


def right_digits(model: Transformer, run: Run, count: int) -> dict[int, float]:
    """The share of each digit of the answers that follows true texts, digit by digit."""
    (task,), layout = run.recipe.tasks, run.layout
    sample = problems(task.operator, RANDOM, task_sizes.widest(task), count, 1)
    bounds, by_digit = layout.bounds_of(sample), dict[int, list[bool]]()
    text = tiny.text(layout, sample, bounds.total)
    where, every = layout.where(text), tiny.every_index(text)
    logits = jax.jit(lambda model: model(text.tokens, where, every, bounds))(model)
    best = np.asarray(logits).argmax(-1)
    for row, problem in enumerate(sample):
        tokens, prompt = layout.tokens_of(problem)
        digits = [slot for slot in range(prompt, len(tokens)) if tokens[slot] != layout.end]
        for number, slot in enumerate(digits):
            by_digit.setdefault(number, []).append(bool(best[row, slot - 1] == tokens[slot]))
    return {number: float(np.mean(right)) for number, right in by_digit.items()}


@pytest.mark.parametrize("name", ["windowed", "dense"])
def test_a_part_that_is_zero_is_one_without_weights(
    name: str, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue(name)
    finding = examined(Ablation(count=20), run)
    removals = dict.fromkeys(row["without"] for row in finding.rows)
    assert len(removals) > 5
    for member in (0, 1):
        model = jax.tree.map(jnp.asarray, run.load_models().member(member))
        for part in (part for part in removals if not part.startswith("neighbour")):
            lacking = model if part == NOTHING else without(model, part)
            expected = right_digits(lacking, run, 20)
            rows = only(finding, without=part)
            shares = {row["digit"]: row["members"][member] for row in rows}
            assert shares == pytest.approx(expected, abs=1e-6)
