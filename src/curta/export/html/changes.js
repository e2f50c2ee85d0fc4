// What of a forward pass is read or changed: heads and MLPs that add nothing, states of another
// problem. A tap is given the name of a site (`model/inspection.py`), its value at one token, and
// the token's index; the model goes on with what it returns.

import { numbered } from "../../report/elements.js";

// The same tap for sites whose names lack what they begin with, such as `layer.0.`.
export const below = (tap, prefix) => (site, value, index) => tap(prefix + site, value, index);

export function sitesOf(model, tokens) {
  const sites = {};
  model.read(model.emptyCache(), tokens, (site, value, index) => ((sites[site] ??= [])[index] = value));
  return sites;
}

// One tap for all changes: what `zeroed` names is zero at every token, and at the positions of
// `patch` its site has the values of another problem, `{sites, places}`.
export function tapOf({ zeroed, patch }, width) {
  const parts = [...zeroed].map((name) => name.split(":head="));
  return (site, value, index) => {
    const name = site.replace(/^recurrence\.\d+\./, ""); // changed in all recurrences
    if (patch?.site === name && patch.positions.has(index) && patch.places.has(index)) {
      value = patch.sites[site][patch.places.get(index)];
    }
    for (const [, head] of parts.filter(([part]) => part === name)) {
      value = head === undefined ? value.map(() => 0) : value.slice().fill(0, head * width, (Number(head) + 1) * width);
    }
    return value;
  };
}

// Where in another text each token's counterpart stands: the digit of the same role on the same
// square, the sign of the same role; of several, the one of the same rank.
export function counterparts(tokens, others, { roles }) {
  const keysOf = (text) => {
    const keys = text.map(({ role, coordinates }) => [role, ...(roles[role].digit ? coordinates : [])].join());
    return keys.map((key, n) => `${key};${keys.slice(0, n).filter((other) => other === key).length}`);
  };
  const known = keysOf(others);
  return new Map(keysOf(tokens).map((key, place) => [place, known.indexOf(key)]).filter(([, other]) => other >= 0));
}

// The parts of each layer that can be taken away, by the names of `--zero`.
export function ablatable({ num_layers: layers, num_attention_layers: attention, heads }) {
  return numbered(layers).map((layer) => [
    ...numbered(layer < attention ? heads : 0).map((head) => `layer.${layer}.attention.heads:head=${head}`),
    `layer.${layer}.mlp.output`,
  ]);
}

export const patchable = ({ num_layers: layers }) => ["embedding", ...numbered(layers).map((layer) => `layer.${layer}.after`)];

// `layer.0.after:position=5=57+69`, as on the command line.
export function patchName({ site, positions, source }) {
  return `${site}:${inOrder(positions).map((position) => `position=${position}`).join(",")}=${source}`;
}

const inOrder = (positions) => [...positions].sort((a, b) => a - b);

// `head 2 of layer 0`, `the MLP of layer 1`, `the state after layer 0`.
export function spokenOf(name) {
  const [, layer, kind, , head] = name.match(/^layer\.(\d+)\.(attention|mlp|after)([^=]*)=?(\d*)$/) ?? [];
  if (!layer) return "the embedding";
  const part = { attention: `head ${head} of`, mlp: "the MLP of", after: "the state after" }[kind];
  return `${part} layer ${layer}`;
}

export function changeWords({ zeroed, patch }, symbols) {
  const listed = (words) => new Intl.ListFormat("en-GB").format(words);
  const changes = zeroed.size ? [`without ${listed([...zeroed].map(spokenOf))}`] : [];
  if (patch?.positions.size) {
    const places = inOrder(patch.positions).map((place) => `${symbols[place]} (token ${place})`);
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
