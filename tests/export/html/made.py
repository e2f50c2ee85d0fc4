"""Pages of models with random weights, and what Python says of the same texts."""

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from playwright.sync_api import Page

from curta.config.recipe import Recipe, with_overrides
from curta.config.task import Task
from curta.evaluation.generation import completions
from curta.export.base import weights_of
from curta.export.html.page import Carried, render_page
from curta.layouts import ShapeBounds, Text, layout_named
from curta.layouts.program import ProgramLayout
from curta.model import recipes
from curta.model.inspection import record_activations
from curta.model.transformer import Transformer
from curta.probes.inside.texts import model_input
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, parse
from curta.problems.sizes import Sizes
from curta.programs import PROGRAMS
from curta.programs.machine import Answer, Given, Paper, Program, Sign, program
from curta.programs.machine.survey import survey
from curta.programs.machine.writing import write
from tests import tiny
from tests.export.made import drawn as drawn_of

from .tabs import numbers

PROBLEMS = {
    "addition": ["7+8", "99999+1", "123+98765", "0+0"],
    "multiplication": ["12*34", "999*9", "0*57", "305*204"],
    "fractions": ["3.75+12.5", "0.05+9.95", "0.0+0.0", "12.5+3.25"],
    "own": ["sort 3,1,2", "sort 20", "0xc-0x345", "0x345-0xf", "3#2<3#2", "3#12<3#201"],
}
"""Some problems of each machine."""

TOKENS = 12_000
"""Tokens of a survey: enough for windows, if not for the best ones."""


@program(
    "sorted",
    "sort",
    axes=("place", "row"),
    prompt=(Given("n", "place", high_first=True, many="row"), Sign("=", at={"row": -1})),
    answer=Answer("n answer", high_first=True, many="row"),
)
def ascending(paper: Paper, *numbers: list[int]) -> None:
    """Numbers in order, each on its own row."""
    paper.home().move(place=-1, row=-1).write("begin", ":")
    for row, digits in enumerate(sorted(numbers, key=lambda one: one[::-1])):
        for place, digit in enumerate(reversed(digits)):
            here = paper.move(place=+1) if place else paper.home().move(row=row)
            here.write("n answer", digit)
    paper.end()


@program(
    "less",
    "-",
    axes=("place",),
    prompt=(Given("x", "place", base=16), Sign("-"), Given("y", "place", base=16), Sign("=")),
    answer=Answer("rest", base=16, sign="minus"),
    broadcast={"minus": ("place",)},
)
def less(paper: Paper, x: list[int], y: list[int]) -> None:
    """Digits of the first number, and now and then a minus sign."""
    if len(x) < len(y):
        paper.home().move(place=-1).write("minus", "-")
    for place, digit in enumerate(x):
        (paper.move(place=+1) if place else paper.home()).write("rest", digit)
    paper.end()


@program(
    "compared",
    "<",
    axes=("place", "row", "sheet"),
    prompt=(
        Given("p", "row", everywhere=("place",), base=3),
        Sign("<", everywhere=("place", "row", "sheet")),
        Given("q", "row", everywhere=("place",), base=3),
        Sign("=", at={"sheet": 1}),
    ),
    answer=Answer("so", truth=True),
)
def compared(paper: Paper, p: list[int], q: list[int]) -> None:
    """One digit, three squares up."""
    paper.move(sheet=+1).write("so", int(len(p) < len(q)))
    paper.end()


OWN: dict[str, list[Program]] = {"own": [ascending, less, compared]}
"""Programs of several axes, bases and kinds of answers, together on one machine."""


