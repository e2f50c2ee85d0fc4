// Writing at a pace: token by token, as quickly as the page is asked to.

import { at } from "./asking.js";

const SLICE = 12; // milliseconds of writing between two drawings

/**
 * What a page does with its writing: `writing()` is the one that goes on, `draw()` shows what is new
 * of it, `finish()` says what came of it, and `wrote()` that a single token was written.
 */
export class Pace {
  #timer = 0;

  constructor(at, page) {
    this.at = at;
    this.page = page;
    at("pause").addEventListener("click", () => (this.#timer ? (this.stop(), this.controls()) : this.go()));
    at("single").addEventListener("click", () => this.single());
  }

  go() {
    this.stop();
    this.#timer = setTimeout(() => this.#tick(), 0);
    this.controls();
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  single() {
    this.stop();
    this.#step();
    this.page.draw();
    if (this.page.writing().over) return this.page.finish();
    this.page.wrote();
  }

  controls() {
    this.at("pause").disabled = this.at("single").disabled = this.page.writing().over;
    this.at("pause").textContent = this.#timer ? "Pause" : "Go on";
  }

  #step() {
    if (!this.page.writing().over) this.page.writing().go();
  }

  #tick() {
    const delay = Number(this.at("speed").value), until = performance.now() + SLICE, writing = this.page.writing();
    do this.#step();
    while (!delay && !writing.over && performance.now() < until);
    this.#timer = writing.over ? 0 : setTimeout(() => this.#tick(), delay);
    this.page.draw();
    if (!this.#timer) this.page.finish();
  }
}
