"""Loss, step, and the compiled chunk of steps; all members of a run at once.

A step is a pure function of (member, step number): data, random starts and
everything else follow from the member's seed and the step, so a run that is
resumed continues in the same bits. Members are spread over the devices of one
mesh with axes `member` and `batch`; members on one device take turns on a CPU
and are vectorised on an accelerator.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, Key, PRNGKeyArray, PyTree

from .batches import Batch, capacity, errors, packed, padded
from .initial import draw
from .layouts import Layout, Room, Text, layout_named
from .model import Transformer, build
from .optimizers import Rates, transformation
from .recipe import Recipe
from .tasks import Task

CHUNK = 100
"""Steps per compiled call: often enough for live progress, seldom enough to cost nothing."""


class Member(NamedTuple):
    """Everything that a member carries from step to step."""

    seed: Int[Array, ""]
    rates: Rates
    model: Transformer
    optimizer: PyTree
    alive: Bool[Array, ""]


class Metrics(NamedTuple):
    """Per step: the loss, and the share of problems answered without an error.

    Both are measured on the step's own problems before it learns from them.
    """

    loss: Float[Array, "*members steps"]
    exact: Float[Array, "*members steps"]


def init(recipe: Recipe, seeds: Int[Array, " members"]) -> Member:
    """Members before their first step, stacked along a leading axis."""
    blank = build(recipe.model, recipe.positions, layout_named(recipe.layout))
    settings = recipe.optimizer

    def one(seed: Array) -> Member:
        model = draw(blank, jax.random.fold_in(jax.random.key(seed), 0))
        rates = Rates(jnp.float32(settings.learning_rate), jnp.float32(settings.weight_decay))
        optimizer = transformation(settings, rates, recipe.training.steps).init(model)
        return Member(seed, rates, model, optimizer, jnp.array(True))

    return jax.jit(jax.vmap(one))(seeds)


def loss_and_exact(
    model: Transformer,
    batch: Batch,
    room: Room,
    key: PRNGKeyArray,
    total: Callable[[Array], Array] = lambda x: x,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Mean cross entropy over scored tokens, and the share of flawless problems.

    `total` sums over the devices among which the batch is divided.
    """
    where = model.positions.jitter(batch.where, key)
    logits = model(batch.tokens, where, batch.queries, room)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.goals)
    flawless = jnp.sum(batch.present & (errors(logits, batch) == 0)).astype(jnp.float32)
    scored = total(jnp.sum(batch.scored)).astype(jnp.float32)
    loss = jnp.sum(jnp.where(batch.scored, losses, 0.0)) / scored
    return loss, flawless / total(jnp.sum(batch.present)).astype(jnp.float32)


def objective(
    model: Transformer,
    recipe: Recipe,
    data: PRNGKeyArray,
    jitter: PRNGKeyArray,
    shards: int,
    total: Callable[[Array], Array],
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """This device's part of a step's loss and exact match, each task at its share.

    Every task is a batch of its own, so short problems are not padded to long ones.
    """
    layout = layout_named(recipe.layout)
    found = []
    for number, (task, share) in enumerate(zip(recipe.tasks, recipe.shares, strict=True)):
        room = layout.room(task.operator, task.widest)
        key = jax.random.fold_in(data, number) if number else data
        drawn = _share(task.draw(key, share), shards)
        writing, starts = _share(_keys_of_each(jitter, number, share), shards)
        text = layout.vary(layout.tokens(task.operator, drawn, room), writing)
        batch = _batch(model, layout, task, text, room)
        batch = batch._replace(where=model.positions.stagger(batch.where, starts))
        values = loss_and_exact(model, batch, room, jitter, total)
        found.append([value * (share / recipe.training.batch) for value in values])
    loss, exact = (sum(column[1:], start=column[0]) for column in zip(*found, strict=True))
    return loss, exact


def _batch(model: Transformer, layout: Layout, task: Task, text: Text, room: Room) -> Batch:
    """The texts without padding, if the positions allow it and half of it would be padding.

    Where less is, packing gains nothing in JAX 0.12 and loses in 0.10: a step of the
    default recipe takes 4.9 ms padded, 4.9 and 13.4 ms packed.
    """
    where = layout.where(text)
    if not model.positions.packs:
        return padded(text, where, room)
    with jax.ensure_compile_time_eval():
        fits = capacity(task, layout, len(text.tokens))
    if text.tokens.size < 2 * fits.tokens:
        return padded(text, where, room)
    return packed(text, where, fits)


def step(
    recipe: Recipe, shards: int, member: Member, number: Int[Array, ""]
) -> tuple[Member, Metrics]:
    """One optimiser step; inside a mesh whose `batch` axis has `shards` devices."""
    total = partial(jax.lax.psum, axis_name="batch")
    learn = jax.value_and_grad(objective, has_aux=True)
    keys = _keys(member.seed, number)
    (loss, exact), gradients = learn(member.model, recipe, *keys, shards, total)
    loss, exact, gradients = total((loss, exact, gradients))
    chain = transformation(recipe.optimizer, member.rates, recipe.training.steps)
    updates, optimizer = chain.update(gradients, member.optimizer, member.model)
    model = optax.apply_updates(member.model, updates)
    return member._replace(model=model, optimizer=optimizer), Metrics(loss, exact)


def steps(
    recipe: Recipe, shards: int, member: Member, first: Int[Array, ""], count: Int[Array, ""]
) -> tuple[Member, Metrics]:
    """`count` steps (at most CHUNK). A member whose loss fails to be finite stays as it was."""

    def body(i: Array, carry: tuple[Member, Metrics]) -> tuple[Member, Metrics]:
        member, metrics = carry
        member, now = step(recipe, shards, member, first + i)
        return member, jax.tree.map(lambda column, value: column.at[i].set(value), metrics, now)

    blank = Metrics(jnp.zeros(CHUNK), jnp.zeros(CHUNK))
    after, metrics = jax.lax.fori_loop(0, count, body, (member, blank))
    leaves = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(after.model)]
    alive = member.alive & jnp.all(jnp.isfinite(metrics.loss)) & jnp.all(jnp.stack(leaves))
    kept = jax.tree.map(partial(jnp.where, alive), after, member)
    return kept._replace(alive=alive), metrics


