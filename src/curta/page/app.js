// The page: a problem comes in, tokens are written one after the other, and can be changed.

import {
  alternatives, arcs, looks, lookRows, make, onPaper, partsOf, shown, tokenOf,
} from "./drawing.js";
import { Writing, argmax, tensorsOf } from "./model.js";
import { Mistake, parse, prompt, read, truth } from "./problems.js";
import { steps } from "./steps.js";

const at = (id) => document.getElementById(id);
const weights = [...document.querySelectorAll("script.weights")];
const models = JSON.parse(at("designs").textContent).flatMap(
  ({ run, design, names }, number) =>
    names.map((name, member) => ({ name, run, member, design, step: steps[number] })),
);
const SLICE = 12; // milliseconds of writing between two drawings

/** Where the page stands: the problem, its text, how much of that was given, what is chosen. */
const now = { problem: null, writing: null, given: 0, drawn: 0, chosen: -1, changed: new Set() };
let timer = 0;

/** The model that calculates, with its weights once it was taken. */
let model, design;

function take(number) {
  model = models[number];
  design = model.design;
  model.tensors ??= tensorsOf(weights[number].textContent);
  heads();
  examples();
}

function codes(text) {
  return [...text].map((character) => design.characters.indexOf(character));
}

function textOf(writing, from = 0) {
  return writing.tokens.slice(from).map((token) => design.characters[token]).join("");
}

function begun(text) {
  const writing = new Writing(design, model.tensors, model.step);
  for (const token of codes(text)) writing.append(token);
  return writing;
}

function ended(writing, given) {
  const full = writing.tokens.length >= design.tokens;
  return full || (writing.tokens.length > given && writing.tokens.at(-1) === design.end);
}

function next(writing) {
  return argmax(writing.passes.at(-1).logits);
}

function calculate(event) {
  event.preventDefault();
  stop();
  try {
    now.problem = parse(at("problem").value, design);
  } catch (mistake) {
    if (!(mistake instanceof Mistake)) throw mistake;
    return refuse(mistake.message);
  }
  refuse("");
  now.writing = begun(prompt(now.problem, design));
  now.given = now.writing.tokens.length;
  now.changed.clear();
  at("work").hidden = false;
  restart(0);
}

function refuse(message) {
  at("mistake").textContent = message;
  at("problem").setAttribute("aria-invalid", String(Boolean(message)));
  if (message) at("problem").focus();
}

/** Draws anew from a token on, and goes on writing. */
function restart(from) {
  now.drawn = from;
  while (at("text").children.length > from) at("text").lastChild.remove();
  now.chosen = -1;
  say("Writing.");
  go();
}

function go() {
  stop();
  timer = setTimeout(tick, 0);
  controls();
}

function stop() {
  clearTimeout(timer);
  timer = 0;
}

function tick() {
  const delay = Number(at("speed").value), until = performance.now() + SLICE;
  do {
    now.writing.append(next(now.writing));
  } while (!delay && !ended(now.writing, now.given) && performance.now() < until);
  timer = ended(now.writing, now.given) ? 0 : setTimeout(tick, delay);
  draw();
  if (!timer) finish();
}

function single() {
  stop();
  now.writing.append(next(now.writing));
  draw();
  const written = shown(design.characters[now.writing.tokens.at(-1)]);
  if (ended(now.writing, now.given)) finish();
  else say(`Wrote ${written}.`);
}

function finish() {
  const { problem, writing, given } = now, text = textOf(writing, given);
  const right = truth(problem), answer = answered(problem, text);
  at("work").dataset.right = String(answer === right);
  if (!text.endsWith(design.characters[design.end])) say(`Ended after ${design.tokens} tokens, the most that this page writes.`);
  else if (answer === null) say(`What it wrote is no answer. Right is ${right}.`);
  else if (answer === right) say(`It wrote ${answer}, which is right.`);
  else say(`It wrote ${answer}, which is wrong. Right is ${right}.`);
  controls();
}

/** The answer in what was written; null if there is none. */
function answered(problem, text) {
  return text.endsWith(design.characters[design.end]) ? read(problem.operator, text.slice(0, -1), design) : null;
}

function say(words) {
  at("status").textContent = words;
}

/** Writes another token in place of one, and lets the model go on from there. */
function change(number, token) {
  stop();
  now.writing.cut(number);
  now.writing.append(token);
  now.changed = new Set([...now.changed].filter((other) => other < number)).add(number);
  restart(number);
  draw();
  choose(number, true);
  if (ended(now.writing, now.given)) {
    stop();
    finish();
  }
}

function draw() {
  const { writing, given, changed } = now, added = [];
  for (; now.drawn < writing.tokens.length; now.drawn++) {
    added.push(tokenOf(writing, now.drawn, given, changed.has(now.drawn)));
  }
  at("text").append(...added);
  if (at("paper").checked) arrange();
  if (now.chosen < 0 && writing.tokens.length > given) look(writing.tokens.length - 1);
  controls();
}

function arrange() {
  const items = at("text").children, paper = at("paper").checked;
  at("text").classList.toggle("paper", paper);
  const [, leftwards] = design.operations[now.problem.operator].form.turned;
  onPaper(now.writing.places, now.given, leftwards).forEach(([line, column], number) => {
    items[number].style.gridRow = paper ? line : "";
    items[number].style.gridColumn = paper ? column : "";
  });
}

