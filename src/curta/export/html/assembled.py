"""Puts a page together: models at work, as a page of their own or as part of another."""

import base64
import re
from collections.abc import Sequence
from importlib import resources
from string import Template
from typing import Any, NamedTuple

import safetensors.numpy

from curta.config.recipe import Recipe
from curta.export.html import design, folded
from curta.model.transformer import Transformer
from curta.report.document import Part, data, document
from curta.report.markup import Markup, element, join

MODULES = (
    "machine.js", "model.js", "writing.js", "compound.js", "problems.js", "sheet.js", "drawing.js",
    "squares.js", "app.js",
)  # fmt: skip
"""Each after those that it imports."""

BUDGET = 1_400_000
"""Most characters of weights that a report carries; one member is carried in any case."""


class Carried(NamedTuple):
    """The members of a run that a page is to carry."""

    name: str
    recipe: Recipe
    members: Sequence[Transformer]


def render(recipe: Recipe, model: Transformer, name: str, member: int) -> str:
    """A page of one member, as text; UserError for a model that a page cannot calculate."""
    folded.refuse(model)
    table = design.table(recipe, model)
    app = _app([{"run": name, "design": table, "names": [name]}], [_weights(model)], focus=True)
    header = _header(table, recipe, name, member)
    body = join([header, element("main", app), _footer()])
    return document(f"{name}: a model at work", [Part(body, _read("page.css"), _script())])


def at_work(runs: Sequence[Carried]) -> Part:
    """Models that calculate within a report, as many as there is room for; why others do not."""
    able = [run for run in runs if _reason(run) is None]
    refused = [_refusal(run, len(runs) > 1) for run in runs if _reason(run) is not None]
    if not able:
        return Part(join(refused))
    weights = _within(able)
    named = [
        {
            "run": run.name,
            "design": design.table(run.recipe, run.members[0]),
            "names": [_name(run, member, len(runs) > 1) for member in range(len(mine))],
        }
        for run, mine in zip(able, weights, strict=True)
    ]
    app = _app(named, [text for mine in weights for text in mine])
    says = f"{_carried(able, weights)} What is written here is calculated in your browser."
    return Part(join([element("p", says), *refused, app]), _read("page.css"), _script())


def _name(run: Carried, member: int, several: bool) -> str:
    return f"{run.name}, member {member}" if several else f"member {member}"


def _reason(run: Carried) -> str | None:
    return folded.reason(run.members[0])


def _refusal(run: Carried, several: bool) -> Markup:
    """Why a model does not calculate in a page, in one line."""
    whose = f"The model of {run.name}" if several else "This model"
    says = f"{whose} does not calculate here: {_reason(run)}."
    return element("p", says, class_="note")


def _within(runs: Sequence[Carried]) -> list[list[str]]:
    """Weights of as many members of every run as there is room for, the first of each at least."""
    first, kept = [_weights(run.members[0]) for run in runs], []
    bounds = BUDGET - sum(map(len, first))
    for run, text in zip(runs, first, strict=True):
        more = max(0, min(len(run.members) - 1, bounds // len(text)))
        bounds -= more * len(text)
        kept.append([text, *map(_weights, run.members[1 : 1 + more])])
    return kept


def _carried(runs: Sequence[Carried], weights: list[list[str]]) -> str:
    """How many members a page carries of how many there are."""
    kept, all_of = sum(map(len, weights)), sum(len(run.members) for run in runs)
    if all_of == 1:
        return "This page carries the weights of the model."
    if kept == all_of:
        return f"This page carries the weights of all {all_of} members."
    return f"This page carries the weights of {kept} of {all_of} members."


def _weights(model: Transformer) -> str:
    return base64.b64encode(safetensors.numpy.save(folded.tensors(model))).decode()


def _app(named: list[dict[str, Any]], weights: Sequence[str], focus: bool = False) -> Markup:
    """The form, what is drawn below it, and what is calculated with."""
    drawn = Template(_read("work.html")).substitute(focus=" autofocus" if focus else "")
    carried = (element("script", text, type="text/plain", class_="weights") for text in weights)
    return join([Markup(drawn), data(named, id="designs"), *carried])


def _header(table: dict[str, Any], recipe: Recipe, name: str, member: int) -> Markup:
    """What the model is, and what it was given."""
    trained = ", ".join(map(_trained, table["operations"].values()))
    about = [
        *([f"{recipe.summary}."] if recipe.summary else []),
        f"Member {member} of run {name}, a transformer of {table['parameters']:,} parameters,",
        f"trained on {trained}. It calculates here, in your browser.",
    ]
    given = element("details", element("summary", "What it is given"), table["structure"])
    kind = element("p", "A model at work", class_="kind")
    return element("header", kind, element("h1", name), element("p", " ".join(about)), given)


def _trained(operation: dict[str, Any]) -> str:
    fewest, most = operation["trained"]
    return f"{operation['name']} of {fewest} to {most} digits"


def _footer() -> Markup:
    says = "One file, no network: weights, forward pass and drawing are all in it. Made by Curta."
    return element("footer", element("p", says))


def _script() -> str:
    """All modules as one: what they take from each other needs no import then."""
    return "\n".join(map(_inlined, MODULES))


def _inlined(name: str) -> str:
    text = re.sub(r"^import [^;]*;\n", "", _read(name), flags=re.MULTILINE)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def _read(name: str) -> str:
    """A file of this package; text, so that line ends are those a browser hashes."""
    return resources.files("curta.export.html").joinpath(name).read_text(encoding="utf-8")
