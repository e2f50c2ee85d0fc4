"""One file of Python for the AdderBoard's checker, which needs nothing but NumPy.

It is `standalone.py`, or `standalone_columns.py` for a model of layout `columns`, with what these
import from Curta and with values of their constants. It defines `build_model()` and
`add(model, a, b)` for whole numbers; the board tests numbers from 0 to 9,999,999,999. Other
values, and numbers with more digits than the model takes, raise ValueError.
Source: github.com/anadim/AdderBoard, README and submission template.
"""

import base64
import json
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from curta.config import files
from curta.config.positions import CoupledSinusoidal, Window
from curta.config.recipe import Recipe, short
from curta.config.table import spanned
from curta.export.base import Exported, Exporter, machine_data, rooms, weights_of
from curta.export.bundle import bundled
from curta.layouts.direct import ColumnsLayout
from curta.model.positions.vectors import CoupledSinusoidalEncoding
from curta.model.transformer import parameters
from curta.problems import task_sizes

DIGITS = 100
"""The most digits of an operand: the file recomputes the whole text for every token."""

CONFIG = (
    "width", "heads", "kv_heads", "head_dim", "num_layers", "num_attention_layers",
    "attention_scale", "activation", "gated", "norm", "norm_epsilon", "has_gains", "norms_before",
    "norms_after", "embedding", "compositional_embeddings", "tie_embeddings", "tied_scale",
    "weight_sharing",
)  # fmt: skip
"""What `curta.reference` reads of a model's settings."""


COLUMNS: dict[str, tuple[Any, ...]] = {
    "qk_input": ("positions",),
    "norm": ("none",),
    "norm_placement": ("pre",),
    "biases": ((),),
    "tied_scale": (True,),
    "num_layers": (1,),
    "num_attention_layers": (1,),
    "num_recurrences": (1,),
    "input_injection": ("none",),
    "gated": (False,),
    "causal": (True,),
    "activation": ("relu", "relu2"),
    "role_embeddings": (False,),
}
"""Settings that `standalone_columns.py` supports, and docs/adderboard_proof.py."""


class AdderBoard(Exporter):
    name = "adderboard"
    summary = "one Python file for the AdderBoard's checker, NumPy only"
    file = "adderboard-{member}.py"

    def refuse(self, recipe: Recipe) -> str | None:
        if recipe.layout not in (None, ColumnsLayout.name):
            return f"layout {recipe.layout!r} (it knows programs, and 'columns')"
        if "+" not in [task.operator for task in recipe.tasks]:
            return "it does not add"
        positions = CoupledSinusoidal.name if recipe.layout else Window.name
        if recipe.positions.name != positions:
            return f"positions.name {recipe.positions.name!r} (it knows {positions!r})"
        if recipe.layout is None:
            return None
        for field, supported in COLUMNS.items():
            value = getattr(recipe.model, field)
            if value not in supported:
                return f"model.{field} {value!r} (it knows {', '.join(map(repr, supported))})"
        if recipe.model.kv_heads != recipe.model.heads:
            kv_heads = recipe.model.num_kv_heads
            return f"model.num_kv_heads {kv_heads} (it knows as many as model.heads)"
        return None

    def write(self, member: Exported, out: Path) -> None:
        model, weights = member.model, weights_of(member.model)
        numbers = np.concatenate([weight.ravel() for weight in weights.values()])
        text = base64.b64encode(numbers.astype("<f4").tobytes()).decode()
        constants = {
            "CONFIG": _literal({name: getattr(model.config, name) for name in CONFIG}),
            "METADATA": _literal(_metadata(member)),
            "SHAPES": _literal({name: weight.shape for name, weight in weights.items()}),
            "WEIGHTS": '"""\n' + "\n".join(textwrap.wrap(text, 99)) + '\n"""',
        }
        if isinstance(model.positions, CoupledSinusoidalEncoding):
            module = "standalone_columns"
            constants["PERIOD"] = repr(model.positions.period)
        else:
            module, room = "standalone", rooms(member.recipe, model, DIGITS)["+"]
            constants["MACHINE"] = _literal(machine_data(model.layout, {"+": room}))
            constants["SPARE"] = str(-(-room.tokens // (2 * room.digits)))
        source = bundled(f"curta.export.{module}", "build_model", "add", constants=constants)
        files.write(out, source)


def _literal(value: Any) -> str:
    """Return a value as Python source, by way of JSON: lists and plain numbers only."""
    return repr(json.loads(json.dumps(value)))


def _metadata(member: Exported) -> dict[str, Any]:
    """Return the facts that the board asks for, in its terms."""
    recipe, model, config = member.recipe, member.model, member.model.config
    additions = [task for task in recipe.tasks if task.operator == "+"]
    sums = spanned(task_sizes.span(*additions), "digit")
    how = ", ".join(map(short, recipe.programs))
    trained = f"sums of {sums}" + (f", as program {how} writes them" if how else "")
    sharing = [f"weights shared: {name}" for name in config.weight_sharing]
    if isinstance(model.layout, ColumnsLayout):
        tricks = {
            "fixed sines and cosines of a digit's place, shared by operands and answer": True,
            "queries and keys are made of positions alone, and there are no norms": True,
            "digits on an arc: radius, start and step": config.embedding == "arc",
            "head tied to the embedding": model.head is None,
        }
    else:
        tricks = {
            "a token says where it stands: a digit, its part, and the move of a pen": True,
            "attention limited to a window of squares near the query's, with learned biases": True,
            "an embedding of the part that a token plays": config.role_embeddings,
            "a token's vector is the sum of its parts'": config.compositional_embeddings,
        }
    return {
        "name": f"Curta: run {member.run}, seed {member.seed}",
        "author": "trained with Curta",
        "params": parameters(model),
        "architecture": (
            f"decoder, {config.num_layers} layers,"
            f" {config.num_attention_layers} with attention,"
            f" width {config.width}, {config.heads} heads"
        ),
        "tricks": [
            f"trained from random weights, on {trained}",
            *(trick for trick, holds in tricks.items() if holds),
            *sharing,
        ],
    }
