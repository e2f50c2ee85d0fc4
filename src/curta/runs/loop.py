"""The training loop: chunks of compiled steps, metrics, validation, repair, checkpoints, its end.

Several processes that train one run all go through it and come to the same decisions, since all
that these depend on is fetched by all; process 0 alone writes.
"""

import base64
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import jax.numpy as jnp
import numpy as np

from curta.config import files
from curta.config.recipe import Recipe
from curta.config.table import counted
from curta.evaluation import evaluation_set, generation, scoring
from curta.layouts import Layout
from curta.model.transformer import parameters
from curta.problems import tasks
from curta.problems.problem import Problem, parse
from curta.runs import checkpoints, interrupts, metrics
from curta.runs.folders import Folder
from curta.runs.info import Metric, NamedAnswer
from curta.runs.life import Ending
from curta.runs.trackers import Tracker
from curta.training import devices, optimizers, processes, records, trainer, windows
from curta.training.records import window_data
from curta.training.trainer import CHUNK, Member, Metrics
from curta.training.windows import NEVER, TrainingWindows

BUCKET = 10
"""Steps that one line of metrics averages over."""

MANY = 0.01
"""Share of wrong windows above which a member's training was far from finished."""

FASTER = 5.0
"""Factor on the learning rate of a round of repair for such a member."""


@dataclass(frozen=True)
class Validated:
    """The results on validation problems at one step."""

    loss: list[float]
    """For each member, the mean loss of a scored token, in nats."""
    exact_match: list[float]
    """For each member, the share of problems without an error."""
    token_accuracy: list[float]
    """For each member, the share of correct tokens."""
    by_operator: dict[str, list[float]]
    """The exact match of each member by operator, if there are several."""
    learning_rate: float
    """The learning rate of the next step."""


@dataclass(frozen=True)
class Progress:
    """The state of training after a chunk of steps."""

    step: int
    """The number of steps that are done."""
    steps: int
    """The step at which training, or the present round of repair, ends."""
    seconds: float
    """The time of training so far."""
    loss: list[float]
    """For each member, the mean loss of a scored token in the last steps, in nats."""
    exact_match: list[float]
    """For each member, the share of training problems without an error in the last steps."""
    stopped: dict[int, int]
    """By member, the step at which its loss was no longer finite."""
    examples_per_second: float
    """Problems, or under a window, windows that all members train on in a second."""
    named: Mapping[int, Mapping[str, NamedAnswer]] = field(default_factory=dict)
    """At a checkpoint, the answers to named problems, by member and problem."""
    validated: Validated | None = None
    """The results on validation problems, if this chunk ended with a validation."""
    repair: str = ""
    """The round of repair and its reason; empty before repair."""


Show = Callable[[Progress], None]


