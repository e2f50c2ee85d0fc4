"""The loop over compiled chunks of steps: metrics, validation, checkpoints, and when to end.

Several processes that train one run all go through it, and come to the same decisions, since all
that these depend on is fetched by all; process 0 alone has a `Record` that keeps anything.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from curta.config.recipe import Recipe
from curta.config.sections import Training
from curta.evaluation import gap, scoring, writing
from curta.layouts import Layout
from curta.problems import tasks
from curta.problems.problem import Problem, answer_text, parse
from curta.runs import embedding_history
from curta.runs.info import Metric, NamedAnswer, RunInfo
from curta.runs.interrupts import Noted
from curta.runs.life import Ending
from curta.runs.record import NoRecord, Progress, Validated
from curta.runs.repair import Repair
from curta.training import optimizers, processes, records, trainer
from curta.training.records import Data
from curta.training.trainer import CHUNK, Member, Metrics

BUCKET = 10
"""Steps that one line of metrics averages over."""


class Loop:
    """One run's training, from a member state at some step to the end."""

    def __init__(
        self,
        info: RunInfo,
        recipe: Recipe,
        layout: Layout,
        call: Callable[..., tuple[Member, Metrics]],
        data: Data,
        repair: Repair | None,
        record: NoRecord,
        interrupted: Noted,
    ) -> None:
        self.recipe, self.settings, self.layout = recipe, recipe.training, layout
        self.call, self.record, self.interrupted = call, record, interrupted
        self.data, self.repair = data, repair
        self._resting: dict[int, int] = {}
        """Members that the present round of repair leaves as they are, each with 0 steps of it."""
        self.seeds, self.members = tuple(info.seeds), len(info.seeds)
        self._models: scoring.Models | None = None
        self.stopped = dict(info.stopped)
        self.end = self.settings.steps if info.ended is None else info.ended

    def run(self, state: Member, step: int, seconds: float) -> Ending:
        """Calls the compiled chunk to the end, keeping records; how it ended."""
        self.stopped = {member: at for member, at in self.stopped.items() if at < step}
        if self.repair is not None and step > self.end:
            self._enter_round(step)
        status = self._status(step)
        if not step:
            self._keep_vectors(state, step, status)
        if status == "done":
            state, status = self._next_round(state, step)
        while status is None:
            begun, count = time.perf_counter(), _until_boundary(step, self.settings, self.end)
            state, found = self.call(state, self.data, jnp.int32(step), jnp.int32(count))
            found = Metrics(*(column[:, :count] for column in processes.fetch(found)))
            seconds += time.perf_counter() - begun
            idle = self.stopped | self._resting
            self.stopped |= _failures(found, processes.fetch(state.alive), step, idle)
            rows = _rows(found, step, seconds, self.stopped | self._resting)
            step += count
            state, rows, validated = self._validate(state, step, rows)
            rows = self._name(state, step, self._watch(state, step, rows))
            self.record.rows(rows)
            rate = count * self.settings.batch * self.members / (time.perf_counter() - begun)
            now = self._progress(step, seconds, found, rate, rows, validated)
            status = self._status(step)
            ends = status == "done"
            if ends:
                state, status = self._next_round(state, step)
            self._keep_vectors(state, step, status)
            if status is not None or ends or self._is_due(step, self.settings.checkpoint_every):
                self.record.checkpoint(step, processes.fetch(state), seconds, self.stopped)
            self.record.progress(now)  # what it shows is saved
            if ends and status is None:
                assert self.repair is not None
                self.record.round(self.repair.described(step))
        return status

    def _next_round(self, state: Member, step: int) -> tuple[Member, Ending | None]:
        """Begin a round of repair, if one is due; else the training is done."""
        if self.repair is None:
            return state, "done"
        alive = np.array([member not in self.stopped for member in range(self.members)])
        if self.repair.begins(step, processes.local(state.model), alive):
            self._enter_round(step)
            alive &= [member not in self._resting for member in range(self.members)]
            rates = processes.put(self.repair.rates(step), state.alive.sharding)
            state = state._replace(hyperparams=state.hyperparams._replace(learning_rate=rates))
        status: Ending | None = None if self.end > step else "done"
        return state._replace(alive=processes.put(alive, state.alive.sharding)), status

    def _enter_round(self, step: int) -> None:
        """Load the data of the round of this step, and set the step at which it ends."""
        assert self.repair is not None
        number = self.repair.round_at(step)
        if number > len(self.repair.windows.wrong):
            self.end = step
            return
        self.end = self.settings.steps + number * self.repair.steps
        self.data = self.repair.data(step)
        self._resting = dict.fromkeys(np.flatnonzero(self.repair.resting(step)).tolist(), 0)

    def _status(self, step: int) -> Ending | None:
        """How the training has ended, if it has."""
        if len(self.stopped) == self.members:
            return "stopped"
        if step >= self.end:
            return "done"
        signal = processes.highest(self.interrupted.number)
        if signal:
            self.interrupted.note(signal)
        return "interrupted" if signal else None

    def _is_due(self, step: int, every: int) -> bool:
        """Whether it is one of every so many steps, or one at which training had ended before."""
        return step % every == 0 or step in self.settings.extended_at

    def _keep_vectors(self, state: Member, step: int, status: Ending | None) -> None:
        """Keeps the characters' vectors at their steps and at the end, but for an interrupt's."""
        every = self.settings.history_every
        if every and (self._is_due(step, every) or status in ("done", "stopped")):
            self.record.moment(step, embedding_history.vectors(state.model))

    def _validate(
        self, state: Member, step: int, rows: list[Metric]
    ) -> tuple[Member, list[Metric], Validated | None]:
        """Adds what the validation finds to each member's last row, and ends here if it is enough.

        The end is noted before the checkpoint is written, so a run killed in between
        ends at the same step.
        """
        if not self.settings.validate_every or step % self.settings.validate_every:
            return state, rows, None
        found, goal = self._evaluated(state, step), self.settings.stop_at
        enough = goal is not None and _is_enough(np.array(found.exact_match, np.float32), goal)
        if enough and step >= self.settings.stop_after:
            self.end = step
            self.record.end(step)
        rows = [_validated(row, found) if row.step == step else row for row in rows]
        by_tokens = self.settings.keep == "best-tokens"
        best = found.token_accuracy if by_tokens else found.exact_match
        loss, score = (np.array(column, np.float32) for column in (found.loss, best))
        return trainer.improved(state, loss, score), rows, found

    def _watch(self, state: Member, step: int, rows: list[Metric]) -> list[Metric]:
        """Adds exact match of what is watched to the last row of each member that is trained."""
        every = self.settings.evaluate_every
        if not every or step % every:
            return rows
        found = gap.watched_exact_match(self._models_at(state), self._watched)
        return [
            replace(row, evaluated={name: values[row.member] for name, values in found.items()})
            if row.step == step and row.member not in self.stopped
            else row
            for row in rows
        ]

    def _name(self, state: Member, step: int, rows: list[Metric]) -> list[Metric]:
        """Add the answers to named problems to each member's last row, at checkpoints."""
        due = self._is_due(step, self.settings.checkpoint_every) or step >= self.end
        if not (self.settings.named_at_checkpoints and due):
            return rows
        models, problems = self._models_at(state), self._named
        answers = writing.answers_of_all(models, problems)
        perplexities = writing.perplexities(models, problems)

        def of(member: int) -> dict[str, NamedAnswer]:
            mine = {}
            for problem, every, costs in zip(problems, answers, perplexities, strict=True):
                one, truth = every[member], answer_text(problem.truth, problem.answer_base)
                mine[str(problem)] = NamedAnswer(one.answer, one.answer == truth, costs[member])
            return mine

        return [
            replace(row, named=of(row.member))
            if row.step == step and row.member not in self.stopped
            else row
            for row in rows
        ]

    def _models_at(self, state: Member) -> scoring.Models:
        """The members as they are now; of earlier ones only weights are replaced."""
        model = processes.local(state.model)
        known = self._models
        self._models = (
            scoring.Models(model, self.layout, self.members, shared=True, seeds=self.seeds)
            if known is None
            else known.with_weights(model)
        )
        return self._models

    def _evaluated(self, state: Member, step: int) -> Validated:
        """Average over the tasks by their shares, or evenly when the problems are fresh."""
        models, settings, of = self._models_at(state), self.settings, self.recipe.tasks
        if settings.fresh_validation:
            sets = [tasks.held_out_drawn(task, settings.validation, step) for task in of]
            shares = np.full((len(of), 1), 1 / len(of))
        else:
            sets = self._validation
            shares = np.array(self.recipe.shares)[:, None] / settings.batch
        found = [scoring.scores(models, problems, loss=settings.loss) for problems in sets]
        exact_match = np.array([score.exact_match.mean(axis=1) for score in found])
        columns = (
            np.array([score.loss for score in found]),
            exact_match,
            np.array([score.token_accuracy for score in found]),
        )
        loss, right, tokens = (
            np.sum(column * shares, axis=0).astype(np.float32).tolist() for column in columns
        )
        each = dict(zip([task.operator for task in of], exact_match.tolist(), strict=True))
        optimizer = self.recipe.optimizer
        steps = self.recipe.round_steps
        factor = optimizers.schedule(optimizer, jnp.int32(step), *settings.ends, round_steps=steps)
        rate = optimizer.learning_rate * float(factor)
        return Validated(loss, right, tokens, each if len(of) > 1 else {}, rate)

    @cached_property
    def _validation(self) -> list[list[Problem]]:
        return [records.validation(self.recipe, self.layout, one) for one in self.recipe.tasks]

    @cached_property
    def _watched(self) -> dict[str, list[list[Problem]]]:
        return gap.watched_problems(self.recipe, self.layout, self.seeds)

    @cached_property
    def _named(self) -> list[Problem]:
        return [parse(text) for text in self.recipe.evaluation.named]

    def _progress(
        self,
        step: int,
        seconds: float,
        found: Metrics,
        rate: float,
        rows: Sequence[Metric],
        validated: Validated | None,
    ) -> Progress:
        loss, exact_match = (column[:, -BUCKET:].mean(axis=1).tolist() for column in found)
        named = {row.member: row.named for row in rows if row.named}
        end, stopped = self.end, self.stopped
        return Progress(step, end, seconds, loss, exact_match, stopped, rate, named, validated)


