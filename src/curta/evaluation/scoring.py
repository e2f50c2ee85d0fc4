"""Exact match: by one teacher-forced pass, or by looking windows up.

A greedy answer is right exactly if every scored token is the most likely one after the true tokens
before it, so one pass decides without generating. A model with one attention layer under a window
is a function of the window: a million problems for all members need one pass over their distinct
windows, and lookups.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import zip_longest
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Bool, Float, Int
from optax import softmax_cross_entropy_with_integer_labels

from curta.config.errors import UserError, shortened
from curta.evaluation.statistics import round_share
from curta.layouts import Layout, ShapeBounds, Text, TokenPositions
from curta.layouts.base import scored_batch
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer, logits_of_windows
from curta.problems.problem import Problem, answer_text, widths
from curta.programs.machine.recording import (
    RecordedWindows,
    Recording,
    WindowIndex,
    WindowTable,
    distinct,
    recorded_windows,
)
from curta.training import processes
from curta.training.records import padded_texts
from curta.training.trainer import mesh_for, shard
from curta.training.windows import WindowRows, WindowTargets

CHARACTERS = 60
"""Most characters of a problem, or of an answer, in an error message."""

TOGETHER = 1 << 20
"""Tokens of texts that are looked up at once, approximately."""

BUDGET = 1 << 17
"""Query-key pairs in one pass: more do not fit into the processor's caches.

200 problems of 1,000 digits took 2.4 s with four times as many, and 0.9 s with these.
"""

BLOCK = 4096
"""Longest completion that is scored in one piece; longer ones need no more memory."""

BLOCKS = (64, 4096)
"""Windows of one pass: few sizes, so that few programs are compiled."""


class WindowOutputs(NamedTuple):
    """The next tokens of all members after windows, with losses and margins."""

    token: Int[np.ndarray, "members windows"]
    """The most likely next token."""
    loss: Float[np.ndarray, "members windows"]
    """Cross entropy of the right token, in nats."""
    margin: Float[np.ndarray, "members windows"]
    """The right token's logit minus the largest other logit."""


def outputs_after(stacked: Transformer, rows: WindowRows, targets: WindowTargets) -> WindowOutputs:
    """Compute all members on all windows, in blocks.

    Logits 5, 3, 4 with the first right: token 0, margin 1, loss ln(1 + e^-2 + e^-1).
    """
    return WindowOutputs(*in_blocks(partial(_outputs, stacked), rows, targets, BLOCKS))


def in_blocks(
    call: Callable[[Array, Array], tuple[Array, ...]],
    rows: WindowRows,
    targets: WindowTargets,
    sizes: Sequence[int],
) -> list[np.ndarray]:
    """Return a call's outputs for windows, as arrays (..., windows), in blocks of a few sizes.

    5,000 windows in blocks of 64 or 4,096: one of 4,096, and one of 4,096 that is padded.
    """
    blocks, start = [], 0
    while start < len(rows):
        size = next((size for size in sizes if size >= len(rows) - start), sizes[-1])
        block, goals = rows[start : start + size], targets[start : start + size]
        spare = size - len(block)
        outputs = call(
            jnp.asarray(np.pad(block, ((0, spare), (0, 0)))), jnp.asarray(np.pad(goals, (0, spare)))
        )
        blocks.append([np.asarray(column)[..., : len(block)] for column in outputs])
        start += size
    return [np.concatenate(column, axis=-1) for column in zip(*blocks, strict=True)]


@jax.jit
def _outputs(
    stacked: Transformer, rows: Int[Array, "windows cells"], targets: Int[Array, " windows"]
) -> tuple[Array, Array, Array]:
    def member_outputs(model: Transformer) -> tuple[Array, Array, Array]:
        logits = logits_of_windows(model, rows)
        right = jnp.take_along_axis(logits, targets[:, None], axis=1)[:, 0]
        others = jnp.where(jnp.arange(logits.shape[1])[None] == targets[:, None], -jnp.inf, logits)
        loss = jax.nn.logsumexp(logits, axis=1) - right
        return jnp.argmax(logits, axis=1), loss, right - jnp.max(others, axis=1)

    return jax.lax.map(member_outputs, stacked)


