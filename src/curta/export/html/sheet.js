// Squared paper as it is drawn: on which line, and in which column, every token stands.
// The first axis runs sideways, so that digits stand as numbers are written. Each square of the
// other axes is a block of lines, one block below the other, with a line for each role in it. A
// role that is found everywhere on the first axis stands in the margin; one that is found
// everywhere on another axis has a block of its own, above those of that axis.

import { at, make, numbered } from "../../report/elements.js";

const EVERYWHERE = "*";
const WIDE = 24; // columns from which on squares are small
const RULED = 5; // columns between two numbers of a small ruler
const LEAST = 8; // columns
const SPARE = 2; // columns beyond the prompt's that are there from the start
const COLOURS = 8;

export const coloured = (role) => `role-${role % COLOURS}`;

// `{cells, blocks, low, high, margin}`: of each token `[block, track, line, column]`, and blocks
// from the top to the bottom. Track 0 is the squares, track 1 the margin. Signs in `alone`, which
// grows, have a line of their own: others share one.
export function sheetOf(tokens, layout, alone) {
  const byAddress = new Map(), cells = [];
  for (const { role, coordinates } of tokens) {
    const { at, column, track } = squareOf(role, coordinates, layout), { digit } = layout.roles[role];
    if (!byAddress.has(at.join())) byAddress.set(at.join(), { at, tracks: [[], []] });
    const block = byAddress.get(at.join()), lines = block.tracks[track];
    let line = lines.find(({ roles }) => roles.has(role)), last = lines.at(-1);
    if (!line && last?.open && !last.columns.has(column) && !alone.has(role)) line = last;
    if (!line) lines.push(line = { roles: new Set(), columns: new Map(), open: true, number: lines.length });
    const other = line.columns.get(column) ?? role;
    if (other !== role) { // signs on its line are in its way: all is placed again
      alone.add(digit ? other : role);
      return sheetOf(tokens, layout, alone);
    }
    line.columns.set(column, role);
    line.roles.add(role);
    line.open &&= !digit && !alone.has(role);
    cells.push({ block, track, line, column });
  }
  const blocks = [...byAddress.values()].sort(({ at: first }, { at: second }) => {
    // by the last axis first; what is found from everywhere before all else
    const axis = first.findLastIndex((at, n) => at !== second[n]), [a, b] = [first[axis], second[axis]];
    return axis < 0 ? 0 : a === EVERYWHERE ? -1 : b === EVERYWHERE ? 1 : a - b;
  });
  let top = 0;
  for (const block of blocks) {
    const named = block.at.map((at, i) => (at === EVERYWHERE ? "" : `${layout.axes[i + 1]} ${at}`));
    const lines = Math.max(...block.tracks.map(({ length }) => length));
    Object.assign(block, { top, lines, name: named.filter(Boolean).join(", ") });
    top += lines;
  }
  const columns = cells.map(({ column }) => column).filter((column) => column !== EVERYWHERE);
  const low = columns.reduce((a, b) => Math.min(a, b), 0);
  const high = columns.reduce((a, b) => Math.max(a, b), low);
  return { cells, blocks, lines: top, low, high, margin: columns.length < cells.length };
}

// A square's block and column, EVERYWHERE on the axes on which the role is found from there; and its track.
function squareOf(role, position, { roles }) {
  const [column, ...at] = position.map((square, axis) => (roles[role].broadcast[axis] ? EVERYWHERE : square));
  return { at, column, track: Number(column === EVERYWHERE) };
}

// Draws a text on squared paper, and again whenever it has grown.
export class Sheet {
  begin(tokens, layout, { parts }) {
    // Numbers on the first axis are written from their low end on, which then is on the right, unless
    // an operand lies the other way. Of a number of several operands, the last one says so.
    const given = parts.filter(({ kind }) => kind === "given"), [first] = layout.axes;
    const sideways = given.find(({ along }, n) => along === first && !given[n + 1]?.follows);
    Object.assign(this, { layout, left: !sideways?.high_first, alone: new Set(), placed: [], ruled: "" });
    const { low, high } = sheetOf(tokens, layout, this.alone);
    this.columns = Math.max(LEAST, high - low + 1 + SPARE);
  }

