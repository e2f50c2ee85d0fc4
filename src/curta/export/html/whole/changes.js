// What of a forward pass is changed: heads and MLPs that add nothing, states of another problem.
// It is written as `curta probe RUN activations` takes it, `zero=` and `patch=`, in the page's address too.

import { withoutRecurrence } from "./taps.js";

/** The name of what a head adds to the state, and of what an MLP does. */
export const headName = (layer, head) => `layer.${layer}.attention.heads:head=${head}`;
export const mlpName = (layer) => `layer.${layer}.mlp.output`;

/** The sites whose values may be taken from another problem. */
export function patchable({ num_layers: layers }) {
  return ["embedding", ...Array.from({ length: layers }, (_, layer) => `layer.${layer}.after`)];
}

/** Every name that may be zeroed. */
export function ablatable({ num_layers: layers, num_attention_layers: attention, heads }) {
  const numbers = (count) => Array.from({ length: count }, (_, number) => number);
  const named = (layer) => (layer < attention ? numbers(heads).map((head) => headName(layer, head)) : []);
  return numbers(layers).flatMap((layer) => [...named(layer), mlpName(layer)]);
}

/** A tap that zeroes what these names name, at every token and in every recurrence. */
export function zeroing(names, width) {
  const parts = [...names].map((name) => name.split(":head="));
  return (site, value) => {
    const mine = parts.filter(([zeroed]) => zeroed === withoutRecurrence(site));
    return mine.reduce((now, [, head]) => {
      const from = head === undefined ? 0 : head * width, to = head === undefined ? now.length : from + width;
      return Float32Array.from(now).fill(0, from, to);
    }, value);
  };
}

/** A tap that puts recorded values in a site's place: `places` leads from a token to its counterpart. */
export function patching(wanted, places, recorded) {
  return (site, value, index) =>
    (withoutRecurrence(site) === wanted && places.has(index) ? recorded[site][places.get(index)] : value);
}

/**
 * Where in another text each token's counterpart stands: the digit of the same role on the same
 * square, the sign of the same role; of several, the one of the same rank.
 */
export function counterparts(tokens, others, { roles }) {
  const known = new Map(keysOf(others, roles).map((key, place) => [key, place]));
  const found = keysOf(tokens, roles).map((key, place) => [place, known.get(key)]);
  return new Map(found.filter(([, other]) => other !== undefined));
}

function keysOf(tokens, roles) {
  const ranks = {};
  return tokens.map(({ role, coordinates }) => {
    const key = [role, ...(roles[role].digit ? coordinates : [])].join();
    ranks[key] = (ranks[key] ?? -1) + 1;
    return `${key};${ranks[key]}`;
  });
}

/** The changes as an address's fragment: `problem=57%2B68&zero=layer.0.mlp.output`. */
export function addressOf({ problem, zeroed, patch }) {
  const found = new URLSearchParams({ problem });
  for (const name of zeroed) found.append("zero", name);
  if (patch) found.append("patch", patchName(patch));
  return String(found);
}

/** What an address's fragment says of a model of this config; what it does not know is left out. */
export function addressed(fragment, config) {
  const given = new URLSearchParams(fragment.replace(/^#/, "")), known = ablatable(config);
  const [, site, places, source] = given.get("patch")?.match(/^([^:]+):((?:position=\d+,?)+)=(.*)$/) ?? [];
  const positions = (places ?? "").match(/\d+/g)?.map(Number) ?? [];
  return {
    problem: given.get("problem") ?? "",
    zeroed: new Set(given.getAll("zero").filter((name) => known.includes(name))),
    patch: patchable(config).includes(site) ? { site, positions: new Set(positions), source } : null,
  };
}

/** `layer.0.after:position=5=57+69`, as on the command line. */
export function patchName({ site, positions, source }) {
  const chosen = [...positions].sort((a, b) => a - b).map((position) => `position=${position}`);
  return `${site}:${chosen.join(",")}=${source}`;
}

/** `head 2 of layer 0`, `the MLP of layer 1`, `the state after layer 0`. */
export function spokenOf(name) {
  const [, layer, kind, , head] = name.match(/^layer\.(\d+)\.(attention|mlp|after)([^=]*)=?(\d*)$/) ?? [];
  if (!layer) return "the embedding";
  if (kind === "after") return `the state after layer ${layer}`;
  return kind === "mlp" ? `the MLP of layer ${layer}` : `head ${head} of layer ${layer}`;
}
