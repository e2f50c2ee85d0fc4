"""Squared paper in plain loops: what the tests hold machines, windows and models against."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from curta.config.recipe import Recipe
from curta.evaluation.scoring import Models
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.problems import tasks
from curta.problems.problem import Problem
from curta.programs.machine.paper import HOME
from curta.training import records, trainer

Window = tuple[int, ...]


def layout(of: Recipe) -> ProgramLayout:
    """The layout of a recipe's programs."""
    found = layout_of(of)
    assert isinstance(found, ProgramLayout)
    return found


def squares(layout: ProgramLayout, tokens: Sequence[int]) -> list[tuple[int, ...]]:
    """Where every token stands, one after the other."""
    at, found = [0] * len(layout.axes), []
    for token in tokens:
        for axis, move in enumerate(layout.machine.tokens[token].move):
            at[axis] = move - HOME if move > HOME // 2 else at[axis] + move
        found.append(tuple(at))
    return found


def seen(layout: ProgramLayout, tokens: Sequence[int]) -> list[int | None]:
    """Which tokens the last of these sees: itself, and on each square it looks at the newest."""
    machine, at = layout.machine, squares(layout, tokens)
    wide, cells = dict(machine.roles), list[int | None]([len(tokens) - 1])
    for role, moved in layout.windows.get(machine.tokens[tokens[-1]].role, ()):
        wanted = [square + step for square, step in zip(at[-1], moved, strict=True)]
        there = [
            index
            for index, token in enumerate(tokens)
            if machine.tokens[token].role == role
            and all(
                axis in wide[role] or a == b
                for axis, a, b in zip(layout.axes, at[index], wanted, strict=True)
            )
        ]
        cells.append(there[-1] if there else None)
    return cells


def window(layout: ProgramLayout, tokens: Sequence[int]) -> Window:
    """What the last of these tokens sees, as many cells as the widest window has."""
    none = len(layout.machine.tokens)
    cells = [none if index is None else tokens[index] for index in seen(layout, tokens)]
    most = 1 + max(map(len, layout.windows.values()))
    return (*cells, *[none] * (most - len(cells)))


def windows(layout: ProgramLayout, problem: Problem) -> list[tuple[Window, int]]:
    """The windows in the text that the program writes, and what follows each."""
    tokens, prompt = layout.tokens_of(problem)
    return [(window(layout, tokens[:end]), tokens[end]) for end in range(prompt, len(tokens))]


def some(operator: str, digits: int, count: int) -> list[Problem]:
    """Random problems, and as many with carries or another rarity."""
    size = tasks.as_size(digits, operator)
    return [
        problem
        for slice_name in tasks.slices(operator)[:2]
        for problem in tasks.problems(operator, slice_name, size, count, 3)
    ]


def rows(found: Sequence[tuple[Window, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Windows and what follows them as arrays."""
    return (
        np.array([window for window, _ in found], np.int32),
        np.array([target for _, target in found], np.int32),
    )


def trained(recipe: Recipe, steps: int, members: int = 2) -> Models:
    """Members after so many steps, at most, in chunks."""
    seeds, layout, mesh = range(members), layout_of(recipe), trainer.training_mesh(recipe, members)
    data, bounds = records.training_data(recipe, layout, seeds)
    state = trainer.shard(trainer.init(recipe, layout, jnp.arange(members)), mesh)
    call = trainer.compile_steps(recipe, bounds, mesh)
    data = trainer.place_data(data, mesh)
    for first in range(0, steps, trainer.CHUNK):
        count = min(trainer.CHUNK, steps - first)
        state, _ = call(state, data, jnp.int32(first), jnp.int32(count))
    return Models(jax.device_get(state).model, layout, members)