function controls() {
  const over = ended(now.writing, now.given);
  at("pause").disabled = at("single").disabled = over;
  at("pause").textContent = timer ? "Pause" : "Go on";
}

/** Makes a written token the one that is looked into. */
function choose(number, focus = false) {
  const last = now.writing.tokens.length - 1;
  now.chosen = Math.min(Math.max(number, now.given), last);
  look(now.chosen);
  if (focus) at("text").children[now.chosen].firstChild.focus();
}

/** Shows of a written token what else it might have been, and what was looked at for it. */
function look(number) {
  const [block, head] = at("head").value.split(",").map(Number);
  const items = at("text").children, found = looks(now.writing, number, block, head);
  [...items].forEach(({ firstChild: token }, i) => {
    token.style.setProperty("--look", String(found.get(i) ?? 0));
    token.classList.toggle("asked", i === number - 1);
    if (i < now.given) return;
    token.tabIndex = i === number ? 0 : -1;
    token.setAttribute("aria-current", String(i === number));
  });
  at("arcs").replaceChildren(...arcs(items, number - 1, found));
  at("parts").replaceChildren(...partsOf(now.writing));
  at("which").textContent = `Token ${number - now.given + 1} of what it wrote`;
  at("shares").replaceChildren(...alternatives(now.writing, number));
  at("looks").replaceChildren(...lookRows(now.writing, number));
}

function shownNumber() {
  return [...at("text").children].findIndex((item) => item.firstChild.getAttribute("aria-current") === "true");
}

function typed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const number = [...at("text").children].indexOf(event.target.closest("li"));
  const moves = { ArrowRight: number + 1, ArrowLeft: number - 1, Home: 0, End: Infinity };
  const token = event.key.length === 1 ? codes(event.key)[0] : -1;
  if (event.key in moves) choose(moves[event.key], true);
  else if (token >= 0 && number >= now.given && event.key !== " ") change(number, token);
  else return;
  event.preventDefault();
}

function heads() {
  const options = [make("option", "any head", { value: "-1,0" })], names = [];
  for (let block = 0; block < design.attending; block++) {
    for (let head = 0; head < design.heads; head++) {
      const name = `block ${block + 1}, head ${head + 1}`;
      options.push(make("option", name, { value: `${block},${head}` }));
      names.push(make("th", name, { scope: "col" }));
    }
  }
  at("head").replaceChildren(...options);
  at("names").replaceChildren(make("th", "token", { scope: "col" }), ...names);
}

function examples() {
  const buttons = Object.values(design.operations).map(({ example }) =>
    make("button", example, { type: "button" }),
  );
  for (const button of buttons) {
    button.addEventListener("click", () => {
      at("problem").value = button.textContent;
      at("form").requestSubmit();
    });
  }
  at("examples").replaceChildren(...buttons);
}

function listen() {
  at("model").addEventListener("change", () => {
    take(Number(at("model").value));
    if (now.problem) at("form").requestSubmit();
  });
  at("form").addEventListener("submit", calculate);
  at("pause").addEventListener("click", () => (timer ? (stop(), controls()) : go()));
  at("single").addEventListener("click", single);
  at("paper").addEventListener("change", () => (arrange(), look(shownNumber())));
  at("head").addEventListener("change", () => look(shownNumber()));
  at("text").addEventListener("keydown", typed);
  at("text").addEventListener("click", ({ target }) => {
    const item = target.closest("li");
    if (target.matches("button")) choose([...at("text").children].indexOf(item), true);
  });
  at("shares").addEventListener("click", ({ target }) => {
    const button = target.closest("button");
    if (button) change(shownNumber(), Number(button.dataset.token));
  });
}

models.forEach(({ name }, number) => at("model").append(make("option", name, { value: number })));
at("chooser").hidden = models.length < 2;
take(0);
at("paper").checked = design.axes[0] === "place";
listen();

/** Buttons elsewhere in the page that let a model write a problem of theirs. */
for (const button of document.querySelectorAll("[data-problem]")) {
  const { run, member, problem } = button.dataset;
  const number = models.findIndex((one) => one.run === run && one.member === Number(member));
  button.hidden = number < 0;
  button.addEventListener("click", () => {
    take(number);
    at("model").value = number;
    at("problem").value = problem;
    at("form").requestSubmit();
    at("form").scrollIntoView({ block: "start" });
    at("status").focus({ preventScroll: true });
  });
}

/** For the browser's console: the same model without the page around it. */
globalThis.curta = {
  get design() {
    return design;
  },
  get tensors() {
    return model.tensors;
  },
  get step() {
    return model.step;
  },
  Writing,
  logits: (text) => begun(text).passes.map(({ logits }) => [...logits]),
  weights: (text) => begun(text).passes.map(({ keys, weights }) => ({ keys, weights })),
  prompt: (text) => prompt(parse(text, design), design),
  write(text, most = design.tokens) {
    const writing = begun(prompt(parse(text, design), design)), given = writing.tokens.length;
    const full = () => writing.tokens.length - given >= most;
    while (!full() && !ended(writing, given)) writing.append(next(writing));
    return textOf(writing, given);
  },
  truth: (text) => truth(parse(text, design)),
  ask(text) {
    const problem = parse(text, design);
    return { answer: answered(problem, this.write(text)), truth: truth(problem) };
  },
  read: (operator, text) => read(operator, text, design),
};