class Loop:
    """One run's training, from a member state at some step to the end.

    After the last step of the recipe come rounds of repair, until no listed window is wrong. A
    round begins with every listed window. If a member has some wrong that training showed it, its
    training was not finished: it goes on with these drawn more often. Otherwise the wrong ones are
    shown from now on. A member that has none wrong rests: its weights stay the same.

    `final` are the step and the state of the last checkpoint, once it has ended with one.
    """

    final: tuple[int, Member] | None = None

    def __init__(
        self,
        folder: Folder,
        recipe: Recipe,
        layout: Layout,
        windows: TrainingWindows | None,
        state: Member,
        step: int,
        show: Show,
    ) -> None:
        info = folder.read_info()
        self.folder, self.writes, self.show = folder, processes.is_first(), show
        self.recipe, self.settings, self.layout = recipe, recipe.training, layout
        self.seeds, self.members = tuple(info.seeds), len(info.seeds)
        self.stopped = {member: at for member, at in info.stopped.items() if at < step}
        self.end = self.settings.steps if info.ended is None else info.ended
        self.repairs, self.first = bool(recipe.round_steps), step
        self._resting: dict[int, int] = {}
        """Members that this round of repair leaves unchanged, each with 0 steps of it."""
        mesh = trainer.training_mesh(recipe, self.members)
        self.place = partial(trainer.place_data, mesh=mesh)
        self.step, self.state = step, trainer.shard(state, mesh)
        data, bounds = records.training_data(recipe, layout, info.seeds, windows, step)
        self.data, self.windows = self.place(data), windows
        begun = time.perf_counter()
        program: Any = trainer.compile_steps(recipe, bounds, mesh)
        lowered = program.lower(self.state, self.data, jnp.int32(0), jnp.int32(0))
        self.call: Callable[..., tuple[Member, Metrics]] = lowered.compile()
        if self.writes:
            folder.update(
                steps=self.settings.steps,
                parameters=parameters(self.state.model) // self.members,
                compile_seconds=round(time.perf_counter() - begun, 3),
                device=devices.description(),  # a run may be begun elsewhere than it is trained
            )

    def run(self, seconds: float, opened: Sequence[Tracker]) -> Ending:
        """Train to the end, after `seconds` of earlier training; return how it ended.

        Signals are only noted meanwhile. The trackers that are `opened` receive every row.
        """
        state, step, settings = self.state, self.step, self.settings
        # A chunk ends at multiples of these, and where training ends: at the same points however a
        # run is interrupted.
        spans = (
            CHUNK, settings.checkpoint_every, settings.validate_every, settings.evaluate_every,
            settings.history_every,
        )  # fmt: skip
        if self.repairs and step > self.end:
            self._enter_round(step)
        status, repair = self._status(step), ""
        if not step:
            self._keep_vectors(state, step, status)
        if status == "done":
            state, status = self._next_round(state, step)
        while status is None:
            begun = time.perf_counter()
            boundaries = [step - step % span + span for span in spans if span]
            boundaries += [end for end in (*settings.ends, self.end) if end > step]
            count = min(boundaries) - step
            state, chunk = self.call(state, self.data, jnp.int32(step), jnp.int32(count))
            chunk = Metrics(*(column[:, :count] for column in processes.fetch(chunk)))
            seconds += time.perf_counter() - begun
            for member in np.flatnonzero(~processes.fetch(state.alive)).tolist():
                if member not in self.stopped and member not in self._resting:
                    bad = ~np.isfinite(chunk.loss[member])
                    self.stopped[member] = step + int(np.argmax(bad) if bad.any() else count - 1)
            rows = _rows(chunk, step, seconds, self.stopped | self._resting)
            step += count
            state, rows, validated = self._measure(state, step, rows)
            if self.writes:
                metrics.add(self.folder.metrics, rows)
                for tracker in opened:
                    tracker.add(rows)
            loss, exact_match = (column[:, -BUCKET:].mean(axis=1).tolist() for column in chunk)
            named = {row.member: row.named for row in rows if row.named}
            examples = count * settings.batch * self.members
            progress = Progress(
                step, self.end, seconds, loss, exact_match, self.stopped,
                examples_per_second=examples / (time.perf_counter() - begun),
                named=named, validated=validated, repair=repair,
            )  # fmt: skip
            status = self._status(step)
            ends = status == "done"
            if ends:
                state, status = self._next_round(state, step)
            self._keep_vectors(state, step, status)
            if status is not None or ends or self._is_due(step, settings.checkpoint_every):
                host_state = processes.fetch(state)
                if self.writes:
                    self._save(step, host_state, seconds)
                if status is not None:
                    self.final = step, host_state
            if self.writes:
                self.show(progress)  # what it shows is saved
            if ends and status is None:
                number, counts = self._round_at(step), self._listed.wrong_counts
                wrong = counted(int(counts[number - 1].max()), "wrong window")
                repair = f"repair {number}, of {wrong}"
        return status

    def _save(self, step: int, host_state: Member, seconds: float) -> None:
        """Write a checkpoint; the metrics before it outlast a power failure as it does."""
        files.sync(self.folder.metrics)
        checkpoints.save(
            self.folder.checkpoints,
            step,
            host_state,
            checkpoints.owner(self.recipe, list(self.seeds), step),
            self.settings.checkpoints,
            self.settings.extended_at,
            self.stopped,
        )
        self.folder.update(
            training_seconds=round(seconds, 3), stopped=dict(self.stopped), checkpoint=step
        )

    @property
    def _listed(self) -> TrainingWindows:
        """The windows that rounds of repair are about."""
        assert self.windows is not None
        return self.windows

    def _round_at(self, step: int) -> int:
        """Return the round of repair of the step after `step`; 0 before the first round."""
        after = step - self.settings.steps
        return 1 + after // self.recipe.round_steps if self.repairs and after >= 0 else 0

    def _next_round(self, state: Member, step: int) -> tuple[Member, Ending | None]:
        """Begin a round of repair, if one is due; else the training is done."""
        if not self.repairs:
            return state, "done"
        alive = np.array([member not in self.stopped for member in range(self.members)])
        number, listed, wrong = self._round_at(step), self._listed, np.zeros((1, 1), bool)
        if 1 <= number <= self.settings.repair:
            # All follows from the weights alone, so it is the same where a run is resumed here.
            listed.since[listed.since >= number] = NEVER
            del listed.wrong[number - 1 :], listed.wrong_counts[number - 1 :]
            model = processes.local(state.model)
            wrong = ~(scoring.outputs_after(model, listed.rows, listed.targets).margin > 0)
            wrong &= alive[:, None]
        if wrong.any():
            is_shown = listed.since >= 0
            unfinished = (wrong & is_shown).any(axis=1, keepdims=True)
            listed.since[wrong & ~is_shown & ~unfinished] = number
            listed.wrong.append(wrong & (listed.since >= 0))
            listed.wrong_counts.append(wrong.sum(axis=1))
            if self.writes:  # before the first step: a run that is killed resumes with the same
                windows.save(self.folder.path, listed)
            self._enter_round(step)
            alive &= [member not in self._resting for member in range(self.members)]
            is_far = listed.wrong_counts[-1] > MANY * len(listed.rows)
            peaks = self.recipe.optimizer.learning_rate * np.where(is_far, FASTER, 1.0)
            rates = processes.put(peaks.astype(np.float32), state.alive.sharding)
            state = state._replace(hyperparams=state.hyperparams._replace(learning_rate=rates))
        status: Ending | None = None if self.end > step else "done"
        return state._replace(alive=processes.put(alive, state.alive.sharding)), status

    def _enter_round(self, step: int) -> None:
        """Load the data of the round of this step, and set the step at which it ends."""
        number, listed = self._round_at(step), self._listed
        if number > len(listed.wrong):
            self.end = step
            return
        self.end = self.settings.steps + number * self.recipe.round_steps
        skips_met = self.first < self.settings.steps
        self.data = self.place(window_data(listed, number, room=True, skip_met=skips_met))
        is_resting = ~listed.wrong[number - 1].any(axis=1)
        self._resting = dict.fromkeys(np.flatnonzero(is_resting).tolist(), 0)

    def _status(self, step: int) -> Ending | None:
        """Return how the training has ended, if it has."""
        if len(self.stopped) == self.members:
            return "stopped"
        if step >= self.end:
            return "done"
        signal = processes.highest(interrupts.noted())
        if signal:
            interrupts.note(signal)
        return "interrupted" if signal else None

    def _is_due(self, step: int, every: int) -> bool:
        """Whether a step is a multiple of `every`, or one at which training ended before."""
        return step % every == 0 or step in self.settings.extended_at

    def _keep_vectors(self, state: Member, step: int, status: Ending | None) -> None:
        """Keep the characters' vectors at their steps and at the end, but for an interrupt's."""
        every = self.settings.history_every
        if every and (self._is_due(step, every) or status in ("done", "stopped")):
            vectors = checkpoints.vectors(state.model)
            if self.writes:
                checkpoints.save_vectors(self.folder.history, step, vectors)

    def _measure(
        self, state: Member, step: int, rows: list[Metric]
    ) -> tuple[Member, list[Metric], Validated | None]:
        """Add to each member's last row the validation, what is watched, and named answers.

        Each has steps at which it is due; windows are tried with a validation. Training ends here
        if the validation is good enough; that is noted before the checkpoint is written, so a run
        killed in between ends at the same step. Returns the state with the best weights.
        """
        settings, validated = self.settings, None
        added: dict[int, dict[str, Any]] = {member: {} for member in range(self.members)}
        trained = [member for member in added if member not in self.stopped]
        if settings.validate_every and step % settings.validate_every == 0:
            validated, goal = self._validated(state, step), settings.stop_at
            # in single precision, which the shares have: 0.95 is less there
            shares = np.array(validated.exact_match, np.float32)
            enough = goal is not None and bool((shares >= np.float32(goal)).all())
            if enough and step >= settings.stop_after:
                self.end = step
                if self.writes:
                    self.folder.update(ended=step)
            by_tokens = settings.keep == "best-tokens"
            score = validated.token_accuracy if by_tokens else validated.exact_match
            state = trainer.update_best(
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
                outputs = scoring.outputs_after(processes.local(state.model), rows_of, targets)
                for member, bits in enumerate(np.packbits(outputs.margin > 0, axis=1)):
                    added[member]["windows_right"] = base64.b64encode(bits.tobytes()).decode()
        if settings.evaluate_every and step % settings.evaluate_every == 0:
            watched = scoring.watched_exact_match(self._models_at(state), self._watched)
            for member in trained:
                added[member]["evaluated"] = {name: each[member] for name, each in watched.items()}
        due = self._is_due(step, settings.checkpoint_every) or step >= self.end
        if settings.named_at_checkpoints and due:
            models = self._models_at(state)
            problems = [parse(text) for text in self.recipe.evaluation.named]
            answers = generation.answers_of_all(models, problems)
            perplexities = generation.perplexities(models, problems)
            answered = list(zip(problems, answers, perplexities, strict=True))
            for member in trained:
                added[member]["named"] = {
                    str(problem): NamedAnswer(
                        text := every[member].answer, text == problem.truth_text, costs[member]
                    )
                    for problem, every, costs in answered
                }
        rows = [replace(row, **added[row.member]) if row.step == step else row for row in rows]
        return state, rows, validated

    def _models_at(self, state: Member) -> scoring.Models:
        """Return the members in their current state."""
        model = processes.local(state.model)
        return scoring.Models(model, self.layout, self.members, shared=True, seeds=self.seeds)

    def _validated(self, state: Member, step: int) -> Validated:
        """Average over the tasks by their shares, or evenly when the problems are fresh."""
        models, settings, recipe_tasks = self._models_at(state), self.settings, self.recipe.tasks
        if settings.fresh_validation:
            sets = [tasks.held_out_drawn(task, settings.validation, step) for task in recipe_tasks]
            shares = np.full((len(recipe_tasks), 1, 1), 1 / len(recipe_tasks))
        else:
            sets = self._validation
            shares = np.array(self.recipe.shares)[:, None, None] / settings.batch
        scores = [scoring.scores(models, problems, loss=settings.loss) for problems in sets]
        by_task = np.array(
            [[score.loss, score.exact_match.mean(axis=1), score.token_accuracy] for score in scores]
        )  # tasks 3 members
        loss, right, tokens = np.sum(by_task * shares, axis=0).astype(np.float32).tolist()
        by_operator = {}
        if len(recipe_tasks) > 1:
            operators = [task.operator for task in recipe_tasks]
            by_operator = dict(zip(operators, by_task[:, 1].tolist(), strict=True))
        optimizer, steps = self.recipe.optimizer, self.recipe.round_steps
        factor = optimizers.schedule(optimizer, jnp.int32(step), *settings.ends, round_steps=steps)
        rate = optimizer.learning_rate * float(factor)
        return Validated(loss, right, tokens, by_operator, rate)

    @cached_property
    def _validation(self) -> list[list[Problem]]:
        return [records.validation(self.recipe, self.layout, task) for task in self.recipe.tasks]

    @cached_property
    def _watched(self) -> dict[str, list[list[Problem]]]:
        return evaluation_set.watched_problems(self.recipe, self.layout, self.seeds)


def _rows(metrics: Metrics, first: int, seconds: float, stopped: Mapping[int, int]) -> list[Metric]:
    """Return lines for metrics.jsonl: means over at most BUCKET steps, null for stopped members."""
    rows = []
    for start in range(0, metrics.loss.shape[1], BUCKET):
        end = min(start + BUCKET, metrics.loss.shape[1])
        for member in range(len(metrics.loss)):
            over = first + end > stopped.get(member, first + end)
            means = [round(float(column[member, start:end].mean()), 6) for column in metrics]
            loss, exact_match = (None, None) if over else means
            rows.append(Metric(first + end, member, loss, exact_match, round(seconds, 3)))
    return rows
