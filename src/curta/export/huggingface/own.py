"""Every other decoder as a class of its own, `modeling_curta.py`, which travels with the model.

Weights are written as they are. Kinds and coordinates are found from the tokens by the layout's
`step`, written out as Python.
"""

import dataclasses
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np

from ...layouts import Layout
from ...layouts.translated import Dialect, translated
from ...model import Transformer
from ...positions.fire import THRESHOLD
from ...positions.t5 import buckets
from ...recipe import Recipe
from .base import Family, first
from .parts import Part, Parts, weights_of

MODULE = "modeling_curta"

POSITIONS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "learned": lambda encoding: {},
    "nope": lambda encoding: {},
    "sinusoidal": lambda encoding: {"width": encoding.width},
    "randomised": lambda encoding: _randomised(encoding),
    "rope": lambda encoding: {},
    "alibi": lambda encoding: {"slopes": None if weights_of(encoding) else encoding.slopes},
    "t5": lambda encoding: {
        "buckets": buckets(len(encoding.table), encoding.max_distance).tolist()
    },
    "fire": lambda encoding: {"least": THRESHOLD},
    "abacus": lambda encoding: {},
    "coupled": lambda encoding: {},
    "position-coupling": lambda encoding: {"kind": "coupled"},
    "window": lambda encoding: {"near": encoding.near},
}
"""The encodings that the class has, and what it must be told of them besides their settings."""

INFIX = {
    "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "and": "and", "or": "or", "add": "+", "sub": "-", "mul": "*",
}  # fmt: skip

PYTHON = Dialect(
    name="Python",
    line="{} = {}",
    binary={name: f"{{}} {sign} {{}}" for name, sign in INFIX.items()}
    | {"max": "max({}, {})", "min": "min({}, {})"},
    negated="not {}",
    chosen="{1} if {0} else {2}",
    integer="int({})",
    boolean="bool({})",
    first="[{0}, True].index(True) % {1}",
    clamped="min(max({}, 0), {})",
    literal=repr,
)

STEP = '''"""Where the tokens of layout {name!r} stand, written by Curta from the layout itself."""

STATES = {states}


def step(state: list[int], token: int) -> tuple[list[int], int, list[int]]:
    """What is carried on to the next token, and the token's kind and coordinates."""
    {lines}
'''


class Own(Family):
    kind = "curta"
    architecture = "CurtaForCausalLM"

    def lacks(self, recipe: Recipe) -> str | None:
        name, design = recipe.positions.name, recipe.model
        return first(
            {
                "model.causal False (all of an answer is written at once)": not design.causal,
                f"positions.name {name!r}": name not in POSITIONS,
                "model.spelled with model.tied": design.spelled and design.tied,
            }
        )

    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        design = model.settings
        classes = {"AutoConfig": "CurtaConfig", "AutoModelForCausalLM": self.architecture}
        return {
            "auto_map": {auto: f"{MODULE}.{name}" for auto, name in classes.items()},
            "hidden_size": design.width,
            "num_hidden_layers": design.blocks,
            "num_attention_heads": design.heads,
            "design": dataclasses.asdict(design),
            "positions": _positions(recipe, model),
            "layout": _layout(model),
        }

    def parts(self, model: Transformer) -> Parts:
        found = [Part("model.tokens.weight", ("tokens",))]
        for name in weights_of(model):
            holder, _, leaf = name.rpartition(".")
            if holder in ("attention", "mlp"):
                found += [_stacked(model, holder, leaf, block) for block in _blocks(model, holder)]
            elif name.startswith("positions."):
                found.append(Part(f"model.positions.{leaf}", (name,)))
        found += [Part("model.kinds.weight", ("kinds",))] if model.kinds is not None else []
        found += [Part("model.norm.weight", ("gain",))] if model.gain is not None else []
        found += [Part("head.weight", ("head",), turned=True)] if model.head is not None else []
        return found

    def code(self, model: Transformer) -> dict[str, str]:
        shipped = (f"{MODULE}.py", "positions_curta.py")
        texts = {name: (resources.files(__package__) / name).read_text("utf-8") for name in shipped}
        return texts | {"layout_curta.py": step(model.layout)}


def step(layout: Layout) -> str:
    """The file that follows a text: `step(state, token)` in plain Python."""
    lines, state, kind, coordinates = translated(layout, PYTHON)
    result = f"return [{state}], {kind}, [{coordinates}]"
    written = "\n    ".join([*lines, result])
    return STEP.format(name=layout.name, states=layout.states, lines=written)


def _positions(recipe: Recipe, model: Transformer) -> dict[str, Any]:
    """Settings of the encoding, the shapes of its weights, and what else it is made of."""
    settings = dataclasses.asdict(recipe.positions)
    given = POSITIONS[settings["name"]](model.positions)
    own = {
        name.rpartition(".")[2]: list(weight.shape)
        for name, weight in weights_of(model.positions).items()
    }
    return {"kind": settings["name"]} | settings | given | {"weights": own}


def _randomised(encoding: Any) -> dict[str, Any]:
    """Outside of training the indices are the text's own."""
    if weights_of(encoding):
        return {"kind": "learned"}
    return {"kind": "sinusoidal", "base": encoding.vectors.base, "width": encoding.vectors.width}


def _layout(model: Transformer) -> dict[str, Any]:
    layout = model.layout
    kinds = [
        {
            "name": kind.name,
            "digit": kind.digit,
            "group": kind.group,
            "wild": [axis in kind.wild for axis in layout.axes],
        }
        for kind in layout.kinds
    ]
    spelled = layout.parts().astype(int).tolist() if model.settings.spelled else None
    return {
        "name": layout.name,
        "characters": layout.characters,
        "axes": len(layout.axes),
        "kinds": kinds,
        "vectors": len(np.asarray(model.tokens)),
        "spelled": spelled,
    }


def _stacked(model: Transformer, holder: str, leaf: str, block: int) -> Part:
    """One block's share of a weight: a gain, or a matrix, which torch has the other way round."""
    before = f"model.blocks.{block}.{holder}"
    gains = {"gain": "norm", "after": "after"}
    name = f"{before}.{gains.get(leaf, leaf)}.weight"
    return Part(name, (f"{holder}.{leaf}",), block, turned=leaf not in gains)


def _blocks(model: Transformer, holder: str) -> range:
    return range(model.settings.attending if holder == "attention" else model.settings.blocks)
