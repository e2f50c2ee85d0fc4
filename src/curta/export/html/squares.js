// The sheet on the screen: graph paper behind the tokens, their roles beside them, and the pen.

import { make } from "../../report/elements.js";
import { coloured } from "./pace.js";
import { leftwards, sheetOf, squareOf } from "./sheet.js";

const WIDE = 24; // columns from which on squares are small
const RULED = 5; // columns between two numbers of a small ruler
const LEAST = 8; // columns
const SPARE = 2; // columns beyond the prompt's that are there from the start

/** Draws a text on squared paper, and again whenever it has grown. */
export class Sheet {
  constructor(board, grid, ruler, labels) {
    Object.assign(this, { board, grid, ruler, labels });
  }

  begin(tokens, layout, format) {
    Object.assign(this, { layout, left: leftwards(format, layout.axes), alone: new Set(), placed: [], drawn: "" });
    const { low, high } = sheetOf(tokens, layout, this.alone);
    this.columns = Math.max(LEAST, high - low + 1 + SPARE);
  }

  /** Puts the element of every token on its square. */
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

  /** Columns from the right end of the squares. */
  x(column) {
    if (typeof column === "string") return 0;
    const from = column - this.sheet.low;
    return this.left ? from : this.columns - 1 - from;
  }

  /** Draws paper, ruler and labels anew if they are others than before. */
  rule() {
    const { blocks, low, margin } = this.sheet, [axis] = this.layout.axes;
    const lines = blocks.map(({ name, tracks }) => [name, ...tracks.map((track) => track.map(({ roles }) => [...roles]))]);
    const drawn = JSON.stringify([this.columns, low, margin, lines]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    styled(this.board, { columns: this.columns, lines: blocks.reduce((sum, block) => sum + block.lines, 0) });
    this.board.classList.toggle("dense", this.columns > WIDE);
    this.board.classList.toggle("margined", margin);
    this.grid.replaceChildren(...blocks.map(({ top, lines: height, at }) =>
      styled(make("div", make("div"), { class: at.includes("*") ? "block wide" : "block" }), { from: top, height })));
    const every = this.columns > WIDE ? RULED : 1;
    const columns = Array.from({ length: this.columns }, (_, number) => number + low).filter((column) => column % every === 0);
    this.ruler.replaceChildren(...columns.map((column) => styled(make("span", String(column)), { x: this.x(column), y: 0 })));
    const head = make("p", this.left ? `← ${axis}` : `${axis} →`);
    this.labels.replaceChildren(head, ...blocks.flatMap((block) => this.labelled(block)));
  }

  /** The roles on each line of a block, and the block's name. */
  labelled({ lines, name, tracks }) {
    const all = this.layout.roles;
    return Array.from({ length: lines }, (_, line) => {
      const roles = tracks.flat().filter(({ number }) => number === line).flatMap((mine) => [...mine.roles]);
      const digits = roles.filter((role) => all[role].digit);
      const named = (digits.length ? digits : roles).map((role) => make("span", all[role].name, { class: coloured(role) }));
      return make("div", [make("b", line ? "" : name), ...named], { title: roles.map((role) => all[role].name).join(", ") });
    });
  }

  /** Marks the square on which token `number` stands, and cells of its window that are empty. */
  mark(tokens, number, shares) {
    this.grid.querySelectorAll(".pen, .empty").forEach((one) => one.remove());
    const { block, track, column } = this.sheet.cells[number], { role, cells, coordinates } = tokens[number];
    const pen = make("div", [], { class: track ? "pen margin" : "pen" });
    styled(pen, { x: this.x(column), y: block.top, height: block.lines });
    const frames = shares.length === cells.length ? this.layout.near[role].flatMap((neighbour, cell) =>
      (cells[cell + 1] < 0 ? this.empty(neighbour, coordinates, shares[cell + 1]) : [])) : [];
    this.grid.append(pen, ...frames);
  }

  /** A frame where a neighbour would stand; nothing if no line of it is drawn there. */
  empty([role, displacement], position, look) {
    const wanted = position.map((square, axis) => square + displacement[axis]);
    const { at, column } = squareOf(role, wanted, this.layout), { blocks, low } = this.sheet;
    const block = blocks.find((one) => one.at.join() === at.join()), side = typeof column === "string";
    const line = block?.tracks[Number(side)].find(({ roles }) => roles.has(role));
    if (!line || column < low || column - low >= this.columns) return [];
    const frame = make("div", [], { class: side ? "empty margin" : "empty" });
    return [styled(frame, { x: this.x(column), y: block.top + line.number, look })];
  }

  /** Scrolls a paper that is wider than its board to the end on which numbers are lowest. */
  showLowDigits() {
    this.board.scrollLeft = this.board.scrollWidth;
  }

  /** Scrolls the paper, and nothing around it, so that an element of it is seen. */
  follow(item) {
    const { board } = this, outer = board.getBoundingClientRect(), inner = item.getBoundingClientRect();
    const side = this.labels.offsetWidth + 2 * inner.width, edge = 2 * inner.height;
    if (inner.left < outer.left + edge) board.scrollLeft -= outer.left + board.clientWidth / 3 - inner.left;
    if (inner.right > outer.right - side) board.scrollLeft += inner.right - outer.right + side;
    if (inner.top < outer.top + edge) board.scrollTop -= outer.top + edge - inner.top;
    if (inner.bottom > outer.bottom - edge) board.scrollTop += inner.bottom - outer.bottom + edge;
  }
}

export function styled(element, properties) {
  for (const [name, value] of Object.entries(properties)) element.style.setProperty(`--${name}`, value);
  return element;
}
