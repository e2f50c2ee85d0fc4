// Coupled sinusoidal positions: features 2i and 2i + 1 are sine and cosine of
// (i + 1) 2 pi coordinate / period; those of several axes are summed.

import { Encoding } from "./base.js";

export class CoupledSinusoidal extends Encoding {
  embed({ coordinates }) {
    const { config: { width }, settings: { period } } = this, sums = new Float32Array(width);
    const step = Math.fround((2 * Math.PI) / period);
    for (const place of coordinates) {
      for (let i = 0; i < width / 2; i++) {
        const angle = Math.fround(place * Math.fround((i + 1) * step));
        sums[2 * i] += Math.sin(angle);
        sums[2 * i + 1] += Math.cos(angle);
      }
    }
    return sums;
  }
}