def mesh_for(members: int, batch: int, devices: list[jax.Device] | None = None) -> Mesh:
    """Devices as member x batch: as many for members as divide evenly, the rest for the batch."""
    devices = devices or jax.devices()
    across = math.gcd(members, len(devices))
    shards = math.gcd(batch, len(devices) // across)
    grid = [devices[i * shards : (i + 1) * shards] for i in range(across)]
    return Mesh(grid, ("member", "batch"))


def training_mesh(recipe: Recipe, members: int) -> Mesh:
    """The mesh to train on: each device gets an equal part of every task."""
    return mesh_for(members, math.gcd(*recipe.shares))


def compiled(
    recipe: Recipe, mesh: Mesh
) -> Callable[[Member, Array, Array], tuple[Member, Metrics]]:
    """The chunk of steps for stacked members, to be called as (members, first step, count)."""
    mapped = jax.lax.map if mesh.devices.flat[0].platform == "cpu" else _vectorised

    def local(members: Member, first: Array, count: Array) -> tuple[Member, Metrics]:
        one = partial(steps, recipe, mesh.shape["batch"], first=first, count=count)
        return mapped(lambda member: one(member=member), members)

    member, whole = PartitionSpec("member"), PartitionSpec()
    spread = jax.shard_map(
        local, mesh=mesh, in_specs=(member, whole, whole), out_specs=member, check_vma=False
    )
    return jax.jit(spread, donate_argnums=0)


def spread(members: Member, mesh: Mesh) -> Member:
    """Places stacked members on the devices that train them."""
    return jax.device_put(members, NamedSharding(mesh, PartitionSpec("member")))


def _vectorised(function: Callable[[Member], PyTree], members: Member) -> PyTree:
    return jax.vmap(function)(members)


def _keys(seed: Int[Array, ""], number: Int[Array, ""]) -> tuple[PRNGKeyArray, PRNGKeyArray]:
    """Keys of a step for its problems and for random starts."""
    key = jax.random.fold_in(jax.random.key(seed), 1 + number)
    return key, jax.random.fold_in(key, 1)


def _keys_of_each(
    key: PRNGKeyArray, task: int, texts: int
) -> tuple[Key[Array, " texts"], Key[Array, " texts"]]:
    """A key for each text of a task's whole batch to be varied in writing, one for its start.

    They do not depend on how many devices share the batch. Where nothing is drawn from
    them, the compiled step has no trace of them.
    """
    keys = jax.random.split(jax.random.fold_in(key, task), (2, texts))
    return keys[0], keys[1]


def _share(tree: PyTree, shards: int) -> PyTree:
    """This device's part of a batch that every device draws whole, since that costs nothing."""
    part = jax.lax.axis_index("batch")
    return jax.tree.map(
        lambda leaf: jax.lax.dynamic_slice_in_dim(
            leaf, part * (len(leaf) // shards), len(leaf) // shards
        ),
        tree,
    )
