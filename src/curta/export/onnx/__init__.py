"""An ONNX graph of one member: new tokens and what is kept of earlier ones in, logits out.

The input `tokens` is int32, batch x sequence; `past_places`, `past_keys` and `past_values` are
the outputs `present_...` of the call before, or empty. So a text is read once, and then written
a token at a time. `logits` (batch x sequence x tokens) is for what follows each new token. A model
that is not causal has `tokens` alone. What tokens are says the graph's metadata: `tokens`, their
symbols as a JSON list, with `prompts`, the regular expressions of what it is asked, or the
`machine` of a program, with the format of its prompts and the largest operands. Roles and
coordinates are calculated within the graph.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from curta.config import files
from curta.config.recipe import Recipe, dump
from curta.config.registry import optional_module
from curta.export.base import Exported, Exporter, machine_data
from curta.export.onnx.conversion import Axes, converted
from curta.export.onnx.decoding import decode, forward
from curta.export.onnx.refusals import limits, refuse
from curta.export.room import prompt_rules, rooms
from curta.model.transformer import Transformer


class Onnx(Exporter):
    name = "onnx"
    summary = "an ONNX graph that writes token by token"
    file = "model-{member}.onnx"

    def refuse(self, recipe: Recipe) -> str | None:
        return None

    def write(self, member: Exported, out: Path) -> None:
        model = jax.tree.map(jnp.asarray, member.model)  # weights of a checkpoint are NumPy's
        bounds = limits(model)
        made = _graph(model, member.run)
        refuse(made.graph, len(model.layout.characters), bounds)
        about = _about(member) | {name: str(most) for name, most in bounds.items()}
        optional_module("onnx.helper", extra="onnx").set_model_props(made, about)
        files.write(out, made.SerializeToString())


def _graph(model: Transformer, name: str) -> Any:
    """The converted model, an `onnx.ModelProto`."""
    tokens = {"tokens": (("batch", "sequence"), jnp.int32)}
    logits: Axes = ("batch", "sequence", len(model.layout.characters))
    if not model.config.causal:
        places = _kept(model, "sequence")["places"]
        outputs = {"logits": logits, "present_places": places[0]}
        return converted(partial(forward, model), name, tokens, outputs)
    past = {f"past_{part}": kept for part, kept in _kept(model, "past").items()}
    present = {f"present_{part}": axes for part, (axes, _) in _kept(model, "total").items()}
    return converted(partial(decode, model), name, tokens | past, {"logits": logits} | present)


def _kept(model: Transformer, time: str) -> dict[str, tuple[Axes, Any]]:
    """Shapes and types of what is kept of so many tokens, in the order of `decoding.Past`."""
    config = model.config
    layers = config.num_recurrences * config.num_attention_layers
    each: Axes = (layers, "batch", time, config.kv_heads, config.head_dim)
    places: Axes = ("batch", time, 3 + len(model.layout.axes))
    return {
        "places": (places, jnp.int32),
        "keys": (each, jnp.float32),
        "values": (each, jnp.float32),
    }


def _about(member: Exported) -> dict[str, str]:
    """What a program needs to ask the model, and where the model comes from."""
    layout = member.model.layout
    held = rooms(member.recipe, member.model)
    machine = machine_data(layout, held)
    written = (
        {"machine": json.dumps(machine, ensure_ascii=False)}
        if machine
        else {
            "tokens": json.dumps(list(layout.characters)),
            "end": layout.end_sign,
            "prompts": json.dumps(prompt_rules(layout, held)),
        }
    )
    return written | {
        "layout": layout.name,
        "run": member.run,
        "seed": str(member.seed),
        "recipe": dump(member.recipe),
    }
