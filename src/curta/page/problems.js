// Problems as people write them, as the model is given them, and their answers.

/** What a person wrote cannot be calculated; the message says why, in one line. */
export class Mistake extends Error {}

const TRUTHS = {
  "+": (...values) => values.reduce((a, b) => a + b),
  "-": (a, b) => a - b,
  "*": (a, b) => a * b,
  "//": (a, b) => a / b,
  "%": (a, b) => a % b,
  "<": (a, b) => a < b,
  sort: (...values) => values.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0)).join(","),
  copy: (a) => a,
  reverse: (a) => BigInt([...String(a)].reverse().join("")),
};

/** `{operator, operands}` of a text such as `12+34` or `sort 3,1,2`; operands are BigInts. */
export function parse(text, { operations, tokens }) {
  const plain = text.trim().replace(/=$/, "").trim();
  const examples = Object.values(operations).map((operation) => operation.example);
  if (!plain) throw new Mistake(`Write a problem, such as ${examples.join(" or ")}.`);
  if (plain.length > tokens) throw new Mistake(`A problem has at most ${tokens} characters here.`);
  const { operator, numbers } = named(plain) ?? infix(plain, examples);
  const operation = Object.hasOwn(operations, operator) ? operations[operator] : undefined;
  if (!operation) {
    throw new Mistake(`This model has no ${operator}: it was trained on ${listed(operations)}.`);
  }
  check(operator, operation, numbers);
  return { operator, operands: numbers.map(BigInt) };
}

/** The text that the model is given: what stands before, between and after the operands. */
export function prompt({ operator, operands }, { operations }) {
  const { before, between, after, turned, fill, ahead } = operations[operator].form;
  const texts = operands.map(String);
  const width = fill ? Math.max(...texts.map((t) => t.length)) + ahead : 0;
  const written = texts.map((t, i) => ordered(t.padStart(width, fill), turned[Math.min(i, 1)]));
  return before + written.join(between) + after;
}

/** The answer in a text without its end sign, as people write it; null if there is none. */
export function read(operator, text, { operations }) {
  const { pattern, turned, drop } = operations[operator].reading;
  const kept = [...text].filter((character) => !drop.includes(character)).join("");
  const match = kept.match(new RegExp(`^(?:${pattern})$`));
  if (!match) return null;
  const sign = match[1] === "-" ? -1n : 1n;
  const numbers = match[2].split(",").map((number) => sign * BigInt(ordered(number, turned)));
  if (operator === "sort") return numbers.join(",");
  if (numbers.length > 1) return null;
  if (operator === "<") return ["false", "true"][numbers[0]] ?? null;
  return String(numbers[0]);
}

/** The right answer, by the browser's own whole numbers. */
export function truth({ operator, operands }) {
  return String(TRUTHS[operator](...operands));
}

function named(text) {
  const match = text.match(/^([a-z]+)\s+(.*)$/i);
  if (!match) return null;
  return { operator: match[1], numbers: match[2].split(/\s*,\s*|\s+/) };
}

function infix(text, examples) {
  const strange = text.match(/[^-+*/%<\d\s]/u);
  if (strange) throw new Mistake(`${strange[0]} is no digit and no operator; write ${examples[0]}.`);
  const signs = [...new Set(text.match(/\/\/|[-+*/%<]/g))];
  if (!signs.length) throw new Mistake(`An operator is missing; write ${examples.join(" or ")}.`);
  if (/(^|[-+*/%<]\s*)-\s*\d/.test(text)) throw new Mistake("Operands are whole numbers from 0 up.");
  if (signs.length > 1) throw new Mistake(`${signs.join(" and ")} together: one operation at a time.`);
  return { operator: signs[0], numbers: text.split(signs[0]).map((part) => part.trim()) };
}

function check(operator, { example, least, most, digits }, numbers) {
  const wrong = numbers.find((number) => !/^\d+$/.test(number));
  if (wrong !== undefined) {
    const what = wrong ? `${wrong} is no whole number from 0 up` : "An operand is missing";
    throw new Mistake(`${what}; write ${example}.`);
  }
  if (numbers.length < least || numbers.length > most) {
    const count = least === most ? least : `${least} to ${most}`;
    throw new Mistake(`${operator} takes ${count} operands, not ${numbers.length}; write ${example}.`);
  }
  const longest = Math.max(...numbers.map((number) => number.length));
  if (longest > digits) {
    throw new Mistake(`Operands of ${operator} have at most ${digits} digits here, not ${longest}.`);
  }
  const divides = operator === "//" || operator === "%";
  if (divides && BigInt(numbers[1]) === 0n) throw new Mistake("Division by zero has no answer.");
}

function listed(operations) {
  return Object.keys(operations).join(" ");
}

function ordered(text, turned) {
  return turned ? [...text].reverse().join("") : text;
}
