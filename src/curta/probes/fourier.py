"""Fourier analysis of modular addition: the frequencies in embeddings, neurons and logits.

A function of the residues 0 to p - 1 is a sum of a constant and, for each frequency k = 1, 2, ...
up to p / 2, of cos(2 pi k a / p) and sin(2 pi k a / p). A model that rotates by an angle for each
operand needs few frequencies. The probe reports the share of each frequency

in the embedding   of the squared norm of the residues' vectors less their mean, at the first and
                   last recorded step: of the run's history, else of its checkpoints
in the logits      of their variance over all problems. A frequency counts what depends on one or
                   both operands with frequency k alone; terms of two different frequencies have
                   the remainder, so these shares need not add up to 1
in the neurons     of each MLP where the answer is predicted: the share of neurons with at least
                   85 % of their variance over all problems in frequency k alone

A constant added to all logits of a problem changes no probability, so it is removed.
Source: Nanda et al., Progress measures for grokking via mechanistic interpretability, arXiv
2301.05217. There, neurons are fitted by products of two waves of one frequency, which contain
waves of twice that frequency; here, these belong to no frequency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float

from curta.probes.base import Finding, Probe, Row, option
from curta.probes.pictures import Panel
from curta.problems import task_sizes
from curta.problems.operations import operation_named
from curta.problems.problem import Problem

if TYPE_CHECKING:
    from curta.config.task import Task
    from curta.probes.subject import Subject

ENOUGH = 0.85
"""Share of a neuron's variance that assigns it to one frequency, as in the source."""

TINY = 1e-12
"""Least divisor of a sum of squares: where nothing varies, all shares are zero."""

FrequencyShares = Float[np.ndarray, " frequencies"]


Waves = dict[str, FrequencyShares]
"""For each frequency from 1 on its `share`, and the norms of its cosine and sine, `cos` and `sin`.

Logits, which depend on two operands, and neurons have only the share.
"""


@dataclass(frozen=True)
class Fourier(Probe):
    name: ClassVar[str] = "fourier"
    summary: ClassVar[str] = "the frequencies of the vectors of residues, of neurons and logits"
    scope: ClassVar[str] = "sums and differences modulo a number"

    top: int = option(5, "how many of the largest frequencies are reported")

    @classmethod
    def about(cls, task: Task) -> bool:
        operation = operation_named(task.operator)
        return operation.modulus is not None and operation.mark in "+-"

    def examine(self, subject: Subject) -> Finding:
        steps, tables = subject.vectors(subject.layout.digits)
        over_training = [[of_vectors(vectors) for vectors in table] for table in tables]
        spectra = [("embedding", steps[n], over_training[n]) for n in (0, -1)]
        for task in subject.tasks:
            of_task = of_problems(subject, task)
            spectra += [(part, subject.run.step, waves) for part, waves in of_task.items()]
        rows, panels = list[Row](), list[Panel]()
        for part, step, by_member in spectra:
            for member, waves in zip(subject.members, by_member, strict=True):
                order = np.argsort(-waves["share"], kind="stable")[: self.top]
                totals = np.cumsum(waves["share"][order])
                for rank, (place, total) in enumerate(zip(order, totals, strict=True), 1):
                    row: Row = {"member": member, "of": part, "step": step}
                    row |= {"rank": rank, "frequency": int(place) + 1}
                    for name in ("cos", "sin", "share"):
                        row[name] = round(float(waves[name][place]), 6) if name in waves else None
                    rows.append(row | {"together": round(float(total), 6)})
            panels.append({
                "form": "stems",
                "title": f"{part} at step {step:,}",
                "across": "frequency",
                "points": [str(place + 1) for place in range(len(by_member[0]["share"]))],
                "names": [f"member {member}" for member in subject.members],
                "curves": [waves["share"].round(6).tolist() for waves in by_member],
            })  # fmt: skip
        if len(steps) > 2:
            panels.insert(2, {
                "form": "lines",
                "title": f"share of the {self.top} largest frequencies in the embedding",
                "measure": "share",
                "across": "step",
                "points": [f"{step:,}" for step in steps],
                "curves": [
                    [round(float(np.sort(w["share"])[-self.top :].sum()), 6) for w in member]
                    for member in zip(*over_training, strict=True)
                ],
            })  # fmt: skip
        shows = (
            "The share of each frequency in the vectors of residues, before training and now, and"
            f" in the logits; between them the share of the {self.top} largest, over training. Of"
            f" neurons, how many have {ENOUGH:.0%} of their variance in a frequency."
        )
        last = min(self.top, len(over_training[0][0]["share"]))
        notes = tuple(
            f"{row['of']} at step {row['step']:,}, member {row['member']}:"
            f" {row['together']:.0%} in {row['rank']} frequencies"
            for row in rows
            if row["rank"] == last
        )
        return Finding.of(rows, shows, panels, notes)


