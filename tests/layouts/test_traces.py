"""Traces: worked examples, and that each next token is a function of the window."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta import recipe as recipes
from curta.layouts import Layout, Room, Text, layout_named
from curta.positions import Encoding, Shape
from curta.problems import parse
from curta.tasks import Task

TRACED = (
    *("subtraction", "sums", "multiplication", "division"),
    *("sorting", "comparison", "copying", "calculator", "sources/spaced-addition-window"),
    "sources/range-window",
)
BATCH = 256


def written(layout: Layout, task: Task, room: Room) -> Text:
    """Problems of a task, written on the device."""
    write = jax.jit(lambda key: layout.tokens(task.operator, task.draw(key, BATCH), room))
    return write(jax.random.key(0))


def windows(encoding: Encoding, layout: Layout, text: Text, room: Room) -> np.ndarray:
    """For each token its kind, itself and the tokens of its neighbours, 0 where there is none."""

    def look(text: Text) -> jax.Array:
        where = layout.where(text)
        links = encoding.links(encoding.index(where, room), where)
        near = jnp.take_along_axis(text.tokens[:, :, None], links.keys, axis=1) + 1
        own = jnp.stack([where.kind, text.tokens], axis=-1)
        return jnp.concatenate([own, jnp.where(links.visible, near, 0)], axis=-1)

    return np.asarray(jax.jit(look)(text))


def followers(encoding: Encoding, layout: Layout, task: Task) -> np.ndarray:
    """Each distinct window before a token of a completion, and as last column that token."""
    room = layout.room(task.operator, task.widest)
    text = written(layout, task, room)
    seen, tokens = windows(encoding, layout, text, room), np.asarray(text.tokens)
    index = np.arange(tokens.shape[1] - 1)
    prompts, lengths = (np.asarray(part)[:, None] for part in (text.prompts, text.lengths))
    scored = (index >= prompts - 1) & (index < lengths - 1)
    found = np.concatenate([seen[:, :-1], tokens[:, 1:, None]], axis=-1)[scored]
    return np.unique(found, axis=0)


@pytest.mark.parametrize("name", TRACED)
def test_the_next_token_of_a_trace_is_a_function_of_its_window(name: str) -> None:
    recipe = recipes.load(name)
    layout = layout_named(recipe.layout)
    encoding = recipe.positions.build(Shape(layout, 8, 2, 1))
    found = np.concatenate([followers(encoding, layout, task) for task in recipe.tasks])
    pairs = np.unique(found, axis=0)
    assert len(np.unique(pairs[:, :-1], axis=0)) == len(pairs)


@pytest.mark.parametrize(
    ("name", "problem", "line"),
    [
        ("running", "1+22+333", "1+22+333=32|653=653$"),
        ("difference", "12-34", "21-43=ih-22$"),
        ("product", "12*34", "21*43=088804440000|066a03340000=8040$"),
        ("division", "123//4", "123/4=100hj0210i01402003gj3300jj0=030$"),
        ("division", "123%4", "123%4=100hj0210i01402003gj3300jj0=30$"),
        ("insertion", "sort 21,3,12", "S21,03,12=21;k2n1|21;a1d2|l2m1|21=03,12,21$"),
        ("comparison", "12<34", "21<43=<<1$"),
        ("copying", "reverse 120", "r021=120$"),
        ("copying", "copy 120", "c021=021$"),
        ("calculator", "12-34", "-21-43=ih-22$"),
        ("carried", "12+39", "21+93=.1'5.0$"),
        ("carried", "95+5", "59+50=.0'0'1$"),
        ("spaced-worked", "1234+5678", "1234 + 5678 =2196=6912$"),
        ("spaced-worked-apart", "1234+5678", "1 234 + 5 678=2196=6912$"),
    ],
)
def test_worked_examples(name: str, problem: str, line: str) -> None:
    assert layout_named(name).write(parse(problem)) == line
