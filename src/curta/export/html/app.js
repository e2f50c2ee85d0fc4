// The page: a problem comes in, tokens are written one after the other, and can be changed.

import {
  ask, at, mark, numberOf, onButtons, onMore, refuse, showExamples, showShares, unmark,
} from "./asking.js";
import { alternatives, looks, lookRows, moved, rolesOf, tokenOf } from "./drawing.js";
import { make, shown } from "./elements.js";
import { machineOf } from "./machine.js";
import { Network } from "./model.js";
import { tensorsOf } from "./numbers.js";
import { Pace } from "./pacing.js";
import { Mistake, TRUTHS, answerText, parse, prompt, read, truth } from "./problems.js";
import { sheetOf } from "./sheet.js";
import { Rights, recordedButtons, recordedTruth } from "./rights.js";
import { Sheet } from "./squares.js";
import { Writing } from "./writing.js";

const weights = [...document.querySelectorAll("script.weights")];
const models = JSON.parse(at("designs").textContent).flatMap(({ run, design, names }) =>
  names.map((name, member) => ({ name, run, member, design })));

/** Where the page stands: the problem, its text, how much of it is drawn, what is chosen. */
const now = { problem: null, writing: null, drawn: 0, chosen: -1, changed: new Set() };
const sheet = new Sheet(at("board"), at("grid"), at("ruler"), at("labels"));
const pace = new Pace(at, { writing: () => now.writing, draw, finish, wrote: () => say(`Wrote ${shown(design.machine.tokens[now.writing.paper.tokens.at(-1)].symbol)}.`) });

/** The model that calculates; it is made ready when it is first taken. */
let model, design, network;

function take(number) {
  model = models[number];
  design = model.design;
  if (!design.machine.near) design.machine = machineOf(design.machine);
  model.network ??= new Network(design, tensorsOf(weights[number].textContent), design.machine);
  network = model.network;
  if (design.rights) design.certified ??= new Rights(design.rights, design.machine);
  heads();
  showExamples(design);
  at("recorded").replaceChildren(...recordedButtons(design, (text) => asked(text).answer));
  at("recorded").parentNode.hidden = !design.recorded.length;
  at("certified").textContent = certifiedWords();
}

/** From where what is right is known, of a program that this page has not. */
function certifiedWords() {
  const { certified, uncarried } = design;
  if (uncarried) return `The certificate lists ${uncarried} windows, more than a page carries: what is right is known of the recorded problems alone.`;
  return certified ? `A crossed-out token differs from the one that the run's certificate has after its window, one of ${certified.targets.size}.` : "";
}

/** A writing of which the prompt is there; a Mistake if it is longer than a page's texts. */
function begun(problem) {
  const tokens = prompt(problem, design.machine);
  if (tokens.length >= design.tokens) {
    throw new Mistake(`That is more than the ${design.tokens} tokens that this page writes.`);
  }
  return new Writing(network, tokens);
}

function calculate(event) {
  event.preventDefault();
  pace.stop();
  try {
    now.problem = parse(at("problem").value, design);
    now.writing = begun(now.problem);
  } catch (mistake) {
    if (!(mistake instanceof Mistake)) throw mistake;
    return refuse(mistake.message);
  }
  refuse("");
  now.changed.clear();
  sheet.begin(now.writing, design.machine.formats[now.problem.operator]);
  restart(0);
}

/** Draws anew from a token on, and goes on writing. */
function restart(from) {
  now.drawn = from;
  while (at("text").children.length > from) at("text").lastChild.remove();
  now.chosen = -1;
  at("work").dataset.right = "";
  say("Writing.");
  pace.go();
}

function finish() {
  const wrote = spoken(answered(now.problem, now.writing), now.problem), wanted = rightAnswer(now.problem);
  at("work").dataset.right = wanted === null ? "" : String(wrote === wanted);
  say(verdict(wrote, wanted));
  if (at("squared").checked) sheet.showLowDigits();
  pace.controls();
}

/** What is right, as people write it; null if it is not known. */
function rightAnswer(problem) {
  const known = spoken(truth(problem, design), problem) ?? recordedTruth(problem, design);
  if (known !== null || !design.certified) return known;
  return spoken(design.certified.answer(problem.operator, prompt(problem, design.machine), design.tokens), problem);
}

