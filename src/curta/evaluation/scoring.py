"""Exact match: by one teacher-forced pass, or by looking windows up.

A greedy answer is right just when every scored token is the most likely one after the true tokens
before it, so one pass decides without generating.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float, Int

from curta.config.errors import UserError, shortened
from curta.evaluation.generation import bucket
from curta.evaluation.memo import Memo
from curta.evaluation.statistics import six
from curta.evaluation.teacher_forcing import batch_size, compiled
from curta.layouts import Layout, ShapeBounds
from curta.layouts.program import ProgramLayout
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer
from curta.problems.problem import Problem, answer_text, widths
from curta.programs.machine.recall import Recall
from curta.training import processes
from curta.training.records import padded_texts
from curta.training.trainer import mesh_for, shard

LETTERS = 60
"""Letters of a problem, or of an answer, in a complaint."""

TOGETHER = 1 << 20
"""Tokens of texts that are looked up at once."""


@dataclass(frozen=True, eq=False)
class Models:
    """Trained members of one run, stacked along a leading axis."""

    stacked: Transformer
    layout: Layout
    members: int
    shared: bool = False
    """Whether all processes score the same problems of them, together."""
    seeds: tuple[int, ...] = ()
    """The members' seeds, by which it is known what each was trained on; none: it is not."""

    @cached_property
    def memo(self) -> Memo | None:
        """What they write after windows, if that is all that they see."""
        if not isinstance(self.stacked.positions, WindowEncoding):
            return None
        return Memo(self.stacked, self.members, self.stacked.positions.cells)

    def mesh(self, batch: int) -> Mesh:
        """The devices that score a batch of texts: this process's own, or where that is shared
        those of all processes, if each has a part then."""
        whole = mesh_for(self.members, batch)
        if self.shared and processes.processes_of(whole) == jax.process_count():
            return whole
        return mesh_for(self.members, batch, jax.local_devices())

    @cached_property
    def recall(self) -> Recall:
        """What programs write after windows, for models that see nothing else."""
        assert isinstance(self.layout, ProgramLayout)
        return Recall(self.layout.machine, self.layout.windows)

    def member(self, number: int) -> Transformer:
        return jax.tree.map(lambda leaf: leaf[number], self.stacked)

    def with_weights(self, stacked: Transformer) -> "Models":
        """The same members at another step; what programs write stays known."""
        found = replace(self, stacked=stacked)
        if "recall" in vars(self):
            vars(found)["recall"] = self.recall
        return found

    def with_recurrences(self, num_recurrences: int) -> "Models":
        """The same members, run over so many times."""
        changed = jax.vmap(lambda one: one.with_recurrences(num_recurrences))(self.stacked)
        return replace(self, stacked=changed)

    def only(self, number: int) -> "Models":
        """One member alone, still stacked."""
        return self.chosen([number])

    def chosen(self, numbers: Sequence[int]) -> "Models":
        """Some members, stacked."""
        rows = np.array(numbers)
        stacked = jax.tree.map(lambda leaf: leaf[rows], self.stacked)
        seeds = tuple(self.seeds[number] for number in numbers) if self.seeds else ()
        return replace(self, stacked=stacked, members=len(rows), seeds=seeds)


class Scores(NamedTuple):
    """What one teacher-forced pass says of each problem."""

    hits: Int[np.ndarray, "members problems"]
    """Tokens of the completion that are the most likely ones."""
    losses: Float[np.ndarray, "members problems"]
    """Cross entropy in nats, summed over the scored tokens."""
    tokens: Int[np.ndarray, " problems"]
    """How many tokens the completion has."""
    scored: Int[np.ndarray, " problems"]
    """How many tokens are scored: those of the completion, unless another loss was chosen."""

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
        """Those of some problems."""
        return Scores(*(column[..., problems] for column in self))


def exact_match(
    models: Models, problems: Sequence[Problem], bounds: ShapeBounds | None = None
) -> Bool[np.ndarray, "members problems"]:
    """Whether each member answers each problem without an error; see `scores`."""
    return scores(models, problems, bounds).exact_match


def scores(
    models: Models,
    problems: Sequence[Problem],
    bounds: ShapeBounds | None = None,
    loss: str = "answer",
) -> Scores:
    """Every member's scores; `bounds` may be one that fits. All problems are of one operation.

    `loss` is a `training.loss`: it says which tokens are scored, not which are judged.
    """
    if models.memo is not None:
        parts = [_looked_up(models, models.memo, part) for part in _parts(models, problems)]
        return _joined(parts)
    bounds = bounds or bounds_of(models, problems)
    size = batch_size(models.stacked, bounds, len(problems))
    models = replace(models, stacked=shard(models.stacked, models.mesh(size)))
    starts = range(0, len(problems), size)
    cut = (problems[start : start + size] for start in starts)
    return _joined([_scored(models, part, bounds, size, loss) for part in cut])


