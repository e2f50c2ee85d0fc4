"""The subject of a probe: some members of a run, on the tasks that the probe can examine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from curta.config.errors import UserError
from curta.config.task import Task
from curta.evaluation import evaluation_set, scoring
from curta.evaluation.scoring import Models, Scores
from curta.layouts import Layout
from curta.probes.base import Shares
from curta.probes.inside.question import Question
from curta.problems import task_sizes, tasks
from curta.problems.operations import Answer
from curta.problems.problem import Problem
from curta.runs import checkpoints

if TYPE_CHECKING:
    from curta.probes.inside.interventions import Intervention
    from curta.runs.run import Run


class Subject:
    """The members that a probe examines, and the tasks to examine them on."""

    def __init__(self, run: Run, members: Sequence[int], tasks: Sequence[Task]) -> None:
        self.run, self.members, self.tasks = run, list(members), list(tasks)
        self.layout: Layout = run.layout

    @cached_property
    def models(self) -> Models:
        """The chosen members at the newest checkpoint, stacked."""
        return self.run.load_models().only(*self.members)

    def problem(self, text: str | None) -> Problem:
        """Parse a problem; without a text, return an example of the first task.

        Raises:
            UserError: The run cannot answer the problem.
        """
        return self.run.accept([text or task_sizes.operation(self.tasks[0]).example])[0]

    def sample(
        self,
        task: Task,
        count: int,
        seed: int,
        digits: Sequence[int] | None = None,
        slice_name: str = tasks.RANDOM,
    ) -> list[Problem]:
        """Draw random problems.

        Args:
            task: Task whose operator they have.
            count: Number of problems.
            seed: Seed from which they are drawn.
            digits: Digits of each operand; the largest size of training by default.
            slice_name: Kind of problems, `random` or a special case such as `carry`.
        """
        size = task_sizes.widest(task) if digits is None else digits
        return evaluation_set.of_digits(self.layout, task.operator, slice_name, size, count, seed)

    def question(
        self, problems: Sequence[Problem], interventions: Sequence[Intervention] = ()
    ) -> Question:
        """Return the models with the texts of problems, to record and change their activations."""
        return Question(self.models, problems, interventions)

    def fits(self, sample: Sequence[Problem]) -> bool:
        """Return whether the model has positions for texts as long as these problems need."""
        try:
            scoring.room_for(self.models, sample)
        except UserError:
            return False
        return True

    def scores(self, sample: Sequence[Problem], num_recurrences: int) -> Scores:
        """Score the correct texts of problems with the given number of recurrences."""
        return scoring.scores(self.models.with_recurrences(num_recurrences), sample)

    def exact_match(self, sample: Sequence[Problem]) -> Bool[np.ndarray, "members problems"]:
        """Return whether each member writes each text, with all its steps, without an error."""
        return scoring.exact_match(self.models, sample)

    def shares(self, samples: Sequence[Sequence[Problem]]) -> list[Shares | None]:
        """Return the exact match of each member on each sample, from 0 to 1.

        It is None for a sample whose texts are too long for the model. Samples are scored together
        where possible, so that few programs are compiled.
        """
        every = [problem for sample in samples for problem in sample]
        if self.fits(every):
            ends = np.cumsum([len(sample) for sample in samples])[:-1]
            by_sample = np.split(self.exact_match(every), ends, axis=1)
            return [exact_match.mean(axis=1) for exact_match in by_sample]
        if len(samples) == 1:
            return [None]
        half = len(samples) // 2
        return self.shares(samples[:half]) + self.shares(samples[half:])

    def answers(self, sample: Sequence[Problem]) -> list[list[Answer | None]]:
        """Let each member write the answers, and return them; None for an invalid one."""
        groups = [sample] if sample and self.fits(sample) else [[problem] for problem in sample]
        return [
            [
                self.layout.answer(problem, text)
                for group in groups
                for problem, text in zip(group, self.run.write(group, member), strict=True)
            ]
            for member in self.members
        ]

    def vectors(
        self, tokens: Sequence[int]
    ) -> tuple[list[int], Float[np.ndarray, "moments members tokens width"]]:
        """Return the steps at which token embeddings were saved, and the embeddings.

        They come from the run's history or, if it has none, from the initial weights and the
        checkpoints.
        """
        history = checkpoints.moments(self.run.folder.history, np.array(tokens))
        if history is not None:
            return history[0], history[1][:, self.members]
        steps = [0, *checkpoints.steps(self.run.folder.checkpoints)]
        models = (self.run.load_models(step).only(*self.members).stacked for step in steps)
        return steps, np.stack([checkpoints.vectors(model)[:, tokens] for model in models])
