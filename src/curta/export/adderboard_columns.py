"""What `standalone_columns.py` is filled with: a model of layout `columns` for the AdderBoard."""

from typing import Any

import numpy as np

from curta.config.positions import CoupledSinusoidal
from curta.model.positions.vectors import CoupledSinusoidalEncoding
from curta.model.transformer import Transformer

TEMPLATE = "standalone_columns.py"

POSITIONS = CoupledSinusoidal.name

NEEDED = {
    "qk_input": ("positions",),
    "norm": ("none",),
    "norm_placement": ("pre",),
    "biases": ((),),
    "tied_scale": (True,),
    "num_layers": (1,),
    "num_recurrences": (1,),
    "input_injection": ("none",),
    "gated": (False,),
    "causal": (True,),
    "activation": ("relu", "relu2"),
    "role_embeddings": (False,),
}
"""Settings of the model that the template knows."""

SHARED = {
    "key-query": "keys' matrix is that of queries, turned by one angle",
    "value-key": "values' matrix is that of keys",
    "out-query": "what leaves attention goes through the queries' matrix, transposed",
    "out-value": "what leaves attention goes through the values' matrix, transposed and negative",
}


def settings(model: Transformer) -> dict[str, Any]:
    config, positions = model.config, model.positions
    assert isinstance(positions, CoupledSinusoidalEncoding)
    return {
        "heads": config.heads,
        "squared": config.activation == "relu2",
        "scale": config.head_dim**-0.5 if config.attention_scale else 1.0,
        "period": positions.period,
        "subtracts": "out-value" in config.weight_sharing,
    }


def tricks(model: Transformer) -> list[str]:
    """What the file says of its design, in the board's words."""
    arc = model.config.embedding == "arc"
    return [
        "fixed sines and cosines of a digit's place, shared by both operands and the answer",
        "queries and keys are made of positions alone",
        "no norms",
        *(["digits on an arc: radius, start and step"] if arc else []),
        *(["head tied to the embedding"] if model.head is None else []),
        *(SHARED[name] for name in model.config.weight_sharing),
    ]


def tensors(model: Transformer) -> dict[str, np.ndarray]:
    """All that is learned, each once; the one block is not stacked.

    What is made of others is not there: see `model.weight_sharing`.
    """
    blocks = {
        "query": model.attention.query,
        "key": model.attention.key,
        "value": model.attention.value,
        "out": model.attention.out,
        "turn": model.attention.turn,
        "up": model.mlp.up,
        "down": model.mlp.down,
    }
    learned = {name: part[0] for name, part in blocks.items() if part is not None}
    found = {"tokens": model.tokens, **learned}
    found |= {} if model.head is None else {"head": model.head}
    return {name: np.asarray(part) for name, part in found.items()}
