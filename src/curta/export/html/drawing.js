// What is drawn of a writing: its tokens, what each might have been, what was looked at, answers,
// and the controls by which it is changed.

import { ablatable, spokenOf } from "./changes.js";
import { make, matched, percent, styled } from "../../report/elements.js";
import { softmax } from "./layers.js";
import { coloured } from "./sheet.js";

const button = (content, attributes) => make("button", content, { type: "button", ...attributes });
const labelled = (label) => ({ title: label, "aria-label": label });

export const symbolOf = ({ characters }, token) => (characters[token] === " " ? "␣" : characters[token]);

// `sum, place 2, row 0`: the role of a token, and where it stands.
function standing(layout, { role, index, coordinates }) {
  const { name, broadcast } = layout.roles[role];
  const hidden = (axis) => broadcast[axis] || (layout.forms && coordinates[axis] < 0);
  const where = layout.axes.map((axis, i) => (hidden(i) ? "" : `${axis} ${coordinates[i]}`));
  return [name, ...where.filter(Boolean), `token ${index} of the text`].join(", ");
}

// `place +1, row home`: how the pen moves to write a token.
export function moved({ home, offset }, axes) {
  const steps = axes.map((axis, i) => {
    const step = offset[i] ? `${offset[i] > 0 ? "+" : "−"}${Math.abs(offset[i])}` : "";
    return home[i] ? `${axis} home${step}` : step && `${axis} ${step}`;
  });
  return steps.filter(Boolean).join(", ") || "stays";
}

// `sum, place +1`: a program's token besides its symbol; nothing for one of a published layout.
export function meaningOf({ tokens, axes }, token) {
  return tokens ? `${tokens[token].role}, ${moved(tokens[token], axes)}` : "";
}

export function rolesOf(tokens, { roles }) {
  const present = [...new Set(tokens.map(({ role }) => role))].sort((a, b) => a - b);
  return present.map((role) => make("li", roles[role].name, { class: coloured(role) }));
}

// A token of the writing: one that was given is text, one that was written can be chosen. `right` is
// the token that the certificate has in its place, if it is another one, else -1.
export function tokenOf(writing, number, changed, right) {
  const { layout } = writing.model.design, token = writing.tokens[number];
  const symbol = symbolOf(layout, token.token), place = standing(layout, token);
  const kind = `token ${coloured(token.role)}${symbol.length > 2 ? " long" : ""}`;
  if (number < writing.given) {
    return make("li", make("span", symbol, { class: `${kind} given`, title: `${symbol}: ${place}` }));
  }
  const share = softmax(writing.before(number))[token.token];
  const other = right < 0 ? "" : `wrong, right is ${symbolOf(layout, right)} ${layout.tokens[right].role}, `;
  const label = `${symbol}: ${place}, ${changed ? "your change, " : ""}${other}${percent(share)}`;
  const classes = `${kind}${changed ? " changed" : ""}${other ? " wrong" : ""}`;
  const chosen = button(symbol, { class: classes, tabindex: "-1", ...labelled(label) });
  return make("li", styled(chosen, share < 0.995 ? { doubt: 1 - share } : {}));
}

// Tokens that might have been written, the likeliest first, at most so many.
export function alternatives(writing, number, most) {
  const { layout } = writing.model.design, shares = softmax(writing.before(number));
  const order = shares.map((_, token) => token).sort((a, b) => shares[b] - shares[a]);
  return order.slice(0, most).map((token) => {
    const symbol = symbolOf(layout, token), share = percent(shares[token]), meaning = meaningOf(layout, token);
    const choice = button([make("b", symbol), make("span", meaning), make("i", share)], {
      "data-token": token,
      "aria-label": `Write ${[symbol, meaning].filter(Boolean).join(", ")}: ${share}`,
      "aria-pressed": token === writing.tokens[number].token,
    });
    choice.disabled = !writing.causal;
    return make("li", styled(choice, { share: shares[token] }));
  });
}

