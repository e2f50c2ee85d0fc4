// Where tokens stand, by the tables of a layout or of a program's machine. See `layouts/automaton.py`.

export class Follower {
  constructor({ axes, automaton }) {
    this.tables = automaton;
    this.state = 0;
    this.place = axes.map(() => 0);
    this.index = 0;
  }

  /** The next token of the text, and where it stands. */
  step(token) {
    const { next, role, home, offset } = this.tables, row = this.state;
    this.place = this.place.map((place, axis) => (home[row][token][axis] ? 0 : place) + offset[row][token][axis]);
    this.state = next[row][token];
    return { token, index: this.index++, role: role[row][token], coordinates: this.place };
  }
}