def _joined(parts: Sequence[Scores]) -> Scores:
    return Scores(*(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True)))


def _parts(models: Models, problems: Sequence[Problem]) -> list[Sequence[Problem]]:
    """Pieces of an evaluation set whose texts have TOGETHER tokens or somewhat more."""
    widest = max(problems, key=lambda problem: sum(map(int.bit_length, problem.operands)))
    size = max(1, TOGETHER // len(models.layout.tokens_of(widest)[0]))
    return [problems[start : start + size] for start in range(0, len(problems), size)]


def _looked_up(models: Models, memo: Memo, problems: Sequence[Problem]) -> Scores:
    """As `scores`, by distinct windows: what all members write after each is known.

    Two texts with windows a, b and b; a member that is right on b alone has 1 and 1 hits.
    """
    layout, table = models.layout, models.recall.table
    known = len(table)
    recalled = models.recall.of(
        [layout.prompt_tokens(problem) for problem in problems],
        lambda number: right_text(layout, problems[number]),
        lambda number, written: layout.answer(problems[number], written) == problems[number].truth,
    )
    if table.conflicts:
        raise UserError("at these sizes two tokens follow one window: `curta check` shows which")
    met, first = np.unique(recalled.window, return_index=True)
    new = met >= known
    where = zip(met[new].tolist(), recalled.text[first[new]].tolist(), strict=True)
    models.recall.met |= {window: problems[text] for window, text in where}
    number, count = memo.known(table.rows, table.targets), len(problems)
    right, loss = memo.token[:, number] == table.targets, memo.loss[:, number]
    hits, losses = (
        np.stack([np.bincount(recalled.text, one[recalled.window], count) for one in column])
        for column in (right.astype(np.float64), loss)
    )
    tokens = np.bincount(recalled.text, minlength=count)
    return Scores(hits.astype(np.int64), losses, tokens, tokens)


def _scored(
    models: Models, problems: Sequence[Problem], bounds: ShapeBounds, size: int, loss: str
) -> Scores:
    written = [right_text(models.layout, problem) for problem in problems]
    spare = [([0], 1)] * (size - len(problems))
    text = padded_texts([*written, *spare], bounds.total, max(0, models.layout.end))
    mesh = models.mesh(size)
    call = compiled(models.layout, bounds, mesh, loss)
    found = call(models.stacked, shard(text, mesh, "batch"))
    hits, losses = (part[:, : len(problems)] for part in processes.fetch(found))
    tokens = np.array([len(tokens) - prompt for tokens, prompt in written])
    whole = np.array([len(tokens) - 1 for tokens, _ in written])
    every = {"all": whole, "padded": np.full(len(written), bounds.total - 1)}
    return Scores(hits, losses, tokens, every.get(loss, tokens))


def right_text(layout: Layout, problem: Problem) -> tuple[list[int], int]:
    """The text of a problem, and how many of its tokens are the prompt's.

    Raises UserError if a program does not write the right answer.
    """
    tokens, prompt = layout.tokens_of(problem)
    if isinstance(layout, ProgramLayout):
        answer = layout.answer(problem, tokens[prompt:])
        if answer != problem.truth:
            base = problem.answer_base
            written = "no answer" if answer is None else answer_text(answer, base)
            texts = (written, str(problem), answer_text(problem.truth, base))
            written, asked, truth = (shortened(text, LETTERS) for text in texts)
            raise UserError(
                f"the program writes {written} for {asked}, and the truth is {truth}:"
                " `curta check` shows where"
            )
    return tokens, prompt


def rounded(shares: Float[np.ndarray, " members"]) -> list[float]:
    """To six digits, which tell how many are right of up to 500,000 problems; see `six`."""
    return [six(share) for share in shares.tolist()]


def room_for(models: Models, problems: Sequence[Problem]) -> ShapeBounds | None:
    """Room for all of these problems; UserError if the model has no positions for them.

    Models under a window need none: a text is never laid out as a whole.
    """
    return None if models.memo is not None else bounds_of(models, problems)


def bounds_of(models: Models, problems: Sequence[Problem]) -> ShapeBounds:
    """Where texts grow no faster than their operands, sizes are rounded up to a few, so that
    few programs are compiled."""
    operator, layout = problems[0].operator, models.layout
    check(models, layout.bounds_of(problems))
    if not layout.linear:
        return layout.bounds_of(problems)
    widest = [max(column) for column in zip_longest(*map(widths, problems), fillvalue=0)]
    longest = layout.longest or max(map(bucket, widest))
    return layout.bounds(operator, [min(bucket(width), longest) for width in widest])


def check(models: Models, bounds: ShapeBounds) -> None:
    """Raises UserError if the models have no positions for texts of this size."""
    jax.tree.map(lambda leaf: leaf[0], models.stacked.positions).check(bounds)
