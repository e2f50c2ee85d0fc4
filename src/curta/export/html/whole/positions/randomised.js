// Randomised positions: outside of training a token stands at its own index again.

import { Learned } from "./learned.js";
import { Sinusoidal } from "./sinusoidal.js";
import { Encoding } from "./base.js";

const BASE = 10_000; // of Sinusoidal, whose default it is in Python

export class Randomised extends Encoding {
  constructor(design, tensors) {
    super(design, tensors);
    const name = "positions.table", table = tensors["positions.vectors.table"];
    const waves = { ...design, positions: { base: BASE } };
    this.vectors = table ? new Learned(design, { [name]: table }) : new Sinusoidal(waves, tensors);
  }

  complaint({ index }) {
    const { max_length: most } = this.settings;
    return index < most ? null : `this model has random positions below ${most}`;
  }

  embed(token) {
    return this.vectors.embed(token);
  }
}
