// What is drawn of a text over which a model looks: tokens, what each might have been, attention,
// answers beside each other.

import { coloured, make, percent, shown } from "../elements.js";
import { softmax } from "../numbers.js";

/** `answer, index 2`: the role of a token, and where it stands. */
export function standing({ roles, axes }, { role, index, coordinates }) {
  const { name, broadcast } = roles[role];
  const where = axes.map((axis, i) => (broadcast[i] || coordinates[i] < 0 ? "" : `${axis} ${coordinates[i]}`));
  return [name, ...where.filter(Boolean), `token ${index} of the text`].join(", ");
}

export function symbolOf({ characters }, { token }) {
  return shown(characters[token]);
}

/** A token of the text: one that was given is text, one that was written can be chosen. */
export function tokenOf(writing, number, changed) {
  const { layout } = writing.model.design, token = writing.tokens[number];
  const symbol = symbolOf(layout, token), told = standing(layout, token);
  const kind = `token ${coloured(token.role)}${symbol.length > 2 ? " long" : ""}`;
  if (number < writing.given) {
    return make("li", make("span", symbol, { class: `${kind} given`, title: `${symbol}: ${told}` }));
  }
  const share = softmax(writing.before(number))[token.token];
  const label = `${symbol}: ${told}, ${changed ? "your change, " : ""}${percent(share)}`;
  const settings = { type: "button", class: `${kind}${changed ? " changed" : ""}`, tabindex: "-1", title: label };
  const button = make("button", symbol, { ...settings, "aria-label": label });
  if (share < 0.995) button.style.setProperty("--doubt", String(1 - share));
  return make("li", button);
}

/** Tokens that might have been written, the likeliest first, at most so many. */
export function alternatives(writing, number, most) {
  const { layout } = writing.model.design, shares = softmax(writing.before(number));
  const order = shares.map((_, token) => token).sort((a, b) => shares[b] - shares[a]);
  return order.slice(0, most).map((token) => {
    const symbol = symbolOf(layout, { token }), share = percent(shares[token]);
    const label = `Write ${symbol}: ${share}`;
    const button = make("button", [make("b", symbol), make("i", share)], { type: "button", "aria-label": label });
    button.dataset.token = token;
    button.disabled = !writing.causal;
    button.setAttribute("aria-pressed", String(token === writing.tokens[number].token));
    button.style.setProperty("--share", String(shares[token]));
    return make("li", button);
  });
}

/** Head row and rows of the map of attention: each head's share of every token that was seen. */
export function attentionRows(writing, number, recurrence) {
  const { config, layout } = writing.model.design, asked = writing.asked(number), rows = [];
  const prefix = config.num_recurrences > 1 ? `recurrence.${recurrence}.` : "";
  for (let layer = 0; layer < config.num_attention_layers; layer++) {
    const heads = writing.weights[`${prefix}layer.${layer}.attention.weights`][asked];
    heads.forEach((shares, head) => rows.push(rowOfShares(`layer ${layer}, head ${head}`, shares)));
  }
  const seen = writing.causal ? writing.tokens.slice(0, asked + 1) : writing.tokens.slice(0, writing.given);
  const symbols = seen.map((token) =>
    make("th", symbolOf(layout, token), { scope: "col", title: standing(layout, token) }));
  return [make("tr", [make("th", "head", { scope: "col" }), ...symbols]), rows];
}

function rowOfShares(name, shares) {
  return make("tr", [make("th", name, { scope: "row" }), ...Array.from(shares, cellOf)]);
}

/** A share as a shade, and in per cent where it is at least one. */
function cellOf(share) {
  const cell = make("td", share >= 0.005 ? String(Math.round(100 * share)) : "", { title: percent(share) });
  cell.style.setProperty("--look", String(share));
  return cell;
}

/** Answers below each other, `[name, text]`: what differs from the right one is marked. */
export function answerRows(right, others) {
  const rows = others.map(([name, text]) => make("tr", [
    make("th", name, { scope: "row" }), make("td", text === null ? "no answer" : marked(text, right)),
    make("td", right === null ? "" : text === right ? "right" : "wrong"),
  ]));
  if (right === null) return rows;
  const truth = make("tr", [make("th", "right is", { scope: "row" }), make("td", right), make("td")]);
  return [truth, ...rows];
}

/** A text with marks where a number's digits, from the last on, are others. */
function marked(text, right) {
  const digits = /^-?\d+$/;
  if (right === null || text === right) return [text];
  if (!digits.test(text) || !digits.test(right)) return [make("mark", text)];
  return [...text].map((digit, n) =>
    (digit === right[right.length - text.length + n] ? digit : make("mark", digit)));
}
