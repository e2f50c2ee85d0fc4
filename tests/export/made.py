"""Models with random weights, of programs and of published layouts, and what they say."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.frontends import api
from curta.layouts import Layout, ShapeBounds, Text
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model.inspection import record_activations
from curta.model.transformer import Transformer
from curta.problems import task_sizes
from curta.problems.problem import Problem
from curta.problems.sizes import Sizes
from curta.programs import PROGRAMS
from curta.programs.machine import Program, store
from curta.programs.machine.survey import survey
from curta.runs import checkpoints
from curta.runs.run import Run
from curta.training import trainer
from curta.training.records import padded_texts
from tests import tiny


def drawn(of: Recipe, seed: int = 0, layout: Layout | None = None) -> Transformer:
    """A model whose gains are not ones, and whose biases are not zeros, as after training."""
    leaves, tree = jax.tree.flatten(tiny.drawn(of, layout or layout_of(of), seed))
    rng = np.random.default_rng(7)
    noise = [0.2 * rng.standard_normal(leaf.shape, np.float32) for leaf in leaves]
    changed = [
        jnp.where(leaf == 0, more, leaf * (1 + more))
        for leaf, more in zip(leaves, noise, strict=True)
    ]
    return jax.tree.unflatten(tree, changed)


def begun(recipe: str = "addition", seeds: int = 1, name: str = "mine", **changes: Any) -> Run:
    """A run with the weights that training begins with."""
    overrides = {path.replace("__", "."): value for path, value in changes.items()}
    run = api.begin(recipe, seeds, name, overrides)
    state = trainer.init(run.recipe, run.layout, jnp.asarray(run.seeds))
    owner = checkpoints.owner(run.recipe, run.seeds, 1)
    checkpoints.save(run.folder.checkpoints, 1, state, owner)
    run.folder.update(checkpoint=1)
    return run


def example_problems(operator: str = "+") -> list[Problem]:
    """Of different lengths, with a carry, with equal operands."""
    return [Problem(operator, values) for values in ((97, 5), (10, 98), (7, 7), (123, 4))]


def rows(model: Transformer, problems: Sequence[Problem]) -> list[list[int]]:
    """The tokens of the written problems."""
    return [model.layout.tokens_of(problem)[0] for problem in problems]


def inside(model: Transformer, texts: Sequence[Sequence[int]]) -> list[dict[str, np.ndarray]]:
    """Every site of each text, cut to its tokens."""
    lengths = [len(text) for text in texts]
    padded = padded_texts([([*text], len(text)) for text in texts], max(lengths), 0)
    sites = {site: np.asarray(value) for site, value in _sites(model, padded).items()}

    def cut(site: str, row: int, length: int) -> np.ndarray:
        value = sites[site][row]
        return value[:, :length, :length] if site.endswith("weights") else value[:length]

    return [{site: cut(site, *each) for site in sites} for each in enumerate(lengths)]


@jax.jit
def _sites(model: Transformer, text: Text) -> dict[str, jax.Array]:
    where, bounds = model.layout.where(text), ShapeBounds(0, 0, ())
    return record_activations(model, text.tokens, where, bounds)


@lru_cache
def program(name: str) -> ProgramLayout:
    """A program's machine, of a small survey."""
    return surveyed([PROGRAMS[name]])


def surveyed(programs: Sequence[Program]) -> ProgramLayout:
    """The machine of several programs, of a small survey."""
    counts = {program.operator: task_sizes.counts(Task(program.operator)) for program in programs}
    counts |= {"sort": (1, 3)} if "sort" in counts else {}
    sizes = {operator: Sizes((1, 3), (1, 3), count) for operator, count in counts.items()}
    machine, windows = (result := survey(programs, sizes)).machine, result.windows
    return ProgramLayout(machine, windows, store.recorder(machine, programs))
