"""The loop over compiled chunks of steps: metrics, validation, checkpoints, and when to end.

Several processes that train one run all go through it, and come to the same decisions, since all
that these depend on is fetched by all; process 0 alone has a `Record`.
"""

import base64
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np

from curta.config.recipe import Recipe
from curta.config.sections import Training
from curta.evaluation import gap, memo, scoring, writing
from curta.layouts import Layout
from curta.problems import tasks
from curta.problems.problem import Problem, answer_text, parse
from curta.runs import embedding_history
from curta.runs.info import Metric, NamedAnswer, RunInfo
from curta.runs.interrupts import Noted
from curta.runs.life import Ending
from curta.runs.record import Progress, Record, Validated
from curta.runs.repair import Repair
from curta.training import optimizers, processes, records, trainer
from curta.training.records import Data
from curta.training.trainer import CHUNK, Member, Metrics
from curta.training.windows import TrainingWindows

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
        windows: TrainingWindows | None,
        repair: Repair | None,
        record: Record | None,
        interrupted: Noted,
    ) -> None:
        self.recipe, self.settings, self.layout = recipe, recipe.training, layout
        self.call, self.record, self.interrupted = call, record, interrupted
        self.data, self.windows, self.repair = data, windows, repair
        self.seeds, self.members = tuple(info.seeds), len(info.seeds)
        self.stopped = dict(info.stopped)
        self.end = self.settings.steps if info.ended is None else info.ended
        self.final: tuple[int, Member] | None = None
        """The step and the state of the last checkpoint, once the loop has ended with one."""
        self._resting: dict[int, int] = {}
        """Members that the present round of repair leaves as they are, each with 0 steps of it."""
        self._models: scoring.Models | None = None

    def run(self, state: Member, step: int, seconds: float) -> Ending:
        """Call the compiled chunk to the end, keeping records; return how it ended."""
        self.stopped = {member: at for member, at in self.stopped.items() if at < step}
        if self.repair is not None and step > self.end:
            self._enter_round(step)
        status, repair = self._status(step), ""
        if not step:
            self._keep_vectors(state, step, status)
        if status == "done":
            state, status = self._next_round(state, step)
        while status is None:
            begun, count = time.perf_counter(), _until_boundary(step, self.settings, self.end)
            state, metrics = self.call(state, self.data, jnp.int32(step), jnp.int32(count))
            metrics = Metrics(*(column[:, :count] for column in processes.fetch(metrics)))
            seconds += time.perf_counter() - begun
            idle = self.stopped | self._resting
            self.stopped |= _failures(metrics, processes.fetch(state.alive), step, idle)
            rows = _rows(metrics, step, seconds, self.stopped | self._resting)
            step += count
            state, rows, validated = self._measure(state, step, rows)
            if self.record:
                self.record.rows(rows)
            loss, exact_match = (column[:, -BUCKET:].mean(axis=1).tolist() for column in metrics)
            progress = Progress(
                step=step,
                steps=self.end,
                seconds=seconds,
                loss=loss,
                exact_match=exact_match,
                stopped=self.stopped,
                examples_per_second=(
                    count * self.settings.batch * self.members / (time.perf_counter() - begun)
                ),
                named={row.member: row.named for row in rows if row.named},
                validated=validated,
                repair=repair,
            )
            status = self._status(step)
            ends = status == "done"
            if ends:
                state, status = self._next_round(state, step)
            self._keep_vectors(state, step, status)
            if status is not None or ends or self._is_due(step, self.settings.checkpoint_every):
                host_state = processes.fetch(state)
                if self.record:
                    self.record.checkpoint(step, host_state, seconds, self.stopped)
                if status is not None:
                    self.final = step, host_state
            if self.record:
                self.record.show(progress)  # what it shows is saved
            if ends and status is None:
                assert self.repair is not None
                repair = self.repair.described(step)
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
        """Return how the training has ended, if it has."""
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
        """Keep the characters' vectors at their steps and at the end, but for an interrupt's."""
        every = self.settings.history_every
        if every and (self._is_due(step, every) or status in ("done", "stopped")):
            vectors = embedding_history.vectors(state.model)
            if self.record:
                embedding_history.save(self.record.folder.history, step, vectors)

    def _measure(
        self, state: Member, step: int, rows: list[Metric]
    ) -> tuple[Member, list[Metric], Validated | None]:
        """Add to each member's last row the validation, what is watched, and named answers.

        Each has steps at which it is due; windows are tried with a validation. Training ends here
        if the validation is good enough; that is noted before the checkpoint is written, so a run
        killed in between ends at the same step. Returns the state with the best weights by validation.
        """
        settings, validated = self.settings, None
        added: dict[int, dict[str, Any]] = {member: {} for member in range(self.members)}
        trained = [member for member in added if member not in self.stopped]
        if settings.validate_every and step % settings.validate_every == 0:
            validated, goal = self._validated(state, step), settings.stop_at
            # in single precision, which the shares have: 0.95 is less there
            enough = goal is not None and all(
                np.float32(share) >= np.float32(goal) for share in validated.exact_match
            )
            if enough and step >= settings.stop_after:
                self.end = step
                if self.record:
                    self.record.folder.update(ended=step)
            by_tokens = settings.keep == "best-tokens"
            score = validated.token_accuracy if by_tokens else validated.exact_match
            state = trainer.improved(
                state, np.array(validated.loss, np.float32), np.array(score, np.float32)
            )
            for member, fields in added.items():
                fields |= {
                    "validation_loss": round(validated.loss[member], 6),
                    "validation_exact_match": round(validated.exact_match[member], 6),
                    "validation_token_accuracy": round(validated.token_accuracy[member], 6),
                    "validation_by_operator": {
                        operator: round(shares[member], 6)
                        for operator, shares in validated.by_operator.items()
                    },
                    "learning_rate": float(f"{validated.learning_rate:.6g}"),
                }
            if self.windows is not None:
                sample = self.windows.sample()
                rows_of, targets = self.windows.rows[sample], self.windows.targets[sample]
                right = memo.calculate(processes.local(state.model), rows_of, targets).margin > 0
                for member, bits in enumerate(np.packbits(right, axis=1)):
                    added[member]["windows_right"] = base64.b64encode(bits.tobytes()).decode()
        if settings.evaluate_every and step % settings.evaluate_every == 0:
            watched = gap.watched_exact_match(self._models_at(state), self._watched)
            for member in trained:
                added[member]["evaluated"] = {name: each[member] for name, each in watched.items()}
        due = self._is_due(step, settings.checkpoint_every) or step >= self.end
        if settings.named_at_checkpoints and due:
            models = self._models_at(state)
            problems = [parse(text) for text in self.recipe.evaluation.named]
            answers = writing.answers_of_all(models, problems)
            perplexities = writing.perplexities(models, problems)
            truths = [answer_text(problem.truth, problem.answer_base) for problem in problems]
            for member in trained:
                answered = zip(problems, truths, answers, perplexities, strict=True)
                added[member]["named"] = {
                    str(problem): NamedAnswer(
                        every[member].answer, every[member].answer == truth, costs[member]
                    )
                    for problem, truth, every, costs in answered
                }
        rows = [replace(row, **added[row.member]) if row.step == step else row for row in rows]
        return state, rows, validated

    def _models_at(self, state: Member) -> scoring.Models:
        """Return the members as they are now; only weights of earlier ones are replaced."""
        model = processes.local(state.model)
        if self._models is None:
            self._models = scoring.Models(
                model, self.layout, self.members, shared=True, seeds=self.seeds
            )
        else:
            self._models = self._models.with_weights(model)
        return self._models

    def _validated(self, state: Member, step: int) -> Validated:
        """Average over the tasks by their shares, or evenly when the problems are fresh."""
        models, settings, recipe_tasks = self._models_at(state), self.settings, self.recipe.tasks
        if settings.fresh_validation:
            sets = [tasks.held_out_drawn(task, settings.validation, step) for task in recipe_tasks]
            shares = np.full((len(recipe_tasks), 1), 1 / len(recipe_tasks))
        else:
            sets = self._validation
            shares = np.array(self.recipe.shares)[:, None] / settings.batch
        scores = [scoring.scores(models, problems, loss=settings.loss) for problems in sets]
        exact_match = np.array([score.exact_match.mean(axis=1) for score in scores])
        columns = (
            np.array([score.loss for score in scores]),
            exact_match,
            np.array([score.token_accuracy for score in scores]),
        )
        loss, right, tokens = (
            np.sum(column * shares, axis=0).astype(np.float32).tolist() for column in columns
        )
        operators = [task.operator for task in recipe_tasks]
        by_operator = dict(zip(operators, exact_match.tolist(), strict=True))
        optimizer, steps = self.recipe.optimizer, self.recipe.round_steps
        factor = optimizers.schedule(optimizer, jnp.int32(step), *settings.ends, round_steps=steps)
        rate = optimizer.learning_rate * float(factor)
        return Validated(loss, right, tokens, by_operator if len(operators) > 1 else {}, rate)

    @cached_property
    def _validation(self) -> list[list[Problem]]:
        return [records.validation(self.recipe, self.layout, task) for task in self.recipe.tasks]

    @cached_property
    def _watched(self) -> dict[str, list[list[Problem]]]:
        return gap.watched_problems(self.recipe, self.layout, self.seeds)


