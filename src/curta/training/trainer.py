"""Loss, step, and the compiled chunk of steps; all members of a run at once.

A step is a pure function of (member, step number): data, random starts and
everything else follow from the member's seed and the step, so a run that is
resumed continues in the same bits, as long as the same compiled program runs:
on one machine, with the same versions and as many devices. Members are spread
over the devices of one mesh with axes `member` and `batch`; members on one
device take turns on a CPU and are vectorised on an accelerator.
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
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree, UInt

from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.config.sections import Training
from curta.layouts import Layout, ShapeBounds, Text
from curta.layouts.batches import Batch, errors, scored_batch
from curta.model import weights
from curta.model.decoding import logits_of_windows
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer
from curta.problems import tasks
from curta.training import processes
from curta.training.optimizers import HyperParams, transformation
from curta.training.records import Data
from curta.training.recurrence_loss import loss_terms

CHUNK = 100
"""Steps per compiled call: often enough for live progress, seldom enough to cost nothing."""


class Best(NamedTuple):
    """A member as it was when it did best on the validation problems.

    Its score is the share that `training.keep` names, of problems or of tokens; -1 before any.
    """

    model: Transformer
    loss: Float[Array, "*members"]
    score: Float[Array, "*members"]


class Member(NamedTuple):
    """Everything that a member carries from step to step."""

    seed: Int[Array, ""]
    hyperparams: HyperParams
    model: Transformer
    optimizer: PyTree
    alive: Bool[Array, ""]
    best: Best | None = None

    @property
    def chosen(self) -> Transformer:
        """The model that the run is for: the best, once any was validated."""
        if self.best is None:
            return self.model
        return _where(self.best.score < 0, self.model, self.best.model)


class Metrics(NamedTuple):
    """Per step: the loss, and the share of problems answered without an error, or of windows.

    Both are measured on the step's own problems, or windows, before it learns from them.
    """

    loss: Float[Array, "*members steps"]
    exact_match: Float[Array, "*members steps"]


class TaskLayout(NamedTuple):
    """The layout of all tasks, and room for the longest text of each in training."""

    layout: Layout
    bounds: tuple[ShapeBounds, ...]


OTHERS = (1, 2, 3)
"""What is folded into a step's key for its starts, recurrences and dropout; tasks have more."""


class Keys(NamedTuple):
    """The random keys of a step: pure functions of a member's seed and the step's number.

    One each for problems, random starts, numbers of recurrences, and dropout; also the step's
    number, and a number of the member's by which epochs are ordered.
    """

    problems: PRNGKeyArray
    starts: PRNGKeyArray
    recurrences: PRNGKeyArray
    dropout: PRNGKeyArray
    step: Int[Array, ""] | int
    order: UInt[Array, ""]


def step_keys(seed: Int[Array, ""] | int, number: Int[Array, ""] | int) -> Keys:
    """Return the keys of one step of one member."""
    member = jax.random.key(seed)
    key, order = jax.random.fold_in(member, 1 + number), jax.random.bits(member)
    starts, recurrences, dropout = (jax.random.fold_in(key, use) for use in OTHERS)
    return Keys(key, starts, recurrences, dropout, number, order)


def task_keys(keys: Keys, number: int) -> Keys:
    """Return a task's own keys: its own problems, and its own dropout on every device."""
    own = jax.random.fold_in(keys.problems, OTHERS[-1] + number)
    problems = own if number else keys.problems
    dropout = jax.random.fold_in(keys.dropout, number)
    dropout = jax.random.fold_in(dropout, jax.lax.axis_index("batch"))
    return keys._replace(problems=problems, dropout=dropout)


def per_text_keys(
    key: PRNGKeyArray, task: int, texts: int
) -> tuple[Key[Array, " texts"], Key[Array, " texts"]]:
    """Return two keys for each text of a task's whole batch: how it is written, and its start.

    They do not depend on how many devices share the batch. Where nothing is drawn from
    them, the compiled step has no trace of them.
    """
    keys = jax.random.split(jax.random.fold_in(key, task), (2, texts))
    return keys[0], keys[1]


