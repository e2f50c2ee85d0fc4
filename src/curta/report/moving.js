// Lets a map of `wide` times `high` cells be explored: `tell(x, y)` says what is in the cell under
// the pointer, or in the one that arrow keys lead to, from `start` on; `what` that is. `choices`
// are selects `[name, options, changed]` above the map. Returns the cursor, which stands on the cell.
function explored(map, cells, { wide, high, label, start, tell, what, choices }) {
  const svg = map.querySelector("svg"), cursor = drawn("rect", { class: "cursor", width: 1, height: 1 });
  const about = { tabindex: 0, role: "application", "aria-label": `${label}: arrow keys go from cell to cell` };
  const field = make("div", [], { class: "field", ...about });
  const words = make("p", `Point at a cell, or go there with the arrow keys, to read ${what}.`, { class: "told", role: "status" });
  let at = start;

  function go([x, y]) {
    at = [x, y];
    words.textContent = tell(x, y);
    make("rect", [], { x, y }, cursor).classList.add("on");
  }

  function pointed(event) {
    const { a, e, f } = cells.getScreenCTM();
    const x = Math.floor((event.clientX - e) / a), y = Math.floor((event.clientY - f) / a);
    if (x >= 0 && x < wide && y >= 0 && y < high) go([x, y]);
  }

  const selects = choices.map(([name, values, changed]) => {
    const select = make("select", options(values));
    select.addEventListener("change", () => {
      changed(Number(select.value));
      go(at);
    });
    return make("label", [`${name} `, select]);
  });
  svg.before(field);
  field.append(svg);
  if (selects.length) field.before(make("p", selects, { class: "row controls" }));
  map.append(words);
  for (const name of ["pointermove", "pointerdown"]) field.addEventListener(name, pointed);
  field.addEventListener("keydown", (event) => {
    const move = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowRight: [1, 0], ArrowLeft: [-1, 0] }[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go([[at[0] + move[0], wide], [at[1] + move[1], high]].map(([place, count]) => Math.min(count - 1, Math.max(0, place))));
  });
  field.addEventListener("focus", () => field.matches(":focus-visible") && go(at));
  return cursor;
}
