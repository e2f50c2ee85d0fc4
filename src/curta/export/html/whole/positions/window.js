// The window: a query sees itself and a few neighbours, each a role and a displacement, the newest
// token of each. One that is not there is a zero vector, and is attended to like the others.

import { machineOf } from "../../machine.js";
import { softmax } from "../../numbers.js";
import { rowOf } from "../layers.js";
import { Encoding, product } from "./base.js";

export class Window extends Encoding {
  constructor(design, tensors) {
    super(design, tensors);
    this.machine = machineOf(design.machine);
  }

  weights(layer, query, seen, q, keys) {
    const { size, config: { heads } } = this, cells = this.cells(query, seen);
    return Array.from({ length: heads }, (_, head) => {
      const scores = cells.map((key, cell) => this.biasOf(layer, head, query.role, cell)
        + (key < 0 ? 0 : product(q, keys[key], head * size, size) * size ** -0.5));
      const found = new Float32Array(seen.length);
      softmax(scores).forEach((share, cell) => cells[cell] >= 0 && (found[cells[cell]] += share));
      return found;
    });
  }

  /** Which key stands in each cell of the query's window, the query itself first; -1 for none. */
  cells(query, seen) {
    const stands = ([role, moved]) => seen.findLastIndex((key) => key.index !== query.index
      && key.role === role && this.wide(key, (axis) => key.coordinates[axis] - query.coordinates[axis] === moved[axis]));
    return [query.index, ...this.machine.near[query.role].map(stands)];
  }

  /** Whether something holds on every axis on which the role is not found from everywhere. */
  wide({ role }, holds) {
    return this.machine.wide[role].every((everywhere, axis) => everywhere || holds(axis));
  }

  /** Biases lie role after role, each with as many cells. */
  biasOf(layer, head, role, cell) {
    const biases = this.tensors["positions.biases"], [, , all] = biases.shape;
    const cells = all / this.machine.names.length;
    return rowOf(biases, layer)[head * all + role * cells + cell];
  }
}
