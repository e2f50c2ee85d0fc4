// FIRE: a bias that a small network makes of the distance, relative to where the query is.

import { layerOf, linear } from "../layers.js";
import { Encoding } from "./base.js";

const THRESHOLD = 512; // position below which distances are not taken relative to the query's, times `m`

export class FIRE extends Encoding {
  bias(layer, query, key) {
    this.maps ??= Array.from({ length: this.config.num_attention_layers }, (_, number) =>
      layerOf(this.tensors, "positions.maps", number));
    const maps = this.maps[layer], [scale] = maps.scale, [threshold] = maps.threshold;
    const least = Math.abs(threshold * THRESHOLD);
    const near = Math.log(Math.abs(scale * (query.index - key.index)) + 1);
    const far = Math.log(Math.abs(scale * Math.max(query.index, least)) + 1);
    const features = linear([near / (far + 1e-6)], maps.up, maps.up_bias).map((value) => Math.max(value, 0));
    return linear(features, maps.down, maps.down_bias);
  }
}
