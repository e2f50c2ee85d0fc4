"""Exact match: by one teacher-forced pass, confirmed by real generation on a sample.

A greedy answer is right just when every scored token is the most likely one
after the true tokens before it, so one pass decides without generating. Every
examination also generates a sample token by token and says whether both agree.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Bool

from .generation import bucket, completions, widths
from .layouts import Layout, Room, Text
from .model import Transformer
from .problems import Problem, to_text
from .recipe import Evaluation
from .tasks import CATEGORIES, problems
from .training import mesh_for, targets

BUDGET = 1 << 17
"""Query-key pairs in one pass: more do not fit into the processor's caches.

200 problems of 1,000 digits took 2.4 s with four times as many, 0.9 s with these.
"""


class Models(NamedTuple):
    """Trained members of one run, stacked along a leading axis."""

    stacked: Transformer
    layout: Layout
    members: int

    def member(self, number: int) -> Transformer:
        return jax.tree.map(lambda leaf: leaf[number], self.stacked)


def exact(
    models: Models, exam: Sequence[Problem], room: Room | None = None
) -> Bool[np.ndarray, "members problems"]:
    """Whether each member answers each problem without an error; `room` may be one that fits."""
    room = room or room_for(models, exam)
    size = _batch_size(models, room, len(exam))
    right = [
        _right(models, exam[start : start + size], room, size)
        for start in range(0, len(exam), size)
    ]
    return np.concatenate(right, axis=1)


def room_for(models: Models, exam: Sequence[Problem]) -> Room:
    """Room for all of these problems; UserError if the model has no positions for them."""
    widest = np.max([widths(problem) for problem in exam], axis=0)
    check(models, models.layout.room(widest.tolist()))
    return models.layout.room([bucket(int(width)) for width in widest])


def check(models: Models, room: Room) -> None:
    """Raises UserError if the models have no positions for texts of this size."""
    jax.tree.map(lambda leaf: leaf[0], models.stacked.positions).check(room)


def lengths(models: Models, settings: Evaluation) -> list[dict[str, Any]]:
    """Exact match for each digit count and category of problems, every member on its own."""
    return [
        _examined(models, settings, category, digits)
        for digits in settings.digits
        for category in CATEGORIES
    ]


def grid(
    models: Models, settings: Evaluation, progress: Callable[[float], None] = lambda share: None
) -> dict[str, Any]:
    """Exact match for every pair of digit counts up to `settings.grid`."""
    counts = list(range(1, settings.grid + 1))
    room, rows = models.layout.room((settings.grid, settings.grid)), []
    check(models, room)
    for first in counts:
        exam = [
            problem
            for second in counts
            for problem in problems("random", (first, second), settings.grid_count, settings.seed)
        ]
        cells = exact(models, exam, room).reshape(models.members, len(counts), -1)
        rows.append(cells.mean(axis=-1))
        progress(first / settings.grid)
    table = np.stack(rows, axis=1)
    return {
        "max_digits": settings.grid,
        "digits": counts,
        "count": settings.grid_count,
        "exact": table.round(6).tolist(),
    }


def examples(models: Models, settings: Evaluation) -> list[dict[str, Any]]:
    """A few generated answers of every member."""
    exam = [
        problem
        for category in CATEGORIES
        for problem in problems(category, (settings.digits[0],) * 2, 2, settings.seed + 1)
    ]
    room = room_for(models, exam)
    return [
        {
            "problem": str(problem),
            "truth": to_text(problem.truth),
            "answer": None if answer is None else to_text(answer),
            "member": member,
        }
        for member in range(models.members)
        for problem, answer in zip(exam, _answers(models, member, exam, room), strict=True)
    ]


def _examined(models: Models, settings: Evaluation, category: str, digits: int) -> dict[str, Any]:
    exam = problems(category, (digits, digits), settings.count, settings.seed)
    right = exact(models, exam)
    sample, room = exam[: max(1, settings.generated)], room_for(models, exam)
    truth = [problem.truth for problem in sample]
    written = [_answers(models, member, sample, room) for member in range(models.members)]
    generated = np.array([[a == t for a, t in zip(row, truth, strict=True)] for row in written])
    return {
        "digits": digits,
        "category": category,
        "count": len(exam),
        "exact": right.mean(axis=1).round(6).tolist(),
        "generated": {
            "count": len(sample),
            "exact": generated.mean(axis=1).round(6).tolist(),
            "agrees": bool((generated == right[:, : len(sample)]).all()),
        },
    }


def _answers(models: Models, member: int, exam: Sequence[Problem], room: Room) -> list[int | None]:
    texts = completions(models.member(member), models.layout, exam, room)
    return [models.layout.read(text) for text in texts]


def _batch_size(models: Models, room: Room, count: int) -> int:
    """A power of two that fits the budget and is no larger than needed."""
    pairs = room.completion * models.stacked.positions.fan_in(room)
    fits = 1 << int(math.log2(max(1, BUDGET // pairs)))
    return min(fits, 1 << (count - 1).bit_length())


def _right(models: Models, exam: Sequence[Problem], room: Room, size: int) -> np.ndarray:
    texts = [models.layout.write(problem) for problem in exam]
    prompts = [len(models.layout.prompt(problem)) for problem in exam]
    tokens = np.zeros((size, room.total), np.int32)
    for row, line in zip(tokens, texts, strict=False):
        row[: len(line)] = models.layout.encode(line)
    fill = [1] * (size - len(exam))
    lengths = [len(line) for line in texts] + fill
    text = Text(*(jnp.asarray(part, jnp.int32) for part in (tokens, prompts + fill, lengths)))
    mesh = mesh_for(models.members, size)
    right = _compiled(models.layout, room, mesh)(models.stacked, text)
    return np.asarray(right)[:, : len(exam)]


@lru_cache(maxsize=64)
def _compiled(layout: Layout, room: Room, mesh: Mesh) -> Callable[[Transformer, Text], Array]:
    def local(models: Transformer, text: Text) -> Array:
        where = layout.where(text)
        return jax.lax.map(partial(_flawless, text=text, where=where, room=room), models)

    member, batch = PartitionSpec("member"), PartitionSpec("batch")
    spread = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(member, batch),
        out_specs=PartitionSpec("member", "batch"),
        check_vma=False,
    )
    return jax.jit(spread)


def _flawless(model: Transformer, text: Text, where: Any, room: Room) -> Bool[Array, " batch"]:
    goal = targets(text, room)
    logits = model(text.tokens, where, goal.queries, room)
    return ((logits.argmax(-1) == goal.tokens) | ~goal.scored).all(axis=1)
