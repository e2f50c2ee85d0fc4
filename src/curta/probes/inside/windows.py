"""A model's neurons in every window that can occur."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.config.errors import UserError
from curta.evaluation import certificate, results, scoring
from curta.model.transformer import Transformer, logits_of_windows
from curta.runs.run import Run, certifiable, program_layout
from curta.training.windows import WindowRows, WindowTargets


def all_windows(run: Run) -> tuple[WindowRows, WindowTargets]:
    """Return all windows that can occur, and the right token after each.

    They come from the certificate, or are listed now. Raises UserError where neither is possible.
    """
    certified = results.read_windows(run.folder.path)
    if certified is not None:
        return certified.rows, certified.targets
    if not certifiable(run):
        raise UserError(f"run {run.name!r} has no certificate, and its code is not known here")
    listed = certificate.prepare(run.recipe, program_layout(run))
    return listed.rows, listed.targets


def responses(
    model: Transformer, layer: int, neuron: int, rows: WindowRows, targets: WindowTargets
) -> Float[np.ndarray, " windows"]:
    """Return a neuron's activation in each window."""
    call = partial(_responses, model, jnp.int32(neuron), layer=layer)
    (values,) = scoring.in_blocks(call, rows, targets, scoring.BLOCKS)
    return values.astype(np.float64)


@partial(jax.jit, static_argnames="layer")
def _responses(
    model: Transformer, neuron: Array, rows: Array, targets: Array, *, layer: int
) -> tuple[Float[Array, " windows"]]:
    sites = dict[str, Array]()
    logits_of_windows(model, rows, sites.setdefault)
    return (sites[f"layer.{layer}.mlp.inner"][:, neuron].astype(jnp.float32),)


@partial(jax.jit, static_argnames="layer")
def losses_without(
    model: Transformer,
    rows: Int[Array, "windows cells"],
    targets: Int[Array, " windows"],
    neurons: Int[Array, " neurons"],
    *,
    layer: int,
) -> Float[Array, " neurons"]:
    """Return the mean loss, in nats, without each of these neurons; -1 removes none."""

    def without(neuron: Array) -> Array:
        def tap(site: str, value: Array) -> Array:
            if site != f"layer.{layer}.mlp.inner":
                return value
            return jnp.where(jnp.arange(value.shape[1])[None] == neuron, 0.0, value)

        logits = logits_of_windows(model, rows, tap)
        right = jnp.take_along_axis(logits, targets[:, None], axis=1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=1) - right)

    return jax.lax.map(without, neurons)
