// Problems in which several operands make one number, as people write them: `3.75+12.5`.
//
// On paper such a number may lie the other way round, `57.3`: people write it so that its last
// operand begins with its most significant digit. An operand that lies against the last one is
// read from its other end: of 3.75 the operands are 57 and 3.

export const isCompound = ({ parts }) => parts.some(({ follows }) => follows);

/** The digits of each operand; null if the text is no such problem. */
export function compoundOf(form, operator, text) {
  const pattern = (piece) => (piece.sign ? piece.sign.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : "([0-9]+)");
  const numbers = numbersOf(form), groups = numbers.map((pieces) => pieces.map(pattern).join(""));
  const called = text.replace(/^(\p{L}+)\s*\((.*)\)$/u, "$1 $2");
  const match = called.match(new RegExp(`^${wordOf(operator)}${groups.join("\\s*")}$`)), digits = [];
  if (!match) return null;
  const operands = numbers.flat().filter(({ sign }) => !sign);
  operands.forEach((piece, n) => (digits[piece.place] = turned(match[n + 1], piece)));
  return digits;
}

export function compoundText(form, operator, digits) {
  const shown = (piece) => piece.sign ?? turned(digits[piece.place], piece);
  return wordOf(operator) + numbersOf(form).flat().map(shown).join("");
}

/** For each number, or sign between, its pieces as people write them: `{sign}`, `{place, turned}`. */
function numbersOf({ parts }) {
  let place = 0;
  const numbers = together(parts).map((mine) => {
    const last = mine.at(-1), high = last.kind === "sign" || last.high_first;
    const pieces = mine.map((part) =>
      (part.kind === "sign" ? { sign: part.symbol } : { place: place++, turned: part.high_first !== high }));
    return high ? pieces : pieces.reverse();
  });
  return parts.at(-1).kind === "sign" ? numbers.slice(0, -1) : numbers;
}

/** The parts of a prompt, those together that people write as one number. */
function together(parts) {
  const found = [];
  for (const part of parts) {
    const begins = part.follows ? found.findLastIndex(([{ kind }]) => kind === "given") : found.length;
    found.push([...found.splice(begins).flat(), part]);
  }
  return found;
}

const turned = (digits, { turned: other }) => (other ? [...digits].reverse().join("") : digits);

/** An operator that is a word stands before the problem. */
export const wordOf = (operator) => (/^\p{L}+$/u.test(operator) ? `${operator} ` : "");
