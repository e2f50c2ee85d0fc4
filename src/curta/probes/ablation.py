"""What each part is for: the answer's digits without a head, an MLP, a neighbour of the window.

One part is taken away at a time, at all tokens and in every recurrence, and members are asked for
each digit of the answer after the true text before it. Taken away means zeros, or with
`--how mean` the part's mean over all tokens of the same role in the sample; a neighbour's share of
attention is always set to zero, and what it was is given to nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from curta.config.errors import unknown
from curta.config.task import Task
from curta.evaluation.scoring import Models
from curta.model.positions.window import WindowEncoding
from curta.probes import samples, settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, summary_statistics
from curta.probes.inside.answers import Digits, right
from curta.probes.inside.interventions import Intervention
from curta.probes.inside.parts import by_digit
from curta.probes.inside.question import Question
from curta.probes.inside.selection import neighbours, seen_as
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.problems.problem import Problem

NONE = "nothing"
"""The name of the row in which no part is missing."""


@dataclass(frozen=True)
class Ablation(settings.Ablation, Probe):
    def __post_init__(self) -> None:
        super().__post_init__()
        if self.how not in ("zero", "mean"):
            raise unknown("--how", self.how, ("zero", "mean"))

    def examine(self, subject: Subject) -> Finding:
        rows, panels = list[Row](), list[Panel]()
        for task in subject.tasks:
            found = self.rows(subject.load_models(), task)
            panels.append(by_digit(f"{task.operator}: right digits", "without", found))
            rows += found
        shows = (
            "Right digits of the answer, in the order in which they are written, without one part"
            " of the model: median of the members."
        )
        columns = ("operator", "without", "digit", "asked", *STATISTICS)
        return Finding(columns, rows, {"shows": shows, "panels": panels})

    def rows(self, models: Models, task: Task) -> list[Row]:
        """A row for each part and digit, those without nothing first."""
        sample = samples.sample(models.layout, task, self.count, self.seed)
        parts = self.parts(models, sample)
        asked = Question(models, sample, list(parts.values()))
        whole, digits = asked.whole, Digits.of(asked)
        found = list[Row]()
        for part, group in zip((NONE, *parts), ([], *asked.groups), strict=True):
            logits = np.asarray(asked.values(whole, ["logits"], group)["logits"])
            for number, count, share in digits.shares(right(digits, logits)):
                row: Row = {"operator": task.operator, "without": part, "digit": number}
                found.append(row | {"asked": count} | summary_statistics(share))
        return found

    def parts(self, models: Models, sample: Sequence[Problem]) -> dict[str, Intervention]:
        """Every part by its name, and what takes it away; neighbours that a problem has."""
        found, attention = dict[str, Intervention](), models.stacked.config.num_attention_layers
        for layer in range(models.stacked.config.num_layers):
            for head in range(models.stacked.config.heads * (layer < attention)):
                site = f"layer.{layer}.attention.heads"
                found[f"layer {layer} head {head}"] = Intervention(
                    site, self.how, where={"head": head}
                )
            found[f"layer {layer} MLP"] = Intervention(f"layer.{layer}.mlp.output", self.how)
        if isinstance(models.stacked.positions, WindowEncoding):
            asked = Question(models, sample)
            scene = asked.scene(asked.whole)
            for name in neighbours(models.layout):
                where = {"neighbour": name}
                if seen_as(scene, name).any():
                    found[f"neighbour {name}"] = Intervention("*.attention.weights", where=where)
        return found
