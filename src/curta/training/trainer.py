"""The loss, the training step, and the compiled chunk of steps, for all members of a run at once.

A step is a pure function of the member and the step's number: all random draws, such as problems,
depend only on the member's seed and that number. So a resumed run continues bit for bit, as long as
it runs the same compiled program: on one machine, with the same versions and number of devices.
Members are spread over a mesh of devices with axes `member` and `batch`. Those on one device take
turns on a CPU and are vectorised on an accelerator.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, UInt

from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.config.sections import Training
from curta.layouts import Layout, ShapeBounds, Text
from curta.layouts.base import Batch, scored_batch
from curta.model import weights
from curta.model.layers import Flat, States
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer, logits_of_windows
from curta.problems import tasks
from curta.training import processes
from curta.training.optimizers import HyperParams, transformation
from curta.training.records import Data

CHUNK = 100
"""Steps per compiled call: few enough for live progress, enough to make the call cheap."""


class Best(NamedTuple):
    """The best weights of a member so far, judged by the validation problems."""

    model: Transformer
    """The weights."""
    loss: Float[Array, "*members"]
    """Their validation loss."""
    score: Float[Array, "*members"]
    """The share of correct problems or tokens (`training.keep`); -1 before any validation."""


class Member(NamedTuple):
    """The training state of a member between steps."""

    seed: Int[Array, ""]
    """The seed."""
    hyperparams: HyperParams
    """The learning rate and weight decay."""
    model: Transformer
    """The current weights."""
    optimizer: PyTree
    """The state of the optimiser."""
    alive: Bool[Array, ""]
    """False once the loss or a weight was not finite; the member is then left unchanged."""
    best: Best | None = None
    """The best weights so far; None if the last ones are kept."""

    @property
    def chosen(self) -> Transformer:
        """The weights to evaluate: the best after the first validation, else the current ones."""
        if self.best is None:
            return self.model
        return _where(self.best.score < 0, self.model, self.best.model)


class Metrics(NamedTuple):
    """The metrics of each step, measured on its problems before it learns from them."""

    loss: Float[Array, "*members steps"]
    """The mean loss of a scored token, in nats."""
    exact_match: Float[Array, "*members steps"]
    """The share of problems, or windows, without an error."""


LossAndMatch = tuple[Float[Array, ""], Float[Array, ""]]
"""The loss of a step, and the share of problems (or windows) without an error."""


TaskBounds = tuple[ShapeBounds, ...]
"""Bounds on the training texts of each task; empty if members train on windows."""


KEY_USES = (1, 2, 3)
"""Numbers folded into a step's key for starts, recurrences and dropout; tasks use larger ones."""


class StepKeys(NamedTuple):
    """The random keys of a step, which depend only on a member's seed and the step's number."""

    problems: PRNGKeyArray
    """For drawing problems."""
    starts: PRNGKeyArray
    """For displacing positions and varying texts."""
    recurrences: PRNGKeyArray
    """For the number of recurrences."""
    dropout: PRNGKeyArray
    """For dropout."""
    step: Int[Array, ""] | int
    """The number of the step."""
    order: UInt[Array, ""]
    """Shuffles epochs; the same for all steps of a member."""


def step_keys(seed: Int[Array, ""] | int, number: Int[Array, ""] | int) -> StepKeys:
    """Return the keys of one step of one member."""
    member = jax.random.key(seed)
    key, order = jax.random.fold_in(member, 1 + number), jax.random.bits(member)
    starts, recurrences, dropout = (jax.random.fold_in(key, use) for use in KEY_USES)
    return StepKeys(key, starts, recurrences, dropout, number, order)


def task_keys(keys: StepKeys, number: int) -> StepKeys:
    """Return the keys of one task: it draws its own problems, and each device its own dropout."""
    problems = keys.problems
    if number:  # the first task has the step's own key
        problems = jax.random.fold_in(keys.problems, KEY_USES[-1] + number)
    dropout = jax.random.fold_in(keys.dropout, number)
    dropout = jax.random.fold_in(dropout, jax.lax.axis_index("batch"))
    return keys._replace(problems=problems, dropout=dropout)


