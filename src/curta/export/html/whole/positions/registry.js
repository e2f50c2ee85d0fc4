// Every encoding that a page calculates, by its name in a recipe. A new one is one file and one line.

import { Abacus } from "./abacus.js";
import { ALiBi } from "./alibi.js";
import { CoupledSinusoidal } from "./coupled_sinusoidal.js";
import { Coupled } from "./coupled.js";
import { FIRE } from "./fire.js";
import { Learned } from "./learned.js";
import { NoPE } from "./nope.js";
import { Randomised } from "./randomised.js";
import { RoPE } from "./rope.js";
import { Sinusoidal } from "./sinusoidal.js";
import { T5 } from "./t5.js";
import { Window } from "./window.js";

export const ENCODINGS = {
  abacus: Abacus,
  alibi: ALiBi,
  coupled: Coupled,
  "coupled-sinusoidal": CoupledSinusoidal,
  fire: FIRE,
  learned: Learned,
  nope: NoPE,
  "position-coupling": Coupled,
  randomised: Randomised,
  rope: RoPE,
  sinusoidal: Sinusoidal,
  t5: T5,
  window: Window,
};
