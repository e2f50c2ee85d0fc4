// Problems as people write them, as the model is given them, and their answers: by a machine's
// prompt and answer formats, which are data.

import { compoundOf, compoundText, isCompound, wordOf } from "./compound.js";
import { keyOf } from "./machine.js";

/** What a person wrote cannot be calculated; the message says why, in one line. */
export class Mistake extends Error {}

/** A number with a point, as text: `value` without it, of which so many digits stand after it. */
function decimal(value, places) {
  while (places > 1 && value % 10n === 0n) [value, places] = [value / 10n, places - 1];
  const digits = String(value < 0n ? -value : value).padStart(places + 1, "0");
  return `${value < 0n ? "-" : ""}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

const NUMBER = /0[xbo][0-9a-z]+|[0-9]+#[0-9a-z]+|[0-9]+/gi;
const PREFIXES = { 2: "0b", 8: "0o", 16: "0x" };
const DIGITS = 36; // signs for digits: bases beyond have none
const SIGNS = /^[-+*/%<>^&|]+$/; // of operators that this model may not have

/** Signs as they stand in print, and as they are typed. */
const TYPED = { "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-" };

const ascending = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Answers by the browser's own whole numbers: one, several, a text, or whether something is so. */
export const TRUTHS = {
  "+": (...values) => values.reduce((a, b) => a + b),
  "+.": (...values) => { // of each number the digits below its point, read backward, and those above
    const below = values.filter((_, n) => n % 2 === 0).map((value) => digitsIn(value, 10n).join(""));
    const places = Math.max(...below.map(({ length }) => length));
    const whole = values.filter((_, n) => n % 2).map((value, n) => BigInt(`${value}${below[n].padEnd(places, "0")}`));
    return decimal(whole.reduce((a, b) => a + b), places);
  },
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "//": (a, b) => a / b,
  "%": (a, b) => a % b,
  "<": (a, b) => a < b,
  sort: (...values) => values.sort(ascending),
  order: (...values) =>
    values.map((_, n) => n).sort((a, b) => ascending(values[a], values[b])).map((n) => BigInt(n + 1)),
  copy: (a) => a,
  reverse: (a) => reversed(a, 10),
  gcd: divisor,
  lcm: (a, b) => (a && b ? (a * b) / divisor(a, b) : 0n),
  isqrt: root,
  binary: (a) => a,
  decimal: (a) => a,
  luhn: (a) => {
    const doubled = digitsIn(a, 10n).map((digit, i) => (i % 2 ? digit : Math.floor(digit / 5) + ((2 * digit) % 10)));
    return BigInt((10 - (doubled.reduce((a, b) => a + b, 0) % 10)) % 10);
  },
};

/** `{operator, operands}` of `12+34`, `sort 3,1,2`, `gcd(6, 4)`, `3.75+12.5`, `0xff+0x1`, `5+6 mod 7`. */
export function parse(text, design) {
  const { operations } = design, signs = Object.keys(operations).join(""); // which stay as they are typed
  const keyed = [...text].map((sign) => (signs.includes(sign) ? sign : TYPED[sign] ?? sign)).join("");
  const plain = keyed.trim().replace(/=$/, "").trim();
  if (!plain) throw new Mistake(`Write a problem, such as ${exampleOf(design)}.`);
  if (plain.length > design.tokens) {
    throw new Mistake(`A problem has at most ${design.tokens} characters here.`);
  }
  const { operator, numbers } =
    compound(plain, design) ?? called(plain, design) ?? infix(plain, design);
  if (operator === "/" && Object.hasOwn(operations, "//")) {
    throw new Mistake(`Division is written //, as in ${operations["//"].example}.`);
  }
  if (!Object.hasOwn(operations, operator)) {
    throw new Mistake(`This model has no ${shortened(operator)}: it was trained on ${Object.keys(operations).join(" ")}.`);
  }
  check(operator, numbers, design);
  const operands = numbers.map((number) => valueOf(number).value);
  if (["//", "%"].includes(operator) && !operands[1]) throw new Mistake("Division by zero has no answer.");
  return { operator, operands };
}

export function prompt({ operator, operands }, machine) {
  const format = machine.formats[operator], remaining = digitsOf(operands, givensOf(format));
  const keys = format.parts.flatMap((part) => {
    if (part.kind === "sign") return [signOf(part, machine)];
    const own = part.many ? remaining.splice(0) : remaining.splice(0, 1);
    return own.flatMap((digits, number) => operandOf(part, digits, number, machine));
  });
  return keys.map((key) => machine.numbers.get(keyOf({ carry: 0, ...key })));
}

