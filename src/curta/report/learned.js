// The learned table of a role: the windows that a cell of the map stands for, and what follows them.

const MOST = 4;

async function begin(map) {
  const held = JSON.parse(map.querySelector("script").textContent);
  // columns of integers, packed by byte: first every lowest byte, then every second one, ...
  const stream = new Blob([bytesOf(held.packed)]).stream().pipeThrough(new DecompressionStream("deflate"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer()), size = planes.length / 4;
  const all = Int32Array.from({ length: size }, (_, i) =>
    planes[i] | (planes[size + i] << 8) | (planes[2 * size + i] << 16) | (planes[3 * size + i] << 24));
  const columns = numbered(size / held.rows).map((column) => all.subarray(column * held.rows, (column + 1) * held.rows));
  const classes = columns.slice(0, held.cells.length);
  const [next, count, heldOut, margin, wrong] = columns.slice(held.cells.length);
  const { down, across } = held, squares = map.querySelector(".squares");
  const wide = held.cells[across][1].length, high = down === null ? 1 : held.cells[down][1].length;
  const fixed = held.cells.map(() => -1);
  let places = [];

  // What follows in these rows, the most frequent first, as [token, windows].
  function following(rows) {
    const found = new Map();
    for (const row of rows) found.set(next[row], (found.get(next[row]) ?? 0) + count[row]);
    return [...found].sort((a, b) => b[1] - a[1]);
  }

  const sum = (rows, column) => rows.reduce((total, row) => total + column[row], 0);

  function paint() {
    places = numbered(wide * high).map(() => []); // the rows of each, with the symbols that were chosen
    for (let row = 0; row < held.rows; row++) {
      if (fixed.some((symbol, cell) => symbol >= 0 && classes[cell][row] !== symbol)) continue;
      places[(down === null ? 0 : classes[down][row]) * wide + classes[across][row]].push(row);
    }
    const paths = {}, texts = [];
    places.forEach((rows, place) => {
      if (!rows.length) return;
      const x = place % wide, y = Math.floor(place / wide), found = following(rows);
      const level = sum(rows, wrong) ? "wrong" : `value-${held.next[found[0][0]][2]}`;
      paths[level] = `${paths[level] ?? ""}M${x} ${y}h1v1h-1z`;
      if (sum(rows, heldOut)) paths.heldOut = `${paths.heldOut ?? ""}M${x + 0.82} ${y + 0.18}h0`;
      const symbols = [...new Set(found.map(([token]) => held.next[token][0]))];
      if (symbols.length < 3) {
        const name = `on-${level}${symbols.join("").length > 1 ? " small" : ""}`;
        texts.push(drawn("text", { x: x + 0.5, y: y + 0.68, class: name }, symbols.join(" ")));
      }
    });
    const { heldOut: dots = "", ...coloured } = paths;
    const shown = Object.entries(coloured).map(([name, d]) => drawn("path", { class: name, d }));
    squares.replaceChildren(...shown, ...texts, drawn("path", { class: "held-out", d: dots }), cursor);
  }

  function tell(x, y) {
    const rows = places[y * wide + x], windows = sum(rows, count), bad = sum(rows, wrong), fresh = sum(rows, heldOut);
    const named = (cell, symbol) => `${held.cells[cell][0]} ${held.cells[cell][1][symbol]}`;
    const sides = [...(down === null ? [] : [named(down, y)]), named(across, x)].join(", ");
    if (!rows.length) return `${sides}: this cannot occur.`;
    const where = rows.length === 1 && windows === 1
      ? `One window, ${classes.map((symbols, cell) => named(cell, symbols[rows[0]])).join(", ")}`
      : `${sides}: ${counted(windows)} windows`;
    const least = (Math.min(...rows.map((row) => margin[row])) / 100).toFixed(2);
    const found = following(rows), more = found.length > MOST ? `, and ${found.length - MOST} more` : "";
    const written = found.slice(0, MOST).map(([token, n]) =>
      found.length > 1 ? `${held.next[token][1]} (${counted(n)})` : held.next[token][1]);
    const facts = [`right is ${written.join(", ")}${more}`, `${windows > 1 ? "smallest margin" : "margin"} ${least}`];
    if (fresh) facts.push(windows > 1 ? `${counted(fresh)} never shown in training` : "never shown in training");
    if (bad) facts.push(`wrong ${held.members > 1 ? `${bad} times in ${held.members} members` : `in ${bad}`}`);
    return `${where}: ${facts.join("; ")}.`;
  }

  const choices = [...held.cells.entries()].filter(([cell]) => cell !== down && cell !== across)
    .map(([cell, [name, symbols]]) => [name, [[-1, "any"], ...symbols.entries()], (symbol) => {
      fixed[cell] = symbol;
      paint();
    }]);
  const label = map.querySelector("svg").getAttribute("aria-label");
  const cursor = explored(map, squares, { wide, high, label, start: [0, 0], tell, what: "its windows", choices });
  paint();
}

document.querySelectorAll(".learned").forEach(begin);