def init(recipe: Recipe, layout: Layout, seeds: Int[Array, " members"]) -> Member:
    """Return members before their first step, stacked along a leading axis."""
    settings, keeps_best = recipe.optimizer, recipe.training.keep != "last"

    def init_member(seed: Array) -> Member:
        key = jax.random.fold_in(jax.random.key(seed), 0)
        model = Transformer.init(recipe.model, recipe.positions, layout, key=key)
        hyperparams = HyperParams.of(settings)
        optimizer = _chain(recipe, hyperparams).init(model)
        best = Best(model, jnp.float32(jnp.inf), jnp.float32(-1.0)) if keeps_best else None
        return Member(seed, hyperparams, model, optimizer, jnp.array(True), best)

    return jax.jit(jax.vmap(init_member))(seeds)


def _chain(recipe: Recipe, hyperparams: HyperParams) -> optax.GradientTransformation:
    return transformation(
        recipe.optimizer, hyperparams, *recipe.training.ends, round_steps=recipe.round_steps
    )


def loss_terms(
    settings: Training, num_recurrences: int, states: Callable[..., States], key: PRNGKeyArray
) -> list[tuple[float, Flat]]:
    """Return the terms of a looped model's loss: states of the queries, each with its weight.

    The state after the most recurrences comes last. `states` is `Transformer.states` of a batch;
    `key` is the step's key for recurrences. `training.recurrence_loss` is one of

    last: the loss after the last recurrence.

    mixed: the mean of that loss and of the loss after a random number of recurrences, from 1 to
    all, drawn for each step. Both come from one pass, at the cost of a second head.

    progressive: R is the number of recurrences, and B = max(R // 2, 1). A share `alpha` is the loss
    after n recurrences without gradients and k with them, n uniform in 0..R-1 and k in
    1..min(R - n, B). The rest is the loss after all R, with gradients through the last B. For
    R = 6, B = 3 and n = 4, k is 1 or 2: the loss is taken after 5 or 6 recurrences. The n
    recurrences run without storing activations. Then B more run, whatever k is, and the state after
    k of them is used: on average (R - 1) / 2 + B recurrences forward, and B backward.
    Source: Bansal et al., arXiv 2202.05826, in the form of McLeish et al., arXiv 2405.17399.
    """
    if settings.recurrence_loss == "last":
        return [(1.0, states().last)]
    if settings.recurrence_loss == "mixed":
        recorded, count = states(each=True), jax.random.randint(key, (), 1, num_recurrences + 1)
        return [(0.5, recorded.after(count)), (0.5, recorded.last)]
    backward, alpha = max(num_recurrences // 2, 1), settings.progressive_alpha  # B
    first, second = jax.random.split(key)
    no_grad = jax.random.randint(first, (), 0, num_recurrences)  # n
    highest = jnp.minimum(num_recurrences - no_grad, backward)
    with_grad = jax.random.randint(second, (), 1, highest + 1)  # k
    terms = []
    if alpha > 0:
        recorded = states(num_recurrences=backward, no_grad_recurrences=no_grad, each=True)
        terms.append((alpha, recorded.after(with_grad)))
    if alpha < 1:
        before = num_recurrences - backward
        final = states(num_recurrences=backward, no_grad_recurrences=before).last
        terms.append((1 - alpha, final))
    return terms


def loss_and_exact_match(
    model: Transformer,
    batch: Batch,
    bounds: ShapeBounds,
    keys: StepKeys,
    settings: Training,
    psum: Callable[[Array], Array] = lambda x: x,
) -> LossAndMatch:
    """Return the mean cross entropy over scored tokens, and the share of exact matches.

    `psum` sums over the devices that share the batch. If the loss of a looped model has several
    terms, exact match refers to the one with the most recurrences.
    """
    where = model.positions.shift_batch(batch.where, keys.starts)
    key = keys.dropout if model.config.dropout else None
    states = partial(model.states, batch.tokens, where, batch.queries, bounds, dropout_key=key)
    losses = jnp.zeros(())  # of each scored token: texts queries
    terms = loss_terms(settings, model.config.num_recurrences, states, keys.recurrences)
    for weight, state in terms:
        logits = model.logits(state, batch.queries)  # texts queries vocabulary
        losses = losses + weight * _token_losses(settings, logits, batch.goals)
    # These are the logits of the last term. A text is an exact match if it has no error.
    errors = jnp.sum((jnp.argmax(logits, -1) != batch.goals) & batch.judged, axis=1)
    exact_match = jnp.sum(errors == 0).astype(jnp.float32)
    scored = psum(jnp.sum(batch.scored)).astype(jnp.float32)
    loss = jnp.sum(jnp.where(batch.scored, losses, 0.0)) / scored
    return loss, exact_match / psum(jnp.float32(len(batch.tokens)))


def _token_losses(
    settings: Training,
    logits: Float[Array, "texts queries vocabulary"],
    goals: Int[Array, "texts queries"],
) -> Float[Array, "texts queries"]:
    """Return the cross entropy of each token; a numeric loss adds the error of the digit.

    This error is the squared distance between the expected digit and the goal, divided by 81.

    >>> certain = jax.nn.one_hot(jnp.array([[0]]), 12) * 1e3  # predicts 0, the goal is 9
    >>> float((_token_losses(Training(loss="numeric"), certain, jnp.array([[9]])) - 1e3)[0, 0])
    1.0
    """
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, goals)
    if settings.loss != "numeric":
        return losses
    # Tokens 0 to 9 are the digits: half a 3 and half a 5 are expected to be 4.
    expected = jax.nn.softmax(logits[..., :10]) @ jnp.arange(10.0)  # texts queries
    distance = jnp.square((expected - goals.astype(expected.dtype)) / 9)
    return losses + jnp.where(goals < 10, distance, 0.0)


