// The contract of a position encoding: how attention sees where a token stands. See
// `model/positions/base.py`. The defaults are a transformer without positions; each encoding
// overrides what it is about. A token is `{token, index, role, coordinates}`.

import { softmax } from "../../numbers.js";

export class Encoding {
  /** `tensors` are all of the model; its own begin with `positions.`. */
  constructor(design, tensors) {
    const { config, positions: settings, layout } = design;
    Object.assign(this, { config, settings, layout, tensors, size: config.width / config.heads });
  }

  /** Why a token cannot stand where it does; null if it can. */
  complaint(token) {
    return null;
  }

  /** Added to the token's embedding; null is nothing. */
  embed(token) {
    return null;
  }

  /** Queries or keys of a token, head beside head, as this encoding turns them. */
  rotate(heads, token) {
    return heads;
  }

  /** Added to the scores of a key for a query, a number for each head; null is nothing. */
  bias(layer, query, key) {
    return null;
  }

  /** Of each head the share of every key that the query sees. */
  weights(layer, query, seen, q, keys) {
    const { size, config: { heads } } = this, scale = size ** -0.5;
    const scores = Array.from({ length: heads }, () => new Float32Array(seen.length));
    seen.forEach((key, place) => {
      const bias = this.bias(layer, query, key), k = keys[key.index];
      for (let head = 0; head < heads; head++) {
        scores[head][place] = product(q, k, head * size, size) * scale + (bias ? bias[head] : 0);
      }
    });
    return scores.map((all) => Float32Array.from(softmax(all)));
  }
}

/** The product of two vectors' parts that begin there. */
export function product(first, second, from, size) {
  let sum = 0;
  for (let i = from; i < from + size; i++) sum += first[i] * second[i];
  return sum;
}
