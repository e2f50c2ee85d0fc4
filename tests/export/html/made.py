"""Pages of models with random weights, and what Python says of the same texts."""

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.export.base import weights_of
from curta.export.html.page import Carried, render_page
from curta.layouts import layout_named
from curta.layouts.program import ProgramLayout
from curta.model.transformer import Transformer
from curta.problems.problem import parse
from curta.programs import PROGRAMS
from curta.programs.machine import Answer, Given, Paper, Program, Sign, program
from curta.programs.machine.writing import write
from tests import tiny
from tests.export.made import drawn, surveyed
from tests.export.made import program as small_program

PROBLEMS = {
    "addition": ["7+8", "99999+1", "123+98765", "0+0"],
    "multiplication": ["12*34", "999*9", "0*57", "305*204"],
    "fractions": ["3.75+12.5", "0.05+9.95", "0.0+0.0", "12.5+3.25"],
    "sorting": ["sort 3,1,2", "sort 20,5"],
    "comparison": ["2<2", "12<201", "30<4"],
    "own": ["0xc-0x345", "0x345-0xf"],
}
"""Some problems of each machine."""


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


OWN: dict[str, list[Program]] = {"own": [less]}


@lru_cache
def layout(name: str) -> ProgramLayout:
    return surveyed(OWN[name]) if name in OWN else small_program(name)


def shipped(name: str, **changes: Any) -> tuple[Recipe, Transformer]:
    """A small recipe for a machine, and a model of it."""
    programs = OWN[name] if name in OWN else [PROGRAMS[name]]
    tasks = tuple(Task(program.operator, digits=(1, 3)) for program in programs)
    of = replace(tiny.recipe(**changes), task=tasks)
    return of, drawn(of, layout=layout(name))


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


def dense(of: Recipe) -> tuple[Recipe, Transformer]:
    """A recipe, and its model with random weights: gains no ones, biases no zeros."""
    return of, drawn(of)


def of_layout(name: str) -> tuple[Recipe, Transformer]:
    """A model that writes all of a layout's problems."""
    tasks = [{"operator": operator, "digits": [1, 3]} for operator in layout_named(name).operators]
    return dense(
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
