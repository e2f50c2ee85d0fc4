// Squared paper as it is drawn: on which line, and in which column, every token stands.
//
// The first axis runs sideways, so that digits stand as numbers are written. Each square of the
// other axes is a block of lines, one block below the other, with a line for each role in it. A
// role that is found everywhere on the first axis stands in the margin; one that is found
// everywhere on another axis has a block of its own, above those of that axis.

import { make, numbered, styled } from "../../report/elements.js";

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
  const blocks = [...byAddress.values()].sort((a, b) => compared(a.at, b.at));
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
  return { cells, blocks, low, high, margin: columns.length < cells.length };
}

// A square's block and column, EVERYWHERE on the axes on which the role is found from there; and its track.
function squareOf(role, position, { roles }) {
  const [column, ...at] = position.map((square, axis) => (roles[role].broadcast[axis] ? EVERYWHERE : square));
  return { at, column, track: Number(column === EVERYWHERE) };
}

// By the last axis first; what is found from everywhere before all else.
function compared(first, second) {
  const axis = first.findLastIndex((at, n) => at !== second[n]), [a, b] = [first[axis], second[axis]];
  return axis < 0 ? 0 : a === EVERYWHERE ? -1 : b === EVERYWHERE ? 1 : a - b;
}

// Whether numbers on the first axis are written from their low end on, which then is on the
// right; so it is unless an operand lies the other way. Of a number of several operands, the last
// one says so.
function leftwards({ parts }, [first]) {
  const given = parts.filter(({ kind }) => kind === "given");
  const last = given.filter((_, n) => !given[n + 1]?.follows);
  return !last.find(({ along }) => along === first)?.high_first;
}

// Draws a text on squared paper, and again whenever it has grown.
export class Sheet {
  constructor(board, grid, ruler, labels) {
    Object.assign(this, { board, grid, ruler, labels });
  }

  begin(tokens, layout, format) {
    Object.assign(this, { layout, left: leftwards(format, layout.axes), alone: new Set(), placed: [], ruled: "" });
    const { low, high } = sheetOf(tokens, layout, this.alone);
    this.columns = Math.max(LEAST, high - low + 1 + SPARE);
  }

  // Puts the element of every token on its square.
  draw(tokens, items) {
    this.sheet = sheetOf(tokens, this.layout, this.alone);
    const { cells, low, high } = this.sheet;
    this.columns = Math.max(this.columns, high - low + 1);
    this.rule();
    cells.forEach(({ block, track, line, column }, number) => {
      const x = this.x(column), y = block.top + line.number, at = `${x},${y}`;
      if (this.placed[number] === at) return;
      this.placed[number] = at;
      styled(items[number], { x, y }).classList.toggle("margin", track === 1);
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
    const { blocks, low, margin } = this.sheet, [axis] = this.layout.axes;
    const lines = blocks.map(({ name, tracks }) => [name, ...tracks.map((track) => track.map(({ roles }) => [...roles]))]);
    const ruled = JSON.stringify([this.columns, low, margin, lines]);
    if (ruled === this.ruled) return;
    this.ruled = ruled;
    styled(this.board, { columns: this.columns, lines: blocks.reduce((sum, block) => sum + block.lines, 0) });
    this.board.classList.toggle("dense", this.columns > WIDE);
    this.board.classList.toggle("margined", margin);
    this.grid.replaceChildren(...blocks.map(({ top, lines: height, at }) =>
      styled(make("div", make("div"), { class: at.includes(EVERYWHERE) ? "block wide" : "block" }), { from: top, height })));
    const every = this.columns > WIDE ? RULED : 1;
    const columns = numbered(this.columns).map((number) => number + low).filter((column) => column % every === 0);
    this.ruler.replaceChildren(...columns.map((column) => styled(make("span", String(column)), { x: this.x(column), y: 0 })));
    const head = make("p", this.left ? `← ${axis}` : `${axis} →`);
    this.labels.replaceChildren(head, ...blocks.flatMap((block) => this.labelled(block)));
  }

  // The roles on each line of a block, and the block's name.
  labelled({ lines, name, tracks }) {
    const all = this.layout.roles;
    return numbered(lines).map((line) => {
      const roles = tracks.flat().filter(({ number }) => number === line).flatMap((mine) => [...mine.roles]);
      const digits = roles.filter((role) => all[role].digit);
      const named = (digits.length ? digits : roles).map((role) => make("span", all[role].name, { class: coloured(role) }));
      return make("div", [make("b", line ? "" : name), ...named], { title: roles.map((role) => all[role].name).join(", ") });
    });
  }

  // Marks the square on which token `number` stands, and cells of its window that are empty.
  mark(tokens, number, shares) {
    this.grid.querySelectorAll(".pen, .empty").forEach((one) => one.remove());
    const { block, track, column } = this.sheet.cells[number], { role, cells, coordinates } = tokens[number];
    this.frame("pen", track, { x: this.x(column), y: block.top, height: block.lines });
    if (shares.length !== cells.length) return;
    this.layout.near[role].forEach((neighbour, cell) => {
      if (cells[cell + 1] < 0) this.empty(neighbour, coordinates, shares[cell + 1]);
    });
  }

  // A frame where a neighbour would stand; nothing if no line of it is drawn there.
  empty([role, displacement], position, look) {
    const wanted = position.map((square, axis) => square + displacement[axis]);
    const { at, column, track } = squareOf(role, wanted, this.layout), { blocks, low } = this.sheet;
    const block = blocks.find((one) => one.at.join() === at.join());
    const line = block?.tracks[track].find(({ roles }) => roles.has(role));
    if (!line || column < low || column - low >= this.columns) return;
    this.frame("empty", track, { x: this.x(column), y: block.top + line.number, look });
  }

  frame(name, track, properties) {
    this.grid.append(styled(make("div", [], { class: track ? `${name} margin` : name }), properties));
  }

  // Scrolls a paper that is wider than its board to the end on which numbers are lowest.
  showLowDigits() {
    this.board.scrollLeft = this.board.scrollWidth;
  }

  // Scrolls the paper, and nothing around it, so that an element of it is seen.
  follow(item) {
    const { board } = this, outer = board.getBoundingClientRect(), inner = item.getBoundingClientRect();
    const side = this.labels.offsetWidth + 2 * inner.width, edge = 2 * inner.height;
    if (inner.left < outer.left + edge) board.scrollLeft -= outer.left + board.clientWidth / 3 - inner.left;
    if (inner.right > outer.right - side) board.scrollLeft += inner.right - outer.right + side;
    if (inner.top < outer.top + edge) board.scrollTop -= outer.top + edge - inner.top;
    if (inner.bottom > outer.bottom - edge) board.scrollTop += inner.bottom - outer.bottom + edge;
  }
}