def objective(
    model: Transformer,
    recipe: Recipe,
    task_bounds: TaskBounds,
    data: Data,
    keys: StepKeys,
    shards: int,
    psum: Callable[[Array], Array],
) -> LossAndMatch:
    """Return this device's part of a step's loss and exact match.

    Each task has its own batch, so that short problems are not padded to the length of long ones.
    Tasks are weighted by their number of problems: with 30 and 10 of 40, by 3/4 and 1/4.
    """
    model = weights.cast(model, recipe.training.precision)
    if isinstance(model.positions, WindowEncoding):
        return window_objective(model, recipe.training.batch, data, keys, shards)
    # Every device draws the problems of the whole batch, and keeps its part.
    layout, task_values = model.layout, []
    tasks_of_step = zip(recipe.tasks, recipe.shares, task_bounds, strict=True)
    for number, (task, count, bounds) in enumerate(tasks_of_step):  # `count` problems of each
        keys_of_task = task_keys(keys, number)
        # Each text of the whole batch has two keys, for its writing and its start, however many
        # devices share the batch. Unused keys vanish from the compiled step.
        per_text = jax.random.split(jax.random.fold_in(keys.starts, number), (2, count))
        writing, starts = _shard((per_text[0], per_text[1]), shards)
        if data.by_member:  # recorded texts
            texts: Text = data.by_member[number]
            picked = jax.random.randint(keys_of_task.problems, (count,), 0, len(texts.tokens))
            text = Text(*(column[_shard(picked, shards)] for column in texts))
        else:
            if recipe.training.order == "epochs":
                problems = tasks.epoch_batch(task, keys.order, count, keys.step)
            elif recipe.training.order == "fixed":
                problems = tasks.fixed_batch(task, count, keys.step)
            else:
                problems = tasks.draw(task, keys_of_task.problems, count, keys.step)
            text = layout.tokens(task.operator, _shard(problems, shards), bounds)
            text = layout.vary(text, writing)
        # Roles and coordinates of the tokens, then which of them are scored, against which goals.
        where = layout.where(text)
        batch = scored_batch(recipe.training.loss, text, where, bounds, causal=recipe.model.causal)
        batch = batch._replace(where=model.positions.shift_each(batch.where, starts))
        values = loss_and_exact_match(model, batch, bounds, keys_of_task, recipe.training, psum)
        task_values.append([value * (count / recipe.training.batch) for value in values])
    losses, exact_matches = zip(*task_values, strict=True)
    return sum(losses[1:], start=losses[0]), sum(exact_matches[1:], start=exact_matches[0])