// Head and rows of the table of what was looked at. Under a window there is a row for each of its
// cells; over a whole text a row for each head, and the text runs along its columns.
export function lookTable(writing, asked, heads) {
  const { layout } = writing.model.design, seen = writing.seen(asked);
  const header = (content, scope, title = "") => make("th", content, { scope, title });
  if (writing.model.windowed) {
    const near = layout.near[writing.tokens[asked].role];
    const rows = seen.map((key, cell) => {
      const name = [make("b", key ? symbolOf(layout, key.token) : "–"), ` ${cellName(cell, near, layout)}`, key ? "" : " (empty)"];
      return make("tr", [header(name, "row"), ...heads.map(({ shares }) => shareOf(shares[cell]))]);
    });
    return [make("tr", ["token", ...heads.map(({ name }) => name)].map((name) => header(name, "col"))), rows];
  }
  const symbols = seen.map((key) => header(symbolOf(layout, key.token), "col", standing(layout, key)));
  const rows = heads.map(({ name, shares }) => make("tr", [header(name, "row"), ...Array.from(shares, shareOf)]));
  return [make("tr", [header("head", "col"), ...symbols]), rows];
}

// `a, place +1`: the role of a neighbour, and where it is looked for.
function cellName(cell, near, { roles, axes }) {
  if (!cell) return "the token itself";
  const [role, offset] = near[cell - 1], how = moved({ home: axes.map(() => false), offset }, axes);
  return `${roles[role].name}, ${how === "stays" ? "same square" : how}`;
}

// A share as a shade, and in per cent where it is at least one.
const shareOf = (share) =>
  styled(make("td", share >= 0.005 ? String(Math.round(100 * share)) : "", { title: percent(share) }), { look: share });

// Answers below each other, `[name, text]`: what differs from the right one is marked.
export function answerRows(right, others) {
  const line = (name, text, verdict) =>
    make("tr", [make("th", name, { scope: "row" }), make("td", text), make("td", verdict)]);
  const rows = others.map(([name, text]) =>
    line(name, text === null ? "no answer" : marked(text, right), right === null ? "" : text === right ? "right" : "wrong"));
  return right === null ? rows : [line("right is", right, ""), ...rows];
}

// A text with marks where a number's digits, from the last on, are others.
function marked(text, right) {
  const digits = /^-?\d+$/;
  if (right === null || text === right) return [text];
  if (!digits.test(text) || !digits.test(right)) return [make("mark", text)];
  return matched(text, right, (digit, same) => (same ? digit : make("mark", digit)));
}

// A table of buttons, a row for each layer: its heads, and its MLP.
export function partsTable(config) {
  return ablatable(config).map((names, layer) => {
    const buttons = names.map((name) => button(spokenOf(name).replace(/^the | of layer.*/g, ""), {
      "aria-pressed": "false", "aria-label": `Take away ${spokenOf(name).replace("the ", "")}`, "data-zeroes": name,
    }));
    return make("tr", [make("th", `layer ${layer}`, { scope: "row" }), make("td", make("div", buttons, { class: "row" }))]);
  });
}

// A button for each token of the prompt; without a counterpart in the other text it does nothing.
export function placeButtons(tokens, places, chosen, layout) {
  return tokens.map((token, index) => {
    const symbol = symbolOf(layout, token.token), has = places.has(index);
    const label = `${has ? "Put in" : "Nothing to put in"} at ${symbol}, ${standing(layout, token)}`;
    const pressed = { "aria-pressed": has && chosen.has(index), "data-place": index };
    const place = button(symbol, { class: `token ${coloured(token.role)}`, ...labelled(label), ...pressed });
    place.disabled = !has;
    return make("li", place);
  });
}

// A button for each recorded problem, with its truth and whether the model writes it.
export function recordedButtons({ recorded }, answerTo) {
  const SHORT = 32; // characters of a problem on a button
  return recorded.map(({ problem, truth }) => {
    const wrote = answerTo(problem), right = wrote === truth;
    const words = right ? "right" : `wrong: the model writes ${wrote ?? "no answer"}`;
    const name = problem.length > SHORT ? `${problem.slice(0, SHORT / 2)}…${problem.slice(-SHORT / 2)}` : problem;
    const settings = { value: problem, class: right ? "recorded" : "recorded miss", title: problem };
    return button(`${name} = ${truth} ${right ? "✓" : "✗"} ${words}`, settings);
  });
}