def of_vectors(table: Float[np.ndarray, "residues width"]) -> Waves:
    """Return the waves of one vector per residue; shares are of the squared norm less the mean.

    The vectors 3, 0, -3, 0 are three times a cosine of one turn in four.

    >>> waves = of_vectors(np.array([[3.0], [0.0], [-3.0], [0.0]]))
    >>> [waves[name].round(2).tolist() for name in ("cos", "sin", "share")]
    [[4.24, 0.0], [0.0, 0.0], [1.0, 0.0]]
    """
    spectrum = np.fft.rfft(table, axis=0, norm="ortho")[1:]
    twice = np.full(len(spectrum), 2.0)
    if len(table) % 2 == 0:
        twice[-1] = 1.0  # the last frequency of an even number is its own mirror image
    cos, sin = (np.sqrt(twice * (part**2).sum(axis=1)) for part in (spectrum.real, spectrum.imag))
    squared = cos**2 + sin**2
    return {"share": squared / max(squared.sum(), TINY), "cos": cos, "sin": sin}


def of_logits(logits: Float[np.ndarray, "residues residues answers"]) -> FrequencyShares:
    """Return the share of each frequency in the variance of logits, by both operands.

    For logits cos(2 pi 3 (a + b - c) / p) of an answer c, it is 1 for frequency 3.
    """
    alone, whole = power(logits - logits.mean(axis=-1, keepdims=True))
    return alone.sum(axis=1) / max(whole.sum(), TINY)


def of_neurons(inner: Float[np.ndarray, "residues residues neurons"]) -> FrequencyShares:
    """Return the share of neurons that have enough of their variance in each frequency.

    For two neurons cos(2 pi 3 (a + b) / p) and cos(2 pi 3 a / p) + cos(2 pi 4 b / p), one of
    frequency 3 and one of none, it is 0.5 for frequency 3.
    """
    alone, whole = power(inner)
    shares: FrequencyShares = (alone >= ENOUGH * np.maximum(whole, TINY)).mean(axis=1)
    return shares


def power(
    values: Float[np.ndarray, "residues residues each"],
) -> tuple[Float[np.ndarray, "frequencies each"], Float[np.ndarray, " each"]]:
    """Return the squared norm of functions of two residues, by single frequency and in total."""
    spectrum = np.abs(np.fft.fft2(values, axes=(0, 1))) ** 2
    spectrum[0, 0] = 0.0
    residues = np.arange(len(spectrum))
    fold = np.minimum(residues, len(spectrum) - residues)
    first, second = np.meshgrid(fold, fold, indexing="ij")
    alone = (first == second) | (first == 0) | (second == 0)
    squares = np.zeros((len(spectrum) // 2 + 1, spectrum.shape[-1]))
    np.add.at(squares, np.maximum(first, second)[alone], spectrum[alone])
    return squares[1:], spectrum.sum(axis=(0, 1))


def of_problems(subject: Subject, task: Task) -> dict[str, list[Waves]]:
    """Return the members' neurons and logits where the answer of every problem is predicted."""
    count = task_sizes.operation(task).modulus or 0
    every = [Problem(task.operator, (a, b)) for a in range(count) for b in range(count)]
    question = subject.question(every)
    inner = question.sites("mlp.inner")
    values = question.digit_values([*inner, "logits"])  # the only digit of each answer

    values["logits"] = values["logits"][..., subject.layout.digits]
    by_part = dict[str, list[Waves]]()
    for site, by_member in values.items():
        shares = of_logits if site == "logits" else of_neurons
        tables = [m.astype(np.float64).reshape(count, count, -1) for m in by_member]
        name = f"logits of {task.operator}" if site == "logits" else question.part_name(site)
        by_part[name] = [{"share": shares(table)} for table in tables]
    return by_part
