// A text while a model writes it: a decoder token by token, an encoder over its prompt.

import { numbered } from "../../report/elements.js";
import { untouched } from "./changes.js";
import { argmax } from "./layers.js";
import { Follower } from "./machine.js";

export class Writing {
  logits = []; // for what follows each token that was read
  weights = {}; // of each layer and recurrence, at each token that was read

  // `prompt` are tokens; `tap` stands between the model and what is calculated. With a `memo` a
  // window that was met before is not calculated again.
  constructor(model, prompt, tap = untouched, memo = null) {
    Object.assign(this, { model, tap, memo, given: prompt.length, causal: model.config.causal });
    this.follower = new Follower(model.design.layout, prompt);
    this.cache = model.emptyCache();
    this.read(this.tokens);
  }

  // Reads new tokens, unless the model has no position for one of them.
  read(tokens) {
    this.stopped = tokens.map((token) => this.model.positions.complaint(token)).find(Boolean) ?? "";
    if (this.stopped || (tokens !== this.tokens && this.over)) return;
    if (this.memo) tokens.forEach((token) => this.look(token));
    else this.calculate(tokens);
  }

  calculate(tokens) {
    this.logits.push(...this.model.read(this.cache, tokens, (site, value, index) => {
      const tapped = this.tap(site, value, index);
      if (site.endsWith("attention.weights")) (this.weights[site] ??= [])[index] = tapped;
      return tapped;
    }));
  }

  // Reads one token under a window, or takes over what the model said of the same window.
  look(token) {
    const { memo, cache, weights, logits } = this, { index } = token;
    const window = this.follower.window(index).join(), met = memo.get(window), [[slot]] = cache.slots;
    if (!met) {
      this.calculate([token]);
      const [[site, shares]] = Object.entries(weights);
      memo.set(window, { logits: logits[index], site, shares: shares[index], key: slot.keys[index], value: slot.values[index] });
      return;
    }
    cache.tokens.push(token);
    slot.keys[index] = met.key;
    slot.values[index] = met.value;
    (weights[met.site] ??= [])[index] = met.shares;
    logits.push(met.logits);
  }

  // The model's own next token, or another one, written.
  go(token = argmax(this.before(this.length))) {
    const next = this.follower.step(token);
    if (this.causal && !this.ended) this.read([next]);
  }

  // What the model says of token `number`: logits, asked at token `asked(number)`.
  before(number) { return this.logits[this.asked(number)]; }

  // A decoder is asked at the token before, an encoder at the one of the prompt that is written over.
  asked(number) { return this.causal ? number - 1 : number - this.given; }

  // The tokens that the model saw there; undefined where nothing stood in a window.
  seen(asked) {
    return this.model.positions.seen(this.tokens[asked], this.causal ? this.tokens : this.tokens.slice(0, this.given));
  }

  // Each head's shares of what it saw there, in one recurrence: `{name, shares}`.
  heads(asked, recurrence) {
    const { num_recurrences: count, num_attention_layers: layers } = this.model.config;
    const prefix = count > 1 ? `recurrence.${recurrence}.` : "";
    return numbered(layers).flatMap((layer) => this.weights[`${prefix}layer.${layer}.attention.weights`][asked]
      .map((shares, head) => ({ name: `layer ${layer}, head ${head}`, shares })));
  }

  get tokens() { return this.follower.tokens; }

  get length() { return this.tokens.length; }

  get written() { return this.tokens.slice(this.given); }

  // Whether the text has its end: an end sign, or its length where that is the end.
  get ended() {
    const { end, longest } = this.model.design.layout, count = this.length - this.given;
    return longest ? count >= longest : count > 0 && this.tokens.at(-1).token === end;
  }

  // Whether nothing more is written: at the end, or where there is no more room.
  get over() {
    const most = this.causal ? this.model.design.tokens : 2 * this.given;
    return this.ended || Boolean(this.stopped) || this.length >= most;
  }
}
