// What is right: by the browser's own arithmetic, by recorded problems, and by the certificate of a
// program that the page has not.

import { bytesOf } from "../../report/elements.js";
import { answerOf, promptOf } from "./layouts.js";
import { Follower } from "./machine.js";
import { answerText, lengthsOf, truth } from "./problems.js";

// The right token after each window of a certificate.
export class Rights {
  targets = new Map();

  constructor({ columns, bits, text }, layout) {
    const bytes = bytesOf(text), numbers = bits === 8 ? bytes : new Uint16Array(bytes.buffer);
    const [roles] = layout.automaton.role;
    this.layout = layout;
    for (let at = 0; at < numbers.length; at += columns) {
      const cells = 1 + layout.near[roles[numbers[at]]].length; // the others fill up the row
      this.targets.set(numbers.subarray(at, at + cells).join(), numbers[at + columns - 1]);
    }
  }

  // The right token at a place of a text; undefined after a window that is not listed.
  at(follower, number) { return this.targets.get(follower.window(number - 1).join()); }

  // The right text after a prompt, followed; undefined where it meets a window not listed.
  follow(prompt, most) {
    const follower = new Follower(this.layout, prompt), { tokens } = follower;
    while (tokens.length === prompt.length || tokens.at(-1).token !== this.layout.end) {
      const token = this.at(follower, tokens.length);
      if (token === undefined || tokens.length >= most) return undefined;
      follower.step(token);
    }
    return tokens.slice(prompt.length);
  }
}

// The right answer as people write it; null where it is not known.
export function rightAnswer(problem, design) {
  const { layout, certified, recorded } = design, { operator, operands } = problem;
  const own = answerText(truth(problem, design), operator, layout);
  if (own !== null) return own;
  const kept = recorded.find((one) => one.operator === operator && one.operands.join() === operands.join());
  if (kept || !certified) return kept?.truth ?? null;
  const tokens = certified.follow(promptOf(problem, design), design.tokens);
  return tokens ? answerText(answerOf(problem, tokens, design), operator, layout) : null;
}

// What a text comes to: `wrote` and `wanted` as people write them, whether it is `right`, and all of it in words.
export function verdictOf(writing, problem, design) {
  const answer = writing.ended ? answerOf(problem, writing.written, design) : null;
  const wrote = answerText(answer, problem.operator, design.layout), wanted = rightAnswer(problem, design);
  const right = wanted === null ? null : wrote === wanted;
  const truths = wanted === null ? "What is right is not known here." : `Right is ${wanted}.`;
  const stopped = `Stopped after ${writing.length} tokens`;
  let words;
  if (writing.stopped) words = `${stopped}: ${writing.stopped}. ${truths}`;
  else if (!writing.ended) words = `${stopped} without an end. ${truths}`;
  else if (wrote === null) words = `What it wrote is no answer. ${truths}${trainedOn(problem, design)}`;
  else if (wanted === null) words = `It wrote ${wrote}. ${truths}`;
  else words = `It wrote ${wrote}, which is ${right ? "right." : `wrong. ${truths}`}${trainedOn(problem, design)}`;
  return { wrote, wanted, right, words };
}

// Say whether a problem is longer or shorter than those of training, or nothing. Modular operands
// have no length, since each stands for its residue.
function trainedOn(problem, { operations, layout }) {
  const { operator } = problem, [least, most] = operations[operator].trained;
  const lengths = operator.includes(" mod ") ? [] : lengthsOf(problem, layout);
  if (lengths.every((length) => length >= least && length <= most)) return "";
  return ` It was trained on numbers of ${least === most ? most : `${least} to ${most}`} ${most === 1 ? "digit" : "digits"}.`;
}
