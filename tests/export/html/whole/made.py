"""Pages of models over whole texts with random weights, and what Python says of the same texts."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from playwright.sync_api import Page

from curta.config.recipe import Recipe
from curta.evaluation.generation import completions
from curta.export.html.whole import page_part
from curta.layouts import ShapeBounds, Text
from curta.model.inspection import recorded
from curta.model.transformer import Transformer
from curta.probes.inside.texts import model_input
from curta.problems.problem import Problem, parse
from curta.report.document import document
from tests.export.made import drawn

from .. import made as windowed
from ..tabs import numbers

SUMS = ("7+8", "12+345", "999+1", "0+0")
COMPLETION = 20
"""Tokens that are written in comparisons with Python: models with random weights go on and on."""

Sites = dict[str, np.ndarray]


def whole_page(of: Recipe, model: Transformer, name: str = "made") -> str:
    """The page over whole texts, also of a model under a window."""
    told = {"name": name, "member": 0, "recipe": of, "address": name}
    return document(name, [page_part(windowed.carried(of, model, name), 0, told)])


class Made:
    """A model with random weights: gains that are not ones, biases that are not zeros."""

    def __init__(self, of: Recipe) -> None:
        self.recipe, self.model = of, drawn(of)
        self.layout, self.causal = self.model.layout, of.model.causal

    def page(self, folder: Path) -> Path:
        """The file of the page over whole texts, also of a model under a window."""
        path = folder / "page.html"
        path.write_text(whole_page(self.recipe, self.model), encoding="utf-8")
        return path

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
    return recorded(model, *model_input(model.layout, model.config, text, bounds), bounds)


def page_sites(tab: Page, tokens: Sequence[int]) -> dict[str, list[Any]]:
    """The same of the page: for each site a value at each token."""
    plain = "(key, value) => ArrayBuffer.isView(value) ? [...value] : value"
    asked = f"JSON.stringify(curta.sites({json.dumps(list(tokens))}), {plain})"
    found: dict[str, list[Any]] = json.loads(tab.evaluate(asked))
    return found


def apart(site: str, python: np.ndarray, mine: list[Any]) -> float:
    """The greatest difference at a site; the page has weights of those keys alone that are seen."""
    count = len(mine)
    if not site.endswith("attention.weights"):
        wanted = python[:count]
        return float(np.abs(np.array(mine).reshape(wanted.shape) - wanted).max())
    filled, wanted = np.zeros((python.shape[0], count, count)), python[:, :count, :count]
    for query, heads in enumerate(mine):
        for head, shares in enumerate(heads):
            filled[head, query, : len(shares)] = shares
    return float(np.abs(filled - wanted).max())


def page_written(tab: Page, problem: Problem) -> list[int]:
    asked = f"curta.write({json.dumps(str(problem))}, {{}}, {COMPLETION})"
    found: list[int] = numbers(tab, asked)
    return found


def agree(tab: Page, folder: Path, of: Recipe, texts: Sequence[str] = SUMS) -> None:
    """That the page has Python's values at every site, and writes what Python writes."""
    made, problems = Made(of), [parse(text) for text in texts]
    tab.goto(made.page(folder).as_uri())
    true = [made.layout.tokens_of(problem) for problem in problems]
    for (tokens, prompt), python in zip(true, made.sites(true), strict=True):
        mine = page_sites(tab, tokens if made.causal else tokens[:prompt])
        assert set(mine) == set(python)
        worst = {site: apart(site, python[site], mine[site]) for site in python}
        assert max(worst.values()) < 1e-4, worst
    for problem, expected in zip(problems, made.written(problems), strict=True):
        assert page_written(tab, problem) == expected
