// How a page is asked and looked into: the field, examples, the likeliest tokens; in all pages alike.

import { make } from "./elements.js";

const LIKELIEST = 8; // tokens that are shown unless all are asked for

export const at = (id) => document.getElementById(id);

/** Puts a problem into the field and calculates it. */
export function ask(text) {
  at("problem").value = text;
  at("form").requestSubmit();
}

/** Says why there is nothing to calculate, and leaves nothing of another problem below it. */
export function refuse(message) {
  at("work").hidden = Boolean(message);
  at("mistake").textContent = message;
  at("problem").setAttribute("aria-invalid", String(Boolean(message)));
  if (message) at("problem").focus();
}

/** Lets a function answer clicks on the buttons within an element. */
export function onButtons(id, answer) {
  at(id).addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button && !button.disabled) answer(button);
  });
}

/** A button for an example of each operation. */
export function showExamples({ operations }) {
  const buttons = Object.values(operations).map(({ example }) => make("button", example, { type: "button" }));
  at("examples").replaceChildren(...buttons);
}

/** Shows the likeliest of so many tokens, or all of them: `drawn` draws at most so many. */
export function showShares(every, drawn) {
  const all = showsAll();
  at("shares").replaceChildren(...drawn(all ? every : LIKELIEST));
  at("more").textContent = all ? `The likeliest ${LIKELIEST}` : `All ${every} tokens`;
  at("more").hidden = every <= LIKELIEST;
}

/** Lets a button show all tokens, or the likeliest again. */
export function onMore(answer) {
  at("more").addEventListener("click", () => {
    at("more").setAttribute("aria-expanded", String(!showsAll()));
    answer();
  });
}

function showsAll() {
  return at("more").getAttribute("aria-expanded") === "true";
}

/** Makes a token of the text the one that is looked into. */
export function mark(token) {
  token.tabIndex = 0;
  token.setAttribute("aria-current", "true");
}

/** A token is neither looked into nor asked any more. */
export function unmark(token) {
  token.classList.remove("asked");
  if (!token.matches("button")) return;
  token.tabIndex = -1;
  token.setAttribute("aria-current", "false");
}

/** The number of a token in the text; -1 if it stands nowhere there. */
export function numberOf(token) {
  return [...at("text").children].indexOf(token?.closest("li"));
}
