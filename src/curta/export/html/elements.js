// Elements, and how symbols, shares and roles are shown: in all pages alike.

const COLOURS = 8;

/** An element with its text or children, and attributes; without any HTML from outside. */
export function make(name, content = [], attributes = {}) {
  const made = document.createElement(name);
  made.append(...[content].flat());
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

export function percent(share) {
  if (share < 0.0005) return "<0.1 %";
  if (share < 1 && share >= 0.9995) return ">99.9 %";
  return `${(100 * share).toFixed(share === 1 ? 0 : 1)} %`;
}

/** A symbol as it is shown and read out. */
export function shown(symbol) {
  return symbol === " " ? "␣" : symbol;
}

/** The class that gives a role its colour. */
export function coloured(role) {
  return `role-${role % COLOURS}`;
}
