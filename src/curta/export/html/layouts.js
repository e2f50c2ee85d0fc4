// How problems are put, and answers read and judged: by a published layout, or by a program's machine.
// Most layouts are data, as in `layouts/base.py`; those that need more have functions here.

import { Mistake, answerText, lengthsOf, ordered, prompt, read, truth } from "./problems.js";

const FIELD = 3, GROUPS = 6, COLUMN = 11, PADDED = 8, FRAME = 20;

export function promptOf(problem, { layout }) {
  const { operator, operands } = problem, form = layout.forms?.[operator];
  if (!form) return prompt(problem, layout);
  const text = (PROMPTS[familyOf(layout)] ?? declared)(operands.map(String), form, layout, operator);
  const whole = layout.characters.some((one) => /^\d{2,}$/.test(one)); // numbers are tokens
  return (whole ? text.match(/\d+|./gs) : [...text]).map((symbol) => layout.characters.indexOf(symbol));
}

// The answer in tokens that followed a prompt; null if they are none.
export function answerOf({ operator }, tokens, { layout }) {
  const form = layout.forms?.[operator];
  if (!form) return read(operator, tokens, layout);
  const written = tokens.map(({ token }) => layout.characters[token]).join("");
  const end = layout.end < 0 ? written.length : written.indexOf(layout.characters[layout.end]);
  if (end < 0) return null;
  const numbers = (READS[familyOf(layout)] ?? numbersBy)(written.slice(0, end), form.answer, layout);
  if (numbers === null || operator === "sort") return numbers;
  if (operator === "order") return numbers.length && numbers.every((_, n) => numbers.includes(BigInt(n + 1))) ? numbers : null;
  const [number, ...others] = numbers;
  if (others.length || number === undefined) return null;
  return operator !== "<" ? number : number < 2n ? number === 1n : null;
}

// The right answer as people write it: by the browser's own arithmetic, by recorded problems, or by the
// certificate of a program that the page has not; null where it is not known.
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
  const { operator } = problem, { layout, operations } = design;
  const answer = writing.ended ? answerOf(problem, writing.written, design) : null;
  const wrote = answerText(answer, operator, layout), wanted = rightAnswer(problem, design);
  const right = wanted === null ? null : wrote === wanted;
  const truths = wanted === null ? "What is right is not known here." : `Right is ${wanted}.`;
  // Modular operands have no length, since each stands for its residue.
  const lengths = operator.includes(" mod ") ? [] : lengthsOf(problem, layout), [least, most] = operations[operator].trained;
  const trained = lengths.every((length) => length >= least && length <= most) ? ""
    : ` It was trained on numbers of ${least === most ? most : `${least} to ${most}`} ${most === 1 ? "digit" : "digits"}.`;
  let words = `It wrote ${wrote}, which is ${right ? "right." : `wrong. ${truths}`}${trained}`;
  if (writing.stopped || !writing.ended) {
    words = `Stopped after ${writing.tokens.length} tokens${writing.stopped ? `: ${writing.stopped}` : " without an end"}. ${truths}`;
  } else if (wrote === null) words = `What it wrote is no answer. ${truths}${trained}`;
  else if (wanted === null) words = `It wrote ${wrote}. ${truths}`;
  return { wrote, wanted, right, words };
}

// The name of a layout without the number in which it may end: `residues` of `residues-97`.
const familyOf = ({ name }) => name.replace(/-\d+$/, "");

function declared(texts, { prompt: { between, before, after, turned: ways, fill, ahead } }) {
  const width = fill ? Math.max(...texts.map(({ length }) => length)) + ahead : 0;
  const written = texts.map((text, n) => ordered(text.padStart(width, fill || "0"), ways[n ? 1 : 0]));
  return before + written.join(between) + after;
}

// The numbers that an `AnswerPattern` finds; null if the text has no such form.
function numbersBy(text, { pattern, turned, drop }) {
  const kept = [...text].filter((character) => !drop.includes(character)).join("");
  const match = kept.match(new RegExp(`^(?:${pattern})$`));
  if (!match) return null;
  const sign = match[1] === "-" ? -1n : 1n;
  return match[2].split(",").map((number) => sign * BigInt(ordered(number, turned)));
}

const PROMPTS = {
  "filled-left": (texts, form) => declared(texts, form).padStart(PADDED, "#"),
  columns: (texts) => `${texts.map((text) => `0${ordered(text, true).padEnd(COLUMN, "0")}`).join("")}0`,
  fields: ([first, second], form, layout, operator) =>
    `${first.padStart(FIELD)}${operator.padEnd(2)}${second.padStart(FIELD)}=`,
  framed: (texts, { mark }) => {
    const [first, second] = texts.map((text) => ordered(text, true));
    const longest = Math.max(first.length, second.length);
    return `=${second}${mark}${first}`.padEnd(2 * Math.max(Math.ceil(longest / 10) * 10, FRAME) + 3, "_");
  },
  hints: (texts, { mark }, { characters, end }) => { // of one width, one more than the longest has
    const width = Math.max(...texts.map(({ length }) => length)) + 1, hints = characters.slice(end + 1);
    if (width > hints.length) {
      throw new Mistake(`Numbers have at most ${hints.length - 1} digits here: there is a hint for each.`);
    }
    const hinted = texts.map((text) => [...text.padStart(width, "0")].map((digit, n) => hints[n] + digit).join(""));
    return `${hinted.join(mark)}=`;
  },
  labelled: (texts) => ordered(texts.map((text, n) => `${letter(n)}:${text}`).join(","), true),
  residues: (texts, form, layout, operator) =>
    declared(texts.map((text) => String(BigInt(text) % BigInt(operator.split(" mod ")[1]))), form),
  spaced: ([first, second]) => `${first} + ${second} =`,
  "spaced-apart": (texts) => `${texts.map((text) => `${text[0]} ${text.slice(1)}`).join(" + ")}=`,
};

// Answers that are more than a pattern: their numbers, null if there are none.
const READS = {
  columns: (text) => numbersBy(text, { pattern: `()([0-9]{${COLUMN}})`, turned: true, drop: "" }),
  fields: (text) => {
    const digits = [...text].filter((_, n) => n % 3 === 1).join(""), sign = { "+": 1n, "-": -1n }[text[0]];
    if (!sign || text.length !== 1 + 3 * GROUPS || !/^\d+$/.test(digits)) return null;
    return [sign * BigInt(ordered(digits, true))];
  },
  hints: (text, form, { characters, end }) => {
    const pairs = text.match(/../gsu) ?? [], digits = pairs.map((pair) => [...pair][1]).join("");
    const hints = characters.slice(end + 1);
    const whole = [...text].length % 2 === 0 && pairs.every((pair) => hints.includes([...pair][0]));
    return whole && /^\d+$/.test(digits) ? [BigInt(ordered(digits, true))] : null;
  },
  labelled: (text) => {
    const places = [...ordered(text, true)].map((one) => one.charCodeAt(0) - letter(0).charCodeAt(0) + 1);
    return places.every((place) => place >= 1 && place <= 26) ? places.map(BigInt) : null;
  },
  residues: (text, form, { characters }) =>
    /^\d+$/.test(text) && characters.includes(text) ? [BigInt(text)] : null,
};

const letter = (number) => String.fromCharCode("a".charCodeAt(0) + number);
