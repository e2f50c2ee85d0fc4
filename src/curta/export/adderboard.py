"""One file of Python for the AdderBoard's checker, which needs nothing but NumPy.

It is `standalone.py` with its constants filled in and its imports from Curta written out, or
`standalone_columns.py` for a model of layout `columns`. It defines `build_model()` and
`add(model, a, b)` for whole numbers; the board tests numbers from 0 to 9,999,999,999. Other
values, and numbers with more digits than the model takes, raise ValueError.
Source: github.com/anadim/AdderBoard, README and submission template.
"""

import base64
import inspect
import json
import re
import textwrap
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from curta.config import files
from curta.config.positions import CoupledSinusoidal, Window
from curta.config.recipe import Recipe, short
from curta.config.table import spanned
from curta.export.base import Exported, Exporter, machine_data, part_indices, weights_of
from curta.export.huggingface import asking_curta
from curta.export.room import rooms
from curta.layouts.direct import ColumnsLayout
from curta.model.positions.vectors import CoupledSinusoidalEncoding
from curta.model.transformer import parameters
from curta.problems import task_sizes

DIGITS = 100
"""The most digits of an operand: the file recomputes the whole text for every token."""

NEEDED: dict[str, tuple[Any, ...]] = {
    "embedding": ("table",),
    "gated": (False,),
    "activation": ("relu", "relu2"),
    "norm": ("rms",),
    "norm_placement": ("pre",),
    "norm_epsilon": (1e-6,),
    "final_norm": (True,),
    "biases": ((),),
    "tied_scale": (True,),
    "weight_sharing": ((),),
}
"""Settings of the model that `standalone.py` supports."""

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
"""Those that `standalone_columns.py` supports, and docs/adderboard_proof.py."""

TENSORS = {
    "tokens": "tokens",
    "roles": "roles",
    "biases": "positions.biases",
    "query": "attention.query",
    "key": "attention.key",
    "value": "attention.value",
    "out": "attention.out",
    "turn": "attention.turn",
    "attention_gain": "attention.gain",
    "up": "mlp.up",
    "down": "mlp.down",
    "mlp_gain": "mlp.gain",
    "gain": "gain",
    "head": "head",
}
"""Names in the file, and the paths of their weights; each weight of a model appears once."""


