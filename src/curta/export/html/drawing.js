// What is drawn of a writing: its tokens, what each might have been, and what was looked at.

import { coloured, make, percent, shown } from "./elements.js";
import { softmax } from "./numbers.js";

/** `sum, place 2, row 0`: the role of token `number` of a text, and where it stands. */
export function described({ machine, tokens, positions }, number) {
  const role = machine.role[tokens[number]];
  const where = machine.axes.map((axis, i) =>
    machine.wide[role][i] ? "" : `${axis} ${positions[number][i]}`);
  return [machine.names[role], ...where.filter(Boolean)].join(", ");
}

/** `place +1, row home`: how the pen moves to write a token. */
export function moved({ home, offset }, axes) {
  const parts = axes.map((axis, i) => {
    const steps = offset[i] ? `${offset[i] > 0 ? "+" : "−"}${Math.abs(offset[i])}` : "";
    return home[i] ? `${axis} home${steps}` : steps && `${axis} ${steps}`;
  });
  return parts.filter(Boolean).join(", ") || "stays";
}

/** The roles in a text, with their colours. */
export function rolesOf({ tokens, machine }) {
  const present = [...new Set(tokens.map((token) => machine.role[token]))].sort((a, b) => a - b);
  return present.map((role) => make("li", machine.names[role], { class: coloured(role) }));
}

/**
 * A token of the writing: one that was given is text, one that was written can be chosen. `right` is
 * the token that the certificate has in its place, if it is another one, else -1.
 */
export function tokenOf(writing, number, changed, right = -1) {
  const { paper } = writing, { machine } = paper, token = paper.tokens[number];
  const symbol = shown(machine.tokens[token].symbol), told = described(paper, number);
  const kind = `token ${coloured(machine.role[token])}${symbol.length > 2 ? " long" : ""}`;
  if (number < writing.given) {
    return make("li", make("span", symbol, { class: `${kind} given`, title: `${symbol}: ${told}` }));
  }
  const share = softmax(writing.before(number).logits)[token];
  const other = right < 0 ? "" : `wrong, right is ${shown(machine.tokens[right].symbol)} ${machine.tokens[right].role}, `;
  const label = `${symbol}: ${told}, ${changed ? "your change, " : ""}${other}${percent(share)}`;
  const classes = `${kind}${changed ? " changed" : ""}${other ? " wrong" : ""}`;
  const settings = { type: "button", class: classes, tabindex: "-1", title: label };
  const button = make("button", symbol, { ...settings, "aria-label": label });
  if (share < 0.995) button.style.setProperty("--doubt", String(1 - share));
  return make("li", button);
}

/** Tokens that might have been written, the likeliest first, at most so many. */
export function alternatives(writing, number, most) {
  const { machine } = writing.paper, shares = softmax(writing.before(number).logits);
  const order = shares.map((_, token) => token).sort((a, b) => shares[b] - shares[a]);
  return order.slice(0, most).map((token) => {
    const { symbol, role } = machine.tokens[token], how = moved(machine.tokens[token], machine.axes);
    const label = `Write ${shown(symbol)}, ${role}, ${how}: ${percent(shares[token])}`;
    const parts = [make("b", shown(symbol)), make("span", `${role}, ${how}`), make("i", percent(shares[token]))];
    const button = make("button", parts, { type: "button", "data-token": token, "aria-label": label });
    button.setAttribute("aria-pressed", String(token === writing.paper.tokens[number]));
    button.style.setProperty("--share", String(shares[token]));
    return make("li", button);
  });
}

/** How much each cell of a window is looked at for token `number`: by one head, or most by any. */
export function looks(writing, number, head) {
  const { weights } = writing.before(number);
  if (head >= 0) return weights[head];
  return weights[0].map((_, cell) => Math.max(...weights.map((shares) => shares[cell])));
}

/** Rows of a table: each cell of the window, the token in it, and its share in every head. */
export function lookRows(writing, number) {
  const { paper } = writing, { machine, tokens } = paper, { weights } = writing.before(number);
  const near = machine.near[machine.role[tokens[number - 1]]];
  return paper.seen[number - 1].map((key, cell) => {
    const symbol = key < 0 ? "–" : shown(machine.tokens[tokens[key]].symbol);
    const name = make("th", [make("b", symbol), ` ${cellName(cell, near, machine)}`]);
    name.scope = "row";
    if (key < 0) name.append(" (empty)");
    return make("tr", [name, ...weights.map((shares) => share(shares[cell]))]);
  });
}

/** `a, place +1`: the role of a neighbour, and where it is looked for. */
function cellName(cell, near, { names, axes }) {
  if (!cell) return "the token itself";
  const [role, displacement] = near[cell - 1], home = axes.map(() => false);
  const how = moved({ home, offset: displacement }, axes);
  return how === "stays" ? `${names[role]}, same square` : `${names[role]}, ${how}`;
}

function share(value) {
  const cell = make("td", percent(value));
  cell.style.setProperty("--look", String(value));
  return cell;
}
