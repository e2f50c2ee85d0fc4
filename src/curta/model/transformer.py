"""The transformer: embeddings, blocks of attention and MLP, head.

Read it from top to bottom. `Block` is one layer. `Transformer.__call__` runs whole texts: `context`
embeds their tokens, `_recurrence` runs the blocks, `attend` is attention, and `logits` the head.
Windows, at the end of this file, run the same blocks; so do decoding with a cache
(`evaluation.generation`) and recording activations (`inspection`).

Shapes: in linear layers, activations are two-dimensional, (tokens, width) with tokens = batch *
time. They have a batch axis only in attention; elsewhere it would make XLA on a CPU copy whole
arrays between layouts. Only scored positions are computed to the end: after the last attention
layer of the last recurrence has its keys and values, only the queries go on.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from curta.config.positions import Positions
from curta.config.sections import ModelConfig
from curta.layouts import Layout, ShapeBounds, TokenPositions
from curta.model import layers, weights
from curta.model.layers import (
    Dropout,
    Flat,
    KVHeads,
    Logits,
    Queries,
    States,
    Tap,
    Tokens,
    no_tap,
    prefixed,
)
from curta.model.positions import build as build_positions
from curta.model.positions.base import Encoding, Shape, VisibleKeys
from curta.model.positions.window import WindowEncoding
from curta.model.weights import Weight, draw, normal

ActiveTokens = Float[Array, "active width"]  # tokens that go on after an attention layer
SublayerWeights = layers.AttentionWeights | layers.MLPWeights
ScoredQueries = tuple[Queries, VisibleKeys]
DropoutKey = PRNGKeyArray | None

UNROLLED = 8
"""The most blocks that the compiled program unrolls.

