// The controls by which parts are taken away and values put in.

import { coloured, make } from "../elements.js";
import { Mistake } from "../problems.js";
import {
  counterparts, headName, mlpName, patchable, patchName, patching, spokenOf, zeroing,
} from "./changes.js";
import { standing, symbolOf } from "./drawing.js";
import { inTurn, recording } from "./taps.js";
import { Writing } from "./text.js";

/** A table of buttons, a row for each layer: its heads, and its MLP. */
export function partsTable({ num_layers: layers, num_attention_layers: attention, heads }) {
  return Array.from({ length: layers }, (_, layer) => {
    const own = layer < attention ? Array.from({ length: heads }, (_, head) => head) : [];
    const buttons = own.map((head) => part(`head ${head}`, `layer ${layer}`, headName(layer, head)));
    const all = [...buttons, part("MLP", `layer ${layer}`, mlpName(layer))];
    return make("tr", [make("th", `layer ${layer}`, { scope: "row" }), make("td", make("div", all, { class: "row" }))]);
  });
}

function part(name, layer, zeroes) {
  const settings = { type: "button", "aria-pressed": "false", "aria-label": `Take away ${name} of ${layer}` };
  return make("button", name, { ...settings, "data-zeroes": zeroes });
}

/** Options of a select: the sites whose values may be put in. */
export function siteOptions(config) {
  return patchable(config).map((site) => make("option", `${spokenOf(site)} (${site})`, { value: site }));
}

/** A button for each token of the prompt; without a counterpart in the other text it does nothing. */
export function placeButtons(tokens, places, chosen, layout) {
  return tokens.map((token, index) => {
    const symbol = symbolOf(layout, token), has = places.has(index), told = standing(layout, token);
    const label = `${has ? "Put in" : "Nothing to put in"} at ${symbol}, ${told}`;
    const settings = { type: "button", class: `token ${coloured(token.role)}`, title: label, "aria-label": label };
    const button = make("button", symbol, { ...settings, "data-place": index });
    button.setAttribute("aria-pressed", String(has && chosen.has(index)));
    button.disabled = !has;
    return make("li", button);
  });
}

/** Where values come from: the prompt of another problem, read with every value kept. */
export function sourceOf(model, prompt, tokens) {
  const recorded = {};
  const { tokens: others, stopped } = new Writing(model, prompt, recording(recorded));
  if (stopped) throw new Mistake(`That is too long: ${stopped}.`);
  return { recorded, places: counterparts(tokens, others, model.design.layout) };
}

/** One tap for all changes. */
export function tapOf({ zeroed, patch }, source, width) {
  const taps = [zeroing(zeroed, width)];
  if (patch && source) {
    const places = new Map([...source.places].filter(([place]) => patch.positions.has(place)));
    taps.push(patching(patch.site, places, source.recorded));
  }
  return inTurn(...taps);
}

/** The changes in words, and as the command line has them. */
export function changeWords({ zeroed, patch }, symbols) {
  const found = [];
  if (zeroed.size) found.push(`without ${listed([...zeroed].map(spokenOf))}`);
  if (patch?.positions.size) {
    const places = [...patch.positions].sort((a, b) => a - b).map((place) => `${symbols[place]} (token ${place})`);
    found.push(`${spokenOf(patch.site)} at ${listed(places)} from ${patch.source}`);
  }
  return found.join("; ");
}

export function command({ run, member }, { problem, zeroed, patch }) {
  const changes = zeroed.size ? [` zero=${quoted([...zeroed].join(";"))}`] : [];
  if (patch?.positions.size) changes.push(` patch=${quoted(patchName(patch))}`);
  return `curta probe ${quoted(run)} activations ${quoted(problem)} --member ${member}${changes.join("")}`;
}

/** A word of a command, in quotes where a shell would read anything else than itself. */
function quoted(word) {
  return /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