@lru_cache
def layout(name: str) -> ProgramLayout:
    programs = OWN.get(name) or [PROGRAMS[name]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("curta.programs.machine.survey.TOKENS", TOKENS)
        counts = {"sort": (1, 3)}
        operators = [one.operator for one in programs]
        least = {one: (OPERATIONS[one].least,) * 2 for one in operators}
        sizes = {one: Sizes((1, 3), (1, 3), counts.get(one, least[one])) for one in operators}
        found = survey(programs, sizes)
    return ProgramLayout(found.machine, found.windows, found.recorder)


def recipe(name: str, **changes: Any) -> Recipe:
    """A small recipe for a machine, with `section__field=value` laid on top."""
    small = {
        "model.width": 16,
        "model.heads": 2,
        "model.mlp_ratio": 2,
        "model.role_embeddings": True,
    }
    given = {path.replace("__", "."): value for path, value in changes.items()}
    fields = recipes.read("addition" if name == "own" else name)
    made = recipes.parse(with_overrides(fields, small | given), where=name)
    tasks = tuple(Task(p.operator, digits=(1, 3)) for p in OWN.get(name, []))
    return replace(made, task=tasks) if tasks else made


def drawn(made: Recipe, name: str) -> Transformer:
    """A model whose gains are not ones, as after training."""
    model = tiny.drawn(made, layout(name))
    leaves, tree = jax.tree.flatten(model)
    keys = jax.random.split(jax.random.key(7), len(leaves))
    changed = [
        leaf * (1 + 0.2 * jax.random.normal(key, leaf.shape))
        for key, leaf in zip(keys, leaves, strict=True)
    ]
    return jax.tree.unflatten(tree, changed)


def shipped(name: str, **changes: Any) -> tuple[Recipe, Transformer]:
    made = recipe(name, **changes)
    return made, drawn(made, name)


def carried(made: Recipe, model: Transformer, name: str = "made", members: int = 1) -> Carried:
    """What a page is made of, without a run."""
    return Carried(name, made, model.layout, [weights_of(model)] * members)


def page(folder: Path, made: Recipe, model: Transformer) -> Path:
    """The file of the page."""
    path = folder / "page.html"
    path.write_text(render_page(carried(made, model), 0), encoding="utf-8")
    return path


def prompts(name: str) -> list[list[int]]:
    return [layout(name).prompt_tokens(parse(text)) for text in PROBLEMS[name]]


def random_texts(name: str, count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Random tokens but the end, and the windows of all of them by `machine.writing`."""
    machine, windows = layout(name).machine, layout(name).windows
    choice = np.delete(np.arange(len(machine.tokens)), machine.end)
    tokens = np.random.default_rng(3).choice(choice, (count, length)).astype(np.int32)
    tokens[:, 0] = prompts(name)[0][0]  # goes home on all axes, as every prompt does
    coming = iter(tokens.T[1:])
    rows: list[np.ndarray] = []

    def look(seen: np.ndarray) -> np.ndarray:
        rows.append(seen)
        return next(coming)

    write(machine, windows, look, tokens[:, :1].tolist(), limit=length - 1)
    return tokens[:, :-1], np.stack(rows, axis=1)


SUMS = ("7+8", "12+345", "999+1", "0+0")
COMPLETION = 20
"""Tokens that are written in comparisons with Python: models with random weights go on and on."""

Sites = dict[str, np.ndarray]


class Made:
    """A model with random weights: gains that are not ones, biases that are not zeros."""

    def __init__(self, of: Recipe) -> None:
        self.recipe, self.model = of, drawn_of(of)
        self.layout, self.causal = self.model.layout, of.model.causal

    def page(self, folder: Path) -> Path:
        """The file of the page."""
        return page(folder, self.recipe, self.model)

    def sites(self, texts: Sequence[tuple[list[int], int]]) -> list[Sites]:
        """Every value of Python's forward pass over true texts, as far as each is long."""
        bounds = _room(texts, 0)
        tokens = np.zeros((len(texts), bounds.total), np.int32)
        for row, (text, _) in zip(tokens, texts, strict=True):
            row[: len(text)] = text
        prompts, lengths = np.array([p for _, p in texts]), np.array([len(t) for t, _ in texts])
        found = _sites(self.model, Text(tokens, prompts, lengths), bounds)
        whole = {site: np.asarray(value) for site, value in found.items()}
        return [{site: value[n] for site, value in whole.items()} for n in range(len(texts))]

    def written(self, problems: Sequence[Problem]) -> list[list[int]]:
        """What Python writes after each problem, up to the first end."""
        prompts = [self.layout.prompt_tokens(problem) for problem in problems]
        bounds = _room([(prompt, len(prompt)) for prompt in prompts], COMPLETION)
        found = completions(self.model, self.layout, problems, bounds)
        if (
            self.causal and not self.layout.end_sign
        ):  # a completion has one length, by which it ends
            operator = problems[0].operator
            return [text[: self.layout.bounds(operator, (1, 1)).completion] for text in found]
        if self.causal:
            return found
        return [one[: len(prompt)] for one, prompt in zip(found, prompts, strict=True)]


def _room(texts: Sequence[tuple[list[int], int]], more: int) -> ShapeBounds:
    """Room for texts, and so many tokens more."""
    prompt = max(prompt for _, prompt in texts)
    rest = max(len(text) - prompt for text, prompt in texts)
    return ShapeBounds(prompt, rest + more, ((-1, 30),) * 3)


@partial(jax.jit, static_argnums=2)
def _sites(model: Transformer, text: Text, bounds: ShapeBounds) -> dict[str, jax.Array]:
    return record_activations(model, *model_input(model.layout, model.config, text, bounds), bounds)


def page_sites(tab: Page, tokens: Sequence[int]) -> dict[str, list[Any]]:
    """The same of the page: for each site a value at each token."""
    plain = "(key, value) => ArrayBuffer.isView(value) ? [...value] : value"
    asked = f"JSON.stringify(curta.sites({json.dumps(list(tokens))}), {plain})"
    found: dict[str, list[Any]] = json.loads(tab.evaluate(asked))
    return found


def apart(site: str, python: np.ndarray, mine: list[Any], seen: list[list[int]]) -> float:
    """The greatest difference at a site; the page has weights of those keys alone that are seen."""
    count = len(mine)
    if not site.endswith("attention.weights"):
        expected = python[:count]
        return float(np.abs(np.array(mine).reshape(expected.shape) - expected).max())
    filled, expected = np.zeros((python.shape[0], count, count)), python[:, :count, :count]
    for query, heads in enumerate(mine):
        for head, shares in enumerate(heads):
            for key, share in zip(seen[query], shares, strict=True):
                if key >= 0:
                    filled[head, query, key] += share
    return float(np.abs(filled - expected).max())


def page_written(tab: Page, problem: Problem) -> list[int]:
    asked = f"curta.write({json.dumps(str(problem))}, {COMPLETION})"
    found: list[int] = numbers(tab, asked)
    return found


def agree(tab: Page, folder: Path, of: Recipe, texts: Sequence[str] = SUMS) -> None:
    """That the page has Python's values at every site, and writes what Python writes."""
    made, problems = Made(of), [parse(text) for text in texts]
    tab.goto(made.page(folder).as_uri())
    windowed = of.positions.name == "window"
    true = [made.layout.tokens_of(problem) for problem in problems]
    for (tokens, prompt), python in zip(true, made.sites(true), strict=True):
        text = tokens if made.causal else tokens[:prompt]
        mine, count = page_sites(tab, text), len(text)
        seen = [list(range(n + 1 if made.causal else count)) for n in range(count)]
        if windowed:
            seen = numbers(tab, f"curta.follow({json.dumps(text)}).map(({{ cells }}) => cells)")
        assert set(mine) == set(python)
        worst = {site: apart(site, python[site], mine[site], seen) for site in python}
        assert max(worst.values()) < 1e-4, worst
    for problem, expected in zip(problems, made.written(problems), strict=True):
        assert page_written(tab, problem) == expected


def of_layout(name: str) -> Made:
    """A model that writes all of a layout's problems."""
    tasks = [{"operator": one, "digits": [1, 3]} for one in layout_named(name).operators]
    return Made(
        tiny.recipe(
            layout=name,
            task=tasks,
            positions__name="learned",
            positions__length=512,
            training__batch=2 * len(tasks),
            model__compositional_embeddings=False,
            model__causal=name not in ("framed", "labelled"),
        )
    )


def padded(windows: Sequence[Sequence[int]], cells: int, none: int) -> np.ndarray:
    """Windows as the page has them, with as many cells each."""
    return np.array([[*row, *[none] * (cells - len(row))] for row in windows])