class AdderBoard(Exporter):
    name = "adderboard"
    summary = "one Python file for the AdderBoard's checker, NumPy only"
    file = "adderboard-{member}.py"

    def refuse(self, recipe: Recipe) -> str | None:
        if recipe.layout not in (None, ColumnsLayout.name):
            return f"layout {recipe.layout!r} (it knows programs, and 'columns')"
        if "+" not in [task.operator for task in recipe.tasks]:
            return "it does not add"
        of_columns = recipe.layout is not None
        positions = CoupledSinusoidal.name if of_columns else Window.name
        if recipe.positions.name != positions:
            return f"positions.name {recipe.positions.name!r} (it knows {positions!r})"
        for field, supported in (COLUMNS if of_columns else NEEDED).items():
            value = getattr(recipe.model, field)
            if value not in supported:
                return f"model.{field} {value!r} (it knows {', '.join(map(repr, supported))})"
        if recipe.model.kv_heads != recipe.model.heads:
            kv_heads = recipe.model.num_kv_heads
            return f"model.num_kv_heads {kv_heads} (it knows as many as model.heads)"
        return None

    def write(self, member: Exported, out: Path) -> None:
        model, config = member.model, member.model.config
        of_columns = isinstance(model.layout, ColumnsLayout)
        settings: dict[str, Any] = {
            "heads": config.heads,
            "squared": config.activation == "relu2",
            "scale": config.head_dim**-0.5 if config.attention_scale else 1.0,
        }
        weights = weights_of(model)
        tensors = {name: weights[path] for name, path in TENSORS.items() if path in weights}
        if of_columns:
            assert isinstance(model.positions, CoupledSinusoidalEncoding)
            settings |= {
                "period": model.positions.period,
                "subtracts": "out-value" in config.weight_sharing,
            }
            stacked = {name for name, path in TENSORS.items() if "." in path}  # of the one block
            tensors = {name: t[0] if name in stacked else t for name, t in tensors.items()}
            code = "\n\n".join(
                inspect.getsource(function)
                for function in (asking_curta.checked, asking_curta.takes)
            )
            imports = "from collections.abc import Sequence\nfrom numbers import Integral\n"
            source = _template("standalone_columns.py", code, imports)
        else:
            settings |= {
                "num_attention_layers": config.num_attention_layers,
                "num_layers": config.num_layers,
                "parts": part_indices(model.layout) if config.compositional_embeddings else None,
            }
            head, _, code = inspect.getsource(asking_curta).partition("from typing import Any\n")
            imports = "".join(re.findall(r"^from .*\n", head, flags=re.MULTILINE))
            source = _template("standalone.py", code, imports)
        numbers = np.concatenate([tensor.ravel() for tensor in tensors.values()])
        text = base64.b64encode(numbers.astype("<f4").tobytes()).decode()
        constants = {
            "SETTINGS": _literal(settings),
            "METADATA": _literal(_metadata(member)),
            "SHAPES": _literal({name: tensor.shape for name, tensor in tensors.items()}),
            "WEIGHTS": '"""\n' + "\n".join(textwrap.wrap(text, 99)) + '\n"""',
        }
        if not of_columns:
            room = rooms(member.recipe, model, DIGITS)["+"]
            constants["MACHINE"] = _literal(machine_data(model.layout, {"+": room}))
            constants["SPARE"] = str(-(-room.tokens // (2 * room.digits)))
        empty = re.compile(rf"^({'|'.join(constants)})(: [^=]+ = ).*$", flags=re.MULTILINE)
        source, count = empty.subn(lambda line: line[1] + line[2] + constants[line[1]], source)
        assert count == len(constants)
        files.write(out, source)


def _literal(value: Any) -> str:
    """Return a value as Python source, by way of JSON: lists and plain numbers only."""
    return repr(json.loads(json.dumps(value)))


def _template(name: str, code: str, imports: str) -> str:
    """Return a template with its imports from Curta written out before its model."""
    source = (resources.files(__package__) / name).read_text("utf-8")
    source = re.sub(r"\nfrom curta\..*\n", "", source)
    source = source.replace("from typing import Any\n", imports + "from typing import Any\n")
    return source.replace("class Model:", f"{code.strip()}\n\n\nclass Model:")


def _metadata(member: Exported) -> dict[str, Any]:
    """Return the facts that the board asks for, in its terms."""
    recipe, model, config = member.recipe, member.model, member.model.config
    sums = spanned(
        task_sizes.span(*(task for task in recipe.tasks if task.operator == "+")), "digit"
    )
    how = ", ".join(map(short, recipe.programs))
    trained = f"sums of {sums}" + (f", as program {how} writes them" if how else "")
    if isinstance(model.layout, ColumnsLayout):
        tricks = [
            "fixed sines and cosines of a digit's place, shared by both operands and the answer",
            "queries and keys are made of positions alone",
            "no norms",
        ]
        if config.embedding == "arc":
            tricks.append("digits on an arc: radius, start and step")
        if model.head is None:
            tricks.append("head tied to the embedding")
        tricks += [f"weights shared: {name}" for name in config.weight_sharing]
    else:
        tricks = [
            "a token says where it stands: a digit, the part it plays and the move of a pen",
            "attention limited to a window of squares near the query's own, with learned biases",
        ]
        if config.role_embeddings:
            tricks.append("an embedding of the part that a token plays")
        if config.compositional_embeddings:
            tricks.append("a token's vector is the sum of its parts'")
    return {
        "name": f"Curta: run {member.run}, seed {member.seed}",
        "author": "trained with Curta",
        "params": parameters(model),
        "architecture": (
            f"decoder, {config.num_layers} layers,"
            f" {config.num_attention_layers} with attention,"
            f" width {config.width}, {config.heads} heads"
        ),
        "tricks": [f"trained from random weights, on {trained}", *tricks],
    }