/** The answer in written tokens and where they stand; null if there is none. */
export function read(operator, tokens, positions, machine) {
  const { answer } = machine.formats[operator];
  const { role, base, high_first: high, sign, many, truth, fraction } = answer;
  const lines = new Map(), axis = machine.axes.indexOf(many);
  if (tokens.at(-1) !== machine.end) return null;
  const written = tokens.map((token) => machine.tokens[token]);
  const below = [];
  written.forEach(({ role: mine, value }, i) => {
    if (value === null) return;
    const line = many ? positions[i][axis] : 0;
    if (fraction && mine === fraction) below.push(value);
    else if (mine === role) (lines.get(line) ?? lines.set(line, []).get(line)).push(value);
  });
  const [whole] = lines.values(), minus = sign && written.some((token) => token.role === sign && token.symbol === "-");
  const signed = (number) => (minus ? -number : number);
  if (!whole || (fraction && !below.length)) return null;
  const groups = fraction ? [high ? [...whole, ...below] : [...below, ...whole]] : [...lines.values()];
  const numbers = groups.map((digits) => numberIn(high ? digits : digits.reverse(), base));
  if (numbers.includes(null)) return null;
  if (many) return numbers;
  if (truth) return numbers[0] < 2n ? numbers[0] === 1n : null;
  return fraction ? decimal(signed(numbers[0]), below.length) : signed(numbers[0]);
}

/** The right answer; undefined for an operator of which this page knows nothing. */
export function truth({ operator, operands }, { operations, machine }) {
  const [sign, modulus] = operator.split(" mod ");
  if (!operations[operator].known || !Object.hasOwn(TRUTHS, sign)) return undefined;
  if (modulus) return ((TRUTHS[sign](...operands) % BigInt(modulus)) + BigInt(modulus)) % BigInt(modulus);
  const [first] = givensOf(machine.formats[operator]);
  return operator === "reverse" ? reversed(operands[0], first.base) : TRUTHS[operator](...operands);
}

/** An answer as people write it, in the base in which the model answers. */
export function answerText(answer, operator, machine) {
  if (answer === null || answer === undefined) return null;
  if (Array.isArray(answer)) return answer.map((one) => answerText(one, operator, machine)).join(",");
  if (typeof answer !== "bigint") return String(answer);
  const { base } = machine.formats[operator].answer, size = answer < 0 ? -answer : answer;
  return (answer < 0 ? "-" : "") + spelled(size, base);
}

/** A problem as Python writes it: `0xff-0x1`, `sort 3,1`, `5+6 mod 97`, `3.75+12.5`. */
export function problemText({ operator, operands }, { formats }) {
  const form = formats[operator], [sign, modulus] = operator.split(" mod "), word = wordOf(operator);
  if (isCompound(form)) return compoundText(form, operator, operands.map(String));
  const numbers = operands.map((value) => spelled(value, givensOf(form)[0].base));
  return word + numbers.join(word ? "," : sign) + (modulus ? ` mod ${modulus}` : "");
}

/** A whole number from 0 up: `255`, `0xff`, `3#100110`; in decimal where a base has no signs. */
function spelled(value, base) {
  if (base === 10 || base > DIGITS) return String(value);
  return `${PREFIXES[base] ?? `${base}#`}${value.toString(base)}`;
}

