"""What a probe asks: some members of a run, and those of its tasks that it is about."""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from curta.config.errors import UserError
from curta.config.task import Task
from curta.evaluation.scoring import Models, exact_match, room_for
from curta.layouts import Layout, ShapeBounds, Text
from curta.probes.inside import passes
from curta.probes.inside.texts import Texts, Tokens
from curta.problems import task_sizes
from curta.problems.operations import Answer
from curta.problems.problem import Problem
from curta.runs.session import Session
from curta.training.records import padded_texts

Shares = Float[np.ndarray, " members"]


class Subject:
    """Members of a run, as of its newest checkpoint, and the tasks to examine them on."""

    def __init__(self, run: Session, members: Sequence[int], tasks: Sequence[Task]) -> None:
        self.run, self.members, self.tasks = run, list(members), list(tasks)
        self._models: Models | None = None

    @property
    def layout(self) -> Layout:
        return self.run.layout

    def load_models(self) -> Models:
        """The chosen members as of the newest checkpoint; read once."""
        if self._models is None:
            self._models = self.of(self.run.load_models())
        return self._models

    def of(self, models: Models) -> Models:
        """The chosen ones of all members."""
        return models.chosen(self.members)

    def problem(self, text: str | None) -> Problem:
        """The problem that was asked for; without one, an example of the first task."""
        return self.run.accept([text or task_sizes.operation(self.tasks[0]).example])[0]

    def fits(self, sample: Sequence[Problem]) -> bool:
        """Whether the model has positions for texts of these problems."""
        try:
            room_for(self.load_models(), sample)
        except UserError:
            return False
        return True

    def bounds(self, sample: Sequence[Problem]) -> ShapeBounds:
        """Room for whole texts of these problems; UserError if the model has no positions."""
        return room_for(self.load_models(), sample) or self.layout.bounds_of(sample)

    def exact_match(self, sample: Sequence[Problem]) -> Bool[np.ndarray, "members problems"]:
        """Whether each member writes each text without an error, working included."""
        return exact_match(self.load_models(), sample)

    def shares(self, samples: Sequence[Sequence[Problem]]) -> list[Shares | None]:
        """Exact match of each member on each sample; None if the model has no positions for it.

        All together where that is possible, since few programs are then compiled.
        """
        every = [problem for sample in samples for problem in sample]
        if not self.fits(every):
            return [
                self.exact_match(sample).mean(axis=1) if self.fits(sample) else None
                for sample in samples
            ]
        ends = np.cumsum([len(sample) for sample in samples])[:-1]
        return [part.mean(axis=1) for part in np.split(self.exact_match(every), ends, axis=1)]

    def answers(self, sample: Sequence[Problem]) -> list[list[Answer | None]]:
        """What each member answers when it writes for itself; problems that fit, each alone."""
        groups = [sample] if sample and self.fits(sample) else [[problem] for problem in sample]
        return [
            [answer for group in groups for answer in self._answers(group, member)]
            for member in self.members
        ]

    def _answers(self, sample: Sequence[Problem], member: int) -> list[Answer | None]:
        texts = self.run.write(sample, member)
        return [self.layout.answer(p, t) for p, t in zip(sample, texts, strict=True)]

    def text(self, texts: Sequence[Tokens], bounds: ShapeBounds) -> Text:
        """Written texts as a batch."""
        return padded_texts(texts, bounds.total, self.layout.end)

    def logits(
        self, texts: Sequence[Tokens], bounds: ShapeBounds
    ) -> Float[np.ndarray, "members texts time vocabulary"]:
        """Logits after every token of whole texts, right or wrong ones.

        Of an encoder, which is shown the prompts only: those at every place of them.
        """
        return np.concatenate([*self._logits(texts, bounds)], axis=1)

    def likeliest(
        self, texts: Sequence[Tokens], bounds: ShapeBounds
    ) -> Int[np.ndarray, "members texts time"]:
        """The token that each member would write after every token of whole texts."""
        found = [part.argmax(axis=-1) for part in self._logits(texts, bounds)]
        return np.concatenate(found, axis=1)

    def _logits(self, texts: Sequence[Tokens], bounds: ShapeBounds) -> Iterator[np.ndarray]:
        """Some texts after the other, as many at once as fit the caches."""
        models, site = self.load_models(), "logits"
        given = Texts.of(self.layout, models.stacked.config, texts, bounds)
        for part in passes.pieces(models, given, bounds, frozenset({site}), {}):
            yield part[site]
