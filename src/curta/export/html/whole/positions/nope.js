// No positional encoding: order is only what causal masking lets the model infer.

import { Encoding } from "./base.js";

export class NoPE extends Encoding {}