/** The token that the certificate has in place of a written one; -1 where they are the same. */
function rightToken({ paper, given }, number) {
  const right = number < given ? undefined : design.certified?.at(paper, number);
  return right === undefined || right === paper.tokens[number] ? -1 : right;
}

function spoken(answer, { operator }) {
  return answerText(answer, operator, design.machine);
}

/** What is said of an answer in the end. */
function verdict(wrote, wanted) {
  const right = wanted === null ? "What is right is not known here." : `Right is ${wanted}.`;
  if (!now.writing.ended) return `Stopped after ${design.tokens} tokens, the most that this page writes.`;
  if (wrote === null) return `What it wrote is no answer. ${right}${firstWrong()}`;
  if (wanted === null) return `It wrote ${wrote}. ${right}${firstWrong()}`;
  return (wrote === wanted ? `It wrote ${wrote}, which is right.` : `It wrote ${wrote}, which is wrong. ${right}`) + firstWrong();
}

/** Which written token is the first that the certificate has otherwise, in words. */
function firstWrong() {
  const { writing } = now, { tokens } = design.machine;
  const number = writing.paper.tokens.findIndex((_, number) => rightToken(writing, number) >= 0);
  if (number < 0) return "";
  const [wrote, right] = [writing.paper.tokens[number], rightToken(writing, number)].map((token) => {
    const { symbol, role } = tokens[token];
    return `${shown(symbol)} ${role}, ${moved(tokens[token], design.machine.axes)}`;
  });
  return ` Token ${number - writing.given + 1} is the first that is wrong: ${wrote}; right is ${right}.`;
}

/** The answer in what was written; null if there is none. */
function answered({ operator }, { paper, given, written }) {
  return read(operator, written, paper.positions.slice(given), paper.machine);
}

function say(words) {
  at("status").textContent = words;
}

/** Writes another token in place of one, and lets the model go on from there. */
function change(number, token) {
  pace.stop();
  now.writing.paper.cut(number);
  now.writing.append(token);
  now.changed = new Set([...now.changed].filter((other) => other < number)).add(number);
  restart(number);
  draw();
  choose(number, true);
  if (now.writing.over) {
    pace.stop();
    finish();
  }
}

function draw() {
  const { writing, changed } = now, { length } = writing, added = [];
  for (; now.drawn < length; now.drawn++) {
    added.push(tokenOf(writing, now.drawn, changed.has(now.drawn), rightToken(writing, now.drawn)));
  }
  at("text").append(...added);
  sheet.draw(writing, at("text").children);
  if (now.chosen < 0 && length > writing.given) {
    look(length - 1);
    if (at("squared").checked) sheet.follow(at("text").lastChild);
  }
  pace.controls();
}

/** Makes a written token the one that is looked into. */
function choose(number, focus = false) {
  const { given, length } = now.writing;
  now.chosen = Math.min(Math.max(number, given), length - 1);
  look(now.chosen);
  if (focus) at("text").children[now.chosen].firstChild.focus({ preventScroll: at("squared").checked });
  if (focus && at("squared").checked) sheet.follow(at("text").children[now.chosen]);
}

/** Shows of a written token what else it might have been, and what was looked at for it. */
function look(number) {
  const { writing } = now, items = at("text").children, { given } = writing;
  for (const one of at("text").querySelectorAll(".asked, .seen, [aria-current=true]")) cleared(one);
  const shares = looks(writing, number, Number(at("head").value));
  writing.paper.seen[number - 1].forEach((key, cell) => key >= 0 && seen(items[key].firstChild, shares[cell]));
  items[number - 1].firstChild.classList.add("asked");
  mark(items[number].firstChild);
  sheet.mark(writing, number - 1, shares);
  at("roles").replaceChildren(...rolesOf(writing.paper));
  at("which").textContent = `Token ${number - given + 1} of what it wrote`;
  at("looks").replaceChildren(...lookRows(writing, number));
  might(number);
}

function cleared(token) {
  unmark(token);
  token.classList.remove("seen");
  token.style.removeProperty("--look");
}

function seen(token, share) {
  token.classList.add("seen");
  token.style.setProperty("--look", String(share));
}

function might(number) {
  showShares(design.machine.tokens.length, (most) => alternatives(now.writing, number, most));
}

function shownNumber() {
  return numberOf(at("text").querySelector("[aria-current=true]"));
}

