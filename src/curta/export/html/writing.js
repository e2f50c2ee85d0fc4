// A text while a model writes it.

import { Paper } from "./machine.js";

export class Writing {
  constructor(network, prompt) {
    this.network = network;
    this.paper = new Paper(network.machine);
    this.given = prompt.length;
    for (const token of prompt) this.append(token);
  }

  append(token) {
    this.paper.append(token);
  }

  /** The model's own next token, written. */
  go() {
    this.append(this.before(this.length).next);
  }

  /** What the model says of token `number`, from the window of the one before it. */
  before(number) {
    return this.network.look(this.paper.window(number - 1));
  }

  get length() {
    return this.paper.tokens.length;
  }

  /** The tokens that followed the prompt. */
  get written() {
    return this.paper.tokens.slice(this.given);
  }

  /** Whether the end was written after the prompt. */
  get ended() {
    return this.length > this.given && this.paper.tokens.at(-1) === this.paper.machine.end;
  }

  /** Whether nothing more is written: at the end, or where there is no more room. */
  get over() {
    return this.ended || this.length >= this.network.design.tokens;
  }
}