/** `{value, base}` of a number as it was typed; null if it is none. */
function valueOf(text) {
  const plain = text.toLowerCase(), { 1: before, 2: after } = plain.match(/^([0-9]+#|0[xbo])?(.*)$/);
  const known = Object.entries(PREFIXES).find(([, prefix]) => prefix === before);
  const base = known ? Number(known[0]) : before ? Number.parseInt(before, 10) : 10;
  const digits = [...after].map((sign) => Number.parseInt(sign, DIGITS));
  if (!digits.length || base < 2 || base > DIGITS || digits.some(Number.isNaN)) return null;
  const value = numberIn(digits, base);
  return value === null ? null : { value, base };
}

const exampleOf = ({ operations }) => Object.values(operations).map(({ example }) => example).slice(0, 2).join(" or ");

/** A problem that begins with its operator; null if this one does not. */
function called(text, design) {
  const { operations } = design;
  const match = text.match(/^([^\d\s(),]+)\s*\((.*)\)$/) ?? text.match(/^([\p{L}_][\p{L}\w]*)(?:\s+(.*))?$/u);
  if (!match) return null;
  const inner = (match[2] ?? "").trim();
  const operator = Object.hasOwn(operations, match[1]) ? match[1] : match[1].toLowerCase();
  if (!Object.hasOwn(operations, operator) && /[^\w\s,#]/.test(inner)) {
    throw unread(text, design);
  }
  return { operator, numbers: inner.split(inner.includes(",") ? /\s*,\s*/ : /\s+/) };
}

/** A problem whose numbers are several operands, as before and after a point; null if it is none. */
function compound(text, design) {
  const operators = Object.keys(design.operations);
  for (const operator of operators) {
    const form = design.machine.formats[operator], numbers = isCompound(form) ? compoundOf(form, operator, text) : null;
    if (numbers) return { operator, numbers };
    if (isCompound(form) && (operators.length === 1 || text.split(" ")[0] === operator)) throw unread(text, design);
  }
  return null;
}

/** A problem with its operator between the numbers; modulo a number, that is part of it: `+ mod 97`. */
function infix(text, design) {
  const [, plain, modulo = ""] = text.match(/^(.*?)(?:\s+(mod\s+[0-9]+))?$/s);
  const signs = new Set(plain.split(NUMBER).map((part) => part.trim()).filter(Boolean)), [operator] = signs;
  if (signs.size !== 1 || !(Object.hasOwn(design.operations, operator) || SIGNS.test(operator))) throw unread(text, design);
  const numbers = plain.split(operator).map((part) => part.trim());
  return { operator: modulo ? `${operator} ${modulo.replace(/\s+/, " ")}` : operator, numbers };
}

const unread = (text, design) => new Mistake(`${shortened(text)} is no problem of this model; write ${exampleOf(design)}.`);

/** A Mistake, in the words of all exports (`asking_curta.py`), unless the operator takes these numbers. */
function check(operator, numbers, { operations, machine, digits, operands }) {
  const givens = givensOf(machine.formats[operator]), least = givens.length, [{ base }] = givens;
  const most = givens.at(-1).many ? operands : least, count = most === least ? least : `${least} to ${most}`;
  const refuse = (got) => {
    const what = most === 1 ? "whole number" : "whole numbers";
    const based = givens.some((part) => part.base !== 10) ? ` in base ${base}` : "";
    throw new Mistake(`${operator} takes ${count} ${what} from 0 up, of at most ${digits} digits${based} (${got});`
      + ` write ${operations[operator].example}.`);
  };
  if (numbers.length < least || numbers.length > most) refuse(`got ${numbers.length} number${numbers.length === 1 ? "" : "s"}`);
  numbers.forEach((number, n) => {
    const read = valueOf(number), own = partOf(givens, n).base;
    const plainly = own === 10 || own > DIGITS; // else a number is written with its base
    if (!read) refuse(number ? `got ${shortened(number)}` : "one is missing");
    if (read.base === 10 && !plainly) refuse(`got ${shortened(number)}`);
    if (digitsIn(read.value, BigInt(own)).length > digits) refuse(`got ${number.length < 25 ? number : "a longer one"}`);
  });
}

const shortened = (text) => (text.length > 30 ? `${text.slice(0, 12)}…${text.slice(-12)}` : text);

const givensOf = ({ parts }) => parts.filter(({ kind }) => kind === "given");

export function lengthsOf({ operator, operands }, { formats }) {
  const givens = givensOf(formats[operator]);
  return operands.map((value, n) => digitsIn(value, BigInt(partOf(givens, n).base)).length);
}

/** The part of the prompt that operand `n` is: the last one is that of all further ones. */
const partOf = (givens, n) => givens[Math.min(n, givens.length - 1)];

/** Digits of each operand, least significant first, with the zeros that its part asks for. */
function digitsOf(operands, givens) {
  const parts = operands.map((_, n) => partOf(givens, n));
  const numbers = operands.map((value, n) => digitsIn(value, BigInt(parts[n].base)));
  const longest = Math.max(...numbers.filter((_, n) => parts[n].filled).map((digits) => digits.length));
  return numbers.map((digits, n) => {
    const { filled, multiple = 1 } = parts[n], width = filled ? longest : digits.length;
    const zeros = Math.ceil(width / multiple) * multiple - digits.length;
    return [...digits, ...new Array(zeros).fill(0)];
  });
}

function digitsIn(value, base) {
  if (base === 10n) return [...String(value)].reverse().map(Number);
  const digits = [];
  do {
    digits.push(Number(value % base));
    value /= base;
  } while (value);
  return digits;
}

/** The number of these digits, most significant first; null if one is no digit of the base. */
function numberIn(digits, base) {
  if (digits.some((digit) => digit >= base)) return null;
  if (base === 10) return BigInt(digits.join(""));
  return digits.reduce((number, digit) => number * BigInt(base) + BigInt(digit), 0n);
}

function signOf({ symbol, role, at, step }, { axes }) {
  const offset = axes.map((axis, i) => (step ? step[axis] ?? 0 : at[axis] ?? (i ? 0 : -1)));
  return { symbol, value: null, role: role || (symbol === "=" ? "equals" : "operator"), home: axes.map(() => !step), offset };
}

/** The digits of the operand of that number, and what stands before it. */
function operandOf({ role, along, high_first: high, follows, gap, many, between }, digits, number, { axes }) {
  const token = (symbol, value, own, home, offset) => ({ symbol, value, role: own, home: axes.map(home), offset: axes.map(offset) });
  const never = () => false, still = () => 0, keys = (high ? [...digits].reverse() : digits).map((value) =>
    token(undefined, value, role, never, (axis) => Number(axis === along)));
  if (!number && !follows) keys[0] = token(undefined, keys[0].value, role, () => true, still);
  if (gap) keys.splice(1, 0, token(gap, null, `${role} gap`, never, still));
  if (!number) return keys;
  const before = (axis) => (axis === many ? 1 : axis === along ? -1 : 0);
  return [token(between, null, `${role} between`, (axis) => axis === along, before), ...keys];
}

const reversed = (value, base) => numberIn(digitsIn(value, BigInt(base)), base);

function divisor(a, b) {
  return b ? divisor(b, a % b) : a;
}

/** Newton's method, from above. */
function root(value) {
  if (value < 2n) return value;
  let guess = 1n << BigInt(Math.ceil(value.toString(2).length / 2));
  for (let next; (next = (guess + value / guess) >> 1n) < guess; ) guess = next;
  return guess;
}