def init(recipe: Recipe, layout: Layout, seeds: Int[Array, " members"]) -> Member:
    """Members before their first step, stacked along a leading axis."""
    settings, keeps_best = recipe.optimizer, recipe.training.keep != "last"

    def one(seed: Array) -> Member:
        key = jax.random.fold_in(jax.random.key(seed), 0)
        model = Transformer.init(recipe.model, recipe.positions, layout, key=key)
        hyperparams = HyperParams.of(settings)
        optimizer = _chain(recipe, hyperparams).init(model)
        best = Best(model, jnp.float32(jnp.inf), jnp.float32(-1.0)) if keeps_best else None
        return Member(seed, hyperparams, model, optimizer, jnp.array(True), best)

    return jax.jit(jax.vmap(one))(seeds)


def _chain(recipe: Recipe, hyperparams: HyperParams) -> optax.GradientTransformation:
    return transformation(
        recipe.optimizer, hyperparams, *recipe.training.ends, round_steps=recipe.round_steps
    )


def loss_and_exact_match(
    model: Transformer,
    batch: Batch,
    bounds: ShapeBounds,
    keys: Keys,
    settings: Training,
    total: Callable[[Array], Array] = lambda x: x,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Mean cross entropy over scored tokens, and the share of problems with an exact match.

    `total` sums over the devices among which the batch is divided. Where the loss of a looped
    model has several terms, exact match is read from that with the most recurrences.
    """
    where = model.positions.shift_batch(batch.where, keys.starts)
    key = keys.dropout if model.config.dropout else None
    states = partial(model.states, batch.tokens, where, batch.queries, bounds, dropout_key=key)
    losses = jnp.zeros(())
    for share, state in loss_terms(
        settings, model.config.num_recurrences, states, keys.recurrences
    ):
        logits = model.logits(state, batch.queries)
        losses = losses + share * _token_losses(settings, logits, batch.goals)
    exact_match = jnp.sum(errors(logits, batch) == 0).astype(jnp.float32)
    scored = total(jnp.sum(batch.scored)).astype(jnp.float32)
    loss = jnp.sum(jnp.where(batch.scored, losses, 0.0)) / scored
    return loss, exact_match / total(jnp.float32(len(batch.tokens)))


def _token_losses(
    settings: Training,
    logits: Float[Array, "rows queries vocabulary"],
    goals: Int[Array, "rows queries"],
) -> Float[Array, "rows queries"]:
    """Cross entropy; with a numeric loss also how far the expected digit is from the right one.

    That is the squared distance, as a share of the largest there is, where a digit is due.

    >>> sure = jax.nn.one_hot(jnp.array([[0]]), 12) * 1e3  # of 0, where 9 is right
    >>> float((_token_losses(Training(loss="numeric"), sure, jnp.array([[9]])) - 1e3)[0, 0])
    1.0
    """
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, goals)
    if settings.loss != "numeric":
        return losses
    expected = jax.nn.softmax(logits[..., :10]) @ jnp.arange(10.0)
    distance = jnp.square((expected - goals.astype(expected.dtype)) / 9)
    return losses + jnp.where(goals < 10, distance, 0.0)


def objective(
    model: Transformer,
    recipe: Recipe,
    layouts: TaskLayout,
    data: Data,
    keys: Keys,
    shards: int,
    total: Callable[[Array], Array],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """This device's part of a step's loss and exact match, each task at its share.

    Every task is a batch of its own, so short problems are not padded to long ones: of tasks with
    30 and 10 of the 40 problems of a step, the loss is 3/4 of the first's and 1/4 of the other's.
    """
    model = weights.cast(model, recipe.training.precision)
    if isinstance(model.positions, WindowEncoding):
        return window_objective(model, recipe.training.batch, data, keys, shards)
    parts = []
    for number, share in enumerate(recipe.shares):
        bounds, own = layouts.bounds[number], task_keys(keys, number)
        _, starts = _share(per_text_keys(keys.starts, number, share), shards)
        text = _text(recipe, layouts, data, own, number, shards)
        where = model.layout.where(text)
        batch = scored_batch(recipe.training.loss, text, where, bounds, causal=recipe.model.causal)
        batch = batch._replace(where=model.positions.shift_each(batch.where, starts))
        values = loss_and_exact_match(model, batch, bounds, own, recipe.training, total)
        parts.append([value * (share / recipe.training.batch) for value in values])
    loss, exact_match = (sum(column[1:], start=column[0]) for column in zip(*parts, strict=True))
    return loss, exact_match


def window_objective(
    model: Transformer, batch: int, data: Data, keys: Keys, shards: int
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """This device's part of the mean loss over windows, and the share of them that are right."""
    chosen = _share(draw_windows(data, keys.problems, batch), shards)
    rows, targets = (part[chosen] for part in data.shared)
    logits = logits_of_windows(model, rows)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, targets)
    right = jnp.argmax(logits, axis=-1) == targets
    return jnp.sum(losses) / batch, jnp.sum(right).astype(jnp.float32) / batch


