// Sinusoidal positions: features 2i and 2i + 1 are sine and cosine of index / base^(2i / width).

import { Encoding } from "./base.js";

export class Sinusoidal extends Encoding {
  get base() {
    return this.settings.base;
  }

  embed({ index }) {
    const half = this.config.width / 2, found = new Float32Array(this.config.width);
    for (let i = 0; i < half; i++) {
      const angle = Math.fround(index * Math.fround(this.base ** (-i / half)));
      found[2 * i] = Math.sin(angle);
      found[2 * i + 1] = Math.cos(angle);
    }
    return found;
  }
}
