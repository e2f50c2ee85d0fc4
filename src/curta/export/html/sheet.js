// Squared paper as it is drawn: on which line, and in which column, every token stands.
//
// The first axis runs sideways, so that digits stand as numbers are written. Each square of the
// other axes is a block of lines, one block below the other, with a line for each role in it. A
// role that is found everywhere on the first axis stands in the margin; one that is found
// everywhere on another axis has a block of its own, above those of that axis.

const EVERYWHERE = "*";

/**
 * `{cells, blocks, low, high, margin}`: of each token `[block, track, line, column]`, and blocks
 * from the top to the bottom. Track 0 is the squares, track 1 the margin.
 */
export function sheetOf(tokens, layout, alone) {
  for (;;) {
    const blocks = new Map(), cells = [];
    const crowded = tokens.find(({ role, coordinates }) => {
      const cell = cellOf(role, coordinates, layout, blocks, alone);
      return !cells.push(cell) || !cell;
    });
    if (crowded === undefined) return { cells, ...stacked(blocks, cells, layout) };
  }
}

/** Where a token stands; undefined if signs on its line are in its way, which then stand alone. */
function cellOf(role, position, layout, blocks, alone) {
  const { at, column } = squareOf(role, position, layout), { digit } = layout.roles[role], track = column === EVERYWHERE ? 1 : 0;
  if (!blocks.has(at.join())) blocks.set(at.join(), { at, tracks: [[], []] });
  const block = blocks.get(at.join()), lines = block.tracks[track];
  const line = lines.find(({ roles }) => roles.has(role)) ?? lineFor(role, column, lines, alone);
  const other = line.columns.get(column) ?? role;
  if (other !== role) return void alone.add(digit ? other : role);
  line.columns.set(column, role);
  line.roles.add(role);
  line.open &&= !digit && !alone.has(role);
  return { block, track, line, column };
}

/** A square's block and column; EVERYWHERE on the axes on which the role is found from there. */
export function squareOf(role, position, { roles }) {
  const [column, ...at] = position.map((square, axis) => (roles[role].broadcast[axis] ? EVERYWHERE : square));
  return { at, column };
}

/** The last line if nothing but signs stands there so far, or a new one. */
function lineFor(role, column, lines, alone) {
  const last = lines.at(-1);
  if (last?.open && !last.columns.has(column) && !alone.has(role)) return last;
  lines.push({ roles: new Set(), columns: new Map(), open: true, number: lines.length });
  return lines.at(-1);
}

function stacked(byAddress, cells, { axes }) {
  const blocks = [...byAddress.values()].sort((a, b) => compared(a.at, b.at));
  let top = 0;
  for (const block of blocks) {
    block.top = top;
    block.lines = Math.max(...block.tracks.map((lines) => lines.length));
    block.name = named(block.at, axes);
    top += block.lines;
  }
  const columns = cells.map(({ column }) => column).filter((column) => column !== EVERYWHERE);
  const low = columns.reduce((a, b) => Math.min(a, b), 0);
  const high = columns.reduce((a, b) => Math.max(a, b), low);
  return { blocks, low, high, margin: columns.length < cells.length };
}

/** By the last axis first; what is found from everywhere before all else. */
function compared(first, second) {
  for (let axis = first.length - 1; axis >= 0; axis--) {
    const [a, b] = [first[axis], second[axis]];
    if (a !== b) return a === EVERYWHERE ? -1 : b === EVERYWHERE ? 1 : a - b;
  }
  return 0;
}

/** `row 2`, or nothing for a block that is found from everywhere. */
function named(at, [, ...axes]) {
  const parts = axes.map((axis, i) => (at[i] === EVERYWHERE ? "" : `${axis} ${at[i]}`));
  return parts.filter(Boolean).join(", ");
}

/**
 * Whether numbers on the first axis are written from their low end on, which then is on the
 * right; so it is unless an operand lies the other way. Of a number of several operands, the last
 * one says so.
 */
export function leftwards({ parts }, [first]) {
  const given = parts.filter(({ kind }) => kind === "given");
  const last = given.filter((_, n) => !given[n + 1]?.follows);
  return !last.find(({ along }) => along === first)?.high_first;
}
