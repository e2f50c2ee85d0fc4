"""Whether both sides compute the same: `python -m benchmarks.check`.

For each configuration: logits, loss, every gradient, and three updates of the
optimiser fed with equal gradients.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch

from curta import batches, training
from curta.layouts import Text, layout_named
from curta.model import Transformer
from curta.optimizers import Rates, transformation
from curta.recipe import Recipe

from . import export
from .configurations import CONFIGURATIONS
from .torch_model import Batch, Decoder, Trainer, from_arrays, loss

TOLERANCE = 1e-4


def main() -> None:
    for configuration in CONFIGURATIONS.values():
        worst = differences(configuration.recipe())
        print(configuration.name, *(f"{what} {value:.1e}" for what, value in worst.items()))
        assert max(worst.values()) < TOLERANCE, f"configuration {configuration.name} differs"


def differences(recipe: Recipe) -> dict[str, float]:
    """Largest absolute differences between the two sides."""
    model = export.member(recipe)
    (text,) = export.texts(recipe, 1)
    ours = from_arrays(export.size(recipe, model), export.weights(model))
    batch = Batch(**{k: torch.from_numpy(v) for k, v in export.batch(model, recipe, text).items()})
    expected, gradients = _reference(recipe, model, text)
    value = loss(ours, batch)
    value.backward()
    found = {name: p.grad.numpy() for name, p in ours.named_parameters()}
    return {
        "logits": _logits(recipe, model, text, ours, batch),
        "loss": abs(float(expected) - value.item()),
        "gradients": _apart(export.weights(gradients), found),
        "updates": _updates(recipe, model, gradients, ours),
    }


def _reference(recipe: Recipe, model: Transformer, text: Text) -> tuple[Any, Transformer]:
    """Curta's loss and gradients."""
    batch, keys = _batch(recipe, text), training.step_keys(0, 0)
    objective = jax.value_and_grad(training.loss_and_exact, has_aux=True)
    (value, _), gradients = jax.jit(
        lambda model: objective(model, batch, export.room(recipe), keys, recipe.training)
    )(model)
    return value, gradients


def _logits(recipe: Recipe, model: Transformer, text: Text, ours: Decoder, batch: Batch) -> float:
    """Compared where a token is scored: elsewhere neither side promises anything."""
    room, given = export.room(recipe), _batch(recipe, text)
    expected = jax.jit(lambda m: m(given.tokens, given.where, given.queries, room))(model)
    with torch.no_grad():
        found = ours(batch).numpy()
    return float(np.abs(np.asarray(expected) - found)[np.asarray(given.scored)].max())


def _batch(recipe: Recipe, text: Text) -> batches.Batch:
    """Padded on both sides, so that both compute the same."""
    return batches.padded(text, layout_named(recipe.layout).where(text), export.room(recipe))


def _updates(recipe: Recipe, model: Transformer, gradients: Transformer, ours: Decoder) -> float:
    """Weights after three updates with equal gradients."""
    trainer = Trainer(ours, dataclasses.asdict(recipe.optimizer), recipe.training.steps)
    rates = Rates(
        *map(jnp.float32, (recipe.optimizer.learning_rate, recipe.optimizer.weight_decay))
    )
    chain = transformation(recipe.optimizer, rates, recipe.training.steps)
    state, given = chain.init(model), export.weights(gradients)
    for number in range(3):
        updates, state = chain.update(gradients, state, model)
        model = optax.apply_updates(model, updates)
        for name, parameter in ours.named_parameters():
            parameter.grad = torch.from_numpy(np.array(given[name]))
        trainer.update(number)
    found = {name: p.detach().numpy() for name, p in ours.named_parameters()}
    return _apart(export.weights(model), found)


def _apart(expected: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> float:
    assert set(expected) == set(found), set(expected) ^ set(found)
    return max(float(np.abs(expected[name] - found[name]).max()) for name in expected)


if __name__ == "__main__":
    main()
