"""Puts a page together: one file, under a policy that allows its own script and style alone."""

import base64
import hashlib
import json
import re
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

import safetensors.numpy

from .. import files
from ..model import Transformer
from ..recipe import Recipe
from ..report.markup import Markup, element, join
from ..session import Run
from . import design, folded, translate

MODULES = ("model.js", "problems.js", "drawing.js", "app.js")
"""Each after those that it imports."""


def write_page(run: Run, member: int = 0, out: Path | None = None) -> Path:
    """Writes a page in which one member calculates, by default into the run's folder.

    Raises UserError for a model that a page cannot carry.
    """
    model = run.model(member)
    folded.refuse(model)
    path = out or run.folder.path / f"page-{member}.html"
    files.write(path, render(run.recipe, model, run.name, member))
    return path


def render(recipe: Recipe, model: Transformer, name: str, member: int) -> str:
    """The whole page as text."""
    table = design.table(recipe, model)
    style, script = _style(), _script(translate.step(model.layout))
    weights = safetensors.numpy.save(folded.tensors(model))
    return Template(_read("page.html")).substitute(
        title=element("title", f"{name}: a model at work"),
        header=_header(table, recipe, name, member),
        footer=_footer(),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        design=json.dumps(table, ensure_ascii=False).replace("<", "\\u003c"),
        weights=base64.b64encode(weights).decode(),
    )


def _header(table: dict[str, Any], recipe: Recipe, name: str, member: int) -> Markup:
    """What the model is, and what it was given."""
    trained = ", ".join(map(_trained, table["operations"].values()))
    about = [
        *([f"{recipe.summary}."] if recipe.summary else []),
        f"Member {member} of run {name}, a transformer of {table['parameters']:,} parameters,",
        f"trained on {trained}. It calculates here, in your browser.",
    ]
    given = element("details", element("summary", "What it is given"), table["structure"])
    return join([element("h1", name), element("p", " ".join(about)), given])


def _trained(operation: dict[str, Any]) -> str:
    fewest, most = operation["trained"]
    return f"{operation['name']} of {fewest} to {most} digits"


def _footer() -> Markup:
    says = "One file, no network: weights, forward pass and drawing are all in it. Made by Curta."
    return element("footer", element("p", says))


def _style() -> str:
    report = resources.files("curta.report").joinpath("style.css").read_text(encoding="utf-8")
    return report + _read("page.css")


def _script(step: str) -> str:
    """All modules as one: what they take from each other needs no import then."""
    return "\n".join([step, *map(_inlined, MODULES)])


def _inlined(name: str) -> str:
    text = re.sub(r"^import [^;]*;\n", "", _read(name), flags=re.MULTILINE)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _read(name: str) -> str:
    """A file of this package; text, so that line ends are those a browser hashes."""
    return resources.files("curta.page").joinpath(name).read_text(encoding="utf-8")