def window_objective(
    model: Transformer, batch: int, data: Data, keys: StepKeys, shards: int
) -> LossAndMatch:
    """Return this device's part of the mean loss over windows, and of the share of correct ones."""
    picked = _shard(draw_windows(data, keys.problems, batch), shards)
    rows, targets = (column[picked] for column in data.shared)  # batch cells, batch
    logits = logits_of_windows(model, rows)  # batch vocabulary
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    correct = jnp.argmax(logits, axis=-1) == targets
    return jnp.sum(losses) / batch, jnp.sum(correct).astype(jnp.float32) / batch


def draw_windows(data: Data, key: PRNGKeyArray, batch: int) -> Int[Array, " batch"]:
    """Draw the windows of a step from those of the member, uniformly or by frequency.

    Window i is drawn by frequency if a random 32-bit number lies below threshold i, but not below
    the one before it.

    >>> thresholds = jnp.array([0, 2**32 - 1, 2**32 - 1], jnp.uint32)  # 4 never, 7 always
    >>> data = Data((), (jnp.array([4, 7, 9]), 2, thresholds))
    >>> draw_windows(data, jax.random.key(0), 3).tolist()
    [7, 7, 7]
    """
    windows, count, thresholds = data.by_member
    if thresholds is None:
        return windows[jax.random.randint(key, (batch,), 0, count)]
    bits = jax.random.bits(key, (batch,), jnp.uint32)
    return windows[jnp.minimum(jnp.searchsorted(thresholds, bits, side="right"), count - 1)]


def step(
    recipe: Recipe, bounds: TaskBounds, shards: int, member: Member, data: Data, number: Array
) -> tuple[Member, Metrics]:
    """Make one step of the optimiser, in a mesh whose `batch` axis has `shards` devices."""
    psum = partial(jax.lax.psum, axis_name="batch")  # over the devices
    differentiate = jax.value_and_grad(objective, has_aux=True)
    (loss, exact_match), gradients = differentiate(
        member.model, recipe, bounds, data, step_keys(member.seed, number), shards, psum
    )
    loss, exact_match, gradients = psum((loss, exact_match, gradients))
    chain = _chain(recipe, member.hyperparams)
    updates, optimizer = chain.update(gradients, member.optimizer, member.model)
    model = optax.apply_updates(member.model, updates)
    return member._replace(model=model, optimizer=optimizer), Metrics(loss, exact_match)


def steps(
    step_member: Callable[..., tuple[Member, Metrics]],
    member: Member,
    data: Data,
    first: Int[Array, ""],
    count: Int[Array, ""],
) -> tuple[Member, Metrics]:
    """Make `count` steps, at most CHUNK.

    If the loss or a weight is not finite afterwards, return the member as it was, no longer alive.
    """

    def body(i: Array, carry: tuple[Member, Metrics]) -> tuple[Member, Metrics]:
        member, metrics = carry
        member, values = step_member(member, data, first + i)
        return member, jax.tree.map(lambda column, x: column.at[i].set(x), metrics, values)

    blank = Metrics(jnp.zeros(CHUNK), jnp.zeros(CHUNK))  # only `count` steps are filled in
    after, metrics = jax.lax.fori_loop(0, count, body, (member, blank))
    leaves = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(after.model)]
    alive = member.alive & jnp.all(jnp.isfinite(metrics.loss)) & jnp.all(jnp.stack(leaves))
    survivor = jax.tree.map(partial(jnp.where, alive), after, member)
    return survivor._replace(alive=alive), metrics


def update_best(
    state: Member, loss: Float[np.ndarray, " members"], score: Float[np.ndarray, " members"]
) -> Member:
    """Return stacked members, each with the better of its best and its current weights.

    The higher score is better; if scores are equal, the smaller loss.
    """
    if state.best is None:
        return state
    best = state.best
    now = Best(state.model, *processes.put((loss, score), state.alive.sharding))
    is_better = (now.score > best.score) | (now.score == best.score) & (now.loss < best.loss)
    return state._replace(best=_where(is_better, now, best))


