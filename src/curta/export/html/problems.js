// Problems as people write them, as the model is given them, and their answers: by a machine's
// prompt and answer formats, which are data.

// What a person wrote cannot be calculated; the message says why, in one line.
export class Mistake extends Error {}

const NUMBER = /0[xbo][0-9a-z]+|[0-9]+#[0-9a-z]+|[0-9]+/gi;
const BASES = { "0b": 2, "0o": 8, "0x": 16 };
const DIGITS = 36; // signs for digits: bases beyond have none
const SIGNS = /^[-+*/%<>^&|]+$/; // of operators that this model may not have

const TYPED = { "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-" }; // by signs as they stand in print

const ascending = (a, b) => Number(a - b);
const sumOf = (values) => values.reduce((a, b) => a + b);

export const ordered = (text, turned) => (turned ? [...text].reverse().join("") : text);

// Answers by the browser's own whole numbers: one, several, a text, or whether something is so.
export const TRUTHS = {
  "+": (...values) => sumOf(values),
  "+.": (...values) => { // of each number the digits below its point, read backward, and those above
    const below = values.filter((_, n) => n % 2 === 0).map((value) => ordered(String(value), true));
    const places = Math.max(...below.map(({ length }) => length));
    const above = values.filter((_, n) => n % 2);
    return decimal(sumOf(above.map((value, n) => BigInt(value + below[n].padEnd(places, "0")))), places);
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
  reverse: (a, base = 10) => numberIn(digitsIn(a, base), base),
  gcd: (a, b) => (b ? TRUTHS.gcd(b, a % b) : a),
  lcm: (a, b) => (a && b ? (a * b) / TRUTHS.gcd(a, b) : 0n),
  isqrt: (value) => { // Newton's method, from above
    let guess = value && 1n << BigInt(Math.ceil(value.toString(2).length / 2));
    for (let next; guess && (next = (guess + value / guess) >> 1n) < guess; ) guess = next;
    return guess;
  },
  binary: (a) => a,
  decimal: (a) => a,
  luhn: (a) => {
    const doubled = (digit) => Math.floor(digit / 5) + ((2 * digit) % 10);
    const sum = sumOf(digitsIn(a, 10).map((digit, i) => (i % 2 ? digit : doubled(digit))));
    return BigInt((10 - (sum % 10)) % 10);
  },
};

// The right answer; undefined for an operator that this page does not know.
export function truth({ operator, operands }, { operations, layout }) {
  const [sign, modulo] = operator.split(" mod "), modulus = BigInt(modulo ?? 0);
  if (!operations[operator].known || !Object.hasOwn(TRUTHS, sign)) return undefined;
  const base = sign === "reverse" ? [givensOf(layout.formats[operator])[0].base] : [];
  const value = TRUTHS[sign](...operands, ...base);
  return modulus ? ((value % modulus) + modulus) % modulus : value;
}

// `{operator, operands}` of `12+34`, `sort 3,1,2`, `gcd(6, 4)`, `3.75+12.5`, `0xff+0x1`, `5+6 mod 7`.
export function parse(text, design) {
  const { operations } = design, signs = Object.keys(operations).join(""); // which stay as they are typed
  const keyed = [...text].map((sign) => (signs.includes(sign) ? sign : TYPED[sign] ?? sign)).join("");
  const plain = keyed.trim().replace(/=$/, "").trim();
  if (!plain) throw new Mistake(`Write a problem, such as ${exampleOf(design)}.`);
  if (plain.length > design.tokens) throw new Mistake(`A problem has at most ${design.tokens} characters here.`);
  const { operator, numbers } = compound(plain, design) ?? called(plain, design) ?? infix(plain, design);
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

const unread = (text, design) => new Mistake(`${shortened(text)} is not a problem this model can read; write ${exampleOf(design)}.`);
const exampleOf = ({ operations }) => Object.values(operations).map(({ example }) => example).slice(0, 2).join(" or ");
const shortened = (text) => (text.length > 30 ? `${text.slice(0, 12)}…${text.slice(-12)}` : text);

// A problem that begins with its operator; null if this one does not.
function called(text, design) {
  const match = text.match(/^([^\d\s(),]+)\s*\((.*)\)$/) ?? text.match(/^([\p{L}_][\p{L}\w]*)(?:\s+(.*))?$/u);
  if (!match) return null;
  const has = (name) => Object.hasOwn(design.operations, name), inner = (match[2] ?? "").trim();
  const operator = has(match[1]) ? match[1] : match[1].toLowerCase();
  if (!has(operator) && /[^\w\s,#]/.test(inner)) throw unread(text, design);
  return { operator, numbers: inner.split(inner.includes(",") ? /\s*,\s*/ : /\s+/) };
}

// A problem with its operator between the numbers; modulo a number, that is part of it: `+ mod 97`.
function infix(text, design) {
  const [, plain, modulo = ""] = text.match(/^(.*?)(?:\s+(mod\s+[0-9]+))?$/s);
  const signs = new Set(plain.split(NUMBER).map((part) => part.trim()).filter(Boolean)), [operator] = signs;
  if (signs.size !== 1 || !(Object.hasOwn(design.operations, operator) || SIGNS.test(operator))) throw unread(text, design);
  const numbers = plain.split(operator).map((part) => part.trim());
  return { operator: modulo ? `${operator} ${modulo.replace(/\s+/, " ")}` : operator, numbers };
}

// A problem in which several operands make one number, as before and after a point; null if it is none.
function compound(text, design) {
  const operators = Object.keys(design.operations);
  for (const operator of operators) {
    const form = design.layout.formats[operator];
    if (!isCompound(form)) continue;
    const numbers = numbersOf(form), patterns = numbers.map((pieces) => pieces.map(({ sign }) =>
      (sign ? sign.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : "([0-9]+)")).join(""));
    const line = text.replace(/^(\p{L}+)\s*\((.*)\)$/u, "$1 $2");
    const match = line.match(new RegExp(`^${wordOf(operator)}${patterns.join("\\s*")}$`));
    if (match) {
      const operands = numbers.flat().filter(({ sign }) => !sign), digits = [];
      operands.forEach(({ place, turned }, n) => (digits[place] = ordered(match[n + 1], turned)));
      return { operator, numbers: digits };
    }
    if (operators.length === 1 || text.split(" ")[0] === operator) throw unread(text, design);
  }
  return null;
}

const isCompound = ({ parts }) => parts.some(({ follows }) => follows);

// For each number, or sign between, its pieces as people write them: `{sign}`, `{place, turned}`.
// On paper a number may lie the other way round, `57.3`: people write it so that its last operand
// begins with its most significant digit, and an operand that lies against the last one is read
// from its other end. Of 3.75 the operands are 57 and 3.
function numbersOf({ parts }) {
  const numbers = []; // the parts of each
  for (const part of parts) {
    const begins = part.follows ? numbers.findLastIndex(([{ kind }]) => kind === "given") : numbers.length;
    numbers.push([...numbers.splice(begins).flat(), part]);
  }
  if (parts.at(-1).kind === "sign") numbers.pop();
  let place = 0;
  return numbers.map((mine) => {
    const last = mine.at(-1), high = last.kind === "sign" || last.high_first;
    const pieces = mine.map((part) =>
      (part.kind === "sign" ? { sign: part.symbol } : { place: place++, turned: part.high_first !== high }));
    return high ? pieces : pieces.reverse();
  });
}

// A Mistake, in the words of all exports (`asking_curta.py`), unless the operator takes these numbers.
function check(operator, numbers, { operations, layout, digits, operands }) {
  const givens = givensOf(layout.formats[operator]), least = givens.length, [{ base }] = givens;
  const most = givens.at(-1).many ? operands : least, count = most === least ? least : `${least} to ${most}`;
  const refuse = (got) => {
    const based = givens.some((part) => part.base !== 10) ? ` in base ${base}` : "";
    throw new Mistake(`${operator} takes ${count} whole number${most === 1 ? "" : "s"} from 0 up,`
      + ` of at most ${digits} digits${based} (${got}); write ${operations[operator].example}.`);
  };
  if (numbers.length < least || numbers.length > most) refuse(`got ${numbers.length} number${numbers.length === 1 ? "" : "s"}`);
  basesOf(numbers, givens).forEach((own, n) => {
    const number = numbers[n], read = valueOf(number);
    if (!read) refuse(number ? `got ${shortened(number)}` : "one is missing");
    // a number is written with its base where this is not ten, and has signs
    if (read.base === 10 && own !== 10 && own <= DIGITS) refuse(`got ${shortened(number)}`);
    if (digitsIn(read.value, own).length > digits) refuse(`got ${number.length < 25 ? number : "a longer one"}`);
  });
}

// `{value, base}` of a number as it was typed; null if it is none.
function valueOf(text) {
  const [, before, after] = text.toLowerCase().match(/^([0-9]+#|0[xbo])?(.*)$/);
  const base = before ? BASES[before] ?? Number.parseInt(before, 10) : 10;
  const value = base < 2 || base > DIGITS ? null : numberIn([...after].map((sign) => Number.parseInt(sign, DIGITS)), base);
  return value === null ? null : { value, base };
}

// A problem as Python writes it: `0xff-0x1`, `sort 3,1`, `5+6 mod 97`, `3.75+12.5`.
export function problemText({ operator, operands }, { formats }) {
  const form = formats[operator], [sign, modulus] = operator.split(" mod "), word = wordOf(operator);
  if (isCompound(form)) {
    const shown = (piece) => piece.sign ?? ordered(String(operands[piece.place]), piece.turned);
    return word + numbersOf(form).flat().map(shown).join("");
  }
  const numbers = operands.map((value) => spelled(value, givensOf(form)[0].base));
  return word + numbers.join(word ? "," : sign) + (modulus ? ` mod ${modulus}` : "");
}

// An operator that is a word stands before the problem.
const wordOf = (operator) => (/^\p{L}+$/u.test(operator) ? `${operator} ` : "");

// An answer as people write it, in the base in which the model answers.
export function answerText(answer, operator, layout) {
  if (answer === null || answer === undefined) return null;
  if (Array.isArray(answer)) return answer.map((one) => answerText(one, operator, layout)).join(",");
  if (typeof answer !== "bigint") return String(answer);
  return spelled(answer, layout.formats[operator].answer.base);
}

// A whole number: `255`, `-0xff`, `3#100110`; in decimal where a base has no signs.
function spelled(value, base) {
  if (base === 10 || base > DIGITS) return String(value);
  if (value < 0) return `-${spelled(-value, base)}`;
  return `${Object.keys(BASES).find((prefix) => BASES[prefix] === base) ?? `${base}#`}${value.toString(base)}`;
}

// Format a fixed-point number: `value` is its digits, `places` of them after the point.
function decimal(value, places) {
  while (places > 1 && value % 10n === 0n) [value, places] = [value / 10n, places - 1];
  const digits = String(value < 0n ? -value : value).padStart(places + 1, "0");
  return `${value < 0n ? "-" : ""}${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

// The tokens of a problem. A sign has its own; an operand has those of `every` number of two equal
// digits: what stands before it if it is a further one, the first digit, a gap, a further digit.
export function prompt({ operator, operands }, { formats }) {
  const { parts } = formats[operator], givens = givensOf(formats[operator]);
  const numbers = basesOf(operands, givens).map((base, n) => digitsIn(operands[n], base));
  const longest = Math.max(...numbers.filter((_, n) => partOf(givens, n).filled).map((digits) => digits.length));
  let place = 0;
  return parts.flatMap(({ kind, many, base, gap, high_first: high, filled, multiple = 1, tokens }) => {
    if (kind === "sign") return tokens;
    const mine = numbers.slice(place, many ? undefined : (place += 1));
    return mine.flatMap((digits, number) => {
      const width = Math.ceil((filled ? longest : digits.length) / multiple) * multiple;
      const padded = [...digits, ...new Array(width - digits.length).fill(0)];
      const [first, ...others] = high ? padded.reverse() : padded;
      const least = gap ? 3 : 2, size = number ? least + 1 : least, from = number ? base * least : 0;
      const pair = (digit) => tokens.slice(from + digit * size, from + (digit + 1) * size);
      return [...pair(first).slice(0, -1), ...others.map((digit) => pair(digit).at(-1))];
    });
  });
}

// The answer in written tokens and where they stand; null if there is none.
export function read(operator, written, layout) {
  const { role, base, high_first: high, sign, many, truth: isTruth, fraction } = layout.formats[operator].answer;
  if (written.at(-1)?.token !== layout.end) return null;
  const tokens = written.map(({ token, coordinates }) => ({ ...layout.tokens[token], coordinates }));
  const axis = layout.axes.indexOf(many), below = [], lines = new Map();
  for (const { role: own, value, coordinates } of tokens.filter((token) => token.value !== null)) {
    const line = many ? coordinates[axis] : 0;
    if (fraction && own === fraction) below.push(value);
    else if (own === role) lines.set(line, [...(lines.get(line) ?? []), value]);
  }
  const [whole] = lines.values();
  if (!whole || (fraction && !below.length)) return null;
  const groups = fraction ? [high ? [...whole, ...below] : [...below, ...whole]] : [...lines.values()];
  const numbers = groups.map((digits) => numberIn(high ? digits : digits.reverse(), base));
  if (numbers.includes(null)) return null;
  if (many) return numbers;
  if (isTruth) return numbers[0] < 2n ? numbers[0] === 1n : null;
  const minus = sign && tokens.some((token) => token.role === sign && token.symbol === "-");
  const value = minus ? -numbers[0] : numbers[0];
  return fraction ? decimal(value, below.length) : value;
}

const givensOf = ({ parts }) => parts.filter(({ kind }) => kind === "given");

// The part of the prompt that operand `n` is: the last one is that of all further ones.
const partOf = (givens, n) => givens[Math.min(n, givens.length - 1)];
const basesOf = (operands, givens) => operands.map((_, n) => partOf(givens, n).base);

export function lengthsOf({ operator, operands }, { formats }) {
  return basesOf(operands, givensOf(formats[operator])).map((base, n) => digitsIn(operands[n], base).length);
}

function digitsIn(value, base) { // least significant first
  if (base <= DIGITS) return [...value.toString(base)].reverse().map((sign) => Number.parseInt(sign, DIGITS));
  const digits = [];
  do digits.push(Number(value % BigInt(base))); while ((value /= BigInt(base)));
  return digits;
}

// The number of these digits, most significant first; null if there is none, or one is no digit of the base.
function numberIn(digits, base) {
  if (!digits.length || !digits.every((digit) => digit < base)) return null;
  if (base === 10) return BigInt(digits.join(""));
  return digits.reduce((number, digit) => number * BigInt(base) + BigInt(digit), 0n);
}
