"""Tiny recipes of different design, on which `test_conformance.py` tries every way to calculate.

A line is a recipe: what it changes of the tiny one (`tiny.TINY`). Together they have every position
encoding and every setting of the model that the forward pass reads.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from curta.config.recipe import Recipe
from curta.export.base import Exported
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model.transformer import Transformer
from curta.problems.problem import Problem
from tests import naive, paper, tiny

PRODUCTS = {"program": "multiplication", "task__operator": "*", "task__digits": [1, 3]}
PARTS = {"model__role_embeddings": False, "model__compositional_embeddings": True}
BARE = {"model__role_embeddings": False}
LAYERS = {"model__num_attention_layers": 2}
HALF = {"training__precision": "bfloat16"}


def written(layout: str, positions: str, **changes: Any) -> dict[str, Any]:
    """A published layout instead of the program, with this encoding as small as it is elsewhere."""
    settings = {"name": positions} | tiny.ENCODINGS.get(positions, {}) | changes
    return {"layout": layout} | {f"positions__{f}": v for f, v in settings.items()}


DESIGNS: dict[str, dict[str, Any]] = {
    "window": {"model__attention_scale": False},
    "window, two axes": PRODUCTS | PARTS | HALF | {
        "model__num_kv_heads": 1, "model__gated": True, "model__activation": "silu",
    },
    "window, norms after": {
        "model__norm": "layer", "model__norm_placement": "post_residual",
        "model__activation": "gelu", "model__tie_embeddings": True,
    },
    "window, shared weights": {
        "model__weight_sharing": ["key-query", "value-key", "out-query", "norms"],
        "model__activation": "relu",
    },
    "window, arc": {
        "model__embedding": "arc", "model__width": 2, "model__heads": 1, "model__mlp_ratio": 8,
        "model__norm": "none", "model__activation": "gelu_erf",
        "model__weight_sharing": ["out-value"],
    },
    "program, fire": {"positions__name": "fire", "model__num_layers": 1},
    "gpt2": written("plain", "learned", length=40) | BARE | LAYERS | {
        "model__norm": "layer", "model__activation": "gelu", "model__tie_embeddings": True,
        "model__tied_scale": False, "model__biases": ["qkv", "out", "mlp", "norms"],
    },
    "llama": written("reversed", "rope", base=100.0) | BARE | LAYERS | {
        "model__gated": True, "model__activation": "silu", "model__num_kv_heads": 1,
    },
    "rope over heads": written("coupled", "rope", over="heads") | {
        "model__norm": "layer", "model__activation": "gelu_erf", "model__final_norm": False,
        "model__biases": ["qkv", "out", "mlp", "norms", "head"], "model__num_recurrences": 2,
        "model__input_injection": "normed",
    },
    "sinusoidal, norms after alone": written("padded", "sinusoidal") | {
        "model__norm": "layer", "model__norm_placement": "post", "model__norm_epsilon": 1e-3,
        "model__biases": ["out", "norms"],
    },
    "alibi": written("begun", "alibi") | {
        "model__norm": "plain", "model__tie_embeddings": True, "model__heads": 4,
        "model__num_kv_heads": 2,
    },
    "alibi, learned": written("plain", "alibi", learned=True) | LAYERS | HALF,
    "t5": written("blanks", "t5") | {"model__gated": True, "model__attention_scale": False},
    "fire": written("hints", "fire", max_length=64) | LAYERS | {"model__norm": "layer"},
    "randomised": written("carries", "randomised") | HALF | {
        "model__norm_placement": "post_residual", "model__norm": "plain",
    },
    "randomised waves": written("plain-padded", "randomised", of="sinusoidal"),
    "abacus": written("reversed", "abacus", evaluation_offset=7) | LAYERS | {
        "model__num_layers": 3,
    },
    "abacus, inside, looped": written("fields", "abacus", inject="queries_keys") | BARE | {
        "task__digits": [1, 3],
        "model__num_recurrences": 3, "model__input_injection": "sublayer",
    },
    "coupled, looped": written("coupled", "coupled") | LAYERS | {
        "model__num_recurrences": 2, "model__input_injection": "block", "model__num_kv_heads": 1,
    },
    "coupled waves": written("columns", "coupled-sinusoidal") | BARE | {
        "model__qk_input": "positions", "model__norm": "none", "model__num_layers": 1,
    },
    "positions alone": written("coupled", "coupled") | BARE | {
        "model__qk_input": "positions", "model__biases": ["qkv"], "model__num_layers": 1,
    },
    "position coupling": written("position-coupling", "position-coupling") | {
        "model__activation": "relu", "model__num_recurrences": 2,
        "model__input_injection": "recurrence",
    },
    "nope": written("spaced", "nope") | LAYERS,
    "encoder": written("framed", "learned") | LAYERS | {"model__causal": False},
    "residues": written("residues-97", "learned") | BARE | {"task__operator": "+ mod 97"},
}  # fmt: skip

SEEDS = {
    "window, two axes": 4, "window, arc": 11, "program, fire": 1, "rope over heads": 1,
    "alibi, learned": 1, "abacus, inside, looped": 7, "residues": 5, "coupled waves": 8,
    "sinusoidal, norms after alone": 9, "window, norms after": 3, "positions alone": 2,
}  # fmt: skip
"""Seeds of weights with which a design writes several tokens, where 0 is none."""

MOST = 12
"""Tokens that are written after a prompt; models with random weights go on and on."""

Texts = list[tuple[list[int], int]]
"""Tokens of whole texts, and how many of them are the prompt's."""


