// A block of the transformer: the one place that says what it does. See `model/blocks.py`.

import { added, feedforward, layerOf, linear, normed } from "./layers.js";
import { atToken } from "./taps.js";

/** Injections of the embedded input that become part of the state. */
export const INTO_STATE = ["recurrence", "block", "sublayer"];

export class Block {
  constructor(config, tensors, number) {
    this.config = config;
    this.injected = number === 0 && config.input_injection === "recurrence"
      || ["block", "sublayer"].includes(config.input_injection);
    this.attention = number < config.num_attention_layers ? layerOf(tensors, "attention", number) : null;
    this.mlp = layerOf(tensors, "mlp", number);
  }

  /**
   * x + attention(norm(x)), and then x + mlp(norm(x)), of several tokens at once: `states` are
   * theirs, `entries` their embedded input, `attend` gathers their heads.
   */
  calculate(states, entries, tokens, attend, tap) {
    const taps = tokens.map(({ index }) => atToken(tap, index));
    let x = states.map((state, i) => taps[i]("before", this.inject(state, entries[i])));
    if (this.attention) {
      const heads = attend(this, x, entries, tokens, taps);
      x = x.map((state, i) => this.attended(state, heads[i], entries[i], taps[i]));
    }
    return x.map((state, i) => taps[i]("after", this.fed(state, entries[i], taps[i])));
  }

  /** The state after attention, whose heads stand beside each other. */
  attended(x, heads, entry, tap) {
    const change = tap("attention.output", this.out(heads, tap));
    const state = this.add(x, change, this.attention);
    return tap("middle", this.config.input_injection === "sublayer" ? added(state, entry) : state);
  }

  fed(x, entry, tap) {
    const entering = this.sublayerInput(x, this.mlp, entry);
    return this.add(x, tap("mlp.output", feedforward(this.config, this.mlp, entering, tap)), this.mlp);
  }

  /** What attention adds to the state: the sum of what each head adds, and the bias. */
  out(heads, tap) {
    const { config: { heads: count, width }, attention: { out, out_bias: bias } } = this;
    const size = width / count, each = new Float32Array(count * width);
    for (let head = 0; head < count; head++) {
      const rows = out.subarray(head * size * width, (head + 1) * size * width);
      each.set(linear(heads.subarray(head * size, (head + 1) * size), rows), head * width);
    }
    const sums = bias ? Float64Array.from(bias) : new Float64Array(width);
    tap("attention.heads", each).forEach((value, i) => (sums[i % width] += value));
    return new Float32Array(sums);
  }

  /** What a sub-layer calculates with: the state, normalised unless it is so afterwards. */
  sublayerInput(x, layer, entry) {
    const { config } = this;
    const h = config.norm_placement === "post" ? x : normed(config, x, layer.gain, layer.gain_bias);
    return config.input_injection === "normed" ? added(h, entry) : h;
  }

  /** The state after a sub-layer; itself normalised where the norm stands there. */
  add(x, change, layer) {
    const { config } = this, sum = added(x, change);
    return config.norm_placement === "pre" ? sum : normed(config, sum, layer.after, layer.after_bias);
  }

  inject(x, entry) {
    return this.injected ? added(x, entry) : x;
  }
}