A loop copies the weights and activations of each block. With four blocks of width 64, a step took
98 ms in a loop and 73 ms unrolled.
"""


class BlockContext(NamedTuple):
    """What a block needs to know of its tokens besides their states."""

    where: Any
    """Their positions, a `TokenPositions`; None in `logits_of_windows`."""
    visible_keys: Any
    """The keys that they see, a `VisibleKeys`; None in `logits_of_windows`."""
    embedded: Flat
    """Their embeddings, which input injection adds again."""


class AttentionOutput(NamedTuple):
    """The result of one attention layer."""

    x: ActiveTokens
    """The state before attention of the tokens that go on: all, or only the scored ones."""
    context: BlockContext
    """The context of these tokens."""
    output: ActiveTokens
    """The vectors that attention adds to their state."""
    aux: Any
    """The updated cache when decoding; `context` if only the scored tokens go on; else None."""


Attend = Callable[["Block", Flat, BlockContext, Tap], AttentionOutput]


class Block(eqx.Module):
    """One layer, or several layers stacked along a leading axis."""

    mlp: layers.MLPWeights
    attention: Any  # AttentionWeights; None in an MLP-only layer
    positions: Any  # parameters of the position encoding for this layer
    dropout: Dropout
    config: ModelConfig = eqx.field(static=True)

    def __call__(
        self, x: Flat, context: BlockContext, attend: Attend | None = None, tap: Tap = no_tap
    ) -> tuple[ActiveTokens, Any]:
        """Compute x + attention(norm(x)), then x + mlp(norm(x)).

        `attend` is `Transformer.attend` or its equivalent for windows, None in an MLP-only layer.
        Returns the new state and `AttentionOutput.aux`.
        """
        config, aux = self.config, None
        x = tap("before", inject(config, x, context.embedded, "block", "sublayer"))
        if attend is not None:
            x, context, output, aux = attend(self, x, context, tap)  # output = attention(norm(x))
            x = self._add(x, output, self.attention, sublayer=0)
            x = tap("middle", inject(config, x, context.embedded, "sublayer"))
        h = self.sublayer_input(x, self.mlp, context)  # h = norm(x)
        output = layers.feedforward(config, self.mlp, h, self.dropout.mlp, tap)
        x = self._add(x, output, self.mlp, sublayer=1)
        return tap("after", x), aux

    def sublayer_input(self, x: Flat, layer: SublayerWeights, context: BlockContext) -> Flat:
        """Return norm(x), or x without a norm at this place; add the input if it is injected."""
        if self.config.norms_before:
            x = layers.normalize(self.config, x, layer.gain, layer.gain_bias)
        return inject(self.config, x, context.embedded, "normed")

    def _add(self, x: Flat, output: Flat, layer: SublayerWeights, sublayer: int) -> Flat:
        """Return x + dropout(output), normalised if norms stand after sub-layers."""
        x = x + layers.apply_dropout(self.config, output, index_tree(self.dropout.output, sublayer))
        if self.config.norms_after:
            x = layers.normalize(self.config, x, layer.after, layer.after_bias)
        return x

    def project(self, name: str, h: Flat, *shape: int) -> Float[Array, "*shape heads features"]:
        """Multiply states by the matrix `name` of attention, and split the result into heads.

        The result [1, 2, 3, 4] of one token becomes [[1, 2], [3, 4]] with two heads.
        """
        layer = self.attention
        heads = layers.linear(h, getattr(layer, name), getattr(layer, f"{name}_bias"))
        return heads.reshape(*shape, -1, self.config.head_dim)

    def attention_output(self, heads: ActiveTokens, tap: Tap) -> ActiveTokens:
        """Multiply the heads by the output matrix; with a tap, head by head, then add them up.

        With two heads of one feature, [2, 3], and the matrix rows [1, 0] and [0, 1], the heads add
        [2, 0] and [0, 3].
        """
        weight, bias = self.attention.out, self.attention.out_bias
        if tap is no_tap:
            return layers.linear(heads, weight, bias)
        by_head = heads.reshape(len(heads), self.config.heads, -1)  # tokens heads features
        rows = weight.reshape(self.config.heads, -1, weight.shape[-1])  # heads features width
        outputs = tap("attention.heads", jnp.einsum("the,hew->thw", by_head, rows))
        output = jnp.sum(outputs, axis=1)
        return tap("attention.output", output if bias is None else output + bias[None])


class Transformer(eqx.Module):
    """A transformer over the tokens of one layout: a decoder if it is causal, else an encoder."""

    tokens: Weight
    roles: Weight | None
    positions: Encoding
    attention: layers.AttentionWeights
    mlp: layers.MLPWeights
    gain: Float[Array, " width"] | None
    head: Weight | None
    config: ModelConfig = eqx.field(static=True)
    layout: Layout = eqx.field(static=True)
    gain_bias: Weight | None = None
    head_bias: Weight | None = None

    @classmethod
    def init(
        cls, config: ModelConfig, positions: Positions, layout: Layout, *, key: PRNGKeyArray
    ) -> "Transformer":
        """Return a model with random weights drawn from `key`.

        Raises UserError if the position encoding does not fit the model.
        """
        width, characters = config.width, len(layout.characters)
        vectors = layout.composition().shape[1] if config.compositional_embeddings else characters
        shape = Shape(layout, width, config.heads, config.num_attention_layers)
        has_final_gain = config.has_gains and config.final_norm
        tokens = normal(vectors, width, scale=1.0)
        if config.embedding == "arc":
            tokens = weights.constant([3.0, 0.0, 0.15])  # radius, start, step
        roles = normal(len(layout.roles), width, scale=1.0)
        head = normal(width, characters, scale=width**-0.5)
        with jax.ensure_compile_time_eval():  # weights that are not drawn are constants
            model = cls(
                tokens=tokens,
                roles=roles if config.role_embeddings else None,
                positions=build_positions(positions, shape),
                attention=weights.without_shared(config, layers.init_attention(config)),
                mlp=layers.init_mlp(config),
                gain=jnp.ones(width) if has_final_gain else None,
                head=None if config.tie_embeddings else head,
                config=config,
                layout=layout,
                gain_bias=layers.init_bias(config, "norms", width) if has_final_gain else None,
                head_bias=layers.init_bias(config, "head", characters),
            )
        return draw(weights.describe(model), key)

    def __call__(
        self,
        tokens: Tokens,
        where: TokenPositions,
        queries: Queries,
        bounds: ShapeBounds,
        dropout_key: DropoutKey = None,
    ) -> Logits:
        """Return the logits of the token after each query: batch x queries x vocabulary.

        Args:
            tokens: Token numbers, batch x time.
            where: The position of each token.
            queries: Indices into time, batch x queries.
            bounds: Upper bounds on these texts.
            dropout_key: Random key for dropout; without it there is none.
        """
        states = self.states(tokens, where, queries, bounds, dropout_key=dropout_key)
        return self.logits(states.last, queries)

    def states(
        self,
        tokens: Tokens,
        where: TokenPositions,
        queries: Queries,
        bounds: ShapeBounds,
        *,
        each: bool = False,
        num_recurrences: int | None = None,
        no_grad_recurrences: Int[Array, ""] | int = 0,
        dropout_key: DropoutKey = None,
    ) -> States:
        """Return the states of the queries after `num_recurrences`, by default the config's.

        With `each`, return the states after every earlier recurrence, too. `no_grad_recurrences`
        additional ones run first, without gradients; their number may be traced, so that it can
        change without recompiling.
        """
        index = self.positions.index(where, bounds)
        context = self.context(tokens, where, index, dropout_key)
        x = self.initial_state(context.embedded)  # batch * time, width
        count = (num_recurrences or self.config.num_recurrences) - 1  # all but the last

        def recur(
            model: Transformer, context: BlockContext, x: Flat, number: Array | int
        ) -> ActiveTokens:
            """Run all blocks once, with the dropout of recurrence `number`."""
            return model._recurrence(x, context, model._draw_dropout(dropout_key, number, tokens))

        # Recurrences without gradients: weights and embeddings are constants in them.
        if not isinstance(no_grad_recurrences, int) or no_grad_recurrences:
            frozen, start = jax.lax.stop_gradient(((self, context), x))
            again = lambda number, x: recur(*frozen, x, number)
            after = jax.lax.fori_loop(0, no_grad_recurrences, again, start)
            x = jnp.where(no_grad_recurrences == 0, x, after)  # gradients reach x if there are none

        # All others but the last, with gradients.

        def recur_and_record(x: Flat, number: Array) -> tuple[Flat, ActiveTokens | None]:
            x = recur(self, context, x, number)
            return x, layers.select_queries(x, queries) if each else None

        earlier = None
        if count:
            # Drawing dropout is slow to compile, so a recurrence with dropout is not unrolled.
            unroll = 1 if dropout_key is not None else UNROLLED // self.config.num_layers
            unroll = min(count, max(1, unroll))
            numbers = no_grad_recurrences + jnp.arange(count)
            x, earlier = jax.lax.scan(recur_and_record, x, numbers, unroll=unroll)

        # In the last recurrence, only the queries go on once the last attention layer has its keys.
        scored = (queries, self._visible_keys(index, layers.select_queries(where, queries)))
        dropout = self._draw_dropout(dropout_key, no_grad_recurrences + count, tokens)
        return States(earlier, self._recurrence(x, context, dropout, scored))

    def context(
        self, tokens: Tokens, where: TokenPositions, index: Any, dropout_key: DropoutKey = None
    ) -> BlockContext:
        """Embed the tokens, and find the keys that they see in `index` (see `Encoding.index`)."""
        visible_keys = self._visible_keys(index, where)
        x = layers.one_hot_rows(self.characters(), tokens)  # batch time width
        if self.roles is not None:
            x = x + layers.one_hot_rows(self.roles, where.role)
        if self.config.qk_input == "state":
            x = x + jnp.asarray(self.positions.embed(where), x.dtype)
        x = x.reshape(tokens.size, -1)  # batch * time, width
        key = None if dropout_key is None else jax.random.fold_in(dropout_key, 0)
        mask = layers.dropout_mask(key, self.config, "embedding", *x.shape)
        return BlockContext(where, visible_keys, layers.apply_dropout(self.config, x, mask))

    def characters(self) -> Float[Array, "characters width"]:
        """Return the embedding of each token of the vocabulary, without roles or positions."""
        if self.config.embedding == "arc":
            return weights.arc_vectors(self.tokens, len(self.layout.characters))
        if not self.config.compositional_embeddings:
            return self.tokens
        return jnp.asarray(self.layout.composition(), self.tokens.dtype) @ self.tokens

    def initial_state(self, embedded: Flat) -> Flat:
        """Return the state before the first block: the embeddings, or zeros if injected into it."""
        return jnp.zeros_like(embedded) if self.config.injects_into_state else embedded

    def _visible_keys(self, index: Any, queries: TokenPositions) -> VisibleKeys:
        if self.config.causal:
            return self.positions.visible_keys(index, queries)
        return self.positions.bidirectional_mask(index, queries)

    def _draw_dropout(self, key: DropoutKey, recurrence: Array | int, tokens: Tokens) -> Dropout:
        """Draw the dropout masks of all blocks for one recurrence; without a key, return none."""
        config, (batch, time) = self.config, tokens.shape
        key = None if key is None else jax.random.fold_in(key, 1 + recurrence)
        size, heads, attending = batch * time, config.heads, config.num_attention_layers
        return Dropout(
            layers.dropout_mask(key, config, "output", config.num_layers, 2, size, config.width),
            layers.dropout_mask(key, config, "attention", attending, batch, time, heads, time),
            layers.dropout_mask(key, config, "mlp", config.num_layers, size, config.mlp_width),
        )

    def _recurrence(
        self, x: Flat, context: BlockContext, dropout: Dropout, scored: ScoredQueries | None = None
    ) -> ActiveTokens:
        """Run all blocks once; with `scored`, only these queries leave the last attention layer."""
        attending = self.config.num_attention_layers
        x = inject(self.config, x, context.embedded, "recurrence")
        if scored is None:
            x = scan_blocks(self.block(slice(attending), dropout), x, context, self.attend)
        else:
            # The last attention layer takes all tokens and returns the queries alone.
            last, attend = attending - 1, partial(self.attend, queries=scored)
            x = scan_blocks(self.block(slice(last), dropout), x, context, self.attend)
            dropout = dropout.for_queries(scored[0])
            x, context = self.block(last, dropout)(x, context, attend)
        return scan_blocks(self.block(slice(attending, None), dropout), x, context)  # MLPs alone

    def run_blocks(
        self, x: Flat, context: BlockContext, attends: Iterable[Attend], tap: Tap = no_tap
    ) -> tuple[Flat, list[Any]]:
        """Run one recurrence block by block, without a loop in the compiled program.

        `attends` are the functions of the attention layers, in order. Returns the state and the
        `aux` of each attention layer.
        """
        x, layer_aux = inject(self.config, x, context.embedded, "recurrence"), []
        for number, attend in zip_longest(range(self.config.num_layers), attends):
            x, aux = self.block(number)(x, context, attend, prefixed(tap, f"layer.{number}."))
            layer_aux.append(aux)
        return x, layer_aux[: self.config.num_attention_layers]

    def block(self, which: int | slice, dropout: Dropout = layers.NO_DROPOUT) -> Block:
        """Return one block, or several stacked; these must all have attention, or all lack it."""
        first = which.start or 0 if isinstance(which, slice) else which
        attends, model = first < self.config.num_attention_layers, weights.unshared(self)
        attention = model.attention if attends else None
        positions = self.positions.layers if attends else None
        dropout = dropout if attends else dropout._replace(attention=None)
        return index_tree(Block(model.mlp, attention, positions, dropout, self.config), which)

    def attend(
        self,
        block: Block,
        x: Flat,
        context: BlockContext,
        tap: Tap = no_tap,
        *,
        queries: ScoredQueries | None = None,
        store: Callable[[KVHeads, KVHeads], tuple[KVHeads, KVHeads, Any]] | None = None,
    ) -> AttentionOutput:
        """Let each token attend to the keys it sees: project, rotate, score, mix, project.

        With `queries`, only these tokens attend and go on. When decoding, `store` puts the new keys
        and values into a cache; it returns all keys and values, and the updated cache.
        """
        config, aux = self.config, None

        def project_and_rotate(name: str, h: Flat, context: BlockContext) -> KVHeads:
            """Return queries or keys; the position encoding computes in float32."""
            where = context.where
            if config.qk_input == "positions":  # norm(positions) in place of norm(x)
                vectors = jnp.zeros((*where.index.shape, 1)) + self.positions.embed(where)
                vectors = vectors.reshape(h.shape).astype(h.dtype)
                h = block.sublayer_input(vectors, block.attention, context)
            heads = block.project(name, h, *where.index.shape)
            return self.positions.rotate(heads.astype(jnp.float32), where).astype(heads.dtype)

        # Keys and values of all tokens.
        h = block.sublayer_input(x, block.attention, context)  # batch * time, width
        keys = project_and_rotate("key", h, context)  # batch time kv_heads features
        values = block.project("value", h, *context.where.index.shape)  # the same
        if store is not None:
            keys, values, aux = store(keys, values)

        # Queries of all tokens, or of the scored ones.
        if queries is not None:
            picked, visible_keys = queries
            x = layers.select_queries(x, picked)  # batch * queries, width
            embedded = layers.select_queries(context.embedded, picked)
            context = aux = BlockContext(visible_keys.queries, visible_keys, embedded)
        h = block.sublayer_input(x, block.attention, context)
        query = project_and_rotate("query", h, context)  # batch queries heads features
        if not config.attention_scale:  # undo the division in `Encoding.scores`
            query = query * config.head_dim**0.5
        query = tap("attention.queries", query)
        keys = tap("attention.keys", self.repeat_kv(keys))  # batch keys heads features
        values = tap("attention.values", self.repeat_kv(values))

        # Score, softmax and mix: `Encoding.attend`. With a tap, the same in two steps.
        visible_keys, mask = context.visible_keys, block.dropout.attention
        if mask is not None:
            factors = layers.apply_dropout(config, jnp.ones(mask.shape), mask)
            visible_keys = visible_keys._replace(factors=factors)
        if tap is no_tap:
            heads = self.positions.attend(block.positions, visible_keys, query, keys, values)
        else:
            shares = self.positions.weights(block.positions, visible_keys, query, keys)
            shares = tap("attention.weights", shares).astype(values.dtype)
            heads = jnp.einsum("bhqk,bkhe->bqhe", shares, values)
        output = block.attention_output(heads.reshape(x.shape), tap)
        return AttentionOutput(x, context, output, aux)

    def repeat_kv(
        self, heads: Float[Array, "*tokens kv_heads features"]
    ) -> Float[Array, "*tokens heads features"]:
        """Repeat keys or values for every head: [k, l] for four heads is [k, k, l, l]."""
        shared = self.config.heads // self.config.kv_heads
        return heads if shared == 1 else jnp.repeat(heads, shared, axis=-2)

    def logits(self, state: Flat, queries: Queries, tap: Tap = no_tap) -> Logits:
        """Return the logits of the token after each query, computed from the queries' states."""
        config, h = self.config, state
        if config.final_norm:
            h = layers.normalize(config, h, self.gain, self.gain_bias)
        h = tap("final", h)  # batch * queries, width
        scale = config.width**-0.5 if config.tied_scale else 1.0
        # A tied head is the embedding's matrix: width vocabulary.
        head = self.characters().T * scale if self.head is None else self.head
        logits = layers.linear(h.astype(jnp.float32), head.astype(jnp.float32), self.head_bias)
        return tap("logits", logits.reshape(*queries.shape, -1))

    def with_recurrences(self, num_recurrences: int) -> "Transformer":
        """Return the model with the same weights and another number of recurrences."""
        return replace(self, config=replace(self.config, num_recurrences=num_recurrences))


