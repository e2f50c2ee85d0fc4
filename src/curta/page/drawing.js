// What is drawn of a writing: its tokens, what each might have been, and where a head looks.

import { softmax } from "./model.js";

const SVG = "http://www.w3.org/2000/svg";
const LEAST = 0.05; // share of attention below which no line is drawn

/** An element with its text or children, and attributes; without any HTML from outside. */
export function make(name, content = [], attributes = {}) {
  const made = document.createElement(name);
  made.append(...[content].flat());
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

export function percent(share) {
  if (share < 0.0005) return "<0.1 %";
  return `${(100 * share).toFixed(share > 0.9995 ? 0 : 1)} %`;
}

/** A character as it is shown and read out. */
export function shown(character) {
  return character === " " ? "␣" : character;
}

/** `answer, place 2`: the part that a token plays, and where it stands. */
export function described({ kind, coordinates }, { kinds, axes }) {
  const { name, wild } = kinds[kind];
  const where = axes.map((axis, i) => (wild[i] ? "" : `${axis} ${coordinates[i]}`));
  return [name, ...where.filter(Boolean)].join(", ");
}

const COLOURS = 8;

/** The class that gives a kind its colour, among those of its group. */
export function coloured(kind, { kinds }) {
  const { group } = kinds[kind];
  const mine = kinds.map((_, number) => number).filter((number) => kinds[number].group === group);
  return `kind-${mine.indexOf(kind) % COLOURS}`;
}

/** The parts that tokens of a writing play, with their colours. */
export function partsOf({ places, design }) {
  const present = [...new Set(places.map(({ kind }) => kind))].sort((a, b) => a - b);
  return present.map((kind) => make("li", design.kinds[kind].name, { class: coloured(kind, design) }));
}

/** Where a token stands on the first axis; nothing if it stands everywhere. */
function placeOf({ kind, coordinates }, { kinds }) {
  return kinds[kind].wild[0] ? "" : String(coordinates[0]);
}

/** A token of the writing: one that was given is text, one that was written can be chosen. */
export function tokenOf(writing, number, given, changed) {
  const { design, tokens, places, passes } = writing;
  const character = shown(design.characters[tokens[number]]);
  const told = described(places[number], design);
  const where = { "data-place": placeOf(places[number], design), title: told };
  const part = coloured(places[number].kind, design);
  if (number < given) return make("li", make("span", character, { ...where, class: `token ${part}` }));
  const share = softmax(passes[number - 1].logits)[tokens[number]];
  const label = `${character}: ${told}, ${changed ? "your change, " : ""}${percent(share)}`;
  const classes = `token ${part}${changed ? " changed" : ""}`;
  const settings = { ...where, type: "button", class: classes, tabindex: "-1", title: label };
  const button = make("button", character, { ...settings, "aria-label": label });
  button.style.setProperty("--doubt", String(1 - share));
  return make("li", button);
}

/** Every character that might have been written, the likeliest first. */
export function alternatives(writing, number) {
  const { design, tokens, passes } = writing;
  const shares = softmax(passes[number - 1].logits);
  const order = shares.map((_, token) => token).sort((a, b) => shares[b] - shares[a]);
  return order.map((token) => {
    const character = shown(design.characters[token]);
    const label = `Write ${character} here, ${percent(shares[token])}`;
    const parts = [make("b", character), " ", make("span", percent(shares[token]))];
    const settings = { type: "button", "data-token": token, "aria-label": label };
    const button = make("button", parts, settings);
    button.setAttribute("aria-pressed", String(token === tokens[number]));
    button.style.setProperty("--share", String(shares[token]));
    return make("li", button);
  });
}

/** How much each token is looked at for token `number`: by one head, or the most by any. */
export function looks(writing, number, block, head) {
  const { keys, weights } = writing.passes[number - 1], found = new Map();
  const heads = block < 0 ? weights.flat() : [weights[block][head]];
  for (const shares of heads) {
    const mine = new Map();
    keys.forEach((key, n) => mine.set(key, (mine.get(key) ?? 0) + shares[n]));
    for (const [key, share] of mine) found.set(key, Math.max(found.get(key) ?? 0, share));
  }
  return found;
}

/** Lines from the token that was asked to those it looked at, as thick as their shares. */
export function arcs(items, asked, found) {
  const from = items[asked];
  return [...found].filter(([key, share]) => key !== asked && share >= LEAST).map(([key, share]) => {
    const line = document.createElementNS(SVG, "path");
    line.setAttribute("d", arc(from, items[key]));
    line.setAttribute("stroke-width", String(1 + 4 * share));
    return line;
  });
}

/** Over tokens of one line; from the upper edge of a token to the lower edge of one above it. */
function arc(from, to) {
  const [fromX, toX] = [from, to].map(({ offsetLeft, offsetWidth }) => offsetLeft + offsetWidth / 2);
  const above = to.offsetTop < from.offsetTop, toY = to.offsetTop + (above ? to.offsetHeight : 0);
  const wide = Math.abs(toX - fromX), lift = above ? 0 : Math.min(18, 6 + wide / 4);
  const overX = (fromX + toX) / 2 + (above && wide < 1 ? from.offsetWidth / 2 : 0);
  const overY = above ? (from.offsetTop + toY) / 2 : Math.min(from.offsetTop, toY) - lift;
  return `M${fromX} ${from.offsetTop}Q${overX} ${overY} ${toX} ${toY}`;
}

/** Rows of a table: each token that is looked at, and its share in every head. */
export function lookRows(writing, number) {
  const { design, tokens, places, passes } = writing;
  const { weights } = passes[number - 1];
  const columns = weights.flatMap((heads, b) => heads.map((_, h) => looks(writing, number, b, h)));
  const keys = [...looks(writing, number, -1, 0).keys()].sort((a, b) => a - b);
  return keys.map((key) => {
    const character = shown(design.characters[tokens[key]]);
    const cells = columns.map((column) => share(column.get(key) ?? 0));
    const name = make("th", [make("b", character), ` ${described(places[key], design)}`]);
    name.scope = "row";
    return make("tr", [name, ...cells]);
  });
}

function share(value) {
  const cell = make("td", percent(value));
  cell.style.setProperty("--look", String(value));
  return cell;
}

/**
 * Line and column of every token as on paper: equal places below each other, and a line as long
 * as places do not go back. What is written begins a line, unless an equals sign just has.
 */
export function onPaper(places, given, leftwards) {
  const found = [], widths = new Map();
  let line = 0, last = -Infinity, within = 0, held = 0;
  places.forEach(({ coordinates: [place] }, number) => {
    const breaks = place < last || (number === given && held > 1);
    within = place === last && !breaks ? within + 1 : 0;
    held = breaks ? 1 : held + 1;
    line += Number(breaks);
    last = place;
    widths.set(place, Math.max(widths.get(place) ?? 0, within + 1));
    found.push({ line, place, within });
  });
  const order = [...widths.keys()].sort((a, b) => (leftwards ? b - a : a - b));
  const starts = new Map();
  order.reduce((at, place) => (starts.set(place, at), at + widths.get(place)), 1);
  return found.map(({ line, place, within }) => [line + 1, starts.get(place) + within]);
}
