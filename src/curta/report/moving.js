// What the moving parts of a report share: maps whose cells can be pointed at, and choices.

/**
 * Lets a map of `wide` times `high` cells be explored: `tell(x, y)` says what is in the cell under the
 * pointer, or in the one that arrow keys lead to, from `start` on. The `cursor` stands on that cell;
 * `again` tells it anew.
 */
function explored(svg, cells, { wide, high, label, start, tell }) {
  const cursor = drawn("rect", { class: "cursor", width: 1, height: 1 });
  const field = make("div", [], { class: "field", tabindex: 0, role: "application", "aria-label": `${label}: arrow keys go from cell to cell` });
  let at = start;

  function go([x, y]) {
    at = [x, y];
    tell(x, y);
    cursor.setAttribute("x", x);
    cursor.setAttribute("y", y);
    cursor.classList.add("on");
  }

  function pointed(event) {
    const { a, e, f } = cells.getScreenCTM();
    const x = Math.floor((event.clientX - e) / a), y = Math.floor((event.clientY - f) / a);
    if (x >= 0 && x < wide && y >= 0 && y < high) go([x, y]);
  }

  field.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowRight: [1, 0], ArrowLeft: [-1, 0] }[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go([[at[0] + move[0], wide], [at[1] + move[1], high]].map(([place, count]) => Math.min(count - 1, Math.max(0, place))));
  });
  svg.before(field);
  field.append(svg);
  for (const name of ["pointermove", "pointerdown"]) field.addEventListener(name, pointed);
  field.addEventListener("focus", () => field.matches(":focus-visible") && go(at));
  return { field, cursor, again: () => go(at) };
}

/** A select with a name before it; `changed` is given its value. */
function chooser(name, options, changed) {
  const select = make("select", options.map(([value, text]) => make("option", text, { value })));
  select.addEventListener("change", () => changed(Number(select.value)));
  return make("label", [`${name} `, select]);
}

/** The line that says what is in a cell. */
function telling(map, what) {
  const words = make("p", `Point at a cell, or go there with the arrow keys, to read ${what}.`, { class: "told", role: "status" });
  map.append(words);
  return words;
}
