// What a text comes to: its answer, whether that is right, and how both are said.

import { answerText, lengthsOf, truth } from "../problems.js";
import { recordedTruth } from "../rights.js";

/** What there is to say of a finished text. */
export class Verdict {
  constructor(writing, problem, layout, design) {
    const spoken = (answer) => answerText(answer, problem.operator, design.machine);
    this.writing = writing;
    this.wrote = spoken(writing.ended ? layout.answer(problem, writing.written) : null);
    this.wanted = spoken(truth(problem, design)) ?? recordedTruth(problem, design);
    this.trained = trainedOn(problem, design);
  }

  /** `true`, `false`; null where what is right is not known. */
  get right() {
    return this.wanted === null ? null : this.wrote === this.wanted;
  }

  get words() {
    const { writing, wrote, wanted } = this;
    const right = wanted === null ? "What is right is not known here." : `Right is ${wanted}.`;
    if (writing.stopped) return `Stopped after ${writing.length} tokens: ${writing.stopped}. ${right}`;
    if (!writing.ended) return `Stopped after ${writing.length} tokens without an end. ${right}`;
    if (wrote === null) return `What it wrote is no answer. ${right}${this.trained}`;
    if (wanted === null) return `It wrote ${wrote}. ${right}`;
    if (this.right) return `It wrote ${wrote}, which is right.${this.trained}`;
    return `It wrote ${wrote}, which is wrong. ${right}${this.trained}`;
  }
}

/**
 * Whether a problem is longer or shorter than those of training, in words; else nothing. Modulo a
 * number no operand is long: it stands for its residue.
 */
function trainedOn(problem, { operations, machine }) {
  const { operator } = problem, [least, most] = operations[operator].trained;
  const lengths = operator.includes(" mod ") ? [] : lengthsOf(problem, machine);
  if (lengths.every((length) => length >= least && length <= most)) return "";
  return ` It was trained on numbers of ${least === most ? most : `${least} to ${most}`} ${most === 1 ? "digit" : "digits"}.`;
}
