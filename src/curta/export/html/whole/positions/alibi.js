// ALiBi: scores fall off in a straight line with the distance, head by head.

import { rowOf } from "../layers.js";
import { Encoding } from "./base.js";

export class ALiBi extends Encoding {
  bias(layer, query, key) {
    return this.slopes(layer).map((slope) => -slope * Math.abs(query.index - key.index));
  }

  /** Learned by each layer, or 2^(-8/heads) and its powers. */
  slopes(layer) {
    const learned = this.tensors["positions.slopes"], { heads } = this.config;
    if (learned) return rowOf(learned, layer);
    this.series ??= Float32Array.from({ length: heads }, (_, head) => 2 ** (-8 * (head + 1) / heads));
    return this.series;
  }
}
