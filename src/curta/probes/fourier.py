"""Which waves residues' vectors, neurons and logits are made of: modular addition by rotations.

A function of the residues 0 to p - 1 is a sum of a constant and of the cosine and the sine of each
frequency k = 1, 2, ... up to p / 2: cos(2 pi k a / p) and sin(2 pi k a / p). A model that turns by
an angle for each operand needs few of them. Here it is said what share each frequency has,

of the embedding   in the squared norm of the residues' vectors less their mean, at the first and at
                   the last moment that is kept: in the run's history, else in its checkpoints
of the logits      in their variance over all problems. It counts what depends on both operands, or
                   one, by waves of frequency k alone; waves of two frequencies have the rest, so
                   these shares need not add up to 1
of the neurons     of each MLP, where the answer is asked for: what share of them has at least
                   85 % of its variance over all problems in waves of frequency k alone

A constant that is added to all logits of a problem changes no chance, so it is taken off.
Source: Nanda et al., Progress measures for grokking via mechanistic interpretability, arXiv
2301.05217. There a neuron is fitted by products of two waves of one frequency, which have waves of
twice that frequency among them; here these belong to none.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from curta.config.task import Task
from curta.model.inspection import kind
from curta.probes import settings
from curta.probes.base import Finding, Probe, Row
from curta.probes.inside.answers import Digits
from curta.probes.inside.parts import named
from curta.probes.inside.question import Question
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.probes.tokens import checkpointed, remembered
from curta.problems import task_sizes
from curta.problems.problem import Problem

ENOUGH = 0.85
"""Share of a neuron's variance that makes it one of a single frequency, as in the source."""

TOGETHER = 1024
"""Problems whose values are held at all positions at once."""

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
    def examine(self, subject: Subject) -> Finding:
        steps, tables = _embeddings(subject)
        every = [[of_vectors(one) for one in table] for table in tables]
        parts = [Part("embedding", steps[n], every[n]) for n in (0, -1)]
        parts += [part for task in subject.tasks for part in _of_problems(subject, task)]
        panels = [_stems(part, subject.members) for part in parts]
        if len(steps) > 2:
            panels.insert(2, self._over_training(steps, every))
        shows = (
            "The share of each frequency in the vectors of residues, before training and now, and"
            f" in the logits; between them the share of the {self.top} largest, over training. Of"
            f" neurons, how many have {ENOUGH:.0%} of their variance in a frequency."
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
    found, whole = power(logits - logits.mean(axis=-1, keepdims=True))
    return found.sum(axis=1) / max(whole.sum(), TINY)


def of_neurons(inner: Float[np.ndarray, "residues residues neurons"]) -> Shares:
    """The share of neurons that have enough of their variance in each frequency.

    Of two neurons cos(2 pi 3 (a + b) / p) and cos(2 pi 3 a / p) + cos(2 pi 4 b / p), one of
    frequency 3 and one of none, it is 0.5 for frequency 3.
    """
    found, whole = power(inner)
    enough: Shares = (found >= ENOUGH * np.maximum(whole, TINY)).mean(axis=1)
    return enough


def power(
    values: Float[np.ndarray, "residues residues each"],
) -> tuple[Float[np.ndarray, "frequencies each"], Float[np.ndarray, " each"]]:
    """Of functions of two residues: squares in waves of each frequency alone, and in all waves."""
    found = np.abs(np.fft.fft2(values, axes=(0, 1))) ** 2
    found[0, 0] = 0.0
    residues = np.arange(len(found))
    fold = np.minimum(residues, len(found) - residues)
    first, second = np.meshgrid(fold, fold, indexing="ij")
    alone = (first == second) | (first == 0) | (second == 0)
    squares = np.zeros((len(found) // 2 + 1, found.shape[-1]))
    np.add.at(squares, np.maximum(first, second)[alone], found[alone])
    return squares[1:], found.sum(axis=(0, 1))


def _embeddings(
    subject: Subject,
) -> tuple[list[int], Float[np.ndarray, "moments members tokens width"]]:
    """Steps, and the vectors of the residues at them."""
    drawn = subject.layout.digits
    return remembered(subject, drawn) or checkpointed(subject, drawn)


def _modulus(task: Task) -> int:
    return task_sizes.operation(task).modulus or 0


def _of_problems(subject: Subject, task: Task) -> list[Part]:
    """Neurons and logits where the answer of every problem is asked for, newest checkpoint."""
    count = _modulus(task)
    every = [Problem(task.operator, (a, b)) for a in range(count) for b in range(count)]
    asked = Question(subject.load_models(), every)
    inner = [site for site in asked.shapes if kind(site) == "mlp.inner"]
    found = _before_answers(asked, [*inner, "logits"])
    logits = found["logits"][..., subject.layout.digits]
    return [
        *(_part(subject, named(site), of_neurons, found[site]) for site in inner),
        _part(subject, f"logits of {task.operator}", of_logits, logits),
    ]


def _before_answers(
    asked: Question, sites: Sequence[str]
) -> dict[str, Float[np.ndarray, "members problems each"]]:
    """The values of sites where answers are asked for: a decoder's at the end of the prompt."""
    (last,), parts = set(Digits.of(asked).query.tolist()), []
    for first in range(0, len(asked.problems), TOGETHER):
        rows = np.arange(first, min(first + TOGETHER, len(asked.problems)))
        values = asked.values(asked.whole.part(rows), sites)
        parts.append({site: values[site][:, :, last].astype(np.float64) for site in sites})
    return {site: np.concatenate([part[site] for part in parts], axis=1) for site in sites}


def _part(
    subject: Subject,
    name: str,
    shares: Callable[[np.ndarray], Shares],
    values: Float[np.ndarray, "members problems each"],
) -> Part:
    count = math.isqrt(values.shape[1])
    of_each = [shares(one.reshape(count, count, -1)) for one in values]
    return Part(name, subject.run.step, [Waves(None, None, found) for found in of_each])


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
