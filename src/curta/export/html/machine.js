// Where tokens stand: by the tables of a layout, or of a program that moves the pen (`design.py`).

const NOTHING = -1;

// A text that grows token by token. See `layouts/automaton.py`.
export class Follower {
  state = 0;
  tokens = [];
  squares = new Map(); // from an address to the newest token there

  constructor(layout, tokens = []) {
    Object.assign(this, { layout, place: layout.axes.map(() => 0) });
    tokens.forEach((token) => this.step(token));
  }

  // The next token of the text, and where it stands. On a machine `cells` are the indices of its
  // window: itself and the newest token on each neighbouring square, -1 where there is none.
  step(number) {
    const { layout: { automaton, near }, state: row, tokens } = this, index = tokens.length;
    const home = automaton.home[row][number], offset = automaton.offset[row][number];
    this.place = this.place.map((place, axis) => (home[axis] ? 0 : place) + offset[axis]);
    this.state = automaton.next[row][number];
    const token = { token: number, index, role: automaton.role[row][number], coordinates: this.place };
    tokens.push(token);
    if (near) {
      this.squares.set(this.address(token.role, token.coordinates), index);
      token.cells = [index, ...near[token.role].map(([role, moved]) =>
        this.squares.get(this.address(role, this.place.map((place, axis) => place + moved[axis]))) ?? NOTHING)];
    }
    return token;
  }

  // The tokens in the window of the one at an index; the number after the last stands for none.
  window(index) {
    const { tokens, layout: { characters } } = this;
    return tokens[index].cells.map((at) => (at === NOTHING ? characters.length : tokens[at].token));
  }

  // Role and square as one word, without the axes on which the role is found from everywhere.
  address(role, coordinates) {
    const { broadcast } = this.layout.roles[role];
    return [role, ...coordinates.map((at, axis) => (broadcast[axis] ? "*" : at))].join();
  }
}
