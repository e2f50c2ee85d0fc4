// A text that grows token by token: by the tables of a layout, or of a program that moves the pen (see
// `layouts/automaton.py`); by the certificate of a program; or as a model writes it.

import { bytesOf } from "../../report/elements.js";
import { argmax } from "./layers.js";

export class Follower {
  state = 0;
  tokens = [];
  squares = new Map(); // from an address to the newest token there

  constructor(layout, tokens = []) {
    Object.assign(this, { layout, place: layout.axes.map(() => 0) });
    tokens.forEach((token) => this.step(token));
  }

  // The next token of the text, and where it stands. On a machine `cells` are the indices of its
  // window: itself and the newest token on each neighbouring square, -1 where there is none.
  step(number) {
    const { layout: { automaton, near }, state: row, tokens } = this, index = tokens.length;
    const home = automaton.home[row][number], offset = automaton.offset[row][number];
    this.place = this.place.map((place, axis) => (home[axis] ? 0 : place) + offset[axis]);
    this.state = automaton.next[row][number];
    const token = { token: number, index, role: automaton.role[row][number], coordinates: this.place };
    tokens.push(token);
    if (near) {
      this.squares.set(this.address(token.role, token.coordinates), index);
      token.cells = [index, ...near[token.role].map(([role, moved]) =>
        this.squares.get(this.address(role, this.place.map((place, axis) => place + moved[axis]))) ?? -1)];
    }
    return token;
  }

  // The tokens in the window of the one at an index; the number after the last stands for none.
  window(index) {
    const { tokens, layout: { characters } } = this;
    return tokens[index].cells.map((at) => (at < 0 ? characters.length : tokens[at].token));
  }

  // Role and square as one word, without the axes on which the role is found from everywhere.
  address(role, coordinates) {
    const { broadcast } = this.layout.roles[role];
    return [role, ...coordinates.map((at, axis) => (broadcast[axis] ? "*" : at))].join();
  }
}

// The right token after each window of a certificate.
export class Rights {
  targets = new Map();

  constructor({ columns, bits, text }, layout) {
    const bytes = bytesOf(text), numbers = bits === 8 ? bytes : new Uint16Array(bytes.buffer);
    const [roles] = layout.automaton.role;
    this.layout = layout;
    for (let at = 0; at < numbers.length; at += columns) {
      const cells = 1 + layout.near[roles[numbers[at]]].length; // the others fill up the row
      this.targets.set(numbers.subarray(at, at + cells).join(), numbers[at + columns - 1]);
    }
  }

  // The right token at a place of a text; undefined after a window that is not listed.
  at(follower, number) { return this.targets.get(follower.window(number - 1).join()); }

  // The right text after a prompt, followed; undefined where it meets a window not listed.
  follow(prompt, most) {
    const follower = new Follower(this.layout, prompt), { tokens } = follower;
    while (tokens.length === prompt.length || tokens.at(-1).token !== this.layout.end) {
      const token = this.at(follower, tokens.length);
      if (token === undefined || tokens.length >= most) return undefined;
      follower.step(token);
    }
    return tokens.slice(prompt.length);
  }
}

// A decoder writes token by token, an encoder over its prompt.
export class Writing extends Follower {
  logits = []; // for what follows each token that was read
  weights = {}; // of each layer and recurrence, at each token that was read

  // `prompt` are tokens; `tap` stands between the model and what is calculated. With a `memo` a
  // window that was met before is not calculated again.
  constructor(model, prompt, tap, memo) {
    super(model.design.layout, prompt);
    Object.assign(this, { model, tap, memo, given: prompt.length, causal: model.config.causal, cache: model.emptyCache() });
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
    const { memo, cache } = this, [[{ keys, values }]] = cache.slots, window = this.window(token.index).join();
    const rows = [this.logits, (this.weights["layer.0.attention.weights"] ??= []), keys, values];
    if (!memo.has(window)) {
      this.calculate([token]);
      memo.set(window, rows.map((row) => row[token.index]));
      return;
    }
    cache.tokens.push(token);
    memo.get(window).forEach((value, n) => (rows[n][token.index] = value));
  }

  go(token = argmax(this.before(this.tokens.length))) {
    const next = this.step(token);
    if (this.causal && !this.ended) this.read([next]);
  }

  // Writes at least one token, and at most so many, until the text is over or the moment has come.
  goOn(most = Infinity, until = Infinity) {
    for (let n = 0; n < most && !this.over && (!n || performance.now() < until); n++) this.go();
  }

  // What the model says of token `number`: logits, asked at token `asked(number)`.
  before(number) { return this.logits[this.asked(number)]; }

  // A decoder is asked at the token before, an encoder at the one of the prompt that is written over.
  asked(number) { return this.causal ? number - 1 : number - this.given; }

  // The tokens that the model saw there; undefined where nothing stood in a window.
  seen(asked) { return this.model.positions.seen(this.tokens[asked], this.causal ? this.tokens : this.prompt); }

  // Each head's shares of what it saw there, in one recurrence.
  heads(asked, recurrence) {
    const prefix = this.model.config.num_recurrences > 1 ? `recurrence.${recurrence}.` : "";
    const sites = Object.keys(this.weights).filter((site) => site.startsWith(`${prefix}layer.`));
    return sites.flatMap((site) => this.weights[site][asked]);
  }

  get prompt() { return this.tokens.slice(0, this.given); }

  get written() { return this.tokens.slice(this.given); }

  // Whether the text has its end: an end sign, or its length where that is the end.
  get ended() {
    const { layout: { end, longest }, tokens, given } = this, count = tokens.length - given;
    return longest ? count >= longest : count > 0 && tokens.at(-1).token === end;
  }

  // Whether nothing more is written: at the end, or where there is no more room.
  get over() {
    const most = this.causal ? this.model.design.tokens : 2 * this.given;
    return this.ended || Boolean(this.stopped) || this.tokens.length >= most;
  }
}
