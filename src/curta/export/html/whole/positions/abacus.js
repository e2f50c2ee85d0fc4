// Abacus: the i-th digit of each number gets vector offset + i, every other token vector 0. Added
// to the embeddings, or to queries and keys.

import { added, rowOf } from "../layers.js";
import { Encoding } from "./base.js";

export class Abacus extends Encoding {
  complaint(token) {
    const { shape: [rows] } = this.tensors["positions.table"];
    return this.row(token) < rows ? null : `this model has ${rows} Abacus vectors`;
  }

  embed(token) {
    return this.settings.inject === "embedding" ? this.vector(token) : null;
  }

  rotate(heads, token) {
    return this.settings.inject === "embedding" ? heads : added(heads, this.vector(token));
  }

  vector(token) {
    return rowOf(this.tensors["positions.table"], this.row(token));
  }

  row({ role, coordinates: [index] }) {
    return this.layout.roles[role].digit ? index + this.settings.evaluation_offset + 1 : 0;
  }
}