  draw(tokens, items) {
    this.sheet = sheetOf(tokens, this.layout, this.alone);
    const { cells, low, high } = this.sheet;
    this.columns = Math.max(this.columns, high - low + 1);
    this.rule();
    cells.forEach(({ block, track, line, column }, number) => {
      const x = this.x(column), y = block.top + line.number, at = `${x},${y}`;
      if (this.placed[number] === at) return;
      this.placed[number] = at;
      make("li", [], { "--x": x, "--y": y }, items[number]).classList.toggle("margin", track === 1);
    });
    this.placed.length = cells.length;
  }

  // Columns from the right end of the squares.
  x(column) {
    if (column === EVERYWHERE) return 0;
    const from = column - this.sheet.low;
    return this.left ? from : this.columns - 1 - from;
  }

  // Draws paper, ruler and labels anew if they are others than before.
  rule() {
    const { blocks, lines, low, margin } = this.sheet, { layout: { axes: [axis], roles: all }, columns } = this;
    const roles = blocks.map(({ name, tracks }) => [name, ...tracks.map((track) => track.map((line) => [...line.roles]))]);
    const ruled = JSON.stringify([columns, low, margin, roles]);
    if (ruled === this.ruled) return;
    this.ruled = ruled;
    const { classList } = make("div", [], { "--columns": columns, "--lines": lines }, at("board"));
    classList.toggle("dense", columns > WIDE);
    classList.toggle("margined", margin);
    at("grid").replaceChildren(...blocks.map(({ top, lines: height, at: square }) => {
      const name = square.includes(EVERYWHERE) ? "block wide" : "block";
      return make("div", make("div"), { class: name, "--from": top, "--height": height });
    }));
    const every = columns > WIDE ? RULED : 1;
    const marks = numbered(columns).map((number) => number + low).filter((column) => column % every === 0);
    at("ruler").replaceChildren(...marks.map((column) => make("span", String(column), { "--x": this.x(column), "--y": 0 })));
    // beside each line of a block its roles, and beside the first the block's name
    const labels = blocks.flatMap((block) => numbered(block.lines).map((line) => {
      const here = block.tracks.flatMap((track) => [...(track[line]?.roles ?? [])]).map((role) => ({ role, ...all[role] }));
      const digits = here.filter(({ digit }) => digit);
      const named = (digits.length ? digits : here).map(({ role, name }) => make("span", name, { class: coloured(role) }));
      return make("div", [make("b", line ? "" : block.name), ...named], { title: here.map(({ name }) => name).join(", ") });
    }));
    at("labels").replaceChildren(make("p", this.left ? `← ${axis}` : `${axis} →`), ...labels);
  }

  // Marks the square on which token `number` stands, and cells of its window that are empty, where
  // a line is drawn on which they would stand.
  mark(tokens, number, shares) {
    const { cells: squares, blocks, low } = this.sheet, { block, track, column } = squares[number];
    const frame = (name, margin, attributes) => make("div", [], { class: margin ? `${name} margin` : name, ...attributes });
    const frames = [frame("pen", track, { "--x": this.x(column), "--y": block.top, "--height": block.lines })];
    const { role, cells, coordinates } = tokens[number], near = shares.length === cells.length ? this.layout.near[role] : [];
    near.forEach(([neighbour, displacement], n) => {
      if (cells[n + 1] >= 0) return;
      const place = squareOf(neighbour, coordinates.map((square, axis) => square + displacement[axis]), this.layout);
      const there = blocks.find((other) => other.at.join() === place.at.join());
      const line = there?.tracks[place.track].find(({ roles }) => roles.has(neighbour));
      if (!line || place.column < low || place.column - low >= this.columns) return;
      const around = { "--x": this.x(place.column), "--y": there.top + line.number, "--look": shares[n + 1] };
      frames.push(frame("empty", place.track, around));
    });
    at("grid").querySelectorAll(".pen, .empty").forEach((old) => old.remove());
    at("grid").append(...frames);
  }

  // Scrolls the paper, and nothing around it, so that an element of it is seen.
  follow(item) {
    const board = at("board"), outer = board.getBoundingClientRect(), inner = item.getBoundingClientRect();
    const side = at("labels").offsetWidth + 2 * inner.width, edge = 2 * inner.height;
    if (inner.left < outer.left + edge) board.scrollLeft -= outer.left + board.clientWidth / 3 - inner.left;
    if (inner.right > outer.right - side) board.scrollLeft += inner.right - outer.right + side;
    if (inner.top < outer.top + edge) board.scrollTop -= outer.top + edge - inner.top;
    if (inner.bottom > outer.bottom - edge) board.scrollTop += inner.bottom - outer.bottom + edge;
  }
}
