// Squared paper, and the one machine that moves the pen over it: the same for every program.

const NOTHING = -1;

/** A machine from its data (`machine/store.py`), with what is looked up in it. */
export function machineOf(data) {
  const { axes, tokens, roles, windows } = data;
  const names = roles.map(({ name }) => name);
  return {
    ...data,
    names,
    role: tokens.map(({ role }) => names.indexOf(role)),
    wide: roles.map(({ broadcast }) => axes.map((axis) => broadcast.includes(axis))),
    valued: names.map((name) => tokens.some(({ role, value }) => role === name && value !== null)),
    near: names.map((name) =>
      (windows[name] ?? []).map(([other, moved]) => [names.indexOf(other), moved])),
    end: tokens.findIndex(({ role }) => role === "end"),
    none: tokens.length,
    numbers: new Map(tokens.map((token, number) => [keyOf(token), number])),
  };
}

/** What tells a token from all others, as one word. */
export function keyOf({ symbol, role, value, carry, home, offset }) {
  return JSON.stringify([value ?? symbol, role, carry, home, offset]);
}

/** Where a token stands, given where the one before it does. */
export function advance({ tokens }, position, token) {
  const { home, offset } = tokens[token];
  return position.map((square, axis) => (home[axis] ? 0 : square) + offset[axis]);
}

/** A text that grows token by token: where each stands, and what it saw when it was the newest. */
export class Paper {
  constructor(machine) {
    this.machine = machine;
    this.tokens = [];
    this.positions = [];
    this.seen = []; // of each token the numbers of itself and its neighbours
    this.squares = new Map(); // from an address to the newest token there
  }

  append(token) {
    const { machine, tokens, positions, squares } = this, number = tokens.length;
    const origin = machine.axes.map(() => 0);
    const position = advance(machine, positions[number - 1] ?? origin, token);
    tokens.push(token);
    positions.push(position);
    squares.set(this.address(machine.role[token], position), number);
    this.seen.push([number, ...this.neighbours(machine.role[token], position)]);
  }

  /** Leaves only the first `length` tokens, as if the others had never been written. */
  cut(length) {
    for (const list of [this.tokens, this.positions, this.seen]) list.length = length;
    this.squares.clear();
    this.tokens.forEach((token, i) =>
      this.squares.set(this.address(this.machine.role[token], this.positions[i]), i));
  }

  /** The tokens that token `number` saw, itself first; `none` where nothing was written. */
  window(number) {
    const { tokens, machine } = this;
    return this.seen[number].map((key) => (key === NOTHING ? machine.none : tokens[key]));
  }

  neighbours(role, position) {
    return this.machine.near[role].map(([other, moved]) => {
      const wanted = position.map((square, axis) => square + moved[axis]);
      return this.squares.get(this.address(other, wanted)) ?? NOTHING;
    });
  }

  /** Role and square as one word, without the axes on which the role is found from everywhere. */
  address(role, position) {
    const wide = this.machine.wide[role];
    let text = String(role);
    for (let axis = 0; axis < wide.length; axis++) text += wide[axis] ? ",*" : "," + position[axis];
    return text;
  }
}
