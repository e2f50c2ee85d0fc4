"""Whether both sides compute the same: `python -m benchmarks.check`.

For each configuration: logits, loss, every gradient, and three updates of the
optimiser fed with equal gradients.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch

from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.model.transformer import Transformer, logits_of_windows
from curta.training import trainer
from curta.training.optimizers import HyperParams, transformation

from . import export
from .configurations import CONFIGURATIONS
from .torch_model import IGNORED, Decoder, Trainer, loss

TOLERANCE = 1e-4


def main() -> None:
    for configuration in CONFIGURATIONS.values():
        worst = differences(configuration.recipe())
        print(configuration.name, *(f"{quantity} {value:.1e}" for quantity, value in worst.items()))
        assert max(worst.values()) < TOLERANCE, f"configuration {configuration.name} differs"


def differences(recipe: Recipe) -> dict[str, float]:
    """Largest absolute differences between the two sides."""
    model, (columns,) = export.member(recipe), export.draw_batches(recipe, 1)
    theirs = Decoder(recipe, export.arrays_of(recipe, model))
    batch = {name: torch.from_numpy(column) for name, column in columns.items()}
    logits_of, loss_of = sides(recipe, columns)
    value, gradients = jax.jit(jax.value_and_grad(loss_of))(model)
    # compared where a token is scored: elsewhere neither side promises anything
    with torch.no_grad():
        apart = np.abs(np.asarray(jax.jit(logits_of)(model)) - theirs(batch).numpy())
    torch_value = loss(theirs, batch)
    torch_value.backward()
    torch_gradients = {
        name: p.grad.numpy() for name, p in theirs.named_parameters() if p.grad is not None
    }
    arrays = export.weights(gradients)
    return {
        "logits": float(apart[columns["targets"] != IGNORED].max()),
        "loss": abs(float(value) - torch_value.item()),
        "gradients": _apart(arrays, torch_gradients),
        "updates": _updates(recipe, model, gradients, theirs),
    }


def sides(
    recipe: Recipe, columns: export.Arrays
) -> tuple[Callable[[Transformer], Any], Callable[[Transformer], Any]]:
    """Curta's logits and loss of the one batch that `export.draw_batches` makes, of a model."""
    if isinstance(recipe.positions, Window):
        rows, targets = jnp.asarray(columns["rows"]), columns["targets"]
        crossed = optax.softmax_cross_entropy_with_integer_labels
        of_windows = lambda model: logits_of_windows(model, rows)
        return of_windows, lambda model: crossed(of_windows(model), targets).mean()
    (text,), bounds, settings = (
        export.text_batches(recipe, 1),
        export.bounds(recipe),
        recipe.training,
    )
    logits = lambda model: model(text.tokens, text.where, text.queries, bounds)
    return logits, lambda model: trainer.loss_and_exact_match(
        model, text, bounds, trainer.step_keys(0, 0), settings
    )[0]


def _updates(recipe: Recipe, model: Transformer, gradients: Transformer, theirs: Decoder) -> float:
    """Weights after three updates with equal gradients."""
    torch_trainer, arrays = Trainer(theirs, recipe), export.weights(gradients)
    hyperparams = HyperParams.of(recipe.optimizer)
    chain = transformation(recipe.optimizer, hyperparams, recipe.training.steps)
    state = chain.init(model)
    for number in range(3):
        updates, state = chain.update(gradients, state, model)
        model = optax.apply_updates(model, updates)
        for name, parameter in theirs.named_parameters():
            parameter.grad = torch.from_numpy(np.array(arrays[name]))
        torch_trainer.update(number)
    parameters = {name: p.detach().numpy() for name, p in theirs.named_parameters()}
    return _apart(export.weights(model), parameters)


def _apart(expected: export.Arrays, actual: export.Arrays) -> float:
    assert set(expected) == set(actual), set(expected) ^ set(actual)
    return max(float(np.abs(expected[name] - actual[name]).max()) for name in expected)


if __name__ == "__main__":
    main()
