"""Exact match: by one teacher-forced pass, confirmed by real generation on a sample.

A greedy answer is right just when every scored token is the most likely one
after the true tokens before it, so one pass decides without generating. Every
examination also generates a sample token by token and says whether both agree.
"""

import math
import time
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import zip_longest
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Bool

from .batches import padded
from .errors import UserError
from .generation import bucket, completions, widths
from .layouts import Layout, Room, Text, Where, layout_named
from .layouts.base import END
from .model import Transformer
from .operations import Answer
from .problems import Problem, answer_text
from .recipe import Evaluation, Recipe
from .tasks import RANDOM, as_size, categories, problems
from .training import mesh_for

BUDGET = 1 << 17
"""Query-key pairs in one pass: more do not fit into the processor's caches.

200 problems of 1,000 digits took 2.4 s with four times as many, 0.9 s with these.
"""

BLOCK = 4096
"""Longest completion that is scored in one piece; longer ones need no more memory."""


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
    """Whether each member answers each problem without an error; `room` may be one that fits.

    All problems are of one operation.
    """
    room = room or room_for(models, exam)
    size = _batch_size(models, room, len(exam))
    right = [
        _right(models, exam[start : start + size], room, size)
        for start in range(0, len(exam), size)
    ]
    return np.concatenate(right, axis=1)


def room_for(models: Models, exam: Sequence[Problem]) -> Room:
    """Room for all of these problems; UserError if the model has no positions for them.

    Where texts grow no faster than their operands, sizes are rounded up to a few, so
    that few programs are compiled.
    """
    operator, layout = exam[0].operator, models.layout
    widest = [max(column) for column in zip_longest(*map(widths, exam), fillvalue=0)]
    layout.accept(operator, len(widest))
    check(models, layout.room(operator, widest))
    return layout.room(operator, [bucket(width) for width in widest] if layout.linear else widest)


def check(models: Models, room: Room) -> None:
    """Raises UserError if the models have no positions for texts of this size."""
    jax.tree.map(lambda leaf: leaf[0], models.stacked.positions).check(room)


def refusal(recipe: Recipe, operator: str, size: int | str) -> str | None:
    """Why problems of this size cannot be put to models of this recipe; None if they can."""
    layout, digits = layout_named(recipe.layout), as_size(size, operator)
    try:
        layout.accept(operator, len(digits))
        recipe.encoding.check(layout.room(operator, digits))
    except UserError as error:
        return str(error)
    return None


def lengths(
    models: Models, operator: str, size: int | str, settings: Evaluation
) -> list[dict[str, Any]]:
    """Exact match for each category of problems of one size, every member on its own."""
    digits, count = as_size(size, operator), settings.count
    exams = {
        category: problems(operator, category, digits, count, settings.seed)
        for category in categories(operator)
    }
    room = room_for(models, [problem for exam in exams.values() for problem in exam])
    sample = max(1, settings.generated)
    _answers(models, 0, exams[RANDOM][:sample], room)  # compiles, so that only writing is timed
    asked = {"operator": operator, "size": str(size), "digits": max(digits)}
    return [
        asked | {"category": category} | _examined(models, exam, sample, room)
        for category, exam in exams.items()
    ]


def grid(
    models: Models,
    operator: str,
    settings: Evaluation,
    progress: Callable[[float], None] = lambda share: None,
) -> dict[str, Any]:
    """Exact match for every pair of digit counts up to `settings.grid`."""
    counts = list(range(1, settings.grid + 1))
    room, rows = models.layout.room(operator, (settings.grid, settings.grid)), []
    check(models, room)
    for first in counts:
        exam = [
            problem
            for second in counts
            for problem in problems(
                operator, RANDOM, (first, second), settings.grid_count, settings.seed
            )
        ]
        cells = exact(models, exam, room).reshape(models.members, len(counts), -1)
        rows.append(cells.mean(axis=-1))
        progress(first / settings.grid)
    table = np.stack(rows, axis=1)
    return {
        "operator": operator,
        "max_digits": settings.grid,
        "digits": counts,
        "count": settings.grid_count,
        "exact": table.round(6).tolist(),
    }