def inject(config: ModelConfig, x: Flat, embedded: Flat, *places: str) -> Flat:
    """Add the embeddings to the state if the config injects them at one of these places.

    With the injection `recurrence`, state [1, 2] and embeddings [3, 4] give [4, 6] at the place
    `recurrence`, and [1, 2] at all others.
    """
    return x + embedded if config.input_injection in places else x


def scan_blocks(
    blocks: Block, x: Flat, context: BlockContext, attend: Attend | None = None
) -> Flat:
    """Run stacked blocks one after the other; a single one needs no loop."""
    count = len(blocks.mlp.up)
    if count < 2:
        return index_tree(blocks, 0)(x, context, attend)[0] if count else x
    run = lambda x, block: block(x, context, attend)
    return jax.lax.scan(run, x, blocks, unroll=min(count, UNROLLED))[0]


def index_tree(tree: Any, which: int | slice | Array) -> Any:
    """Return `leaf[which]` of every leaf, to pick some of stacked blocks or members."""
    return jax.tree.map(lambda leaf: leaf[which], tree)


def parameters(model: Transformer) -> int:
    """Return the number of learned parameters."""
    return sum(leaf.size for leaf in jax.tree.leaves(model))


def logits_of_windows(
    model: Transformer, rows: Int[Array, "batch cells"], tap: Tap = no_tap
) -> Float[Array, "batch vocabulary"]:
    """Return the logits of the token after each window: batch x vocabulary.

    A row of `rows` has the token of the query, then those of its neighbours. Only the first layer
    may attend. Then the keys and values of a token depend on nothing else, so they are computed
    once for the whole vocabulary and looked up. The tap is called at the sites of `inspection` from
    `layer.0.attention.heads` on, with one row for each window; `layer.0.before` has one row for
    each token of the vocabulary.
    """
    embedded = model.characters()  # vocabulary width
    if model.roles is not None:
        embedded = embedded + model.roles[model.layout.machine.role]

    def attend(block: Block, x: Flat, context: BlockContext, tap: Tap) -> AttentionOutput:
        """Let the first token of each window attend to the window."""
        assert isinstance(model.positions, WindowEncoding)
        h = block.sublayer_input(x, block.attention, context)  # vocabulary width
        # vocabulary heads features
        query, keys, values = (block.project(name, h, len(x)) for name in ("query", "key", "value"))
        if not model.config.attention_scale:
            query = query * model.config.head_dim**0.5
        keys, values = model.repeat_kv(keys), model.repeat_kv(values)
        heads = model.positions.of_windows(block.positions, rows, query, keys, values)
        # In float32, since the gradient is a sum over all windows that begin with the same token.
        x = x.astype(jnp.float32)[rows[:, 0]].astype(x.dtype)  # batch width
        context = context._replace(embedded=context.embedded[rows[:, 0]])
        output = block.attention_output(heads.reshape(len(rows), -1), tap)
        return AttentionOutput(x, context, output, context)

    x, context = model.initial_state(embedded), BlockContext(None, None, embedded)
    x, context = model.block(0)(x, context, attend, prefixed(tap, "layer.0."))
    if tap is no_tap:
        x = scan_blocks(model.block(slice(1, None)), x, context)
    else:
        for number in range(1, model.config.num_layers):
            x, _ = model.block(number)(x, context, None, prefixed(tap, f"layer.{number}."))
    return model.logits(x, rows[None, :, 0], tap)[0]