class Memo:
    """The windows so far, and each member's next token after them."""

    def __init__(self, stacked: Transformer, members: int, cells: int) -> None:
        self.stacked, self.index, self.table = stacked, WindowIndex(cells), WindowTable(cells)
        self.token = np.zeros((members, 0), np.int32)
        """The next tokens after the windows of `index`."""
        self.true = WindowOutputs(self.token, *np.zeros((2, members, 0), np.float32))
        """What members make of the windows of `table`, those of true texts."""
        self.examples = dict[int, Problem]()
        """The first problem with each window that `enter_true` entered, by its number."""

    def tokens(
        self, rows: Int[np.ndarray, "queries cells"], member: int | Int[np.ndarray, " queries"]
    ) -> Int[np.ndarray, " queries"]:
        """Return the next token of a member, or of each window's own member.

        Unknown windows are computed, all at once.
        """
        fresh = rows[self.index.find(rows) < 0]
        if len(fresh):
            fresh = fresh[distinct(fresh)[0]]
            targets = np.zeros(len(fresh), np.int32)  # only for losses, which are not needed
            self._enter(fresh, outputs_after(self.stacked, fresh, targets).token)
        return self.token[member, self.index.find(rows)]

    def enter_true(
        self, windows: RecordedWindows, problems: Sequence[Problem]
    ) -> Int[np.ndarray, " queries"]:
        """Enter the windows of true texts, those of some problems, and return their numbers.

        Raises UserError if any window is followed by two tokens.
        """
        before, number = len(self.table), self.table.add(windows)
        if self.table.conflicts:
            raise UserError(
                "at these sizes two tokens follow one window: `curta check` shows which"
            )
        # New windows are the last; `first` is where each occurs first.
        entered, first = np.unique(number, return_index=True)
        texts = windows.text[first].tolist()
        self.examples |= {
            n: problems[text]
            for n, text in zip(entered.tolist(), texts, strict=True)
            if n >= before
        }
        return number

    def true_outputs(self) -> WindowOutputs:
        """Return what members make of true windows; those entered since the last call are new."""
        count = self.true.token.shape[1]
        if count < len(self.table):
            rows = self.table.rows[count:]
            outputs = outputs_after(self.stacked, rows, self.table.targets[count:])
            pairs = zip(self.true, outputs, strict=True)
            self.true = WindowOutputs(*(np.concatenate(pair, axis=1) for pair in pairs))
            fresh = self.index.find(rows) < 0
            self._enter(rows[fresh], outputs.token[:, fresh])
        return self.true

    def _enter(self, rows: WindowRows, token: np.ndarray) -> None:
        self.index.enter(rows)
        self.token = np.concatenate([self.token, token], axis=1)


@dataclass(frozen=True, eq=False)
class Models:
    """Trained members of one run, stacked along a leading axis."""

    stacked: Transformer
    layout: Layout
    members: int
    shared: bool = False
    """Whether all processes score the same problems together."""
    seeds: tuple[int, ...] = ()
    """The members' seeds, which determine their training problems; empty if unknown."""

    @cached_property
    def memo(self) -> Memo | None:
        """The next tokens after windows, for models that see only a window; else None."""
        if not isinstance(self.stacked.positions, WindowEncoding):
            return None
        return Memo(self.stacked, self.members, self.stacked.positions.cells)

    def mesh(self, batch: int) -> Mesh:
        """Return the devices that score a batch of texts.

        These are the devices of all processes if each gets a share, else this process's own.
        """
        whole = mesh_for(self.members, batch)
        if self.shared and processes.processes_of(whole) == jax.process_count():
            return whole
        return mesh_for(self.members, batch, jax.local_devices())

    def member(self, number: int) -> Transformer:
        return jax.tree.map(lambda leaf: leaf[number], self.stacked)

    def with_recurrences(self, num_recurrences: int) -> "Models":
        """Return the same members with another number of recurrences."""
        changed = jax.vmap(lambda model: model.with_recurrences(num_recurrences))(self.stacked)
        return replace(self, stacked=changed)

    def only(self, *numbers: int) -> "Models":
        """Return some members, stacked."""
        rows = np.array(numbers)
        stacked = jax.tree.map(lambda leaf: leaf[rows], self.stacked)
        seeds = tuple(self.seeds[number] for number in numbers) if self.seeds else ()
        return replace(self, stacked=stacked, members=len(rows), seeds=seeds)


class Scores(NamedTuple):
    """The result of one teacher-forced pass for each problem."""

    hits: Int[np.ndarray, "members problems"]
    """Tokens of the completion that are the most likely ones."""
    losses: Float[np.ndarray, "members problems"]
    """Cross entropy in nats, summed over the scored tokens."""
    tokens: Int[np.ndarray, " problems"]
    """The number of tokens in the completion."""
    scored: Int[np.ndarray, " problems"]
    """The number of scored tokens: those of the completion, unless another loss was chosen."""

    @property
    def exact_match(self) -> Bool[np.ndarray, "members problems"]:
        """Whether the whole completion is right: 3 hits of 3 tokens are, 2 are not."""
        return self.hits == self.tokens

    @property
    def token_accuracy(self) -> Float[np.ndarray, " members"]:
        """The share of correct tokens in all completions."""
        return self.hits.sum(axis=1) / self.tokens.sum()

    @property
    def loss(self) -> Float[np.ndarray, " members"]:
        """Mean cross entropy of a scored token."""
        return self.losses.sum(axis=1) / self.scored.sum()

    def part(self, problems: slice) -> "Scores":
        """Return the scores of some problems."""
        return Scores(*(column[..., problems] for column in self))


