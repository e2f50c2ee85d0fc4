// The transformer over whole texts, token by token with a cache. See `model/transformer.py`,
// `model/decoding.py`; sites are named as in `model/inspection.py`.

import { Block, INTO_STATE } from "./blocks.js";
import { added, linear, normed, rowOf } from "./layers.js";
import { ENCODINGS } from "./positions/registry.js";
import { below, untouched } from "./taps.js";

export class Transformer {
  /** `design` is what `whole/design.py` says, `tensors` what `whole/weights.py` packs. */
  constructor(design, tensors) {
    const { config } = design;
    Object.assign(this, { design, config, tensors, size: config.width / config.heads });
    this.positions = new ENCODINGS[design.positions.name](design, tensors);
    this.blocks = Array.from({ length: config.num_layers }, (_, number) => new Block(config, tensors, number));
  }

  /** Of a text of which nothing is read yet: its tokens, and keys and values of every attention layer. */
  emptyCache() {
    const { num_recurrences: recurrences, num_attention_layers: layers } = this.config;
    const slots = () => Array.from({ length: layers }, () => ({ keys: [], values: [] }));
    return { tokens: [], slots: Array.from({ length: recurrences }, slots) };
  }

  /** Appends tokens, `{token, index, role, coordinates}`; the logits for what follows each of them. */
  read(cache, tokens, tap = untouched) {
    cache.tokens.push(...tokens);
    const entries = tokens.map((token) => tap("embedding", this.embed(token), token.index));
    const injected = INTO_STATE.includes(this.config.input_injection);
    let x = injected ? entries.map((entry) => entry.map(() => 0)) : entries;
    cache.slots.forEach((slots, number) => {
      const here = cache.slots.length > 1 ? below(tap, `recurrence.${number}.`) : tap;
      x = this.recur(x, entries, tokens, cache, slots, here);
    });
    return x.map((state, i) => this.logits(state, tokens[i].index, tap));
  }

  /** All blocks, one after the other. */
  recur(x, entries, tokens, cache, slots, tap) {
    return this.blocks.reduce((state, block, number) => {
      const attend = (...given) => this.attend(number, cache, slots[number], ...given);
      return block.calculate(state, entries, tokens, attend, below(tap, `layer.${number}.`));
    }, x);
  }

  /** The vector of a token: of its symbol, of its role, of where it stands. */
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

  /** What each token takes from the keys and values that it sees, its own included. */
  attend(layer, cache, slots, block, x, entries, tokens, taps) {
    const queries = tokens.map((token, i) => this.keysValues(block, x[i], entries[i], token, slots, taps[i]));
    return tokens.map((token, i) => {
      const seen = this.config.causal ? cache.tokens.slice(0, token.index + 1) : cache.tokens;
      const weights = taps[i]("attention.weights",
        this.positions.weights(layer, token, seen, queries[i], slots.keys));
      return this.taken(weights, slots.values);
    });
  }

  /** Remembers a token's key and value, as heads use them, and returns its query. */
  keysValues(block, x, entry, token, slots, tap) {
    const located = block.sublayerInput(this.located(x, token), block.attention, entry);
    const own = this.config.qk_input === "state" ? located : block.sublayerInput(x, block.attention, entry);
    const project = (h, name) => linear(h, block.attention[name], block.attention[`${name}_bias`]);
    const query = this.positions.rotate(project(located, "query"), token);
    const key = this.repeated(this.positions.rotate(project(located, "key"), token));
    const unscaled = this.config.attention_scale ? query : query.map((value) => value * this.size ** 0.5);
    const found = tap("attention.queries", unscaled);
    slots.keys[token.index] = tap("attention.keys", key);
    slots.values[token.index] = tap("attention.values", this.repeated(project(own, "value")));
    return found;
  }

  /** What queries and keys are made of: the state, or the vectors of positions alone. */
  located(x, token) {
    if (this.config.qk_input === "state") return x;
    return this.positions.embed(token) ?? new Float32Array(this.config.width);
  }

  /** Keys or values for every head: of [k, l] those of four heads are [k, k, l, l]. */
  repeated(heads) {
    const shared = this.config.width / heads.length, { size } = this;
    if (shared === 1) return heads;
    return Float32Array.from({ length: this.config.width }, (_, i) =>
      heads[Math.floor(i / size / shared) * size + (i % size)]);
  }

  /** The mean of values by each head's weights, head beside head. */
  taken(weights, values) {
    const { size, config: { width } } = this, sums = new Float64Array(width);
    weights.forEach((shares, head) => shares.forEach((share, key) => {
      if (share === 0) return;
      for (let i = head * size; i < (head + 1) * size; i++) sums[i] += share * values[key][i];
    }));
    return new Float32Array(sums);
  }
}
