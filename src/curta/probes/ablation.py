"""Ablation: the answer's digits without one head, one MLP, or one neighbour of the window.

One part is removed at a time, at all tokens and in every recurrence, and members predict each
digit of the answer after the true text before it. Removing sets the part to zero or, with
`how=mean`, to its mean over all tokens of the same role in the sample. A neighbour's attention
weight is always set to zero, without giving its share to other keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from curta.probes.base import Row, TaskFinding, TaskProbe, option, seed_option
from curta.probes.inside.interventions import Intervention
from curta.probes.pictures import by_digit

if TYPE_CHECKING:
    from curta.config.task import Task
    from curta.probes.inside.question import Question
    from curta.probes.subject import Subject

NOTHING = "nothing"
"""The name of the row in which no part is removed."""


@dataclass(frozen=True)
class Ablation(TaskProbe):
    name: ClassVar[str] = "ablation"
    summary: ClassVar[str] = "the digits of the answer without each head, MLP and neighbour"
    shows: ClassVar = (
        "Right digits of the answer, in the order in which they are written, without one part"
        " of the model: median of the members."
    )

    count: int = option(50, "problems of the sample")
    seed: int = seed_option()
    how: str = option(
        "zero", "what stands in place of a part: zero, or its mean", str, choices=("zero", "mean")
    )

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        """Return a row for each part and digit, first those of the unchanged model."""
        sample = subject.sample(task, self.count, self.seed)
        removals = self.removals(subject.question(sample))
        question = subject.question(sample, list(removals.values()))
        digits, rows = question.digits, list[Row]()
        for part, group in zip((NOTHING, *removals), ([], *question.groups), strict=True):
            logits = question.digit_values(["logits"], group)["logits"]
            correct = logits.argmax(axis=-1) == digits.token
            rows += [{"without": part} | row for row in digits.rows(correct)]
        return TaskFinding(rows, [by_digit(f"{task.operator}: right digits", "without", rows)])

    def removals(self, question: Question) -> dict[str, Intervention]:
        """Return what removes each part, by the part's name."""
        config, removals = question.config, dict[str, Intervention]()
        for layer in range(config.num_layers):
            for head in range(config.heads if layer < config.num_attention_layers else 0):
                removals[f"layer {layer} head {head}"] = Intervention(
                    f"layer.{layer}.attention.heads", self.how, where={"head": head}
                )
            removals[f"layer {layer} MLP"] = Intervention(f"layer.{layer}.mlp.output", self.how)
        for name, seen in question.neighbours(question.whole):
            if seen.any():
                where = {"neighbour": name}
                removals[f"neighbour {name}"] = Intervention("*.attention.weights", where=where)
        return removals
