// A text while a model writes it: a decoder token by token, an encoder over its prompt.

import { argmax } from "../numbers.js";
import { Follower } from "./automaton.js";
import { inTurn, recording, untouched } from "./taps.js";

/** Sites of which a text remembers its values. */
const KEPT = /attention\.weights$/;

export class Writing {
  /** `prompt` are tokens; `tap` stands between the model and what is calculated. */
  constructor(model, prompt, tap = untouched) {
    const { layout, config } = model.design;
    Object.assign(this, { model, given: prompt.length, causal: config.causal, tap });
    this.follower = new Follower(layout);
    this.cache = model.emptyCache();
    this.tokens = prompt.map((token) => this.follower.step(token));
    this.logits = []; // for what follows each token that was read
    this.weights = {}; // of each layer and recurrence, at each token that was read
    this.stopped = this.misplaced(this.tokens);
    if (!this.stopped) this.read(this.tokens);
  }

  read(tokens) {
    const table = recording(this.weights);
    const kept = (site, value, index) => (KEPT.test(site) ? table(site, value, index) : value);
    this.logits.push(...this.model.read(this.cache, tokens, inTurn(this.tap, kept)));
  }

  /** The model's own next token, or another one, written. */
  go(token = argmax(this.before(this.length))) {
    const next = this.follower.step(token);
    this.tokens.push(next);
    if (!this.causal || this.ended) return;
    this.stopped = this.misplaced([next]);
    if (!this.stopped && !this.over) this.read([next]);
  }

  /** Why the model has no position for one of these tokens, if it has none. */
  misplaced(tokens) {
    return tokens.map((token) => this.model.positions.complaint(token)).find(Boolean) ?? "";
  }

  /** What the model says of token `number`: logits, asked at token `asked(number)`. */
  before(number) {
    return this.logits[this.asked(number)];
  }

  /** A decoder is asked at the token before, an encoder at the one of the prompt that is written over. */
  asked(number) {
    return this.causal ? number - 1 : number - this.given;
  }

  get length() {
    return this.tokens.length;
  }

  get written() {
    return this.tokens.slice(this.given);
  }

  /** Whether the text has its end: an end sign, or its length where that is the end. */
  get ended() {
    const { end, longest } = this.model.design.layout, count = this.length - this.given;
    return longest ? count >= longest : count > 0 && this.tokens.at(-1).token === end;
  }

  /** Whether nothing more is written: at the end, or where there is no more room. */
  get over() {
    const most = this.causal ? this.model.design.tokens : 2 * this.given;
    return this.ended || Boolean(this.stopped) || this.length >= most;
  }
}
