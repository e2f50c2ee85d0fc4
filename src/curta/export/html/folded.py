"""A member's weights with everything folded into them that does not depend on the text.

`curta.reference` has the tables of the vocabulary. Gains go into the matrices after their norm,
and the scale of the scores into the queries: what is left for the page is tables, matrices, and
norms without gains.
"""

import numpy as np

from curta.export.html.scripts import Tensors
from curta.reference import WindowModel


def reason(positions: str, norm: str) -> str | None:
    """The first reason for which a model has no tables; None if it has."""
    if positions != "window":
        return f"positions are {positions!r}, and only models with 'window' calculate in a report"
    if norm == "none":
        return "model.norm is 'none', and a report calculates with norms"
    return None


def tensors(model: WindowModel) -> Tensors:
    """Tables and matrices by name; matrices of several layers are stacked, a row for each input."""
    config, w, tokens = model.config, model.weights, len(model.vectors)

    def gained(weight: np.ndarray, gain: str) -> np.ndarray:
        """Return the matrix with the norm's gain folded in."""
        return w[gain][..., None] * weight if gain in w else weight

    found = {
        "vectors": model.vectors,
        "query": model.query.reshape(tokens, -1) * model.score_scale,
        "key": model.key[:tokens].reshape(tokens, -1),
        "value": model.value[:tokens].reshape(tokens, -1),
        "out": w["attention.out"],
        "bias": w["positions.biases"][0].reshape(config.heads, len(model.machine.roles), -1),
        "up": gained(w["mlp.up"], "mlp.gain"),
        "down": w["mlp.down"],
        "head": gained(model.head, "gain"),
    }
    if config.gated:
        found["gate"] = gained(w["mlp.gate"], "mlp.gain")
    found |= {
        name: w[gain]
        for name, gain in (("attended", "attention.after"), ("fed", "mlp.after"))
        if gain in w
    }
    return {name: np.asarray(tensor, np.float32, order="C") for name, tensor in found.items()}
