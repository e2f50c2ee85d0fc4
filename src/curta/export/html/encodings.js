// Position encodings: how attention sees where a token stands. See `model/positions/`, which has
// what each is about. A token is `{token, index, role, coordinates, cells}`.

import { numbered } from "../../report/elements.js";
import { added, layerOf, linear, rowOf, softmax } from "./layers.js";

// A transformer without positions; each encoding overrides what it is about.
class Encoding {
  constructor({ config, positions: settings, layout }, tensors) {
    const table = tensors["positions.table"];
    Object.assign(this, { config, settings, layout, tensors, table, size: config.width / config.heads });
  }

  // Why a token cannot stand where it does; null if it can.
  complaint(token) { return null; }

  // Added to the token's embedding; null is nothing.
  embed(token) { return null; }

  // Queries or keys of a token, head beside head, as this encoding turns them.
  rotate(heads, token) { return heads; }

  // The tokens whose keys a query sees; undefined is a place where none stands.
  seen(query, tokens) { return this.config.causal ? tokens.slice(0, query.index + 1) : tokens; }

  // Added to the scores of what is seen in a place, a number for each head; null is nothing.
  bias(layer, query, key, place) { return null; }

  // Of each head the share of everything that the query sees.
  weights(layer, query, seen, q, keys) {
    const { size } = this, scale = size ** -0.5;
    const scores = numbered(this.config.heads).map(() => new Float32Array(seen.length));
    seen.forEach((key, place) => {
      const bias = this.bias(layer, query, key, place), k = key && keys[key.index];
      scores.forEach((all, head) => {
        let product = 0;
        for (let i = head * size; k && i < (head + 1) * size; i++) product += q[i] * k[i];
        all[place] = product * scale + (bias ? bias[head] : 0);
      });
    });
    return scores.map((all) => Float32Array.from(softmax(all)));
  }
}

const complain = (place, most, vectors) => (place < most ? null : `this model has ${most} ${vectors}`);

class Learned extends Encoding {
  complaint({ index }) { return complain(index, this.table.shape[0], "learned positions"); }

  embed({ index }) { return rowOf(this.table, index); }
}

// Features 2i and 2i + 1 are sine and cosine of index / base^(2i / width).
class Sinusoidal extends Encoding {
  embed({ index }) {
    const { config: { width }, settings: { base } } = this, half = width / 2;
    return waves(width, (i) => Math.fround(index * Math.fround(base ** (-i / half))));
  }
}

// Outside of training a token stands at its own index again.
class Randomised extends Encoding {
  constructor(design, tensors) {
    super(design, tensors);
    const table = tensors["positions.vectors.table"];
    this.vectors = table
      ? new Learned(design, { "positions.table": table })
      : new Sinusoidal({ ...design, positions: { base: 10_000 } }, tensors); // the default in Python
  }

  complaint({ index }) { return complain(index, this.settings.max_length, "random positions"); }

  embed(token) { return this.vectors.embed(token); }
}

// Feature i of a head and the one half a head further are turned together.
class RoPE extends Encoding {
  rotate(heads, { index }) {
    const { size, settings: { base, over } } = this, half = size / 2, turned = new Float32Array(heads.length);
    for (let from = 0; from < heads.length; from += size) {
      const number = over === "heads" ? from / size : index;
      for (let i = 0; i < half; i++) {
        const angle = Math.fround(number * Math.fround(base ** (-i / half)));
        const left = heads[from + i], right = heads[from + half + i];
        turned[from + i] = left * Math.cos(angle) - right * Math.sin(angle);
        turned[from + half + i] = right * Math.cos(angle) + left * Math.sin(angle);
      }
    }
    return turned;
  }
}

// Slopes are learned by each layer, or 2^(-8 / heads) and its powers.
class ALiBi extends Encoding {
  bias(layer, query, key) {
    const learned = this.tensors["positions.slopes"], { heads } = this.config;
    this.series ??= Float32Array.from({ length: heads }, (_, head) => 2 ** (-8 * (head + 1) / heads));
    const slopes = learned ? rowOf(learned, layer) : this.series;
    return slopes.map((slope) => -slope * Math.abs(query.index - key.index));
  }
}

