// A tour of the page: each step does something, points at a part of the page, and says what it shows.

import { at } from "./elements.js";

export class Tour {
  #step = -1;

  /** `steps` are `[id, act]`: what `act` returns is said of the element `id`. */
  constructor(steps) {
    this.steps = steps;
    at("guide").addEventListener("click", () => this.go(0));
    at("next").addEventListener("click", () => this.go(this.#step + 1));
    at("leave").addEventListener("click", () => this.go(-1));
    document.addEventListener("keydown", ({ key }) => key === "Escape" && this.go(-1));
  }

  go(number) {
    const { steps } = this, step = steps[number], before = this.#step;
    this.#step = step ? number : -1;
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
}
