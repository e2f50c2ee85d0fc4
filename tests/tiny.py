"""What many tests share: the smallest recipe, models, and problems in the forms they take."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from curta.config.recipe import Recipe, with_overrides
from curta.layouts import Layout, ShapeBounds, Text
from curta.layouts.texts import layout_of
from curta.model import recipes
from curta.model.transformer import Transformer
from curta.problems.arithmetic import NumberBatch
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem

TINY: dict[str, Any] = {
    "program": "addition",
    "task": {"digits": [1, 4]},
    "model": {
        "width": 16,
        "heads": 2,
        "num_layers": 2,
        "num_attention_layers": 1,
        "mlp_ratio": 2,
        "role_embeddings": True,
    },
    "training": {"steps": 20, "batch": 8, "checkpoint_every": 10, "problems": 100, "repair": 0},
    "evaluation": {"digits": [3], "count": 8, "generated": 4, "certificate": 4_000},
}

ENCODINGS: dict[str, dict[str, Any]] = {
    "learned": {"length": 64},
    "nope": {},
    "sinusoidal": {},
    "rope": {},
    "alibi": {},
    "alibi, learned": {"name": "alibi", "learned": True},
    "t5": {"num_buckets": 8, "max_distance": 16},
    "fire": {"max_length": 64},
    "randomised": {"max_length": 64},
    "abacus": {"rows": 64, "max_offset": 8},
    "abacus, inside": {"name": "abacus", "rows": 64, "max_offset": 8, "inject": "queries_keys"},
    "coupled": {"rows": 64, "max_start": 8},
    "coupled-sinusoidal": {},
    "position-coupling": {"max_position": 32},
    "window": {},
}
"""Every position encoding, small."""

DENSE = {
    "layout": "coupled",
    "model__role_embeddings": True,
    "model__compositional_embeddings": False,
}
"""The same recipe in a published layout, for encodings that see all earlier tokens."""
WRITTEN_WITH_ROPE = {"layout": "coupled", "positions__name": "rope"}


def recipe(**overrides: Any) -> Recipe:
    """The tiny recipe, with `section__field=value` laid on top; a layout replaces the program."""
    paths = _paths(overrides)
    return recipes.parse(with_overrides(TINY, paths), where="tiny")


def with_encoding(name: str, **overrides: Any) -> Recipe:
    """The tiny recipe with this encoding: with a layout, except for the window."""
    settings = {"name": name} | ENCODINGS[name]
    fields = {f"positions__{field}": value for field, value in settings.items()}
    written = {} if name == "window" or "program" in overrides else DENSE
    return recipe(**written | fields | overrides)


def dense(**overrides: Any) -> Recipe:
    """The tiny recipe in a published layout, with RoPE."""
    return recipe(**DENSE | {"positions__name": "rope"} | overrides)


def layout_for(name: str) -> Layout:
    """The layout of the tiny recipe with this encoding."""
    return layout_of(with_encoding(name))


def overrides(**changes: Any) -> dict[str, Any]:
    """The tiny recipe as overrides of a shipped one, but for fields that would not be read."""
    flat = {
        f"{section}.{field}": value
        for section, fields in TINY.items()
        if isinstance(fields, dict)
        for field, value in fields.items()
    }
    paths = _paths(changes)
    unread = {"layout": "training.problems", "task.values": "task.digits"}
    for path in unread.keys() & paths.keys():
        del flat[unread[path]]
    return flat | paths


def _paths(changes: dict[str, Any]) -> dict[str, Any]:
    paths = {path.replace("__", "."): value for path, value in changes.items()}
    return {"program": []} | paths if "layout" in paths else paths


def drawn(of: Recipe, layout: Layout, seed: int = 0) -> Transformer:
    """A model with its random weights."""
    return Transformer.init(of.model, of.positions, layout, key=jax.random.key(seed))


def ints(digits: int) -> st.SearchStrategy[int]:
    """Whole numbers whose digit count is uniform in 1..digits, rather than their size."""
    return st.integers(1, digits).flatmap(
        lambda count: st.integers(0 if count == 1 else 10 ** (count - 1), 10**count - 1)
    )


MODULAR = ("+ mod 97", "- mod 7", "* mod 251")
"""Some operations modulo a number: no listing has them."""

ON_DEVICE = [*(symbol for symbol, one in OPERATIONS.items() if one.on_device), *MODULAR]
"""Operations with arithmetic and special cases on the device."""

MOST = 4
"""Operands of problems that may have any number of them."""


def problems(operator: str, digits: int, most: int = MOST) -> st.SearchStrategy[Problem]:
    """Problems of one operation, of as few operands as it takes up to `most`."""
    operation = OPERATIONS[operator]
    counts = st.integers(operation.least, operation.most or most)
    operands = counts.flatmap(lambda count: st.tuples(*[ints(digits)] * count))
    answered = operands.filter(lambda values: operation.refuse(values) is None)
    return answered.map(lambda values: Problem(operator, values))


def batches(
    size: int, digits: int, operator: str = "+", most: int = 2
) -> st.SearchStrategy[list[Problem]]:
    return st.lists(problems(operator, digits, most), min_size=size, max_size=size)


def random_sums(count: int, digits: int, seed: int = 0) -> list[Problem]:
    rng = np.random.default_rng(seed)

    def value() -> int:
        return int("".join(map(str, rng.integers(0, 10, rng.integers(1, digits + 1)))))

    return [Problem("+", (value(), value())) for _ in range(count)]


def numbers(problems: Sequence[Problem], width: int, operands: int | None = None) -> NumberBatch:
    """Operands as digit arrays, by way of Python's own `str`; absent ones have length 0."""
    count = operands or max(len(problem.operands) for problem in problems)
    texts = [[str(value) for value in problem.operands] for problem in problems]
    texts = [[*line, *[""] * (count - len(line))] for line in texts]
    rows = [[list(map(int, text[::-1].ljust(width, "0"))) for text in line] for line in texts]
    lengths = [[len(text) for text in line] for line in texts]
    return NumberBatch(jnp.array(rows, jnp.int32), jnp.array(lengths, jnp.int32))


