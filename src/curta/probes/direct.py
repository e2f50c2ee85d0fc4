"""What each part adds to the right digit's logit: direct logit attribution.

The last state is a sum: the embedding, and what each head and each MLP has added, in every
recurrence. The head is linear, and so is the last norm once its divisor is held at what it is. So
the right token's logit, less the mean of all tokens', is a sum of what each part adds, and of
biases.

Source: Elhage et al., "A Mathematical Framework for Transformer Circuits", 2021.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from curta.config.task import Task
from curta.evaluation.scoring import Models
from curta.model.inspection import kind
from curta.model.layers import Flat
from curta.model.transformer import Transformer
from curta.probes import samples, settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, summary_statistics
from curta.probes.inside.answers import Digits
from curta.probes.inside.parts import by_digit, named
from curta.probes.inside.question import Question
from curta.probes.pictures import Heat, Panel
from curta.probes.subject import Subject

Parts = dict[str, Float[np.ndarray, "members digits width"]]
BIASES = "biases"


@dataclass(frozen=True)
class DirectLogits(settings.DirectLogits, Probe):
    def examine(self, subject: Subject) -> Finding:
        rows, panels = list[Row](), list[Panel]()
        for task in subject.tasks:
            found = self.rows(subject.load_models(), task)
            panels.append(_panel(task, found))
            rows += found
        shows = (
            "What each part adds to the logit of the right digit, less the mean of all tokens'"
            " logits: mean over the sample, median of the members. Colours are shares of the"
            " largest."
        )
        columns = ("operator", "part", "digit", "asked", *STATISTICS)
        return Finding(columns, rows, {"shows": shows, "panels": panels})

    def rows(self, models: Models, task: Task) -> list[Row]:
        """A row for each part and digit; of a digit they add up to its whole centred logit."""
        sample = samples.sample(models.layout, task, self.count, self.seed)
        asked, found = Question(models, sample), list[Row]()
        digits = Digits.of(asked)
        for part, added in contributions(models, asked, digits).items():
            for number in range(int(digits.number.max(initial=-1)) + 1):
                mine = digits.number == number
                row: Row = {"operator": task.operator, "part": part, "digit": number}
                mean = added[:, mine].mean(axis=1).tolist()
                found.append(row | {"asked": int(mine.sum())} | summary_statistics(mean))
        return found


def contributions(
    models: Models, asked: Question, digits: Digits
) -> dict[str, Float[np.ndarray, "members digits"]]:
    """What each part adds to the right token's logit, less the mean of all tokens' logits.

    `biases`, where a model has any, is the rest: what leaves attention, the last norm, the head.
    """
    kinds = ("embedding", "attention.heads", "mlp.output")
    sites = [site for site in asked.shapes if kind(site) in kinds]
    end = [site for site in asked.shapes if kind(site) == "after"][-1]
    values = asked.values(asked.whole, [*sites, end, "logits"])
    last, token = jnp.asarray(digits.at(values[end])), jnp.asarray(digits.token)
    found = {
        part: np.asarray(_added(models.stacked, jnp.asarray(added), last, token))
        for site in sites
        for part, added in _parts(site, digits.at(values[site])).items()
    }
    if not asked.config.biases:
        return found
    logits = digits.at(values["logits"])
    right = np.take_along_axis(logits, digits.token[None, :, None], axis=2)[..., 0]
    return found | {BIASES: right - logits.mean(axis=-1) - sum(found.values())}


def _parts(site: str, values: Float[np.ndarray, "members digits *heads width"]) -> Parts:
    """What a site adds to the state, head by head where it has several."""
    if values.ndim == 3:
        return {named(site): values}
    return {named(site, head): values[:, :, head] for head in range(values.shape[2])}


@jax.jit
def _added(
    stacked: Transformer,
    parts: Float[Array, "members digits width"],
    last: Float[Array, "members digits width"],
    tokens: Int[Array, " digits"],
) -> Float[Array, "members digits"]:
    """What a part of the last state adds to the right token's centred logit."""

    def one(given: tuple[Transformer, Array, Array]) -> Array:
        model, part, state = given
        logits = linear_logits(model, held_norm(model, part, state))
        right = jnp.take_along_axis(logits, tokens[:, None], axis=1)[:, 0]
        return right - jnp.mean(logits, axis=1)

    return jax.lax.map(one, (stacked, parts, last))


def held_norm(model: Transformer, part: Flat, state: Flat) -> Flat:
    """A part of the state as the last norm has it, divided by what the whole state is divided by.

    Of the state [3, 4], whose root mean square is 3.54, the part [3, 0] becomes [0.85, 0].
    """
    config = model.config
    if not config.final_norm or config.norm == "none":
        return part
    if config.norm != "rms":
        part, state = (x - jnp.mean(x, axis=-1, keepdims=True) for x in (part, state))
    square = jnp.mean(jnp.square(state), axis=-1, keepdims=True) + config.norm_epsilon
    part = part * jax.lax.rsqrt(square)
    return part if model.gain is None else part * model.gain[None]


def linear_logits(model: Transformer, h: Flat) -> Float[Array, "tokens vocabulary"]:
    """The head alone, without its bias."""
    plain = replace(model, config=replace(model.config, final_norm=False))

    def logits(h: Flat) -> Array:
        return plain.logits(h, jnp.zeros((1, len(h)), jnp.int32))[0]

    return logits(h) - logits(jnp.zeros_like(h))


def _panel(task: Task, rows: list[Row]) -> Heat:
    """Parts below each other, the answer's digits side by side; logits are written in."""
    panel = by_digit(f"{task.operator}: added to the right logit", "part", rows)
    logits = np.array(panel["values"], float)
    shares = np.maximum(logits, 0) / max(logits.max(initial=0.0), 1e-9)
    panel["values"] = shares.tolist()
    panel["texts"] = [[f"{value:+.1f}" for value in row] for row in logits.tolist()]
    return panel
