"""What a model would write if it ended early: the logit lens.

The embedding, and the states amid and after each layer, of each recurrence, are given to the last
norm and the head, each as if it were the last, where each digit of the answer is asked for.

Source: nostalgebraist, "interpreting GPT: the logit lens", 2020.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from curta.config.task import Task
from curta.evaluation.scoring import Models
from curta.model.inspection import kind
from curta.model.transformer import Transformer
from curta.probes import samples, settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, summary_statistics
from curta.probes.inside.answers import Digits
from curta.probes.inside.parts import STATES, by_digit, named
from curta.probes.inside.question import Question
from curta.probes.pictures import Panel
from curta.probes.softmax import softmax
from curta.probes.subject import Subject


@dataclass(frozen=True)
class LogitLens(settings.LogitLens, Probe):
    def examine(self, subject: Subject) -> Finding:
        rows, panels = list[Row](), list[Panel]()
        for task in subject.tasks:
            found = self.rows(subject.load_models(), task)
            panels.append(by_digit(f"{task.operator}: right digits", "state", found))
            rows += found
        shows = (
            "Right digits of the answer, in the order in which they are written, read from each"
            " state by the last norm and the head: median of the members."
        )
        columns = ("operator", "state", "digit", "asked", *STATISTICS, "p")
        note = "p: the chance that the state gives the right digit, mean, median of the members"
        return Finding(columns, rows, {"shows": shows, "panels": panels}, (note,))

    def rows(self, models: Models, task: Task) -> list[Row]:
        """A row for each state and digit; `p` is the mean chance of the right one."""
        sample = samples.sample(models.layout, task, self.count, self.seed)
        asked, found = Question(models, sample), list[Row]()
        digits = Digits.of(asked)
        sites = [site for site in asked.shapes if kind(site) in STATES]
        values = asked.values(asked.whole, sites)
        for site in sites:
            logits = np.asarray(_read(models.stacked, jnp.asarray(digits.at(values[site]))))
            chances = softmax(logits)[:, np.arange(len(digits.token)), digits.token]
            right = logits.argmax(axis=-1) == digits.token
            for number, count, share in digits.shares(right):
                chance = float(np.median(chances[:, digits.number == number].mean(axis=1)))
                row: Row = {"operator": task.operator, "state": named(site), "digit": number}
                row |= {"asked": count} | summary_statistics(share)
                found.append(row | {"p": round(chance, 6)})
        return found


@jax.jit
def _read(
    stacked: Transformer, states: Float[Array, "members digits width"]
) -> Float[Array, "members digits vocabulary"]:
    """Each member's logits for its own states."""

    def one(given: tuple[Transformer, Array]) -> Array:
        model, states = given
        return model.logits(states, jnp.zeros((1, len(states)), jnp.int32))[0]

    return jax.lax.map(one, (stacked, states))