def exact_match(
    models: Models, problems: Sequence[Problem], bounds: ShapeBounds | None = None
) -> Bool[np.ndarray, "members problems"]:
    """Return whether each member answers each problem without an error; see `scores`."""
    return scores(models, problems, bounds).exact_match


def own_exact_match(
    models: Models, each: Sequence[Sequence[Problem]], bounds: ShapeBounds | None
) -> Bool[np.ndarray, "members problems"]:
    """Return whether each member answers its own problems; all have as many, or share one list.

    Windowed members look up all windows at once; other members are evaluated one by one.
    """
    if len(each) == 1:
        return exact_match(models, each[0], bounds)
    if models.memo is None:
        matches = [exact_match(models.only(m), mine, bounds) for m, mine in enumerate(each)]
        return np.concatenate(matches)
    every = exact_match(models, [problem for mine in each for problem in mine], bounds)
    by_owner = every.reshape(len(each), len(each), -1)  # members, whose problems, problems
    own_part: Bool[np.ndarray, "members problems"] = np.einsum("mmp->mp", by_owner)
    return own_part


def watched_exact_match(
    models: Models, curves: dict[str, list[list[Problem]]]
) -> dict[str, list[float]]:
    """Return exact match of every member, for each curve."""
    shares = {}
    for name, each in curves.items():
        bounds = room_for(models, [problem for mine in each for problem in mine])
        shares[name] = rounded(own_exact_match(models, each, bounds).mean(axis=1))
    return shares


