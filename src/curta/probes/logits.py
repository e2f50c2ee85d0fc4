"""Probes of logits: the likeliest tokens, the logit lens, direct logit attribution.

top-k           the likeliest tokens at every position of one problem
logit-lens      what a model would write if it ended after an earlier layer
direct-logits   what each part adds to the logit of the right digit
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import softmax

from curta.probes.base import Finding, Probe, Row, TaskFinding, TaskProbe, option, seed_option
from curta.probes.pictures import Panel, by_digit, heat

if TYPE_CHECKING:
    from curta.config.recipe import Recipe
    from curta.config.task import Task
    from curta.probes.inside.question import Question
    from curta.probes.subject import Subject


@dataclass(frozen=True)
class Top(Probe):
    """The likeliest tokens at every position of one problem, and their probabilities.

    The text before each position is the true one (teacher forcing), so one mistake does not spoil
    later positions. An encoder reads the problem and predicts at all its positions; its answer
    stands at the first of them.

    Rows: member, index, the true token there, whether it is scored, entropy, and the likeliest
    tokens. The index is that of the predicted token; for an encoder, that of the position.
    """

    name: ClassVar[str] = "top-k"
    summary: ClassVar[str] = "the likeliest tokens at every position of one problem"

    problem: str | None = option(None, "such as 57+68 (an example)", kind=str)
    k: int = option(3, "how many tokens at each position")

    def examine(self, subject: Subject) -> Finding:
        problem, characters = subject.problem(self.problem), subject.layout.characters
        question = subject.question([problem])
        tokens, prompt = question.true_texts[0]
        line = [characters[token] for token in tokens]
        # a decoder predicts each token after the first; an encoder the answer, at the first tokens
        # of the prompt: for 2+2=4$ those of 4 and $, and then nothing
        first, true, scored = 1, line[1:], range(prompt, len(line))
        if not question.config.causal:
            first, scored = 0, range(len(line) - prompt)
            true = line[prompt:] + [""] * (prompt - len(scored))
        logits = question.values(question.whole, ["logits"])["logits"][:, 0, : len(true)]
        panels, whole, prompt_text = list[Panel](), "".join(line), "".join(line[:prompt])
        chances = softmax(np.float64(logits), axis=-1)  # small ones are shown too
        count = min(self.k, chances.shape[-1])
        rows, ranks = list[Row](), range(1, count + 1)
        for member, table in zip(subject.members, chances, strict=True):
            for index, probabilities in enumerate(table, first):
                positive = probabilities[probabilities > 0]
                row: Row = {"member": member, "index": index, "true": true[index - first]}
                row["scored"] = index in scored
                row["entropy"] = abs(float(-(positive * np.log2(positive)).sum()))
                best = np.argsort(-probabilities, kind="stable")[:count].tolist()
                for rank, token in enumerate(best, 1):
                    row[f"top {rank}"] = characters[token]
                    row[f"p {rank}"] = float(probabilities[token])
                rows.append(row)
            mine = [row for row in rows if row["member"] == member and row["scored"]]
            panels.append(heat(
                f"{problem}, member {member}",
                f"what stands in the text, after {prompt_text}",
                "rank",
                [row["true"] for row in mine],
                [str(rank) for rank in ranks],
                [[row[f"p {rank}"] for row in mine] for rank in ranks],
                [[row[f"top {rank}"] for row in mine] for rank in ranks],
            ))  # fmt: skip
        context = "the true text before it" if question.config.causal else f"{prompt_text} alone"
        shows = (
            f"The {count} likeliest tokens at each position of {whole}, given {context}."
            " Only positions that the model must predict are shown."
        )
        note = f"Problem {problem}, written {whole}; entropy in bits."
        return Finding.of(rows, shows, panels, (note,))


@dataclass(frozen=True)
class LogitLens(TaskProbe):
    """What a model would write if it ended early.

    The embedding, and the states in the middle of and after each layer of each recurrence, go
    through the last norm and the head as if they were the last state, where each digit of the
    answer is predicted. Source: nostalgebraist, "interpreting GPT: the logit lens", 2020.
    """

    name: ClassVar[str] = "logit-lens"
    summary: ClassVar[str] = "after which layer the digits of the answer are there"
    shows: ClassVar = (
        "Right digits of the answer, in the order in which they are written, read from each"
        " state by the last norm and the head: median of the members."
    )

    count: int = option(50, "problems of the sample")
    seed: int = seed_option()

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        """Return a row for each state and digit; `p` is the mean probability of the right digit."""
        question = subject.question(subject.sample(task, self.count, self.seed))
        digits, rows = question.digits, list[Row]()
        for site, states in question.digit_values(question.states).items():
            logits = question.read_states(states)
            right = logits.argmax(axis=-1) == digits.token
            chances = softmax(np.float64(logits), axis=-1)
            of_right = chances[:, np.arange(len(digits.token)), digits.token]
            rows += [
                {"state": question.part_name(site), **row, "p": chance["median"]}
                for row, chance in zip(digits.rows(right), digits.rows(of_right), strict=True)
            ]
        panel = by_digit(f"{task.operator}: right digits", "state", rows)
        note = "p: the chance that the state gives the right digit, mean, median of the members"
        return TaskFinding(rows, [panel], (note,))


@dataclass(frozen=True)
class DirectLogits(TaskProbe):
    """What each part adds to the right digit's logit: direct logit attribution.

    The last state is a sum of the embedding and of what each head and each MLP has added, in every
    recurrence. The head is linear, and so is the last norm with its divisor held fixed. So the
    right token's logit, less the mean over all tokens, is a sum of one term per part and of biases.
    Source: Elhage et al., "A Mathematical Framework for Transformer Circuits", 2021.
    """

    name: ClassVar[str] = "direct-logits"
    summary: ClassVar[str] = "what each head and MLP adds to the right digit's logit"
    scope: ClassVar[str] = "models whose state is a sum"
    shows: ClassVar = (
        "What each part adds to the logit of the right digit, less the mean of all tokens'"
        " logits: mean over the sample, median of the members. Colours are shares of the"
        " largest."
    )

    count: int = option(50, "problems of the sample")
    seed: int = seed_option()

    @classmethod
    def unfit(cls, recipe: Recipe) -> str | None:
        if recipe.model.norms_after:
            return "norms after its sub-layers"
        if recipe.model.injects_into_state:
            return "an input that is injected into the state"
        return None

    def examine_task(self, subject: Subject, task: Task) -> TaskFinding:
        """Return a row for each part and digit; the rows of a digit add up to its centred logit."""
        question = subject.question(subject.sample(task, self.count, self.seed))
        digits, rows = question.digits, list[Row]()
        for part, added in contributions(question).items():
            rows += [{"part": part} | row for row in digits.rows(added)]
        panel = by_digit(f"{task.operator}: added to the right logit", "part", rows)
        part_names, numbers = dict.fromkeys(row["part"] for row in rows), len(panel["columns"])
        logits = np.array([row["median"] for row in rows]).reshape(len(part_names), numbers)
        panel["values"] = (np.maximum(logits, 0) / max(logits.max(initial=0.0), 1e-9)).tolist()
        panel["texts"] = [[f"{value:+.1f}" for value in row] for row in logits.tolist()]
        return TaskFinding(rows, [panel])


def contributions(question: Question) -> dict[str, Float[np.ndarray, "members digits"]]:
    """Return what each part adds to the right token's logit, less the mean over all tokens.

    `biases`, where a model has any, is the remainder: of attention's output, last norm and head.
    """
    config, digits, model = question.config, question.digits, question.models.stacked
    sites = question.sites("embedding", "attention.heads", "mlp.output")
    end = question.sites("after")[-1]
    values = question.digit_values([*sites, end, "logits"])
    zeros = np.zeros((question.models.members, 1, config.width), np.float32)
    identity = zeros + np.eye(config.width, dtype=np.float32)
    head = question.read_states(identity, False) - question.read_states(zeros, False)
    head = head - head.mean(axis=-1, keepdims=True)  # members, width, vocabulary
    of_right = np.stack([member[:, digits.token].T for member in head])  # members, digits, width

    normed = config.final_norm and config.norm != "none"
    state, centre = values[end], config.norm != "rms"
    if centre:
        state = state - state.mean(axis=-1, keepdims=True)
    divisor = np.sqrt((state**2).mean(axis=-1, keepdims=True) + config.norm_epsilon)
    gain = 1.0 if model.gain is None else np.asarray(model.gain)[:, None]
    added = dict[str, np.ndarray]()
    for site in sites:
        value = values[site]
        heads = range(value.shape[2]) if value.ndim == 4 else [None]
        for number in heads:
            part = value if number is None else value[:, :, number]
            if normed:
                # of the state [3, 4] with root mean square 3.54, the part [3, 0] gives [0.85, 0]
                part = part - part.mean(axis=-1, keepdims=True) if centre else part
                part = part / divisor * gain
            added[question.part_name(site, number)] = (part * of_right).sum(axis=-1)
    if config.biases:
        logits = values["logits"]
        right = np.take_along_axis(logits, digits.token[None, :, None], axis=2)[..., 0]
        added["biases"] = right - logits.mean(axis=-1) - sum(added.values())
    return added
