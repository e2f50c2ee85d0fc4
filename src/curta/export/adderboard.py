"""One file of Python for the AdderBoard's checker, which needs nothing but NumPy.

It is `standalone.py` with its constants filled in, and what it imports from here written out:
`build_model()` and `add(model, a, b)` for whole numbers from 0 to 9,999,999,999.
Source: github.com/anadim/AdderBoard, README and submission template.
"""

import base64
import json
import re
import textwrap
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from curta.config import files
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.export.base import Exported, Exporter, machine_data, parts_of
from curta.model.transformer import Transformer, parameters

IMPORT = "\nfrom curta.export.huggingface.asking_curta import answer, prompt\n"
TYPING = "from typing import Any\n"

NEEDED = {
    "num_kv_heads": (None,),
    "gated": (False,),
    "activation": ("relu", "relu2"),
    "norm": ("rms",),
    "norm_placement": ("pre",),
}
"""Settings of the model that `standalone.py` knows."""


class AdderBoard(Exporter):
    name = "adderboard"
    summary = "one Python file for the AdderBoard's checker, NumPy only"
    file = "adderboard-{member}.py"

    def refuse(self, recipe: Recipe) -> str | None:
        if recipe.layout is not None:
            return f"layout {recipe.layout!r} (it knows programs)"
        if "+" not in [task.operator for task in recipe.tasks]:
            return "it does not add"
        if not isinstance(recipe.positions, Window):
            return f"positions.name {recipe.positions.name!r} (it knows 'window')"
        for field, known in NEEDED.items():
            value = getattr(recipe.model, field)
            if value not in known:
                return f"model.{field} {value!r} (it knows {', '.join(map(repr, known))})"
        return None

    def write(self, member: Exported, out: Path) -> None:
        tensors = _tensors(member.model)
        shapes = {name: tensor.shape for name, tensor in tensors.items()}
        numbers = np.concatenate([tensor.ravel() for tensor in tensors.values()])
        text = base64.b64encode(numbers.astype("<f4").tobytes()).decode()
        constants = {
            "MACHINE": _literal(machine_data(member.model.layout)),
            "SETTINGS": _literal(_settings(member)),
            "METADATA": _literal(_metadata(member)),
            "SHAPES": _literal(shapes),
            "WEIGHTS": '"""\n' + "\n".join(textwrap.wrap(text, 99)) + '\n"""',
        }
        files.write(out, _filled(constants))


def _filled(constants: dict[str, str]) -> str:
    """The standalone program with its empty constants filled in, and with all that it needs."""
    own = resources.files(__package__)
    source = (own / "standalone.py").read_text("utf-8")
    asking = (own / "huggingface" / "asking_curta.py").read_text("utf-8")
    head, _, inner = asking.partition(TYPING)
    imports = "".join(re.findall(r"^from .*\n", head, flags=re.MULTILINE))
    source = source.replace(IMPORT, "").replace(TYPING, imports + TYPING)
    source = source.replace("class Model:", f"{inner.strip()}\n\n\nclass Model:")
    empty = re.compile(rf"^({'|'.join(constants)})(: [^=]+ = ).*$", flags=re.MULTILINE)
    source, count = empty.subn(lambda line: line[1] + line[2] + constants[line[1]], source)
    assert count == len(constants)
    return source


def _literal(value: Any) -> str:
    """A value as Python writes it, by way of JSON: lists and plain numbers only."""
    return repr(json.loads(json.dumps(value)))


def _settings(member: Exported) -> dict[str, Any]:
    settings, layout = member.model.config, member.model.layout
    return {
        "heads": settings.heads,
        "num_attention_layers": settings.num_attention_layers,
        "num_layers": settings.num_layers,
        "squared": settings.activation == "relu2",
        "scale": settings.head_dim**-0.5 if settings.attention_scale else 1.0,
        "parts": parts_of(layout) if settings.compositional_embeddings else None,
    }


def _metadata(member: Exported) -> dict[str, Any]:
    settings = member.model.config
    return {
        "name": f"Curta: run {member.run}, seed {member.seed}",
        "author": "trained with Curta",
        "params": parameters(member.model),
        "architecture": (
            f"decoder, {settings.num_layers} layers, {settings.num_attention_layers} attending,"
            f" width {settings.width}, {settings.heads} heads"
        ),
        "tricks": [
            "trained on the steps of column addition, least significant digit first",
            "a token says where it stands: a digit, the part it plays and the move of a pen",
            "attention limited to a window of squares near the query's own, with learned biases",
            *(["an embedding of the part that a token plays"] if settings.role_embeddings else []),
            *(
                ["a token's vector is the sum of its parts'"]
                if settings.compositional_embeddings
                else []
            ),
        ],
    }


def _tensors(model: Transformer) -> dict[str, np.ndarray]:
    """All that is learned, each once; what a design does without is not there."""
    found = {
        "tokens": model.tokens,
        "roles": model.roles,
        "biases": model.positions.layers,
        "query": model.attention.query,
        "key": model.attention.key,
        "value": model.attention.value,
        "out": model.attention.out,
        "attention_gain": model.attention.gain,
        "up": model.mlp.up,
        "down": model.mlp.down,
        "mlp_gain": model.mlp.gain,
        "gain": model.gain,
        "head": model.head,
    }
    return {name: np.asarray(part) for name, part in found.items() if part is not None}