def text(layout: Layout, problems: Sequence[Problem], slots: int) -> Text:
    """Written problems as a batch, by way of the layout's plain Python."""
    return batch([layout.tokens_of(problem) for problem in problems], slots)


def batch(texts: Sequence[tuple[list[int], int]], slots: int) -> Text:
    """Texts, and how many tokens of each are the prompt's, in rows of equal length."""
    tokens = np.zeros((len(texts), slots), np.int32)
    for row, (line, _) in zip(tokens, texts, strict=True):
        row[: len(line)] = line
    prompts, lengths = [prompt for _, prompt in texts], [len(line) for line, _ in texts]
    return Text(*(jnp.asarray(part, jnp.int32) for part in (tokens, prompts, lengths)))


def any_texts(layout: Layout) -> np.ndarray:
    """Tokens in random order, and written problems, of which some tokens are changed."""
    rng = np.random.default_rng(len(layout.name))
    tokens = rng.integers(0, len(layout.characters), (24, 48))
    for row in tokens[8:]:
        operator = layout.operators[rng.integers(len(layout.operators))]
        count = 1 if operator in ("copy", "reverse") else 2
        problem = Problem(operator, tuple(map(int, rng.integers(1, 1000, count))))
        line = layout.encode(layout.write(problem))[: len(row)]
        row[: len(line)] = line
    changed = rng.random((8, 48)) < 0.1
    tokens[16:][changed] = rng.integers(0, len(layout.characters), changed.sum())
    return tokens.astype(np.int32)


def every_index(of: Text) -> jax.Array:
    """Queries at all tokens."""
    return jnp.broadcast_to(jnp.arange(of.tokens.shape[1]), of.tokens.shape)


def bounds(
    layout: Layout, digits: int, operator: str | None = None, operands: int | None = None
) -> ShapeBounds:
    """Room for operands of so many digits each, by default for the layout's first operator."""
    operator = operator or layout.operators[0]
    return layout.bounds(operator, (digits,) * (operands or OPERATIONS[operator].least))


def assert_close(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    """Require equal arrays up to rounding, relative to the largest number of each.

    For what two compiled programs calculate: XLA chooses kernels by shape and by processor, and
    they add in different orders. Only runs of one program on one machine agree to the bit.
    """
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        actual, desired = np.asarray(one), np.asarray(other)
        if np.issubdtype(desired.dtype, np.inexact):
            largest = np.abs(desired).max(initial=0.0, where=np.isfinite(desired))
            np.testing.assert_allclose(actual, desired, rtol=0, atol=tolerance * largest)
        else:
            np.testing.assert_array_equal(actual, desired)


def same(first: Any, second: Any) -> bool:
    """Whether two trees hold the same arrays, bit for bit: two runs of one compiled program."""
    left, right = jax.tree.leaves(first), jax.tree.leaves(second)
    return len(left) == len(right) and all(
        a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
        for a, b in zip(map(np.asarray, left), map(np.asarray, right), strict=True)
    )
