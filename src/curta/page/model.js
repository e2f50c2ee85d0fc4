// The forward pass of a windowed transformer, one token at a time, with a cache.
// What is calculated is what positions/window.py, blocks.py and model.py say; gains, scales and
// shared keys are folded into the matrices already.

const NOBODY = -1;
const SELF = -2;
const EPSILON = 1e-6;

const ACTIVATIONS = {
  relu: (x) => Math.max(x, 0),
  relu2: (x) => Math.max(x, 0) ** 2,
  gelu: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
};

/** A text that grows token by token: where its tokens stand, and their keys and values. */
export class Writing {
  constructor(design, tensors, step) {
    Object.assign(this, { design, tensors, step });
    this.tokens = [];
    this.places = []; // of each token {state, kind, coordinates}
    this.passes = []; // of each token {logits, keys, weights}
    this.index = new Map(); // from an address to the token that stands there
    this.cache = Array.from({ length: design.attending }, () => ({ keys: [], values: [] }));
  }

  /** Appends a token. Returns the logits of the next, the tokens seen, and each head's weights. */
  append(token) {
    const last = this.places.at(-1)?.state ?? new Array(this.design.states).fill(0);
    const [state, kind, coordinates] = this.step(last, token);
    this.tokens.push(token);
    this.places.push({ state, kind, coordinates });
    this.index.set(this.address(kind, coordinates), this.tokens.length - 1);
    this.passes.push(this.pass(token, kind, coordinates));
    return this.passes.at(-1);
  }

  /** Leaves only the first `length` tokens, as if the others had never been written. */
  cut(length) {
    for (const list of [this.tokens, this.places, this.passes]) list.length = length;
    for (const { keys, values } of this.cache) keys.length = values.length = length;
    this.index.clear();
    this.places.forEach((p, i) => this.index.set(this.address(p.kind, p.coordinates), i));
  }

  /** Kind and coordinates as one word, without the axes on which the kind is everywhere. */
  address(kind, coordinates) {
    const { wild } = this.design.kinds[kind];
    let text = String(kind);
    for (let axis = 0; axis < wild.length; axis++) text += wild[axis] ? ",*" : "," + coordinates[axis];
    return text;
  }

  pass(token, kind, coordinates) {
    const { design, tensors } = this;
    const links = this.links(kind, coordinates);
    let x = row(tensors.tokens, token, design.width);
    if (tensors.kinds) x = plus(x, row(tensors.kinds, kind, design.width));
    const weights = [];
    for (let block = 0; block < design.blocks; block++) {
      if (block < design.attending) {
        const seen = this.attend(block, this.normed(x), links);
        weights.push(seen.weights);
        x = this.added(x, times(seen.mixed, tensors.out, block), tensors.attended, block);
      }
      x = this.added(x, this.think(block, this.normed(x)), tensors.thought, block);
    }
    return { logits: times(this.normed(x), tensors.head, 0), keys: links.keys, weights };
  }

  /** The neighbours that have been written: their tokens, and where their biases stand. */
  links(kind, coordinates) {
    const { near, kinds } = this.design;
    const { group } = kinds[kind];
    const keys = [], places = [];
    near[group].forEach(([neighbour, ...moved], number) => {
      const key = this.neighbour(neighbour, coordinates, moved);
      if (key === undefined) return;
      keys.push(key);
      places.push(group * near[group].length + number);
    });
    return { keys, places };
  }

  neighbour(kind, coordinates, moved) {
    if (kind === NOBODY) return undefined;
    if (kind === SELF) return this.tokens.length - 1;
    return this.index.get(this.address(kind, coordinates.map((c, axis) => c + moved[axis])));
  }

  attend(block, h, { keys, places }) {
    const { design, tensors } = this, cache = this.cache[block];
    const query = times(h, tensors.query, block);
    cache.keys.push(times(h, tensors.key, block));
    cache.values.push(times(h, tensors.value, block));
    const { heads, width } = design, features = width / heads;
    const biases = tensors.bias.shape[2];
    const mixed = new Float64Array(width), weights = [];
    for (let head = 0; head < heads; head++) {
      const from = head * features, to = from + features;
      const bias = (block * heads + head) * biases;
      const scores = keys.map(
        (key, n) => dot(query, cache.keys[key], from, to) + tensors.bias.data[bias + places[n]],
      );
      const shares = softmax(scores);
      weights.push(shares);
      keys.forEach((key, n) => {
        const value = cache.values[key];
        for (let i = from; i < to; i++) mixed[i] += shares[n] * value[i];
      });
    }
    return { mixed, weights };
  }

  think(block, h) {
    const { design, tensors } = this, activate = ACTIVATIONS[design.activation];
    const up = times(h, tensors.up, block);
    const inner = tensors.gate
      ? times(h, tensors.gate, block).map((g, i) => activate(g) * up[i])
      : up.map(activate);
    return times(inner, tensors.down, block);
  }

  normed(x) {
    const mean = this.design.centred ? x.reduce((a, b) => a + b, 0) / x.length : 0;
    const centred = x.map((value) => value - mean);
    const square = centred.reduce((sum, value) => sum + value * value, 0) / x.length;
    const scale = 1 / Math.sqrt(square + EPSILON);
    return centred.map((value) => value * scale);
  }

  /** The state after a sub-layer; normed with these gains where the design has any. */
  added(x, change, gains, block) {
    const sum = plus(x, change);
    if (!gains) return sum;
    const gain = row(gains, block, sum.length);
    return this.normed(sum).map((value, i) => value * gain[i]);
  }
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

/** A vector times the matrix of one block. */
function times(vector, { shape, data }, block) {
  const columns = shape.at(-1), sums = new Float64Array(columns);
  let at = block * vector.length * columns;
  for (const factor of vector) {
    if (factor !== 0) for (let j = 0; j < columns; j++) sums[j] += factor * data[at + j];
    at += columns;
  }
  return sums;
}

function row({ data }, number, width) {
  return Float64Array.from(data.subarray(number * width, (number + 1) * width));
}

function plus(left, right) {
  return left.map((value, i) => value + right[i]);
}

function dot(left, right, from, to) {
  let sum = 0;
  for (let i = from; i < to; i++) sum += left[i] * right[i];
  return sum;
}
