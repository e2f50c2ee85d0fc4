// Buttons, the colours of roles, writing at a pace, and the tour.

import { at } from "../../report/elements.js";

const COLOURS = 8;
const SLICE = 12; // milliseconds of writing between two drawings

export const coloured = (role) => `role-${role % COLOURS}`;

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
    at("single").addEventListener("click", () => {
      this.stop();
      this.write();
      if (!page.writing().over) page.wrote();
    });
  }

  go(delay = 0) {
    this.stop();
    this.#timer = setTimeout(() => this.#tick(), delay);
    this.controls();
  }

  stop() {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }

  /** Writes one token, or until some moment; at the end of the text, finishes. */
  write(until = 0) {
    const writing = this.page.writing();
    do if (!writing.over) writing.go();
    while (!writing.over && performance.now() < until);
    this.page.draw();
    if (writing.over) this.page.finish();
  }

  controls() {
    at("pause").disabled = at("single").disabled = this.page.writing().over;
    at("pause").textContent = this.#timer ? "Pause" : "Go on";
  }

  #tick() {
    const delay = Number(at("speed").value);
    this.#timer = 0;
    this.write(delay ? 0 : performance.now() + SLICE);
    if (!this.page.writing().over) this.go(delay);
  }
}

/** A tour of steps `[id, act]`: each acts, and what it returns is said of the element `id`. */
export function tour(steps) {
  let now = -1;

  function go(number) {
    const step = steps[number], before = now;
    now = step ? number : -1;
    document.querySelector(".pointed")?.classList.remove("pointed");
    at("tour").hidden = !step;
    if (!step) return before < 0 || at("guide").focus();
    const [id, act] = step;
    at("words").textContent = act();
    at("count").textContent = `${number + 1} of ${steps.length}`;
    at("next").textContent = number + 1 < steps.length ? "Next" : "Done";
    at(id).classList.add("pointed");
    at(id).scrollIntoView({ block: "center" });
    at("next").focus({ preventScroll: true });
  }

  at("guide").addEventListener("click", () => go(0));
  at("next").addEventListener("click", () => go(now + 1));
  at("leave").addEventListener("click", () => go(-1));
  document.addEventListener("keydown", ({ key }) => key === "Escape" && go(-1));
}
