"""An ONNX graph of one member: new tokens and the state of earlier ones in, logits out.

The input `tokens` is int32, batch x sequence; `past_places`, `past_keys` and `past_values` are the
outputs `present_...` of the previous call, or empty. So a text is read once and then extended token
by token. `logits` (batch x sequence x tokens) are for the token after each new token. A model that
is not causal has only `tokens`. The graph's metadata describe the tokens: `tokens`, their symbols
as a JSON list, with `prompts`, the regular expressions of its prompts, and the `end` sign; or the
`machine` of a program, with the format of its prompts and the largest operands. Roles and
coordinates are computed within the graph.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from curta.config import files
from curta.config.recipe import dump
from curta.config.registry import optional_module
from curta.export.base import Exported, Exporter, machine_data
from curta.export.onnx.decoding import decode, forward
from curta.export.onnx.graph import Axes, converted, limits
from curta.export.room import prompt_rules, rooms
from curta.model.transformer import Transformer


class Onnx(Exporter):
    name = "onnx"
    summary = "an ONNX graph that writes token by token"
    file = "model-{member}.onnx"

    def write(self, member: Exported, out: Path) -> None:
        model = jax.tree.map(jnp.asarray, member.model)  # weights of a checkpoint are NumPy's
        layout, bounds = model.layout, limits(model)
        graph = _graph(model, bounds, member.run)
        held = rooms(member.recipe, model)
        if machine := machine_data(layout, held):
            texts = {"machine": json.dumps(machine, ensure_ascii=False)}
        else:
            texts = {
                "tokens": json.dumps(list(layout.characters)),
                "end": layout.end_sign,
                "prompts": json.dumps(prompt_rules(layout, held)),
            }
        about = texts | {
            "layout": layout.name,
            "run": member.run,
            "seed": str(member.seed),
            "recipe": dump(member.recipe),
            **{name: str(most) for name, most in bounds.items()},
        }
        optional_module("onnx.helper", extra="onnx").set_model_props(graph, about)
        files.write(out, graph.SerializeToString())


def _graph(model: Transformer, bounds: dict[str, int], name: str) -> Any:
    """Return the converted model, an `onnx.ModelProto`."""
    config, axes = model.config, len(model.layout.axes)
    layers = config.num_recurrences * config.num_attention_layers

    def state_shapes(prefix: str, time: str) -> dict[str, tuple[Axes, Any]]:
        """Shapes and types of what is kept of so many tokens, in the order of `decode`."""
        heads: Axes = (layers, "batch", time, config.kv_heads, config.head_dim)
        return {
            f"{prefix}_places": (("batch", time, 3 + axes), jnp.int32),
            f"{prefix}_keys": (heads, jnp.float32),
            f"{prefix}_values": (heads, jnp.float32),
        }

    tokens: dict[str, tuple[Axes, Any]] = {"tokens": (("batch", "sequence"), jnp.int32)}
    outputs: dict[str, Axes] = {"logits": ("batch", "sequence", len(model.layout.characters))}
    if not config.causal:
        outputs["present_places"] = state_shapes("present", "sequence")["present_places"][0]
        return converted(partial(forward, model, bounds), name, tokens, outputs)
    outputs |= {state: shape for state, (shape, _) in state_shapes("present", "total").items()}
    return converted(
        partial(decode, model, bounds), name, tokens | state_shapes("past", "past"), outputs
    )
