// Rotary position embedding: feature i of a head and the one half a head further are a pair, turned
// by an angle that grows with the index, or with the number of the head.

import { Encoding } from "./base.js";

export class RoPE extends Encoding {
  rotate(heads, { index }) {
    const { size, settings: { base, over } } = this, half = size / 2, found = new Float32Array(heads.length);
    for (let from = 0; from < heads.length; from += size) {
      const number = over === "heads" ? from / size : index;
      for (let i = 0; i < half; i++) {
        const angle = Math.fround(number * Math.fround(base ** (-i / half)));
        const left = heads[from + i], right = heads[from + half + i];
        found[from + i] = left * Math.cos(angle) - right * Math.sin(angle);
        found[from + half + i] = right * Math.cos(angle) + left * Math.sin(angle);
      }
    }
    return found;
  }
}
