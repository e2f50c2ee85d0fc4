// Squared paper as it is drawn: on which line, and in which column, every token stands.
//
// The first axis runs sideways, so that digits stand as numbers are written. Each square of the
// other axes is a block of lines, one block below the other, with a line for each role in it. A
// role that is found everywhere on the first axis stands in the margin; one that is found
// everywhere on another axis has a block of its own, above those of that axis.

const EVERYWHERE = "*";

/**
 * `{cells, blocks, low, high, margin}`: of each token `[block, track, line, column]`, and blocks
 * from the top to the bottom. Track 0 is the squares, track 1 the margin. Signs in `alone`, which
 * grows, have a line of their own: others share one.
 */
export function sheetOf(tokens, layout, alone) {
  const byAddress = new Map(), cells = [];
  for (const { role, coordinates } of tokens) {
    const { at, column } = squareOf(role, coordinates, layout), { digit } = layout.roles[role];
    if (!byAddress.has(at.join())) byAddress.set(at.join(), { at, tracks: [[], []] });
    const block = byAddress.get(at.join()), track = column === EVERYWHERE ? 1 : 0, lines = block.tracks[track];
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

/** A square's block and column; EVERYWHERE on the axes on which the role is found from there. */
export function squareOf(role, position, { roles }) {
  const [column, ...at] = position.map((square, axis) => (roles[role].broadcast[axis] ? EVERYWHERE : square));
  return { at, column };
}

/** By the last axis first; what is found from everywhere before all else. */
function compared(first, second) {
  const axis = first.findLastIndex((at, n) => at !== second[n]), [a, b] = [first[axis], second[axis]];
  return axis < 0 ? 0 : a === EVERYWHERE ? -1 : b === EVERYWHERE ? 1 : a - b;
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
