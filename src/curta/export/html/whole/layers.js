// The layers of a block: what matrices, norms and MLPs calculate. See `model/layers.py`.
//
// Vectors are Float32Arrays, as in Python; sums of products are added up in double precision.

import { ACTIVATIONS } from "../numbers.js";

/** `x` times a matrix that has a row for each of its numbers, and the bias if there is one. */
export function linear(x, weight, bias) {
  const outputs = weight.length / x.length, sums = new Float64Array(outputs);
  if (bias) sums.set(bias);
  for (let i = 0, at = 0; i < x.length; i++, at += outputs) {
    const factor = x[i];
    if (factor !== 0) for (let j = 0; j < outputs; j++) sums[j] += factor * weight[at + j];
  }
  return new Float32Array(sums);
}

export function added(x, change) {
  return x.map((value, i) => value + change[i]);
}

/** `x` with root mean square 1, and mean 0 unless the norm is "rms"; times the gain, and the bias. */
export function normed({ norm, norm_epsilon: epsilon }, x, gain, bias) {
  if (norm === "none") return x;
  const mean = norm === "rms" ? 0 : x.reduce((sum, value) => sum + value, 0) / x.length;
  const square = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
  const scale = 1 / Math.sqrt(square + epsilon);
  return x.map((value, i) => (value - mean) * scale * (gain ? gain[i] : 1) + (bias ? bias[i] : 0));
}

/** Two layers, the inner one multiplied by a gate if there is one. */
export function feedforward({ activation }, mlp, x, tap) {
  const activate = ACTIVATIONS[activation], up = linear(x, mlp.up, mlp.up_bias);
  const gate = mlp.gate && linear(x, mlp.gate, mlp.gate_bias);
  const inner = gate ? gate.map((value, i) => activate(value) * up[i]) : up.map((value) => activate(value));
  return linear(tap("mlp.inner", inner), mlp.down, mlp.down_bias);
}

/** Every weight of a part of one layer, such as `attention`, by its name there. */
export function layerOf(tensors, part, number) {
  const found = {};
  for (const [name, tensor] of Object.entries(tensors)) {
    if (name.startsWith(`${part}.`)) found[name.slice(part.length + 1)] = rowOf(tensor, number);
  }
  return found;
}

/** What stands at an index of a tensor's first axis. */
export function rowOf({ shape, data }, number) {
  const size = data.length / shape[0];
  return data.subarray(number * size, (number + 1) * size);
}
