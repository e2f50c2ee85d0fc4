// Elements of a page, how symbols and shares are shown, and writing at a pace.

const COLOURS = 8;
const SLICE = 12; // milliseconds of writing between two drawings

export const at = (id) => document.getElementById(id);

/** An element with its text or children, and attributes; without any HTML from outside. */
export function make(name, content = [], attributes = {}) {
  const element = document.createElement(name);
  element.append(...[content].flat());
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export function percent(share) {
  if (share < 0.0005) return "<0.1 %";
  if (share < 1 && share >= 0.9995) return ">99.9 %";
  return `${(100 * share).toFixed(share === 1 ? 0 : 1)} %`;
}

/** The class that gives a role its colour. */
export function coloured(role) {
  return `role-${role % COLOURS}`;
}

/** Lets a function answer clicks on the buttons within an element. */
export function onButtons(id, answer) {
  at(id).addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button && !button.disabled) answer(button);
  });
}

/**
 * Token by token, as quickly as the page is asked to. `writing()` is what goes on, `draw()` shows
 * what is new of it, `finish()` says what came of it, `wrote()` that a single token was written.
 */
export class Pace {
  #timer = 0;

  constructor(page) {
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
    if (!this.page.writing().over) this.page.writing().go();
    this.page.draw();
    if (this.page.writing().over) return this.page.finish();
    this.page.wrote();
  }

  controls() {
    at("pause").disabled = at("single").disabled = this.page.writing().over;
    at("pause").textContent = this.#timer ? "Pause" : "Go on";
  }

  #tick() {
    const delay = Number(at("speed").value), until = performance.now() + SLICE, writing = this.page.writing();
    do if (!writing.over) writing.go();
    while (!delay && !writing.over && performance.now() < until);
    this.#timer = writing.over ? 0 : setTimeout(() => this.#tick(), delay);
    this.page.draw();
    if (!this.#timer) this.page.finish();
  }
}