def draw_windows(data: Data, key: PRNGKeyArray, batch: int) -> Int[Array, " batch"]:
    """Which windows a step learns from: uniform ones of those shown, or by frequency.

    >>> upto = jnp.array([0, 2**32 - 1, 2**32 - 1], jnp.uint32)  # 4 never, 7 always
    >>> data = Data((), (jnp.array([4, 7, 9]), 2, upto))
    >>> draw_windows(data, jax.random.key(0), 3).tolist()
    [7, 7, 7]
    """
    shown, count, upto = data.own
    if upto is None:
        return shown[jax.random.randint(key, (batch,), 0, count)]
    drawn = jax.random.bits(key, (batch,), jnp.uint32)
    return shown[jnp.minimum(jnp.searchsorted(upto, drawn, side="right"), count - 1)]


def _text(
    recipe: Recipe, layouts: TaskLayout, data: Data, keys: Keys, number: int, shards: int
) -> Text:
    """This device's part of a task's texts: those recorded, or new ones drawn and written."""
    task, share = recipe.tasks[number], recipe.shares[number]
    if data.own:
        texts: Text = data.own[number]
        chosen = jax.random.randint(keys.problems, (share,), 0, len(texts.tokens))
        return Text(*(part[_share(chosen, shards)] for part in texts))
    layout, bounds = layouts
    if recipe.training.order == "epochs":
        drawn = tasks.in_turn(task, keys.order, share, keys.step)
    elif recipe.training.order == "fixed":
        drawn = tasks.fixed_batch(task, share, keys.step)
    else:
        drawn = tasks.draw(task, keys.problems, share, keys.step)
    drawn = _share(drawn, shards)
    writing, _ = _share(per_text_keys(keys.starts, number, share), shards)
    return layout.vary(layout.tokens(task.operator, drawn, bounds[number]), writing)


def step(
    recipe: Recipe, layouts: TaskLayout, shards: int, member: Member, data: Data, number: Array
) -> tuple[Member, Metrics]:
    """One optimiser step; inside a mesh whose `batch` axis has `shards` devices."""
    total = partial(jax.lax.psum, axis_name="batch")
    learn = jax.value_and_grad(objective, has_aux=True)
    keys = step_keys(member.seed, number)
    (loss, exact_match), gradients = learn(member.model, recipe, layouts, data, keys, shards, total)
    loss, exact_match, gradients = total((loss, exact_match, gradients))
    chain = _chain(recipe, member.hyperparams)
    updates, optimizer = chain.update(gradients, member.optimizer, member.model)
    model = optax.apply_updates(member.model, updates)
    return member._replace(model=model, optimizer=optimizer), Metrics(loss, exact_match)


def steps(
    one: Callable[..., tuple[Member, Metrics]],
    member: Member,
    data: Data,
    first: Int[Array, ""],
    count: Int[Array, ""],
) -> tuple[Member, Metrics]:
    """`count` steps (at most CHUNK). A member whose loss fails to be finite stays as it was."""

    def body(i: Array, carry: tuple[Member, Metrics]) -> tuple[Member, Metrics]:
        member, metrics = carry
        member, now = one(member, data, first + i)
        return member, jax.tree.map(lambda column, value: column.at[i].set(value), metrics, now)

    blank = Metrics(jnp.zeros(CHUNK), jnp.zeros(CHUNK))
    after, metrics = jax.lax.fori_loop(0, count, body, (member, blank))
    leaves = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(after.model)]
    alive = member.alive & jnp.all(jnp.isfinite(metrics.loss)) & jnp.all(jnp.stack(leaves))
    survivor = jax.tree.map(partial(jnp.where, alive), after, member)
    return survivor._replace(alive=alive), metrics