@dataclass(frozen=True, eq=False)
class Design:
    """A recipe with random weights, some texts, and what plain NumPy says of them."""

    name: str
    recipe: Recipe
    layout: Layout
    model: Transformer

    @property
    def causal(self) -> bool:
        return self.recipe.model.causal

    @property
    def windowed(self) -> bool:
        return self.recipe.positions.name == "window"

    @property
    def exported(self) -> Exported:
        return Exported("mine", 3, self.recipe, self.model)

    @cached_property
    def weights(self) -> dict[str, np.ndarray]:
        return naive.weights_of(self.model)

    @cached_property
    def problems(self) -> list[Problem]:
        """Of different lengths, with a carry, with equal operands."""
        operator = self.recipe.tasks[0].operator
        pairs = (97, 5), (10, 98), (7, 7), (123, 4)
        if "mod" in operator:
            pairs = (96, 5), (10, 48), (7, 7), (23, 4)
        return [Problem(operator, pair) for pair in pairs]

    @cached_property
    def texts(self) -> Texts:
        """The written problems; of an encoder the prompts, over which it writes."""
        texts = [self.layout.tokens_of(problem) for problem in self.problems]
        return texts if self.causal else [(tokens[:prompt], prompt) for tokens, prompt in texts]

    @cached_property
    def logits(self) -> list[np.ndarray]:
        """For what follows each token of each text."""
        return [self.naive(tokens) for tokens, _ in self.texts]

    def naive(self, tokens: list[int]) -> np.ndarray:
        return naive.Forward(self.recipe, self.weights, self.layout, tokens).all_logits()

    @cached_property
    def written(self) -> list[list[int]]:
        """What the model writes after each prompt: its likeliest tokens, up to the end."""
        return [self._write(tokens[:prompt]) for tokens, prompt in self.texts]

    def _write(self, prompt: list[int]) -> list[int]:
        text, end = list(prompt), self.layout.end
        if not self.causal:
            best = self.naive(text).argmax(axis=1).tolist()
            return best[: best.index(end) + 1] if end in best else best
        while len(text) < len(prompt) + self.most and end not in text[len(prompt) :]:
            text.append(int(self.naive(text)[-1].argmax()))
        return text[len(prompt) :]

    @property
    def most(self) -> int:
        """Tokens that are written at most."""
        return MOST if self.layout.end >= 0 else 1

    @cached_property
    def windows(self) -> list[np.ndarray]:
        """The window of each token of each text, by a naive reading."""
        assert isinstance(self.layout, ProgramLayout)
        return [
            np.array([paper.window(self.layout, tokens[: end + 1]) for end in range(len(tokens))])
            for tokens, _ in self.texts
        ]


@cache
def design(name: str) -> Design:
    """A design of the table; gains are no ones, biases no zeros, and logits are far apart."""
    recipe = tiny.recipe(**DESIGNS[name])
    layout = layout_of(recipe)
    leaves, tree = jax.tree.flatten(tiny.drawn(recipe, layout))
    rng = np.random.default_rng(SEEDS.get(name, 0))
    changed = [leaf + 0.7 * rng.standard_normal(leaf.shape, np.float32) for leaf in leaves]
    return Design(name, recipe, layout, jax.tree.unflatten(tree, map(jnp.asarray, changed)))
