// Maps of windows: a square for each, lit once it is right; those never shown in training below.

import { bytesOf, counted, make, percent } from "./elements.js";

const SIDE = 8, GAP = 1, BREAK = 5; // pixels

export class Maps {
  steps = []; // at which it is known which windows are right
  #groups = null;
  #bits = new Map(); // step: which windows are right then

  constructor(box, words) {
    Object.assign(this, { box, words });
    new ResizeObserver(() => this.draw(this.step)).observe(box);
  }

  forget() {
    this.#bits.clear();
    this.steps = [];
  }

  add(step, text) {
    const bytes = bytesOf(text);
    this.#bits.set(step, (number) => Boolean(bytes[number >> 3] & (128 >> (number & 7))));
    this.steps = [...this.#bits.keys()];
  }

  draw(step) {
    this.step = step;
    if (!this.#groups) return this.#load();
    const right = this.#bits.get(step);
    if (right) for (const group of this.#groups) this.#paint(group, right);
  }

  async #load() {
    if (!this.steps.length) return;
    this.#groups = [];
    const groups = await (await fetch("windows.json")).json();
    for (const group of groups) {
      const canvas = make("canvas", [], { role: "img" }), caption = make("figcaption");
      canvas.addEventListener("pointermove", (event) => this.#read(group, event));
      const places = [...group.numbers.keys()];
      const parts = [false, true].map((held) => places.filter((place) => group.held_out[place] === held));
      Object.assign(group, { canvas, caption, parts, figure: make("figure", [caption, canvas]) });
    }
    this.#groups = groups.sort((a, b) => b.numbers.length - a.numbers.length);
    this.box.replaceChildren(...groups.map(({ figure }) => figure));
    this.draw(this.step);
  }

  #paint(group, right) {
    const { canvas, parts, numbers } = group, most = Math.floor(this.box.clientWidth / SIDE);
    const columns = Math.max(1, Math.min(most, Math.ceil(Math.sqrt(numbers.length * 6))));
    const [above, below] = parts.map((part) => Math.ceil(part.length / columns) * SIDE);
    const tops = [0, above ? above + BREAK : 0]; // of the windows of training, and of those never shown
    const width = columns * SIDE, height = below ? tops[1] + below : above, ratio = devicePixelRatio || 1;
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    canvas.style.width = `${width}px`; // a style that a script sets is no inline style
    const pen = canvas.getContext("2d"), style = getComputedStyle(this.box);
    const [wrong, known, fresh] = ["wrong", "right", "new"].map((name) => style.getPropertyValue(`--window-${name}`));
    pen.scale(ratio, ratio);
    group.squares = parts.flatMap((part, held) => part.map((place, n) => {
      const x = (n % columns) * SIDE, y = tops[held] + Math.floor(n / columns) * SIDE;
      pen.fillStyle = !right(numbers[place]) ? wrong : held ? fresh : known;
      pen.fillRect(x, y, SIDE - GAP, SIDE - GAP);
      return { place, x, y };
    }));
    const shares = ["right", "of those never shown"].map((name, n) =>
      (parts[n].length ? `, ${percent(parts[n].filter((place) => right(numbers[place])).length / parts[n].length)} ${name}` : ""));
    group.caption.textContent = `${group.role}: ${counted(numbers.length)} windows${shares.join("")}`;
    canvas.setAttribute("aria-label", group.caption.textContent);
    group.right = right;
  }

  #read({ squares, words, numbers, held_out: held, right }, { offsetX, offsetY }) {
    const square = squares?.find(({ x, y }) => offsetX >= x && offsetX < x + SIDE && offsetY >= y && offsetY < y + SIDE);
    if (!square) return;
    const { place } = square, shown = held[place] ? "never shown in training" : "shown in training";
    this.words.textContent = `${words[place]} (${right(numbers[place]) ? "right" : "wrong"}, ${shown})`;
  }
}