def scores(
    models: Models,
    problems: Sequence[Problem],
    bounds: ShapeBounds | None = None,
    loss: str = "answer",
) -> Scores:
    """Return every member's scores on problems of one operation; `bounds` may be any that fit.

    `loss` is a `training.loss`: it determines which tokens are scored, not which must be right.
    """
    if (memo := models.memo) is not None:
        widest = max(problems, key=lambda problem: sum(map(int.bit_length, problem.operands)))
        size = max(1, TOGETHER // len(models.layout.tokens_of(widest)[0]))
        score = partial(_looked_up, models, memo)
    else:
        bounds = bounds or room_for(models, problems)
        assert bounds is not None
        size = batch_size(models.stacked, bounds, len(problems))
        models = replace(models, stacked=shard(models.stacked, models.mesh(size)))
        score = partial(_scored, models, bounds=bounds, size=size, loss=loss)
    pieces = [score(problems[start : start + size]) for start in range(0, len(problems), size)]
    return Scores(*(np.concatenate(column, axis=-1) for column in zip(*pieces, strict=True)))


def _looked_up(models: Models, memo: Memo, problems: Sequence[Problem]) -> Scores:
    """Return `scores` from distinct windows, of which each member's next token is known.

    Two texts with windows a, b and b: a member that is right on b alone has 1 and 1 hits.
    """
    layout, count = models.layout, len(problems)
    recording = Recording.of([right_text(layout, problem) for problem in problems])
    windows = recorded_windows(layout.machine, recording, layout.windows)
    number = memo.enter_true(windows, problems)
    outputs = memo.true_outputs()
    right = outputs.token == memo.table.targets
    hits, losses = (
        np.stack([np.bincount(windows.text, member[number], count) for member in column])
        for column in (right.astype(np.float64), outputs.loss)
    )
    tokens = np.bincount(windows.text, minlength=count)
    return Scores(hits.astype(np.int64), losses, tokens, tokens)


def _scored(
    models: Models, problems: Sequence[Problem], bounds: ShapeBounds, size: int, loss: str
) -> Scores:
    texts = [right_text(models.layout, problem) for problem in problems]
    spare = [([0], 1)] * (size - len(problems))
    batch = padded_texts([*texts, *spare], bounds.total, max(0, models.layout.end))
    mesh = models.mesh(size)
    score = compiled(models.layout, bounds, mesh, loss)
    outputs = processes.fetch(score(models.stacked, shard(batch, mesh, "batch")))
    hits, losses = (column[:, : len(problems)] for column in outputs)
    tokens = np.array([len(tokens) - prompt for tokens, prompt in texts])
    scored = {
        "all": np.array([len(tokens) - 1 for tokens, _ in texts]),
        "padded": np.full(len(texts), bounds.total - 1),
    }
    return Scores(hits, losses, tokens, scored.get(loss, tokens))


def right_text(layout: Layout, problem: Problem) -> tuple[list[int], int]:
    """Return the text of a problem, and the number of tokens in its prompt.

    Raises UserError if a program does not write the right answer.
    """
    tokens, prompt = layout.tokens_of(problem)
    by_program = layout.machine is not None
    if by_program and (answer := layout.answer(problem, tokens[prompt:])) != problem.truth:
        wrong = "no answer" if answer is None else answer_text(answer, problem.answer_base)
        texts = (wrong, str(problem), problem.truth_text)
        wrong, question, truth = (shortened(text, CHARACTERS) for text in texts)
        raise UserError(
            f"the program writes {wrong} for {question}, and the truth is {truth}:"
            " `curta check` shows where"
        )
    return tokens, prompt


def rounded(shares: Float[np.ndarray, " members"]) -> list[float]:
    """Round to six digits, which distinguish up to 500,000 problems; see `round_share`."""
    return [round_share(share) for share in shares.tolist()]


def room_for(models: Models, problems: Sequence[Problem]) -> ShapeBounds | None:
    """Return bounds on all texts of these problems; UserError without positions for them.

    Windowed models need none: a text is never laid out as a whole. Where texts grow no faster than
    their operands, sizes are rounded up to a few, so that few programs are compiled.
    """
    if models.memo is not None:
        return None
    operator, layout = problems[0].operator, models.layout
    bounds = layout.bounds_of(problems)
    jax.tree.map(lambda leaf: leaf[0], models.stacked.positions).check(bounds)
    if not layout.linear:
        return bounds
    widest = [max(column) for column in zip_longest(*map(widths, problems), fillvalue=0)]
    longest = layout.longest or max(map(bucket, widest))
    return layout.bounds(operator, [min(bucket(width), longest) for width in widest])


def bucket(digits: int) -> int:
    """Round `digits` up to one of a few sizes, so that few programs are compiled."""
    size = 16
    while size < digits:
        size *= 8
    return size


# One pass over whole true texts, on the device.


def batch_size(stacked: Transformer, bounds: ShapeBounds, count: int) -> int:
    """Return the texts of one pass: a power of two that fits the budget and is not too large."""
    pairs = min(bounds.completion, BLOCK) * stacked.positions.keys_per_query(bounds)
    fits = 1 << int(math.log2(max(1, BUDGET // pairs)))
    return min(fits, 1 << (count - 1).bit_length())


@lru_cache(maxsize=64)
def compiled(
    layout: Layout, bounds: ShapeBounds, mesh: Mesh, loss: str = "answer"
) -> Callable[[Transformer, Text], tuple[Array, Array]]:
    """Return the pass of stacked members over a batch, sharded over members and texts."""

    def local(models: Transformer, text: Text) -> tuple[Array, Array]:
        where = layout.where(text)
        score = partial(_pass, text=text, where=where, bounds=bounds, loss=loss)
        return jax.lax.map(score, models)

    member, batch = PartitionSpec("member"), PartitionSpec("batch")
    both = PartitionSpec("member", "batch")
    sharded = jax.shard_map(
        local, mesh=mesh, in_specs=(member, batch), out_specs=(both, both), check_vma=False
    )
    return jax.jit(sharded)


def _pass(
    model: Transformer, text: Text, where: TokenPositions, bounds: ShapeBounds, loss: str
) -> tuple[Int[Array, " batch"], Float[Array, " batch"]]:
    """Return the number of most likely tokens among judged ones, and the sum of scored losses.

    Long completions are processed in blocks.
    """
    batch = scored_batch(loss, text, where, bounds, causal=model.config.causal)
    length = batch.queries.shape[1]
    blocks = -(-length // BLOCK)
    size = -(-length // blocks)
    spare = blocks * size - length

    def split(array: Array) -> Array:
        padded = jnp.pad(array, ((0, 0), (0, spare)))
        return jnp.moveaxis(padded.reshape(len(array), blocks, size), 1, 0)

    def score(block: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
        queries, goals, scored, judged = block
        logits = model(batch.tokens, batch.where, queries, bounds)
        losses = softmax_cross_entropy_with_integer_labels(logits, goals)
        hits = jnp.sum((logits.argmax(-1) == goals) & judged, axis=1)
        return hits, jnp.sum(jnp.where(scored, losses, 0.0), axis=1)

    arrays = (batch.queries, batch.goals, batch.scored, batch.judged)
    if blocks == 1:
        return score(arrays)
    hits, losses = jax.lax.map(score, jax.tree.map(split, arrays))
    return jnp.sum(hits, axis=0), jnp.sum(losses, axis=0)
