// The forward pass of every model, token by token with a cache. See `model/transformer.py` and
// `model/blocks.py`; sites are named as in `model/inspection.py`.

import { numbered } from "../../report/elements.js";
import { below } from "./changes.js";
import { ENCODINGS } from "./encodings.js";
import { added, feedforward, layerOf, linear, normed, rowOf } from "./layers.js";

export class Transformer {
  constructor(design, tensors) {
    const { config } = design;
    Object.assign(this, { design, config, tensors, size: config.width / config.heads });
    this.positions = new ENCODINGS[design.positions.name](design, tensors);
    this.windowed = design.positions.name === "window";
    this.blocks = numbered(config.num_layers).map((number) => ({
      attention: number < config.num_attention_layers ? layerOf(tensors, "attention", number) : null,
      mlp: layerOf(tensors, "mlp", number),
    }));
    this.headNames = numbered(config.num_attention_layers).flatMap((layer) =>
      numbered(config.heads).map((head) => `layer ${layer}, head ${head}`));
    this.memo = new Map(); // what was calculated of each window
  }

  // The cache of an empty text: tokens, and keys and values of every attention layer.
  emptyCache() {
    const { num_recurrences: recurrences, num_attention_layers: layers } = this.config;
    return { tokens: [], slots: numbered(recurrences).map(() => numbered(layers).map(() => ({ keys: [], values: [] }))) };
  }

  // Appends tokens to what the cache has; the logits for what follows each of them.
  read(cache, tokens, tap) {
    const { config } = this;
    cache.tokens.push(...tokens);
    const entries = tokens.map((token) => tap("embedding", this.embed(token), token.index));
    const injected = ["recurrence", "block", "sublayer"].includes(config.input_injection);
    let x = injected ? entries.map((entry) => entry.map(() => 0)) : entries;
    cache.slots.forEach((slots, number) => {
      const here = cache.slots.length > 1 ? below(tap, `recurrence.${number}.`) : tap;
      this.blocks.forEach((block, layer) => {
        x = this.block(block, layer, x, entries, tokens, cache, slots[layer], below(here, `layer.${layer}.`));
      });
    });
    return x.map((state, i) => this.logits(state, tokens[i].index, tap));
  }

  embed(token) {
    const { characters, roles } = this.tensors;
    let x = Float32Array.from(rowOf(characters, token.token));
    if (roles) x = added(x, rowOf(roles, token.role));
    const vector = this.config.qk_input === "state" ? this.positions.embed(token) : null;
    return vector ? added(x, vector) : x;
  }

  logits(state, index, tap) {
    const { gain, gain_bias: bias, head, head_bias: headBias } = this.tensors;
    const h = this.config.final_norm ? normed(this.config, state, gain?.data, bias?.data) : state;
    return tap("logits", linear(tap("final", h, index), head.data, headBias?.data), index);
  }

  // x + attention(norm(x)), and then x + mlp(norm(x)), of several tokens at once: `states` are
  // theirs, `entries` their embedded input, which some models add to the state again.
  block({ attention, mlp }, layer, states, entries, tokens, cache, slots, tap) {
    const { config } = this, injection = config.input_injection, taps = tokens.map(({ index }) => (site, value) => tap(site, value, index));
    const first = layer === 0 && injection === "recurrence" || ["block", "sublayer"].includes(injection);
    let x = states.map((state, i) => taps[i]("before", first ? added(state, entries[i]) : state));
    if (attention) {
      // Keys and values of all tokens first: a model that is not causal looks at later ones, too.
      const queries = tokens.map((token, i) => this.keysValues(attention, x[i], entries[i], token, slots, taps[i]));
      x = x.map((state, i) => {
        const seen = this.positions.seen(tokens[i], cache.tokens);
        const shares = this.positions.weights(layer, tokens[i], seen, queries[i], slots.keys);
        const output = this.attended(attention, taps[i]("attention.weights", shares), seen, slots.values, taps[i]);
        const after = this.after(state, taps[i]("attention.output", output), attention);
        return taps[i]("middle", injection === "sublayer" ? added(after, entries[i]) : after);
      });
    }
    return x.map((state, i) => {
      const change = feedforward(config, mlp, this.sublayerInput(state, mlp, entries[i]), taps[i]);
      return taps[i]("after", this.after(state, taps[i]("mlp.output", change), mlp));
    });
  }

  // What a sub-layer calculates with: the state, normalised unless it is so afterwards.
  sublayerInput(x, layer, entry) {
    const { config } = this;
    const h = config.norm_placement === "post" ? x : normed(config, x, layer.gain, layer.gain_bias);
    return config.input_injection === "normed" ? added(h, entry) : h;
  }

  // The state after a sub-layer; itself normalised where the norm stands there.
  after(x, change, layer) {
    const { config } = this, sum = added(x, change);
    return config.norm_placement === "pre" ? sum : normed(config, sum, layer.after, layer.after_bias);
  }

  // Remembers a token's key and value, as heads use them, and returns its query.
  keysValues(attention, x, entry, token, slots, tap) {
    const { config, positions } = this, alone = config.qk_input !== "state";
    const vector = alone ? positions.embed(token) ?? new Float32Array(config.width) : x; // of positions alone
    const located = this.sublayerInput(vector, attention, entry);
    const h = alone ? this.sublayerInput(x, attention, entry) : located;
    const project = (state, name) => linear(state, attention[name], attention[`${name}_bias`]);
    const query = positions.rotate(project(located, "query"), token);
    const key = this.repeated(positions.rotate(project(located, "key"), token));
    slots.keys[token.index] = tap("attention.keys", key);
    slots.values[token.index] = tap("attention.values", this.repeated(project(h, "value")));
    return tap("attention.queries", config.attention_scale ? query : query.map((value) => value * this.size ** 0.5));
  }

  // Keys or values for every head: of [k, l] those of four heads are [k, k, l, l].
  repeated(heads) {
    const { size, config: { width } } = this, shared = width / heads.length;
    return Float32Array.from({ length: width }, (_, i) => heads[Math.floor(i / size / shared) * size + (i % size)]);
  }

  // What attention adds to the state: the mean of values by each head's weights, projected, and the bias.
  attended({ out, out_bias: bias }, weights, seen, values, tap) {
    const { size, config: { width } } = this, each = new Float32Array(weights.length * width);
    weights.forEach((shares, head) => {
      const mean = new Float64Array(size), from = head * size;
      shares.forEach((share, place) => {
        const value = share && seen[place] ? values[seen[place].index] : null;
        for (let i = 0; value && i < size; i++) mean[i] += share * value[from + i];
      });
      each.set(linear(Float32Array.from(mean), out.subarray(from * width, (from + size) * width)), head * width);
    });
    const sums = bias ? Float64Array.from(bias) : new Float64Array(width);
    tap("attention.heads", each).forEach((value, i) => (sums[i % width] += value));
    return new Float32Array(sums);
  }
}
