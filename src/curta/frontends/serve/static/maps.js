// Maps of windows: a square for each, lit once it is right; those never shown in training below.

import { bytesOf, counted, make, percent } from "./elements.js";

const SIDE = 8, GAP = 1, BREAK = 5; // pixels

export class Maps {
  #groups = null;
  #bits = new Map(); // step: which windows are right then

  constructor(box, words) {
    Object.assign(this, { box, words, steps: [] });
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
    if (this.#bits.has(step)) for (const group of this.#groups) this.#paint(group, this.#bits.get(step));
  }

  async #load() {
    if (this.#groups || !this.steps.length) return;
    this.#groups = [];
    const groups = await (await fetch("windows.json")).json();
    for (const group of groups) {
      group.caption = make("figcaption");
      group.canvas = make("canvas", [], { role: "img" });
      make("figure", [group.caption, group.canvas]);
      group.canvas.addEventListener("pointermove", (event) => this.#read(group, event));
      const places = group.numbers.map((_, place) => place);
      group.parts = [false, true].map((held) => places.filter((place) => group.held_out[place] === held));
    }
    this.#groups = groups.sort((a, b) => b.numbers.length - a.numbers.length);
    this.box.replaceChildren(...groups.map(({ canvas }) => canvas.parentNode));
    this.draw(this.step);
  }

  #paint(group, right) {
    const { canvas, parts, numbers } = group, most = Math.floor(this.box.clientWidth / SIDE);
    const columns = Math.max(1, Math.min(most, Math.ceil(Math.sqrt(numbers.length * 6)))), colours = getComputedStyle(this.box);
    const colour = Object.fromEntries(["right", "new", "wrong"].map((name) => [name, colours.getPropertyValue(`--window-${name}`)]));
    const heights = parts.map((part) => Math.ceil(part.length / columns) * SIDE), ratio = devicePixelRatio || 1;
    const [width, height] = [columns * SIDE, heights[0] + heights[1] + (heights[0] && heights[1] ? BREAK : 0)];
    Object.assign(canvas, { width: width * ratio, height: height * ratio });
    canvas.style.width = `${width}px`; // a style that a script sets is no inline style
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    group.squares = parts.flatMap((part, held) => part.map((place, n) => {
      const x = (n % columns) * SIDE, y = Math.floor(n / columns) * SIDE + (held && heights[0] ? heights[0] + BREAK : 0);
      pen.fillStyle = colour[!right(numbers[place]) ? "wrong" : held ? "new" : "right"];
      pen.fillRect(x, y, SIDE - GAP, SIDE - GAP);
      return { place, x, y };
    }));
    const shares = ["right", "of those never shown"].map((name, n) =>
      (parts[n].length ? `, ${percent(parts[n].filter((place) => right(numbers[place])).length / parts[n].length)} ${name}` : ""));
    const said = `${group.role}: ${counted(numbers.length)} windows${shares.join("")}`;
    group.caption.textContent = said;
    canvas.setAttribute("aria-label", said);
    group.right = right;
  }

  #read({ squares, words, numbers, held_out: held, right }, { offsetX, offsetY }) {
    const square = squares?.find(({ x, y }) => offsetX >= x && offsetX < x + SIDE && offsetY >= y && offsetY < y + SIDE);
    if (!square) return;
    const { place } = square, shown = held[place] ? "never shown in training" : "shown in training";
    this.words.textContent = `${words[place]} (${right(numbers[place]) ? "right" : "wrong"}, ${shown})`;
  }
}
