"""One file of Python for the AdderBoard's checker, which needs nothing but NumPy.

It is `standalone.py` with its constants filled in, and what it imports from here written out, or
`standalone_columns.py` for a model of layout `columns`:
`build_model()` and `add(model, a, b)` for whole numbers, of which the board asks those from 0 to
9,999,999,999. What is no such number, or has more digits than the model holds, is a ValueError.
Source: github.com/anadim/AdderBoard, README and submission template.
"""

import base64
import inspect
import json
import re
import textwrap
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from curta.config import files
from curta.config.recipe import Recipe, short
from curta.config.table import spanned
from curta.export import adderboard_columns as columns
from curta.export.base import Exported, Exporter, machine_data, parts_of
from curta.export.huggingface import asking_curta
from curta.export.room import rooms
from curta.layouts.columns import Columns
from curta.model.transformer import Transformer, parameters
from curta.problems import task_sizes

IMPORT = "\nfrom curta.export.huggingface.asking_curta import answer, prompt\n"
IMPORT_CHECKED = "\nfrom curta.export.huggingface.asking_curta import checked\n"
TYPING = "from typing import Any\n"

DIGITS = 100
"""The most digits of an operand: the file recomputes the whole text for every token."""

NEEDED = {
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
"""Settings of the model that `standalone.py` knows."""


class AdderBoard(Exporter):
    name = "adderboard"
    summary = "one Python file for the AdderBoard's checker, NumPy only"
    file = "adderboard-{member}.py"

    def refuse(self, recipe: Recipe) -> str | None:
        if recipe.layout == Columns.name:
            return _unknown(recipe, columns.POSITIONS, columns.NEEDED)
        if recipe.layout is not None:
            return f"layout {recipe.layout!r} (it knows programs, and 'columns')"
        if "+" not in [task.operator for task in recipe.tasks]:
            return "it does not add"
        return _unknown(recipe, "window", NEEDED)

    def write(self, member: Exported, out: Path) -> None:
        model = member.model
        if isinstance(model.layout, Columns):
            constants = _constants(member, columns.settings(model), columns.tensors(model))
            files.write(out, _filled(_guarded(_template(columns.TEMPLATE)), constants))
            return
        constants = _constants(member, _settings(member), _tensors(model))
        room = rooms(member.recipe, model, DIGITS)["+"]
        constants["MACHINE"] = _literal(machine_data(model.layout, {"+": room}))
        constants["SPARE"] = str(-(-room.tokens // (2 * room.digits)))
        files.write(out, _filled(_complete(_template("standalone.py")), constants))


def _unknown(recipe: Recipe, positions: str, needed: Mapping[str, tuple[Any, ...]]) -> str | None:
    """The first setting that a template does not know."""
    if recipe.positions.name != positions:
        return f"positions.name {recipe.positions.name!r} (it knows {positions!r})"
    for field, known in needed.items():
        value = getattr(recipe.model, field)
        if value not in known:
            return f"model.{field} {value!r} (it knows {', '.join(map(repr, known))})"
    if recipe.model.kv_heads != recipe.model.heads:
        return f"model.num_kv_heads {recipe.model.num_kv_heads} (it knows as many as model.heads)"
    return None


def _constants(
    member: Exported, settings: dict[str, Any], tensors: dict[str, np.ndarray]
) -> dict[str, str]:
    """What both templates are filled with."""
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    numbers = np.concatenate([tensor.ravel() for tensor in tensors.values()])
    text = base64.b64encode(numbers.astype("<f4").tobytes()).decode()
    return {
        "SETTINGS": _literal(settings),
        "METADATA": _literal(_metadata(member)),
        "SHAPES": _literal(shapes),
        "WEIGHTS": '"""\n' + "\n".join(textwrap.wrap(text, 99)) + '\n"""',
    }


def _template(name: str) -> str:
    return (resources.files(__package__) / name).read_text("utf-8")


def _complete(source: str) -> str:
    """The program for texts of a machine, with what it imports from here written out."""
    asking = (resources.files(__package__) / "huggingface" / "asking_curta.py").read_text("utf-8")
    head, _, inner = asking.partition(TYPING)
    imports = "".join(re.findall(r"^from .*\n", head, flags=re.MULTILINE))
    source = source.replace(IMPORT, "").replace(TYPING, imports + TYPING)
    return source.replace("class Model:", f"{inner.strip()}\n\n\nclass Model:")


def _guarded(source: str) -> str:
    """The program for columns, with the check of its operands written out."""
    parts = [inspect.getsource(part) for part in (asking_curta.checked, asking_curta.takes)]
    guard = "\n\n".join(parts)
    imports = "from collections.abc import Sequence\nfrom numbers import Integral\n"
    source = source.replace(IMPORT_CHECKED, "").replace(TYPING, imports + TYPING)
    return source.replace("class Model:", f"{guard}\n\nclass Model:")


def _filled(source: str, constants: dict[str, str]) -> str:
    """A template with its empty constants filled in."""
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
    model, settings = member.model, member.model.config
    tricks = columns.tricks if isinstance(model.layout, Columns) else _tricks
    return {
        "name": f"Curta: run {member.run}, seed {member.seed}",
        "author": "trained with Curta",
        "params": parameters(model),
        "architecture": (
            f"decoder, {settings.num_layers} layers,"
            f" {settings.num_attention_layers} with attention,"
            f" width {settings.width}, {settings.heads} heads"
        ),
        "tricks": [f"trained from random weights, on {_trained_on(member.recipe)}", *tricks(model)],
    }


def _trained_on(recipe: Recipe) -> str:
    """Such as `sums of 1 to 10 digits, as program addition writes them`."""
    sums = task_sizes.span(*(task for task in recipe.tasks if task.operator == "+"))
    how = ", ".join(map(short, recipe.programs))
    return f"sums of {spanned(sums, 'digit')}" + (f", as program {how} writes them" if how else "")


def _tricks(model: Transformer) -> list[str]:
    """What the file says of a program under a window, in the board's words."""
    config = model.config
    return [
        "a token says where it stands: a digit, the part it plays and the move of a pen",
        "attention limited to a window of squares near the query's own, with learned biases",
        *(["an embedding of the part that a token plays"] if config.role_embeddings else []),
        *(["a token's vector is the sum of its parts'"] if config.compositional_embeddings else []),
    ]


def _tensors(model: Transformer) -> dict[str, np.ndarray]:
    """Return each learned weight once, without those that the design leaves out."""
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