/** The token with that symbol, or that digit, in the role of token `number`; else the likeliest. */
function meant(character, number) {
  const { logits } = now.writing.before(number), { tokens } = design.machine;
  const { role } = tokens[now.writing.paper.tokens[number]];
  const fit = (token) => 2 * (token.symbol === character) + (token.role === role);
  const found = tokens.map((_, token) => token).filter((token) => tokens[token].symbol[0] === character);
  const score = (token) => 1e6 * fit(tokens[token]) + logits[token];
  return found.reduce((best, token) => (best < 0 || score(token) > score(best) ? token : best), -1);
}

function typed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const number = numberOf(event.target);
  const moves = { ArrowRight: number + 1, ArrowLeft: number - 1, Home: 0, End: Infinity };
  const own = number >= now.writing?.given && event.key.length === 1 && event.key !== " ";
  const token = own ? meant(event.key, number) : -1;
  if (event.key in moves) choose(moves[event.key], true);
  else if (token >= 0) change(number, token);
  else return;
  event.preventDefault();
}

function heads() {
  const names = Array.from({ length: design.heads }, (_, head) => `head ${head + 1}`);
  const options = ["any head", ...names].map((name, i) => make("option", name, { value: i - 1 }));
  at("head").replaceChildren(...options);
  const cells = ["token", ...names].map((name) => make("th", name, { scope: "col" }));
  at("names").replaceChildren(...cells);
}

function arranged() {
  at("board").classList.toggle("squared", at("squared").checked);
}

function listen() {
  at("model").addEventListener("change", () => {
    take(Number(at("model").value));
    if (now.problem || at("mistake").textContent) at("form").requestSubmit();
  });
  at("form").addEventListener("submit", calculate);
  at("squared").addEventListener("change", arranged);
  at("head").addEventListener("change", () => look(shownNumber()));
  at("text").addEventListener("keydown", typed);
  onButtons("examples", (button) => ask(button.textContent));
  onButtons("recorded", (button) => ask(button.value));
  onButtons("text", (button) => choose(numberOf(button), true));
  onButtons("shares", (button) => change(shownNumber(), Number(button.dataset.token)));
  onMore(() => might(shownNumber()));
}

/** Buttons elsewhere in the page that let a model write a problem of theirs. */
function watched(button) {
  const { run, member, problem } = button.dataset;
  const number = models.findIndex((one) => one.run === run && one.member === Number(member));
  button.hidden = number < 0;
  button.addEventListener("click", () => {
    take(number);
    at("model").value = number;
    ask(problem);
    at("form").scrollIntoView({ block: "start" });
    at("status").focus({ preventScroll: true });
  });
}

models.forEach(({ name }, number) => at("model").append(make("option", name, { value: number })));
at("chooser").hidden = models.length < 2;
take(0);
listen();
document.querySelectorAll("[data-problem]").forEach(watched);

/** What the model answers to a problem, and what is right. */
function asked(text) {
  const problem = parse(text, design);
  return { answer: spoken(answered(problem, written(text, Infinity)), problem), truth: rightAnswer(problem) };
}

/** The tokens that the model writes after a problem, at most so many. */
function written(text, most) {
  const writing = begun(parse(text, design));
  while (!writing.over && writing.written.length < most) writing.go();
  return writing;
}

/** For the browser's console: the same model without the page around it. */
globalThis.curta = {
  get design() {
    return design;
  },
  Writing,
  sheetOf,
  /** An answer as plain text, of an operator that the model need not have. */
  truths: (operator, texts) => String(TRUTHS[operator](...texts.map(BigInt))),
  get network() {
    return network;
  },
  /** `{logits, weights, next}` after a window of tokens. */
  look: (window) => network.look(window),
  /** `{positions, windows}` of any tokens. */
  follow(tokens) {
    const { paper } = new Writing(network, tokens);
    return { positions: paper.positions, windows: tokens.map((_, number) => paper.window(number)) };
  },
  prompt: (text) => prompt(parse(text, design), design.machine),
  write: (text, most = Infinity) => written(text, most).written,
  truth(text) {
    return rightAnswer(parse(text, design));
  },
  read(operator, tokens, positions) {
    return spoken(read(operator, tokens, positions, design.machine), { operator });
  },
  ask: asked,
};
