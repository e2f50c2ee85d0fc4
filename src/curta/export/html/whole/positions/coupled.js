// Coupled positions: tokens of equal significance share a learned vector. Every axis of the
// coordinates has a table of its own, whose first row is for coordinate -1, and whose last ones are for
// those below; vectors are summed.
// Outside of training this is Position Coupling, too.

import { Encoding } from "./base.js";

export class Coupled extends Encoding {
  complaint({ coordinates }) {
    const { shape: [, rows] } = this.tensors["positions.tables"];
    const fits = coordinates.every((place) => place + 1 < rows);
    return fits ? null : `this model has ${rows} coupled positions`;
  }

  embed({ coordinates }) {
    const { shape: [, rows, width], data } = this.tensors["positions.tables"], sums = new Float32Array(width);
    coordinates.forEach((place, axis) => {
      const row = (place + 1 + rows) % rows; // those below -1 have the last ones, as in JAX
      const from = (axis * rows + row) * width;
      for (let i = 0; i < width; i++) sums[i] += data[from + i];
    });
    return sums;
  }
}
