// What is right of a program that the page has not: by the run's certificate and recorded problems.

import { make } from "./elements.js";
import { Paper } from "./machine.js";
import { read } from "./problems.js";

const SHORT = 32; // characters of a problem on a button

/** The right token after each window of a certificate. */
export class Rights {
  constructor({ columns, bits, text }, machine) {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const numbers = bits === 8 ? bytes : new Uint16Array(bytes.buffer);
    this.machine = machine;
    this.targets = new Map();
    for (let at = 0; at < numbers.length; at += columns) {
      const cells = 1 + machine.near[machine.role[numbers[at]]].length; // the others fill up the row
      this.targets.set(numbers.subarray(at, at + cells).join(), numbers[at + columns - 1]);
    }
  }

  /** The right token at a place of a text; undefined after a window that is not listed. */
  at(paper, number) {
    return this.targets.get(paper.window(number - 1).join());
  }

  /** The answer of the right text after a prompt; undefined where it meets a window not listed. */
  answer(operator, prompt, most) {
    const { machine } = this, paper = new Paper(machine);
    for (const token of prompt) paper.append(token);
    while (paper.tokens.at(-1) !== machine.end || paper.tokens.length === prompt.length) {
      const token = this.at(paper, paper.tokens.length);
      if (token === undefined || paper.tokens.length >= most) return undefined;
      paper.append(token);
    }
    const given = prompt.length;
    return read(operator, paper.tokens.slice(given), paper.positions.slice(given), machine);
  }
}

/** The truth that the run has recorded of a problem; null if it has none. */
export function recordedTruth({ operator, operands }, { recorded }) {
  const same = (one) => one.operator === operator && one.operands.join() === operands.join();
  return recorded.find(same)?.truth ?? null;
}

/** A button for each recorded problem, with its truth and whether the model writes it. */
export function recordedButtons({ recorded }, answerTo) {
  return recorded.map(({ problem, truth }) => {
    const wrote = answerTo(problem), right = wrote === truth;
    const words = right ? "right" : `wrong: the model writes ${wrote ?? "no answer"}`;
    const name = problem.length > SHORT ? `${problem.slice(0, SHORT / 2)}…${problem.slice(-SHORT / 2)}` : problem;
    const settings = { type: "button", value: problem, class: right ? "recorded" : "recorded miss", title: problem };
    return make("button", `${name} = ${truth} ${right ? "✓" : "✗"} ${words}`, settings);
  });
}
