// What the forward passes of all pages share: functions of numbers, and how tensors are packed.

export const ACTIVATIONS = {
  relu: (x) => Math.max(x, 0),
  relu2: (x) => Math.max(x, 0) ** 2,
  gelu: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  gelu_erf: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  silu: (x) => x / (1 + Math.exp(-x)),
};

/** The error function to seven digits: Abramowitz and Stegun, 7.1.26. */
function erf(x) {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const terms = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  const sum = terms.reduce((total, term) => (total + term) * t, 0);
  return Math.sign(x) * (1 - sum * Math.exp(-x * x));
}

/** Tensors by name, from the text of a safetensors file in base64. */
export function tensorsOf(base64) {
  const bytes = Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));
  const start = 8 + Number(new DataView(bytes.buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)));
  const found = {};
  for (const [name, { shape, data_offsets: [from, to] }] of Object.entries(header)) {
    const data = new Float32Array(bytes.slice(start + from, start + to).buffer);
    found[name] = { shape, data };
  }
  return found;
}

/** Shares that add up to one. */
export function softmax(scores) {
  const top = Math.max(...scores);
  const parts = Array.from(scores, (score) => Math.exp(score - top));
  const sum = parts.reduce((a, b) => a + b, 0);
  return parts.map((part) => part / sum);
}

/** Where the greatest number stands; the first of equal ones. */
export function argmax(numbers) {
  return numbers.reduce((best, value, i) => (value > numbers[best] ? i : best), 0);
}