def _where(mask: Bool[Array | np.ndarray, " members"], new: PyTree, old: PyTree) -> PyTree:
    """Return stacked members: the new one where the mask is True, the old one elsewhere."""

    def pick(new: Array | np.ndarray, old: Array | np.ndarray) -> Array:
        return jnp.where(mask.reshape(-1, *[1] * (old.ndim - 1)), new, old)

    return jax.tree.map(pick, new, old)


def mesh_for(members: int, batch: int, devices: list[jax.Device] | None = None) -> Mesh:
    """Arrange devices in a grid, member x batch.

    As many devices as divide the members evenly split the members; the rest split the batch. Six
    members on four devices make a grid of 2 x 2: each device has three members and half of an even
    batch. If only two of four devices are needed, they are the first and the third, so that two
    processes get one each.
    """
    devices = devices or jax.devices()
    across = math.gcd(members, len(devices))
    shards = math.gcd(batch, len(devices) // across)
    used = devices[:: len(devices) // (across * shards)]  # evenly spaced
    grid = [used[i * shards : (i + 1) * shards] for i in range(across)]
    return Mesh(grid, ("member", "batch"))


def training_mesh(recipe: Recipe, members: int) -> Mesh:
    """Return the mesh to train on: each device gets an equal part of every task, or of all windows.

    Cores do not share a batch of windows, since a step takes one or two milliseconds and
    synchronising them adds another. For addition, 1,000 steps of 32, 128 and 512 windows took 0.4,
    0.6 and 2.1 s on one core, and 1.5, 1.6 and 2.2 s on two. Raises UserError if a process is left
    without devices.
    """
    batch = math.gcd(*recipe.shares)
    if isinstance(recipe.positions, Window):
        batch = 1 if jax.devices()[0].platform == "cpu" else recipe.training.batch
    mesh = mesh_for(members, batch)
    processes.check(mesh, members)
    return mesh


def compile_steps(
    recipe: Recipe, bounds: TaskBounds, mesh: Mesh, vectorised: bool | None = None
) -> Callable[[Member, Data, Array, Array], tuple[Member, Metrics]]:
    """Return the compiled chunk of steps, to call with (members, data, first step, count).

    The stacked members are donated: do not use them after the call. The members of one device are
    either `vectorised` or take turns; by default they are vectorised on accelerators only.
    """
    if vectorised is None:
        vectorised = mesh.devices.flat[0].platform != "cpu"
    step_member = partial(step, recipe, bounds, mesh.shape["batch"])

    def chunk_on_device(
        members: Member, data: Data, first: Array, count: Array
    ) -> tuple[Member, Metrics]:
        """Make the steps of the members that one device has."""

        def run(args: tuple[Member, Any]) -> tuple[Member, Metrics]:
            member, by_member = args
            return steps(step_member, member, data._replace(by_member=by_member), first, count)

        args = (members, data.by_member)
        return jax.vmap(run)(args) if vectorised else jax.lax.map(run, args)

    # Members and their data are split over the devices; everything else is on all of them.
    member, whole = PartitionSpec("member"), PartitionSpec()
    chunk = jax.shard_map(
        chunk_on_device,
        mesh=mesh,
        in_specs=(member, Data(whole, member), whole, whole),
        out_specs=member,
        check_vma=False,
    )
    return jax.jit(chunk, donate_argnums=0)


def shard(tree: PyTree, mesh: Mesh, axis: str = "member") -> PyTree:
    """Place arrays on the devices of a mesh, with their leading axis split along `axis`."""
    return processes.put(tree, NamedSharding(mesh, PartitionSpec(axis)))


def place_data(data: Data, mesh: Mesh) -> Data:
    """Place each member's data on its device, and shared data on every device."""
    everywhere = NamedSharding(mesh, PartitionSpec())
    return Data(processes.put(data.shared, everywhere), shard(data.by_member, mesh))


def _shard(tree: PyTree, shards: int) -> PyTree:
    """Return this device's part of a batch; every device draws the whole batch, which is cheap."""
    shard = jax.lax.axis_index("batch")

    def part_of(leaf: Array) -> Array:
        size = len(leaf) // shards
        return jax.lax.dynamic_slice_in_dim(leaf, shard * size, size)

    return jax.tree.map(part_of, tree)
