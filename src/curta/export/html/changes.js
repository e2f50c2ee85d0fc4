// What of a forward pass is read or changed: heads and MLPs that add nothing, states of another
// problem. A tap is given the name of a site (`model/inspection.py`), its value at one token, and
// the token's index; the model goes on with what it returns.

import { numbered } from "../../report/elements.js";
import { Follower } from "./machine.js";

export const untouched = (site, value) => value;

// The same tap for sites whose names lack what they begin with, such as `layer.0.`.
export const below = (tap, prefix) => (site, value, index) => tap(prefix + site, value, index);

// Every value of the forward pass over these tokens, by site and index.
export function sitesOf(model, tokens) {
  const sites = {};
  model.read(model.emptyCache(), new Follower(model.design.layout, tokens).tokens, (site, value, index) => {
    (sites[site] ??= [])[index] = value;
    return value;
  });
  return sites;
}

// One tap for all changes: what `zeroed` names is zero at every token, and at the positions of
// `patch` its site has the values of `source`, another problem.
export function tapOf({ zeroed, patch, source }, width) {
  const parts = [...zeroed].map((name) => name.split(":head="));
  return (site, value, index) => {
    const name = site.replace(/^recurrence\.\d+\./, ""); // changed in all recurrences
    if (patch && source && patch.site === name && patch.positions.has(index) && source.places.has(index)) {
      value = source.sites[site][source.places.get(index)];
    }
    for (const [, head] of parts.filter(([part]) => part === name)) {
      const from = head === undefined ? 0 : head * width, to = head === undefined ? value.length : from + width;
      value = Float32Array.from(value).fill(0, from, to);
    }
    return value;
  };
}

// Where in another text each token's counterpart stands: the digit of the same role on the same
// square, the sign of the same role; of several, the one of the same rank.
export function counterparts(tokens, others, { roles }) {
  const keysOf = (text) => {
    const ranks = {};
    return text.map(({ role, coordinates }) => {
      const key = [role, ...(roles[role].digit ? coordinates : [])].join();
      ranks[key] = (ranks[key] ?? -1) + 1;
      return `${key};${ranks[key]}`;
    });
  };
  const known = new Map(keysOf(others).map((key, place) => [key, place]));
  const pairs = keysOf(tokens).map((key, place) => [place, known.get(key)]);
  return new Map(pairs.filter(([, other]) => other !== undefined));
}

// The parts of each layer that can be taken away, by the names of `--zero`.
export function ablatable({ num_layers: layers, num_attention_layers: attention, heads }) {
  return numbered(layers).map((layer) => [
    ...numbered(layer < attention ? heads : 0).map((head) => `layer.${layer}.attention.heads:head=${head}`),
    `layer.${layer}.mlp.output`,
  ]);
}

// The sites whose values may be taken from another problem.
export const patchable = ({ num_layers: layers }) => ["embedding", ...numbered(layers).map((layer) => `layer.${layer}.after`)];

// The changes as an address's fragment: `problem=57%2B68&zero=layer.0.mlp.output`.
export function addressOf({ problem, zeroed, patch }) {
  const fields = new URLSearchParams({ problem });
  for (const name of zeroed) fields.append("zero", name);
  if (patch) fields.append("patch", patchName(patch));
  return String(fields);
}

// Read an address's fragment; names that a model of this config lacks are ignored.
export function addressed(fragment, config) {
  const fields = new URLSearchParams(fragment.replace(/^#/, "")), parts = ablatable(config).flat();
  const [, site, places, source] = fields.get("patch")?.match(/^([^:]+):((?:position=\d+,?)+)=(.*)$/) ?? [];
  const positions = (places ?? "").match(/\d+/g)?.map(Number) ?? [];
  return {
    problem: fields.get("problem") ?? "",
    zeroed: new Set(fields.getAll("zero").filter((name) => parts.includes(name))),
    patch: patchable(config).includes(site) ? { site, positions: new Set(positions), source } : null,
  };
}

// `layer.0.after:position=5=57+69`, as on the command line.
function patchName({ site, positions, source }) {
  const chosen = [...positions].sort((a, b) => a - b).map((position) => `position=${position}`);
  return `${site}:${chosen.join(",")}=${source}`;
}

// `head 2 of layer 0`, `the MLP of layer 1`, `the state after layer 0`.
export function spokenOf(name) {
  const [, layer, kind, , head] = name.match(/^layer\.(\d+)\.(attention|mlp|after)([^=]*)=?(\d*)$/) ?? [];
  if (!layer) return "the embedding";
  if (kind === "after") return `the state after layer ${layer}`;
  return kind === "mlp" ? `the MLP of layer ${layer}` : `head ${head} of layer ${layer}`;
}

// Describe the changes in words; `symbols` are the prompt's.
export function changeWords({ zeroed, patch }, symbols) {
  const listed = (words) => new Intl.ListFormat("en-GB").format(words);
  const changes = zeroed.size ? [`without ${listed([...zeroed].map(spokenOf))}`] : [];
  if (patch?.positions.size) {
    const places = [...patch.positions].sort((a, b) => a - b).map((place) => `${symbols[place]} (token ${place})`);
    changes.push(`${spokenOf(patch.site)} at ${listed(places)} from ${patch.source}`);
  }
  return changes.join("; ");
}

export function command({ run, member }, { problem, zeroed, patch }) {
  const quoted = (word) => (/^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
  const changes = zeroed.size ? [` zero=${quoted([...zeroed].join(";"))}`] : [];
  if (patch?.positions.size) changes.push(` patch=${quoted(patchName(patch))}`);
  return `curta probe ${quoted(run)} activations ${quoted(problem)} --member ${member}${changes.join("")}`;
}