def improved(
    state: Member, loss: Float[np.ndarray, " members"], score: Float[np.ndarray, " members"]
) -> Member:
    """Stacked members, each with the better of its best and its present model.

    That is the one with the higher score; of equals the one with less loss.
    """
    if state.best is None:
        return state
    now = Best(state.model, *processes.put((loss, score), state.alive.sharding))
    best = state.best
    better = (now.score > best.score) | (now.score == best.score) & (now.loss < best.loss)
    return state._replace(best=_where(better, now, best))


def _where(which: Bool[Array | np.ndarray, " members"], these: PyTree, others: PyTree) -> PyTree:
    """Stacked members: `these` where it says so, `others` elsewhere."""

    def pick(new: Array | np.ndarray, old: Array | np.ndarray) -> Array:
        return jnp.where(which.reshape(-1, *[1] * (old.ndim - 1)), new, old)

    return jax.tree.map(pick, these, others)


def mesh_for(members: int, batch: int, devices: list[jax.Device] | None = None) -> Mesh:
    """Devices as member x batch: as many for members as divide evenly, the rest for the batch.

    6 members on 4 devices: 2 by 2, each with three members and half of an even batch. Of four of
    which two are needed it is the first and the third, so that two processes have one each.
    """
    devices = devices or jax.devices()
    across = math.gcd(members, len(devices))
    shards = math.gcd(batch, len(devices) // across)
    chosen = devices[:: len(devices) // (across * shards)]
    grid = [chosen[i * shards : (i + 1) * shards] for i in range(across)]
    return Mesh(grid, ("member", "batch"))


def training_mesh(recipe: Recipe, members: int) -> Mesh:
    """The mesh to train on: each device gets an equal part of every task, or of all windows.

    Cores do not share a batch of windows: a step takes one millisecond or two, and that they wait
    for each other takes one more (addition, 1,000 steps of 32, 128 and 512 windows: 0.4, 0.6 and
    2.1 s on one core, 1.5, 1.6 and 2.2 s on two). Raises UserError if a process is left
    without devices.
    """
    cores = jax.devices()[0].platform == "cpu"
    if not isinstance(recipe.positions, Window):
        mesh = mesh_for(members, math.gcd(*recipe.shares))
    else:
        mesh = mesh_for(members, 1 if cores else recipe.training.batch)
    processes.check(mesh, members)
    return mesh


def compiled(
    recipe: Recipe, layouts: TaskLayout, mesh: Mesh, vectorised: bool | None = None
) -> Callable[[Member, Data, Array, Array], tuple[Member, Metrics]]:
    """The chunk of steps for stacked members: call it with (members, data, first step, count).

    The members that it is given are gone afterwards: what comes out lies in their memory. Those of
    one device are `vectorised`, by default on an accelerator only; else they take turns.
    """
    on_accelerator = mesh.devices.flat[0].platform != "cpu"
    together = on_accelerator if vectorised is None else vectorised
    one = partial(step, recipe, layouts, mesh.shape["batch"])

    def local(members: Member, data: Data, first: Array, count: Array) -> tuple[Member, Metrics]:
        def run(mine: tuple[Member, Any]) -> tuple[Member, Metrics]:
            return steps(one, mine[0], data._replace(own=mine[1]), first, count)

        each = (members, data.own)
        return jax.vmap(run)(each) if together else jax.lax.map(run, each)

    member, whole = PartitionSpec("member"), PartitionSpec()
    shard = jax.shard_map(
        local,
        mesh=mesh,
        in_specs=(member, Data(whole, member), whole, whole),
        out_specs=member,
        check_vma=False,
    )
    return jax.jit(shard, donate_argnums=0)


def shard(tree: PyTree, mesh: Mesh, axis: str = "member") -> PyTree:
    """Places what is stacked by members, or by the batch, on the devices that have each part."""
    return processes.put(tree, NamedSharding(mesh, PartitionSpec(axis)))


def placed(data: Data, mesh: Mesh) -> Data:
    """Places each member's own data with it, and what is shared everywhere."""
    everywhere = NamedSharding(mesh, PartitionSpec())
    return Data(processes.put(data.shared, everywhere), shard(data.own, mesh))


def _share(tree: PyTree, shards: int) -> PyTree:
    """This device's part of a batch that every device draws whole, since that costs nothing."""
    part = jax.lax.axis_index("batch")
    return jax.tree.map(
        lambda leaf: jax.lax.dynamic_slice_in_dim(
            leaf, part * (len(leaf) // shards), len(leaf) // shards
        ),
        tree,
    )
