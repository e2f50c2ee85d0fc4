"""A looped model asked after more and fewer recurrences than it was trained with.

Source: McLeish et al., arXiv 2405.17399, and its reproduction with grids for 1, 2, 8, 16
and 32 recurrences of a block that was trained with 16.
"""

from dataclasses import dataclass

import numpy as np

from curta.config.table import sized
from curta.config.task import Task
from curta.evaluation.scoring import scores
from curta.probes import samples, settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, lines, summary_statistics
from curta.probes.longer import size
from curta.probes.pictures import Panel
from curta.probes.subject import Subject
from curta.problems import task_sizes


@dataclass(frozen=True)
class Recurrences(settings.Recurrences, Probe):
    def examine(self, subject: Subject) -> Finding:
        rows, panels = [], []
        for task in subject.tasks:
            found = self._rows(subject, task)
            panels += _panels(task, found, len(subject.members))
            rows += found
        shows = (
            "Exact match on random problems by the number of recurrences at test time, at the"
            " longest digit count in training and at one and a half and two times that."
        )
        trained = f"trained with {subject.run.recipe.model.num_recurrences} recurrences"
        columns = ("operator", "digits", "recurrences", "problems", *STATISTICS, "perplexity")
        return Finding(columns, rows, {"shows": shows, "panels": panels}, (trained,))

    def _rows(self, subject: Subject, task: Task) -> list[Row]:
        longest = task_sizes.widest(task)[0]
        return [
            self._row(subject, task, digits, 2**power)
            for digits in dict.fromkeys((longest, longest * 3 // 2, 2 * longest))
            for power in range(self.most.bit_length())
        ]

    def _row(self, subject: Subject, task: Task, digits: int, num_recurrences: int) -> Row:
        wide = size(task, digits)
        sample = samples.sample(subject.layout, task, self.count, self.seed, wide)
        asked = {
            "operator": task.operator,
            "digits": digits,
            "recurrences": num_recurrences,
            "problems": len(sample),
        }
        if not subject.fits(sample):
            return asked | summary_statistics(None) | {"perplexity": None}
        found = scores(subject.load_models().with_recurrences(num_recurrences), sample)
        perplexity = round(float(np.median(np.exp(found.loss))), 3)
        return (
            asked | summary_statistics(found.exact_match.mean(axis=1)) | {"perplexity": perplexity}
        )


def _panels(task: Task, rows: list[Row], members: int) -> list[Panel]:
    """A panel for each digit count."""
    return [
        lines(f"{task.operator} at {sized(digits)}", "recurrences", "recurrences", mine, members)
        for digits in dict.fromkeys(row["digits"] for row in rows)
        for mine in [[row for row in rows if row["digits"] == digits]]
    ]
