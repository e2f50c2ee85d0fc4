"""Which waves the vectors of residues, and the logits, are made of: modular addition by rotations.

A function of the residues 0 to p - 1 is a sum of a constant and of the cosine and the sine of each
frequency k = 1, 2, ... up to p / 2: cos(2 pi k a / p) and sin(2 pi k a / p). A model that turns by
an angle for each operand needs few of them. Here it is said what share each frequency has,

of the embedding   in the squared norm of the residues' vectors less their mean, at the first and at
                   the last moment that is kept: in the run's history, else in its checkpoints
of the logits      in their variance over all problems. It counts what depends on both operands, or
                   one, by waves of frequency k alone; waves of two frequencies have the rest, so
                   these shares need not add up to 1

A constant that is added to all logits of a problem changes no chance, so it is taken off.
Source: Nanda et al., Progress measures for grokking via mechanistic interpretability, arXiv
2301.05217. There the logits are those of one model, and the same is asked of its MLP neurons.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from curta.config.task import Task
from curta.probes import settings
from curta.probes.base import Finding, Probe, Row
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.probes.tokens import checkpointed, remembered
from curta.problems import tasks
from curta.problems.problem import Problem

TINY = 1e-12
"""What a sum of squares is divided by at least: where nothing varies, all shares are zero."""

COLUMNS = ("member", "of", "step", "rank", "frequency", "cos", "sin", "share", "together")

Shares = Float[np.ndarray, " frequencies"]


class Waves(NamedTuple):
    """Of each frequency from 1 on, the norms of its cosine and of its sine, and its share.

    Of logits, which are waves of two operands, there is the share alone.
    """

    cos: Shares | None
    sin: Shares | None
    share: Shares


class Part(NamedTuple):
    """What was taken apart: its name, the step, and what each member has of each frequency."""

    of: str
    step: int
    members: list[Waves]

    @property
    def title(self) -> str:
        return f"{self.of} at step {self.step:,}"


@dataclass(frozen=True)
class Fourier(settings.Fourier, Probe):
    name: ClassVar[str] = "fourier"
    summary: ClassVar[str] = "the frequencies of the vectors of residues, and of the logits"
    scope: ClassVar[str] = "sums and differences modulo a number"

    @classmethod
    def about(cls, task: Task) -> bool:
        asked = tasks.operation(task)
        return asked.modulus is not None and asked.mark in "+-"

    def examine(self, subject: Subject) -> Finding:
        steps, tables = _embeddings(subject)
        every = [[of_vectors(one) for one in table] for table in tables]
        parts = [Part("embedding", steps[n], every[n]) for n in (0, -1)]
        parts += [_logits(subject, task) for task in subject.tasks]
        panels = [_stems(part, subject.members) for part in parts]
        if len(steps) > 2:
            panels.insert(2, self._over_training(steps, every))
        shows = (
            "The share of each frequency in the vectors of residues, before training and now, and"
            f" in the logits; between them the share of the {self.top} largest, over training."
        )
        rows = [row for part in parts for row in self._rows(part, subject.members)]
        last = min(self.top, len(every[0][0].share))
        notes = tuple(_note(row) for row in rows if row["rank"] == last)
        return Finding(COLUMNS, rows, {"shows": shows, "panels": panels}, notes)

    def _rows(self, part: Part, members: Sequence[int]) -> list[Row]:
        """The largest frequencies of each member, the largest first."""
        return [
            {"member": member, "of": part.of, "step": part.step, "rank": rank}
            | _row(found, largest(found.share, rank))
            for member, found in zip(members, part.members, strict=True)
            for rank in range(1, min(self.top, len(found.share)) + 1)
        ]

    def _over_training(self, steps: Sequence[int], every: list[list[Waves]]) -> Panel:
        count = len(every[0])
        curves: list[list[float | None]] = [
            [_rounded(largest(found[n].share, self.top).together) for found in every]
            for n in range(count)
        ]
        return {
            "form": "lines",
            "title": f"share of the {self.top} largest frequencies in the embedding",
            "measure": "share",
            "across": "step",
            "points": [f"{step:,}" for step in steps],
            "curves": curves,
        }


class Largest(NamedTuple):
    """The frequency that is the so-many-th largest, and the share of all down to it."""

    frequency: int
    together: float


def largest(share: Shares, rank: int) -> Largest:
    """The largest frequency for rank 1, and so on.

    >>> largest(np.array([0.25, 0.25, 0.5]), 1), largest(np.array([0.25, 0.25, 0.5]), 2)
    (Largest(frequency=3, together=0.5), Largest(frequency=1, together=0.75))
    """
    order = np.argsort(-share, kind="stable")[:rank]
    return Largest(int(order[-1]) + 1, float(share[order].sum()))


def of_vectors(table: Float[np.ndarray, "residues width"]) -> Waves:
    """The waves of a vector for each residue; shares are of the squared norm less the mean.

    The vectors 3, 0, -3, 0 are three times a cosine of one turn in four.

    >>> found = of_vectors(np.array([[3.0], [0.0], [-3.0], [0.0]]))
    >>> found.cos.round(2).tolist(), found.sin.round(2).tolist(), found.share.round(2).tolist()
    ([4.24, 0.0], [0.0, 0.0], [1.0, 0.0])
    """
    found = np.fft.rfft(table, axis=0, norm="ortho")[1:]
    twice = np.full(len(found), 2.0)
    if len(table) % 2 == 0:
        twice[-1] = 1.0  # the last frequency of an even number is its own mirror image
    cos, sin = (np.sqrt(twice * (part**2).sum(axis=1)) for part in (found.real, found.imag))
    squared = cos**2 + sin**2
    return Waves(cos, sin, squared / max(squared.sum(), TINY))


def of_logits(logits: Float[np.ndarray, "residues residues answers"]) -> Shares:
    """The share of each frequency in the variance of logits, by first and second operand.

    Where they are cos(2 pi 3 (a + b - c) / p), for an answer c, it is 1 for frequency 3.
    """
    free = logits - logits.mean(axis=-1, keepdims=True)
    power = (np.abs(np.fft.fft2(free, axes=(0, 1))) ** 2).sum(axis=-1)
    power[0, 0] = 0.0
    residues = np.arange(len(power))
    fold = np.minimum(residues, len(power) - residues)
    first, second = fold[:, None], fold[None, :]
    alone = (first == second) | (first == 0) | (second == 0)
    found = np.bincount(
        np.maximum(first, second)[alone], weights=power[alone], minlength=len(power) // 2 + 1
    )
    return found[1:] / max(power.sum(), TINY)


def _embeddings(
    subject: Subject,
) -> tuple[list[int], Float[np.ndarray, "moments members tokens width"]]:
    """Steps, and the vectors of the residues at them."""
    drawn = subject.layout.digits
    return remembered(subject, drawn) or checkpointed(subject, drawn)


def _modulus(task: Task) -> int:
    return tasks.operation(task).modulus or 0


def _logits(subject: Subject, task: Task) -> Part:
    """Those of the answer's residues after every problem, at the newest checkpoint."""
    count = _modulus(task)
    every = [Problem(task.operator, (a, b)) for a in range(count) for b in range(count)]
    texts = [subject.layout.tokens_of(problem) for problem in every]
    last = texts[0][1] - 1
    found = subject.logits(texts, subject.bounds(every))[:, :, last, subject.layout.digits]
    shares = [of_logits(one.reshape(count, count, -1)) for one in found.astype(np.float64)]
    return Part(
        f"logits of {task.operator}", subject.run.step, [Waves(None, None, s) for s in shares]
    )


def _stems(part: Part, members: Sequence[int]) -> Panel:
    count = len(part.members[0].share)
    return {
        "form": "stems",
        "title": part.title,
        "across": "frequency",
        "points": [str(frequency) for frequency in range(1, count + 1)],
        "names": [f"member {member}" for member in members],
        "curves": [list(map(_rounded, found.share)) for found in part.members],
    }


def _row(found: Waves, at: Largest) -> Row:
    place = at.frequency - 1
    cos, sin = (None if part is None else _rounded(part[place]) for part in found[:2])
    share, together = _rounded(found.share[place]), _rounded(at.together)
    return {"frequency": at.frequency, "cos": cos, "sin": sin, "share": share, "together": together}


def _note(row: Row) -> str:
    return (
        f"{row['of']} at step {row['step']:,}, member {row['member']}:"
        f" {row['together']:.0%} in {row['rank']} frequencies"
    )


def _rounded(value: float) -> float:
    return round(float(value), 6)