def _until_boundary(step: int, settings: Training, end: int = 0) -> int:
    """Steps to the next point at which a chunk ends: the same points however a run is cut up."""
    spans = (
        CHUNK, settings.checkpoint_every, settings.validate_every, settings.evaluate_every,
        settings.history_every,
    )  # fmt: skip
    ends = (one - step for one in (*settings.ends, end) if one > step)
    return min(*(span - step % span for span in spans if span), *ends)


def _failures(
    found: Metrics, alive: np.ndarray, first: int, known: dict[int, int]
) -> dict[int, int]:
    """Members that have just failed, and the step whose loss was the first not to be finite."""
    failed = {}
    for member in np.flatnonzero(~alive).tolist():
        if member not in known:
            bad = ~np.isfinite(found.loss[member])
            failed[member] = first + (int(np.argmax(bad)) if bad.any() else len(bad) - 1)
    return failed


def _is_enough(shares: Float[np.ndarray, " members"], goal: float) -> bool:
    """Whether every member has reached it, in the precision that shares have.

    >>> float(np.float32(0.95)) >= 0.95, _is_enough(np.float32([0.95, 1]), 0.95)
    (False, True)
    """
    return bool((shares >= np.float32(goal)).all())


def _rows(found: Metrics, first: int, seconds: float, stopped: Mapping[int, int]) -> list[Metric]:
    """Lines for metrics.jsonl: means over at most BUCKET steps, null after a member stopped."""
    rows = []
    for start in range(0, found.loss.shape[1], BUCKET):
        end = min(start + BUCKET, found.loss.shape[1])
        for member in range(len(found.loss)):
            over = first + end > stopped.get(member, first + end)
            values = [round(float(column[member, start:end].mean()), 6) for column in found]
            loss, exact_match = (None, None) if over else values
            rows.append(Metric(first + end, member, loss, exact_match, round(seconds, 3)))
    return rows


def _validated(row: Metric, found: Validated) -> Metric:
    """The row with what was validated of its member."""
    return replace(
        row,
        validation_loss=round(found.loss[row.member], 6),
        validation_exact_match=round(found.exact_match[row.member], 6),
        validation_token_accuracy=round(found.token_accuracy[row.member], 6),
        validation_by_operator={
            operator: round(values[row.member], 6) for operator, values in found.by_operator.items()
        },
    )
