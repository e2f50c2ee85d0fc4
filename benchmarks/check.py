"""Whether both sides compute the same: `python -m benchmarks.check`.

For each configuration: logits, loss, every gradient, and three updates of the
optimiser fed with equal gradients.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from torch import nn

from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.model.decoding import logits_of_windows
from curta.model.transformer import Transformer
from curta.training import trainer
from curta.training.optimizers import HyperParams, transformation
from curta.training.trainer import step_keys

from . import export
from .configurations import CONFIGURATIONS
from .torch_model import IGNORED, Batch, Decoder, Trainer, WindowDecoder, Windows, from_arrays, loss
from .torch_model import batch as torch_batch

TOLERANCE = 1e-4


def main() -> None:
    for configuration in CONFIGURATIONS.values():
        worst = differences(configuration.recipe())
        print(configuration.name, *(f"{quantity} {value:.1e}" for quantity, value in worst.items()))
        assert max(worst.values()) < TOLERANCE, f"configuration {configuration.name} differs"


def differences(recipe: Recipe) -> dict[str, float]:
    """Largest absolute differences between the two sides."""
    model, (columns,) = export.member(recipe), export.draw_batches(recipe, 1)
    ours = from_arrays(export.size(recipe, model), export.weights(model))
    batch = torch_batch({name: torch.from_numpy(column) for name, column in columns.items()})
    expected, gradients = jax.jit(jax.value_and_grad(_loss(recipe)))(model, columns)
    value = loss(ours, batch)
    value.backward()
    torch_gradients = {n: p.grad.numpy() for n, p in ours.named_parameters() if p.grad is not None}
    return {
        "logits": _logits(recipe, model, columns, ours, batch),
        "loss": abs(float(expected) - value.item()),
        "gradients": _apart(export.weights(gradients), torch_gradients),
        "updates": _updates(recipe, model, gradients, ours),
    }


Given = Callable[[Transformer, export.Arrays], Any]


def _logits_of(recipe: Recipe) -> Given:
    """Curta's logits of a batch."""
    if isinstance(recipe.positions, Window):
        return lambda model, columns: logits_of_windows(model, jnp.asarray(columns["rows"]))
    (text,), bounds = export.texts(recipe, _keys()), export.bounds(recipe)
    padded = export.batch(recipe, text)
    return lambda model, columns: model(padded.tokens, padded.where, padded.queries, bounds)


def _loss(recipe: Recipe) -> Given:
    """Curta's own loss of a batch."""
    if isinstance(recipe.positions, Window):
        logits = _logits_of(recipe)

        def mean(model: Transformer, columns: export.Arrays) -> Any:
            losses = optax.softmax_cross_entropy_with_integer_labels(
                logits(model, columns), columns["targets"]
            )
            return losses.mean()

        return mean
    (text,), keys = export.texts(recipe, _keys()), step_keys(0, 0)
    padded, bounds = export.batch(recipe, text), export.bounds(recipe)
    return lambda model, _: trainer.loss_and_exact_match(
        model, padded, bounds, keys, recipe.training
    )[0]


def _keys() -> jax.Array:
    """Those of the one batch that `export.draw_batches` makes."""
    return jax.random.split(jax.random.key(1), 1)


def _logits(
    recipe: Recipe,
    model: Transformer,
    columns: export.Arrays,
    ours: Decoder | WindowDecoder,
    batch: Batch | Windows,
) -> float:
    """Compared where a token is scored: elsewhere neither side promises anything."""
    expected = jax.jit(_logits_of(recipe))(model, columns)
    with torch.no_grad():
        logits = ours(batch).numpy()
    return float(np.abs(np.asarray(expected) - logits)[columns["targets"] != IGNORED].max())


def _updates(recipe: Recipe, model: Transformer, gradients: Transformer, ours: nn.Module) -> float:
    """Weights after three updates with equal gradients."""
    trainer = Trainer(ours, dataclasses.asdict(recipe.optimizer), recipe.training.steps)
    hyperparams = HyperParams.of(recipe.optimizer)
    chain = transformation(recipe.optimizer, hyperparams, recipe.training.steps)
    state, gradient_arrays = chain.init(model), export.weights(gradients)
    for number in range(3):
        updates, state = chain.update(gradients, state, model)
        model = optax.apply_updates(model, updates)
        for name, parameter in ours.named_parameters():
            parameter.grad = torch.from_numpy(np.array(gradient_arrays[name]))
        trainer.update(number)
    parameters = {name: p.detach().numpy() for name, p in ours.named_parameters()}
    return _apart(export.weights(model), parameters)


def _apart(expected: dict[str, np.ndarray], actual: dict[str, np.ndarray]) -> float:
    assert set(expected) == set(actual), set(expected) ^ set(actual)
    return max(float(np.abs(expected[name] - actual[name]).max()) for name in expected)


if __name__ == "__main__":
    main()