def _until_boundary(step: int, settings: Training, end: int = 0) -> int:
    """Steps to the next point at which a chunk ends: the same points however a run is cut up."""
    spans = (
        CHUNK, settings.checkpoint_every, settings.validate_every, settings.evaluate_every,
        settings.history_every,
    )  # fmt: skip
    ends = (at - step for at in (*settings.ends, end) if at > step)
    return min(*(span - step % span for span in spans if span), *ends)


def _failures(
    metrics: Metrics, alive: np.ndarray, first: int, idle: Collection[int]
) -> dict[int, int]:
    """Members that have just failed, and the step whose loss was the first not to be finite."""
    failed = {}
    for member in np.flatnonzero(~alive).tolist():
        if member not in idle:
            bad = ~np.isfinite(metrics.loss[member])
            failed[member] = first + (int(np.argmax(bad)) if bad.any() else len(bad) - 1)
    return failed


def _rows(metrics: Metrics, first: int, seconds: float, stopped: Mapping[int, int]) -> list[Metric]:
    """Lines for metrics.jsonl: means over at most BUCKET steps, null after a member stopped."""
    rows = []
    for start in range(0, metrics.loss.shape[1], BUCKET):
        end = min(start + BUCKET, metrics.loss.shape[1])
        for member in range(len(metrics.loss)):
            over = first + end > stopped.get(member, first + end)
            means = [round(float(column[member, start:end].mean()), 6) for column in metrics]
            loss, exact_match = (None, None) if over else means
            rows.append(Metric(first + end, member, loss, exact_match, round(seconds, 3)))
    return rows
