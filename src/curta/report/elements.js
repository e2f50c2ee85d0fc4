// What all pages share: elements, numbers as text, packed bytes.

export const at = (id) => document.getElementById(id);

// An element with its text or children, and attributes; without any HTML from outside. Custom
// properties are set one by one, since the page's policy forbids an attribute `style`.
export function make(name, content = [], attributes = {}, element = document.createElement(name)) {
  element.append(...[content].flat());
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("--")) element.style.setProperty(key, value);
    else element.setAttribute(key, value);
  }
  return element;
}

export function drawn(name, attributes = {}, content = []) {
  return make(name, content, attributes, document.createElementNS("http://www.w3.org/2000/svg", name));
}

export const pressable = (content, attributes) => make("button", content, { type: "button", ...attributes });

export function row(head, cells, attributes) {
  return make("tr", [make("th", head, { scope: "row" }), ...cells.map((content) => make("td", content))], attributes);
}

export function reveal(conditions) {
  for (const [id, so] of Object.entries(conditions)) at(id).hidden = !so;
}

export const options = (choices) => choices.map(([value, text]) => make("option", text, { value }));

export function offer(id, choices, chosen = choices[0][0]) {
  at(id).replaceChildren(...options(choices));
  at(id).value = chosen;
}

export function listen(kind, acts) {
  for (const [id, act] of Object.entries(acts)) at(id).addEventListener(kind, act);
}

export function onButtons(id, answer) {
  at(id).addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button && !button.disabled) answer(button);
  });
}

export function toggle(set, value) {
  if (!set.delete(value)) set.add(value);
}

// Per cent to one decimal; only all is 100.0 and only none is 0.0.
export function share(value) {
  if (value < 1 && value >= 0.9995) return ">99.9";
  return value > 0 && value < 0.0005 ? "<0.1" : (100 * value).toFixed(1);
}

export const percent = (value) => `${share(value)}%`;
export const numbered = (count) => Array.from({ length: count }, (_, n) => n);
export const counted = (number) => number.toLocaleString("en");
export const bytesOf = (base64) => Uint8Array.from(atob(base64.trim()), (character) => character.charCodeAt(0));

export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b), middle = (sorted.length - 1) / 2;
  return [(sorted[Math.floor(middle)] + sorted[Math.ceil(middle)]) / 2, sorted[0], sorted.at(-1)];
}

// A text with every character marked as in its place, counted from the end, or not.
export const matched = (text, right, mark) => [...text].map((digit, n) => mark(digit, digit === right[right.length - text.length + n]));