// A learned number for each bucket of distances: half of them hold one each, the others ever more.
class T5 extends Encoding {
  bias(layer, query, key) {
    const { num_buckets: count, max_distance: most } = this.settings, exact = Math.floor(count / 2);
    const distance = Math.min(Math.max(query.index - key.index, 0), most);
    const ratio = Math.log(distance / exact) / Math.log(most / exact);
    const bucket = distance < exact ? distance : Math.min(exact + Math.trunc(ratio * (count - exact)), count - 1);
    return rowOf(this.table, bucket);
  }
}

const THRESHOLD = 512; // of FIRE, times its learned factor

// A small network of the distance, relative to where the query is beyond a threshold.
class FIRE extends Encoding {
  bias(layer, query, key) {
    this.maps ??= numbered(this.config.num_attention_layers).map((number) => layerOf(this.tensors, "positions.maps", number));
    const maps = this.maps[layer], [scale] = maps.scale, least = Math.abs(maps.threshold[0] * THRESHOLD);
    const near = Math.log(Math.abs(scale * (query.index - key.index)) + 1);
    const far = Math.log(Math.abs(scale * Math.max(query.index, least)) + 1);
    const features = linear([near / (far + 1e-6)], maps.up, maps.up_bias).map((value) => Math.max(value, 0));
    return linear(features, maps.down, maps.down_bias);
  }
}

// The i-th digit of each number gets vector offset + i, every other token vector 0.
class Abacus extends Encoding {
  complaint(token) { return complain(this.row(token), this.table.shape[0], "Abacus vectors"); }

  embed(token) { return this.settings.inject === "embedding" ? rowOf(this.table, this.row(token)) : null; }

  rotate(heads, token) {
    return this.settings.inject === "embedding" ? heads : added(heads, rowOf(this.table, this.row(token)));
  }

  row({ role, coordinates: [index] }) {
    return this.layout.roles[role].digit ? index + this.settings.evaluation_offset + 1 : 0;
  }
}

// The sum of a learned vector for each coordinate; outside of training, Position Coupling too.
class Coupled extends Encoding {
  complaint({ coordinates }) {
    const [, rows] = this.tensors["positions.tables"].shape;
    return complain(Math.max(...coordinates) + 1, rows, "coupled positions");
  }

  embed({ coordinates }) {
    const { shape: [axes, rows], data } = this.tensors["positions.tables"], table = { shape: [axes * rows], data };
    // the first row is for -1; places below have the last ones, as in JAX
    return coordinates.map((place, axis) => rowOf(table, axis * rows + ((place + 1 + rows) % rows))).reduce(added);
  }
}

// Features 2i and 2i + 1 are sine and cosine of (i + 1) 2 pi coordinate / period.
class CoupledSinusoidal extends Encoding {
  embed({ coordinates }) {
    const { config: { width }, settings: { period } } = this, step = Math.fround((2 * Math.PI) / period);
    const vectors = coordinates.map((place) => waves(width, (i) => Math.fround(place * Math.fround((i + 1) * step))));
    return vectors.reduce(added);
  }
}

// A query sees itself and its neighbours; one that is not there is attended to, as a zero vector.
class Window extends Encoding {
  seen({ cells }, tokens) { return cells.map((at) => tokens[at]); }

  // Biases lie head after head, role after role, cell after cell.
  bias(layer, { role }, key, cell) {
    const biases = this.tensors["positions.biases"], [, , all] = biases.shape, row = rowOf(biases, layer);
    const at = role * (all / this.layout.roles.length) + cell;
    return numbered(this.config.heads).map((head) => row[head * all + at]);
  }
}

function waves(width, angle) {
  return Float32Array.from({ length: width }, (_, i) => (i % 2 ? Math.cos : Math.sin)(angle(Math.floor(i / 2))));
}

export const ENCODINGS = {
  abacus: Abacus,
  alibi: ALiBi,
  coupled: Coupled,
  "coupled-sinusoidal": CoupledSinusoidal,
  fire: FIRE,
  learned: Learned,
  nope: Encoding,
  "position-coupling": Coupled,
  randomised: Randomised,
  rope: RoPE,
  sinusoidal: Sinusoidal,
  t5: T5,
  window: Window,
};
