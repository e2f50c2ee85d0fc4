// What is drawn of a writing: its tokens, what each might have been, what was looked at, answers,
// and the controls by which it is changed.

import { ablatable, spokenOf } from "./changes.js";
import { make, matched, percent, pressable, row } from "../../report/elements.js";
import { softmax } from "./layers.js";
import { coloured } from "./sheet.js";

const LONGEST = 32; // characters of a recorded problem on its button

export const symbolOf = ({ characters }, token) => (characters[token] === " " ? "␣" : characters[token]);

// `sum, place 2, row 0`: the role of a token, and where it stands.
function standing(layout, { role, index, coordinates }) {
  const { name, broadcast } = layout.roles[role];
  const where = layout.axes.map((axis, i) => `${axis} ${coordinates[i]}`)
    .filter((_, axis) => !broadcast[axis] && !(layout.forms && coordinates[axis] < 0));
  return [name, ...where, `token ${index} of the text`].join(", ");
}

// `place +1, row home`: how the pen moves to write a token.
function moved({ home, offset }, axes) {
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

// A token of the writing: one that was given is text, one that was written can be chosen. `right` is
// the token that the certificate has in its place, if it is another one, else -1.
export function tokenOf(writing, number, changed, right) {
  const { layout } = writing, token = writing.tokens[number];
  const symbol = symbolOf(layout, token.token), place = standing(layout, token);
  const kind = `token ${coloured(token.role)}${symbol.length > 2 ? " long" : ""}`;
  if (number < writing.given) {
    return make("li", make("span", symbol, { class: `${kind} given`, title: `${symbol}: ${place}` }));
  }
  const share = softmax(writing.before(number))[token.token];
  const other = right < 0 ? "" : `wrong, right is ${symbolOf(layout, right)} ${layout.tokens[right].role}, `;
  const label = `${symbol}: ${place}, ${changed ? "your change, " : ""}${other}${percent(share)}`;
  return make("li", pressable(symbol, {
    class: `${kind}${changed ? " changed" : ""}${other ? " wrong" : ""}`,
    tabindex: "-1", title: label, "aria-label": label, ...(share < 0.995 && { "--doubt": 1 - share }),
  }));
}

export function alternatives(writing, number, most) {
  const { layout } = writing, shares = softmax(writing.before(number));
  const order = shares.map((_, token) => token).sort((a, b) => shares[b] - shares[a]);
  return order.slice(0, most).map((token) => {
    const symbol = symbolOf(layout, token), share = percent(shares[token]), meaning = meaningOf(layout, token);
    const choice = pressable([make("b", symbol), make("span", meaning), make("i", share)], {
      "data-token": token,
      "aria-label": `Write ${[symbol, meaning].filter(Boolean).join(", ")}: ${share}`,
      "aria-pressed": token === writing.tokens[number].token,
      "--share": shares[token],
    });
    choice.disabled = !writing.causal;
    return make("li", choice);
  });
}

// Head and rows of the table of what was looked at. Under a window there is a row for each of its
// cells; over a whole text a row for each head, and the text runs along its columns.
export function lookTable(writing, asked, heads) {
  const { layout, model: { windowed, headNames } } = writing, seen = writing.seen(asked);
  const header = (content, scope, title = "") => make("th", content, { scope, title });
  const line = (name, shares) => make("tr", [header(name, "row"), ...Array.from(shares, (share) =>
    make("td", share >= 0.005 ? String(Math.round(100 * share)) : "", { title: percent(share), "--look": share }))]);
  if (!windowed) {
    const symbols = seen.map((key) => header(symbolOf(layout, key.token), "col", standing(layout, key)));
    return [make("tr", [header("head", "col"), ...symbols]), heads.map((shares, n) => line(headNames[n], shares))];
  }
  const near = layout.near[writing.tokens[asked].role], none = layout.axes.map(() => false);
  const rows = seen.map((key, cell) => {
    // `a, place +1`: the role of a neighbour, and where it is looked for
    const [role, offset] = near[cell - 1] ?? [], how = cell && moved({ home: none, offset }, layout.axes);
    const name = cell ? `${layout.roles[role].name}, ${how === "stays" ? "same square" : how}` : "the token itself";
    const symbol = make("b", key ? symbolOf(layout, key.token) : "–");
    return line([symbol, ` ${name}`, key ? "" : " (empty)"], heads.map((shares) => shares[cell]));
  });
  return [make("tr", ["token", ...headNames].map((name) => header(name, "col"))), rows];
}

// Answers below each other, `[name, text]`: what differs from the right one is marked, of numbers
// the digits.
export function answerRows(right, others) {
  const rows = others.map(([name, text]) => {
    const numbers = [text, right].every((answer) => /^-?\d+$/.test(answer)), same = right === null || text === right;
    const marked = same || text === null ? text ?? "no answer"
      : numbers ? matched(text, right, (digit, fits) => (fits ? digit : make("mark", digit))) : make("mark", text);
    return row(name, [marked, right === null ? "" : same ? "right" : "wrong"]);
  });
  return right === null ? rows : [row("right is", [right, ""]), ...rows];
}

export function partsTable(config) {
  return ablatable(config).map((names, layer) => row(`layer ${layer}`, [make("div", names.map((name) => {
    const part = spokenOf(name).replace("the ", ""), label = `Take away ${part}`;
    return pressable(part.replace(/ of layer.*/, ""), { "aria-pressed": "false", "aria-label": label, "data-zeroes": name });
  }), { class: "row" })]));
}

// A button for each token of the prompt; without a counterpart in the other text it does nothing.
export function placeButtons(tokens, places, layout) {
  return tokens.map((token, index) => {
    const symbol = symbolOf(layout, token.token), has = places.has(index);
    const label = `${has ? "Put in" : "Nothing to put in"} at ${symbol}, ${standing(layout, token)}`;
    const place = pressable(symbol, {
      class: `token ${coloured(token.role)}`, title: label, "aria-label": label, "data-place": index,
    });
    place.disabled = !has;
    return make("li", place);
  });
}

export function recordedButtons({ recorded }, answerTo) {
  return recorded.map(({ problem, truth }) => {
    const wrote = answerTo(problem), right = wrote === truth;
    const words = right ? "right" : `wrong: the model writes ${wrote ?? "no answer"}`;
    const name = problem.length > LONGEST ? `${problem.slice(0, LONGEST / 2)}…${problem.slice(-LONGEST / 2)}` : problem;
    const settings = { value: problem, class: right ? "recorded" : "recorded miss", title: problem };
    return pressable(`${name} = ${truth} ${right ? "✓" : "✗"} ${words}`, settings);
  });
}