def examples(
    models: Models, operator: str, size: int | str, settings: Evaluation
) -> list[dict[str, Any]]:
    """A few generated answers of every member."""
    exam = [
        problem
        for category in categories(operator)
        for problem in problems(operator, category, as_size(size, operator), 2, settings.seed + 1)
    ]
    room = room_for(models, exam)
    return [
        {
            "problem": str(problem),
            "truth": answer_text(problem.truth),
            "answer": None if answer is None else answer_text(answer),
            "text": text,
            "member": member,
        }
        for member in range(models.members)
        for problem, (text, answer) in zip(exam, _answers(models, member, exam, room), strict=True)
    ]


def _examined(models: Models, exam: Sequence[Problem], sample: int, room: Room) -> dict[str, Any]:
    right = exact(models, exam, room)
    return {
        "count": len(exam),
        "exact": right.mean(axis=1).round(6).tolist(),
        "generated": _generated(models, exam[:sample], right, room),
    }


def _generated(
    models: Models,
    sample: Sequence[Problem],
    right: Bool[np.ndarray, "members problems"],
    room: Room,
) -> dict[str, Any]:
    """Exact match of real generation, whether it agrees, and how fast it wrote.

    It agrees if it writes the true text to the letter just where one pass says so; an
    answer may be right although its trace is not.
    """
    layout = models.layout
    texts = [layout.working(problem) + END for problem in sample]
    begun = time.perf_counter()
    written = [_answers(models, member, sample, room) for member in range(models.members)]
    seconds = time.perf_counter() - begun
    tokens = sum(len(text) for answers in written for text, _ in answers)
    exact = np.array(
        [[a == p.truth for (_, a), p in zip(row, sample, strict=True)] for row in written]
    )
    same = np.array(
        [[t == text for (t, _), text in zip(row, texts, strict=True)] for row in written]
    )
    return {
        "count": len(sample),
        "exact": exact.mean(axis=1).round(6).tolist(),
        "agrees": bool((same == right[:, : len(sample)]).all()),
        "tokens_per_second": round(tokens / seconds),
    }


def _answers(
    models: Models, member: int, exam: Sequence[Problem], room: Room
) -> list[tuple[str, Answer | None]]:
    """What a member writes, and the answer in it."""
    texts = completions(models.member(member), models.layout, exam, room)
    return [
        (text, models.layout.read(problem.operator, text))
        for text, problem in zip(texts, exam, strict=True)
    ]


def _batch_size(models: Models, room: Room, count: int) -> int:
    """A power of two that fits the budget and is no larger than needed."""
    pairs = min(room.completion, BLOCK) * models.stacked.positions.fan_in(room)
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


def _flawless(model: Transformer, text: Text, where: Where, room: Room) -> Bool[Array, " batch"]:
    """Whether every scored token is the most likely one; long completions block by block."""
    batch = padded(text, where, room)
    blocks = -(-room.completion // BLOCK)
    size = -(-room.completion // blocks)
    spare = blocks * size - room.completion

    def split(part: Array) -> Array:
        filled = jnp.pad(part, ((0, 0), (0, spare)))
        return jnp.moveaxis(filled.reshape(len(part), blocks, size), 1, 0)

    def right(part: tuple[Array, Array, Array]) -> Array:
        queries, goals, scored = part
        logits = model(batch.tokens, batch.where, queries, room)
        return jnp.all((logits.argmax(-1) == goals) | ~scored, axis=1)

    parts = (batch.queries, batch.goals, batch.scored)
    if blocks == 1:
        return right(parts)
    return jnp.all(jax.lax.map(right, jax.tree.map(split, parts)), axis=0)
