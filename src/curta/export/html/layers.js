// What the forward pass is made of, and how tensors are packed. See `model/layers.py`.
// Vectors are Float32Arrays, as in Python; sums of products are added up in double precision.

import { bytesOf } from "../../report/elements.js";

const ACTIVATIONS = {
  relu: (x) => Math.max(x, 0),
  relu2: (x) => Math.max(x, 0) ** 2,
  gelu: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  gelu_erf: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  silu: (x) => x / (1 + Math.exp(-x)),
};

// The error function to seven digits: Abramowitz and Stegun, 7.1.26.
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const terms = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  const sum = terms.reduce((total, term) => (total + term) * t, 0);
  return Math.sign(x) * (1 - sum * Math.exp(-x * x));
}

// Tensors by name, from the text of a safetensors file in base64.
export function tensorsOf(base64) {
  const bytes = bytesOf(base64);
  const start = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  return Object.fromEntries(Object.entries(header).map(([name, { shape, data_offsets: [from, to] }]) =>
    [name, { shape, data: new Float32Array(bytes.slice(start + from, start + to).buffer) }]));
}

export function rowOf({ shape, data }, number) {
  const size = data.length / shape[0];
  return data.subarray(number * size, (number + 1) * size);
}

// Every weight of a part of one layer, such as `attention`, by its name there.
export function layerOf(tensors, part, number) {
  const own = Object.entries(tensors).filter(([name]) => name.startsWith(`${part}.`));
  return Object.fromEntries(own.map(([name, tensor]) => [name.slice(part.length + 1), rowOf(tensor, number)]));
}

// `x` times a matrix that has a row for each of its numbers, and the bias if there is one.
export function linear(x, weight, bias) {
  const outputs = weight.length / x.length, sums = new Float64Array(outputs);
  if (bias) sums.set(bias);
  for (let i = 0, at = 0; i < x.length; i++, at += outputs) {
    const factor = x[i];
    if (factor !== 0) for (let j = 0; j < outputs; j++) sums[j] += factor * weight[at + j];
  }
  return new Float32Array(sums);
}

export const added = (x, change) => x.map((value, i) => value + change[i]);

// `x` with root mean square 1, and mean 0 unless the norm is "rms"; times the gain, and the bias.
export function normed({ norm, norm_epsilon: epsilon }, x, gain, bias) {
  if (norm === "none") return x;
  const mean = norm === "rms" ? 0 : x.reduce((sum, value) => sum + value, 0) / x.length;
  const square = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
  const scale = 1 / Math.sqrt(square + epsilon);
  return x.map((value, i) => (value - mean) * scale * (gain ? gain[i] : 1) + (bias ? bias[i] : 0));
}

export function feedforward({ activation }, mlp, x, tap) {
  const activate = ACTIVATIONS[activation], up = linear(x, mlp.up, mlp.up_bias);
  const gate = mlp.gate && linear(x, mlp.gate, mlp.gate_bias);
  const inner = gate ? gate.map((value, i) => activate(value) * up[i]) : up.map((value) => activate(value));
  return linear(tap("mlp.inner", inner), mlp.down, mlp.down_bias);
}

export function softmax(scores) {
  const top = Math.max(...scores);
  const exponentials = Array.from(scores, (score) => Math.exp(score - top));
  const sum = exponentials.reduce((a, b) => a + b, 0);
  return exponentials.map((value) => value / sum);
}

// Where the greatest number stands; the first of equal ones.
export const argmax = (numbers) => numbers.reduce((best, value, i) => (value > numbers[best] ? i : best), 0);
