// T5's relative bias: a learned number per head for each bucket of distances, the same in all layers.

import { rowOf } from "../layers.js";
import { Encoding } from "./base.js";

export class T5 extends Encoding {
  bias(layer, query, key) {
    const { max_distance: most } = this.settings;
    this.buckets ??= buckets(this.settings.num_buckets, most);
    const distance = Math.min(Math.max(query.index - key.index, 0), most);
    return rowOf(this.tensors["positions.table"], this.buckets[distance]);
  }
}

/** The bucket of each distance from 0 on: half of them hold one each, the others ever more. */
function buckets(count, most) {
  const exact = Math.floor(count / 2);
  return Array.from({ length: most + 1 }, (_, distance) => {
    if (distance < exact) return distance;
    const ratio = Math.log(distance / exact) / Math.log(most / exact);
    return Math.min(exact + Math.trunc(ratio * (count - exact)), count - 1);
  });
}
