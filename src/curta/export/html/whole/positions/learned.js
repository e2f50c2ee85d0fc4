// Learned absolute positions: one vector for each index in the text.

import { rowOf } from "../layers.js";
import { Encoding } from "./base.js";

export class Learned extends Encoding {
  get table() {
    return this.tensors["positions.table"];
  }

  complaint({ index }) {
    const [rows] = this.table.shape;
    return index < rows ? null : `this model has ${rows} learned positions`;
  }

  embed({ index }) {
    return rowOf(this.table, index);
  }
}
