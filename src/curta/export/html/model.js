// The forward pass of a transformer under a window: what follows a few tokens, nothing else.
// What is calculated is what `model/windows.py` says; queries, keys and values depend on the
// token alone and come as tables, gains and scales are folded into them and the matrices.

import { ACTIVATIONS, argmax, softmax } from "./numbers.js";

const EPSILON = 1e-6;

/** A model, and every window that was asked so far: the same window is calculated once. */
export class Network {
  constructor(design, tensors, machine) {
    Object.assign(this, { design, tensors, machine });
    this.memo = new Map();
  }

  /** `{logits, weights, next}` after a window; `weights` are each head's shares of the cells. */
  look(window) {
    const key = window.join();
    if (!this.memo.has(key)) this.memo.set(key, this.calculate(window));
    return this.memo.get(key);
  }

  calculate(window) {
    const { design, tensors } = this, [own] = window;
    const { mixed, weights } = this.attend(window);
    let x = row(tensors.vectors, own);
    x = this.added(x, times(mixed, tensors.out, 0), tensors.attended, 0);
    for (let layer = 0; layer < design.layers; layer++) {
      x = this.added(x, this.feedforward(layer, this.normed(x)), tensors.fed, layer);
    }
    const logits = times(this.normed(x), tensors.head, 0);
    return { logits, weights, next: argmax(logits) };
  }

  attend(window) {
    const { heads, width } = this.design, size = width / heads;
    const mixed = new Float64Array(width), weights = [];
    for (let head = 0; head < heads; head++) {
      const shares = softmax(this.scores(window, head, size));
      weights.push(shares);
      shares.forEach((share, cell) => this.take(mixed, window[cell], share, head * size, size));
    }
    return { mixed, weights };
  }

  /** How well the key of every cell fits the query, and the head's bias for that cell.
   *  Where nothing was written, key and value are zero. */
  scores(window, head, size) {
    const { query, key, bias } = this.tensors, { machine } = this, [own] = window;
    const width = this.design.width, from = head * size;
    const cells = bias.shape[2], begin = (head * machine.roles.length + machine.role[own]) * cells;
    return window.map((token, cell) => {
      let sum = bias.data[begin + cell];
      if (cell > machine.near[machine.role[own]].length) return -Infinity; // no such cell
      if (token === machine.none) return sum;
      const q = own * width + from, k = token * width + from;
      for (let i = 0; i < size; i++) sum += query.data[q + i] * key.data[k + i];
      return sum;
    });
  }

  take(mixed, token, share, from, size) {
    if (token === this.machine.none) return;
    const { value } = this.tensors, start = token * this.design.width;
    for (let i = from; i < from + size; i++) mixed[i] += share * value.data[start + i];
  }

  feedforward(layer, h) {
    const { design, tensors } = this, activate = ACTIVATIONS[design.activation];
    const up = times(h, tensors.up, layer);
    const inner = tensors.gate
      ? times(h, tensors.gate, layer).map((g, i) => activate(g) * up[i])
      : up.map(activate);
    return times(inner, tensors.down, layer);
  }

  normed(x) {
    const mean = this.design.centred ? x.reduce((a, b) => a + b, 0) / x.length : 0;
    const centred = x.map((value) => value - mean);
    const square = centred.reduce((sum, value) => sum + value * value, 0) / x.length;
    const scale = 1 / Math.sqrt(square + EPSILON);
    return centred.map((value) => value * scale);
  }

  /** The state after a sub-layer; normed with these gains where the model has any. */
  added(x, change, gains, layer) {
    const sum = x.map((value, i) => value + change[i]);
    if (!gains) return sum;
    const gain = row(gains, layer);
    return this.normed(sum).map((value, i) => value * gain[i]);
  }
}

/** A vector times one matrix of a stack. */
function times(vector, { shape, data }, number) {
  const columns = shape.at(-1), sums = new Float64Array(columns);
  let at = number * vector.length * columns;
  for (const factor of vector) {
    if (factor !== 0) for (let j = 0; j < columns; j++) sums[j] += factor * data[at + j];
    at += columns;
  }
  return sums;
}

/** One row of a matrix. */
function row({ shape, data }, number) {
  const width = shape.at(-1);
  return Float64Array.from(data.subarray(number * width, (number + 1) * width));
}
