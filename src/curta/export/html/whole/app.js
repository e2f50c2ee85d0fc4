// The page of a model over whole texts: a problem comes in, an answer is written token by token,
// parts are taken away or values put in, and it is written anew.

import {
  ask, at, mark, numberOf, onButtons, onMore, refuse, showExamples, showShares, unmark,
} from "../asking.js";
import { make } from "../elements.js";
import { tensorsOf } from "../numbers.js";
import { Pace } from "../pacing.js";
import { Mistake, answerText, parse, problemText } from "../problems.js";
import { Verdict } from "./answers.js";
import { addressOf, addressed } from "./changes.js";
import { alternatives, answerRows, attentionRows, symbolOf, tokenOf } from "./drawing.js";
import { changeWords, command, partsTable, placeButtons, siteOptions, sourceOf, tapOf } from "./inside.js";
import { layoutOf } from "./layouts.js";
import { recordedButtons } from "../rights.js";
import { recording } from "./taps.js";
import { Transformer } from "./transformer.js";
import { Writing } from "./text.js";

const { run, member, design } = JSON.parse(at("designs").textContent);
const model = new Transformer(design, tensorsOf(document.querySelector("script.weights").textContent));
const layout = layoutOf(design);

/**
 * What is asked, as it was typed too, what is changed, and the text; `plain` is that of the model as
 * it was trained, `other` the problem of which values are put in.
 */
const now = {
  problem: null, asked: "", zeroed: new Set(), patch: null, other: null, source: null, writing: null, plain: null,
  drawn: 0, chosen: -1, forced: new Set(),
};
const pace = new Pace(at, { writing: () => now.writing, draw, finish, wrote: () => choose(now.writing.length - 1) });

/** A writing of which the prompt is there; a Mistake if it is longer than a page's texts. */
function begun(problem, tap) {
  const tokens = layout.prompt(problem);
  if (tokens.length >= design.tokens) {
    throw new Mistake(`That is more than the ${design.tokens} tokens that this page writes.`);
  }
  const writing = new Writing(model, tokens, tap);
  if (writing.stopped) throw new Mistake(`That is too long: ${writing.stopped}.`);
  return writing;
}

function calculate(event) {
  event?.preventDefault();
  pace.stop();
  try {
    now.problem = parse(at("problem").value, design);
    now.asked = at("problem").value.trim();
    now.plain = begun(now.problem);
  } catch (mistake) {
    if (!(mistake instanceof Mistake)) throw mistake;
    return refuse(mistake.message);
  }
  refuse("");
  patched();
  anew();
}

/** Shows nothing below the field: nothing is asked. */
function empty() {
  pace.stop();
  refuse("");
  at("work").hidden = true;
}

/** Writes the answer from its beginning, with the changes as they are now. */
function anew() {
  now.writing = begun(now.problem, tapOf(now, now.source, design.config.width));
  now.forced.clear();
  remember();
  tell();
  restart(0);
}

/** Draws anew from a token on, and goes on writing. */
function restart(from) {
  now.drawn = from;
  while (at("text").children.length > from) at("text").lastChild.remove();
  now.chosen = -1;
  at("inside").hidden = true;
  at("work").dataset.right = "";
  at("answers").replaceChildren();
  at("status").textContent = "Writing.";
  pace.go();
}

function finish() {
  const verdict = verdictOf(now.writing);
  at("work").dataset.right = verdict.right ?? "";
  at("status").textContent = verdict.words;
  at("answers").replaceChildren(...answerRows(verdict.wanted, answers(verdict)));
  if (now.writing.length > now.writing.given) choose(now.chosen < 0 ? now.writing.given : now.chosen);
  pace.controls();
}

function verdictOf(writing) {
  return new Verdict(writing, now.problem, layout, design);
}

/** What was written, and beside it what the model writes as it was trained. */
function answers({ wrote }) {
  if (!isChanged()) return [["it wrote", wrote]];
  while (!now.plain.over) now.plain.go();
  return [["as trained", verdictOf(now.plain).wrote], ["changed", wrote]];
}

function isChanged() {
  return Boolean(now.zeroed.size || now.patch?.positions.size || now.forced.size);
}

/** Writes another token in place of one, and lets the model go on from there. */
function change(number, token) {
  pace.stop();
  const kept = now.writing.written.slice(0, number - now.writing.given).map((one) => one.token);
  now.writing = begun(now.problem, now.writing.tap);
  for (const one of [...kept, token]) now.writing.go(one);
  now.forced = new Set([...now.forced].filter((other) => other < number)).add(number);
  restart(number);
  draw();
  choose(number, true);
}

function draw() {
  const { writing, forced } = now, added = [];
  for (; now.drawn < writing.length; now.drawn++) added.push(tokenOf(writing, now.drawn, forced.has(now.drawn)));
  at("text").append(...added);
  pace.controls();
}

/** Makes a written token the one that is looked into. */
function choose(number, focus = false) {
  const { writing: { given, length } } = now;
  now.chosen = Math.min(Math.max(number, given), length - 1);
  look();
  if (focus) at("text").children[now.chosen].firstChild.focus();
}

/** Shows of the chosen token what else it might have been, and what was looked at for it. */
function look() {
  const { writing, chosen } = now, items = at("text").children;
  for (const one of at("text").querySelectorAll(".asked, [aria-current=true]")) unmark(one);
  items[writing.asked(chosen)].firstChild.classList.add("asked");
  mark(items[chosen].firstChild);
  const [head, rows] = attentionRows(writing, chosen, Number(at("recurrence").value));
  at("seen").replaceChildren(head);
  at("looks").replaceChildren(...rows);
  at("which").textContent = `Token ${chosen - writing.given + 1} of what it wrote`;
  might();
  at("inside").hidden = false;
}

function might() {
  showShares(design.layout.characters.length, (most) => alternatives(now.writing, now.chosen, most));
}

function typed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const number = numberOf(event.target), { given, causal } = now.writing;
  const moves = { ArrowRight: number + 1, ArrowLeft: number - 1, Home: 0, End: Infinity };
  const own = causal && number >= given && event.key.length === 1 && event.key !== " ";
  const token = own ? meant(event.key, number) : -1;
  if (event.key in moves) choose(moves[event.key], true);
  else if (token >= 0) change(number, token);
  else return;
  event.preventDefault();
}

/** The likeliest token with that symbol; -1 if there is none. */
function meant(character, number) {
  const logits = now.writing.before(number), { characters } = design.layout;
  return logits.reduce((best, logit, token) =>
    (characters[token] === character && (best < 0 || logit > logits[best]) ? token : best), -1);
}

/** Takes a part away, or gives it back. */
function toggle({ dataset: { zeroes } }) {
  if (!now.zeroed.delete(zeroes)) now.zeroed.add(zeroes);
  pace.stop();
  anew();
}

/** Reads the other problem, if there is one: which tokens of this one have a counterpart in it. */
function patched() {
  const text = at("other").value.trim(), tokens = now.plain.tokens.slice(0, now.plain.given);
  now.source = null;
  at("unread").textContent = "";
  if (text) {
    try {
      now.other = parse(text, design);
      now.source = sourceOf(model, layout.prompt(now.other), tokens);
    } catch (mistake) {
      if (!(mistake instanceof Mistake)) throw mistake;
      at("unread").textContent = mistake.message;
    }
  }
  const kept = [...(now.patch?.positions ?? [])].filter((place) => now.source?.places.has(place));
  now.patch = now.source && { site: at("site").value, positions: new Set(kept), source: text };
}

function put(event) {
  event.preventDefault();
  pace.stop();
  patched();
  anew();
}

function place({ dataset }) {
  const { positions } = now.patch, index = Number(dataset.place);
  if (!positions.delete(index)) positions.add(index);
  pace.stop();
  anew();
}

function asTrained() {
  now.zeroed.clear();
  now.patch?.positions.clear();
  pace.stop();
  anew();
}

/** Says what is changed, in words and on every button. */
function tell() {
  const tokens = now.plain.tokens.slice(0, now.plain.given), symbols = tokens.map((one) => symbolOf(design.layout, one));
  const words = changeWords(now, symbols), changed = Boolean(words);
  for (const button of at("parts").querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(now.zeroed.has(button.dataset.zeroes)));
  }
  const places = now.source?.places ?? new Map();
  const focused = document.activeElement?.dataset?.place;
  at("places").replaceChildren(...placeButtons(tokens, places, now.patch?.positions ?? new Set(), design.layout));
  if (focused) at("places").querySelector(`[data-place="${focused}"]`)?.focus();
  at("changes").textContent = changed ? `Changed: ${words}.` : "Nothing is changed: this is the model as it was trained.";
  at("command").textContent = changed ? sameCommand() : "";
  at("changes").classList.toggle("note", changed);
  at("same").hidden = at("undo").hidden = !changed;
  at("where").hidden = at("places").hidden = !now.source;
}

/** What does the same on the command line, with both problems as Python writes them. */
function sameCommand() {
  const [problem, source] = [now.problem, now.other].map((one) => one && problemText(one, design.machine));
  const patch = now.patch && { ...now.patch, source };
  return command({ run, member }, { problem, zeroed: now.zeroed, patch });
}

/** Keeps problem and changes in the address, so that a link or a reload shows the same. */
function remember() {
  const patch = now.patch?.positions.size ? now.patch : null;
  history.replaceState(null, "", `#${addressOf({ problem: now.asked, zeroed: now.zeroed, patch })}`);
}

function recall() {
  const { problem, zeroed, patch } = addressed(location.hash, design.config);
  Object.assign(now, { zeroed, patch });
  at("problem").value = problem;
  at("other").value = patch?.source ?? "";
  if (patch) at("site").value = patch.site;
  if (problem) calculate();
  else empty();
}

function prepared() {
  showExamples(design);
  at("parts").replaceChildren(...partsTable(design.config));
  at("site").replaceChildren(...siteOptions(design.config));
  const { num_recurrences: count } = design.config;
  at("recurrence").replaceChildren(...Array.from({ length: count }, (_, n) => make("option", String(n), { value: n })));
  at("recurrence").value = count - 1;
  at("recurrences").hidden = count < 2;
  at("keys").hidden = !design.config.causal;
}

function listen() {
  at("form").addEventListener("submit", calculate);
  at("patch").addEventListener("submit", put);
  at("site").addEventListener("change", put);
  at("undo").addEventListener("click", asTrained);
  at("recurrence").addEventListener("change", look);
  at("text").addEventListener("keydown", typed);
  addEventListener("hashchange", recall);
  onButtons("examples", (button) => ask(button.textContent));
  onButtons("recorded", (button) => ask(button.value));
  onButtons("text", (button) => choose(numberOf(button), true));
  onButtons("shares", (button) => change(now.chosen, Number(button.dataset.token)));
  onButtons("parts", toggle);
  onButtons("places", place);
  onMore(might);
}

prepared();
listen();
at("recorded").replaceChildren(...recordedButtons(design, (text) => {
  const { writing, problem } = written(text);
  return new Verdict(writing, problem, layout, design).wrote;
}));
at("recorded").parentNode.hidden = !design.recorded.length;
recall();

/** A text that the model writes, whole, with `{zeroed, patch}` changed. */
function written(text, changes = {}, most = Infinity) {
  const { zeroed = [], patch } = changes, problem = parse(text, design), prompt = layout.prompt(problem);
  const tokens = begun(problem).tokens;
  const source = patch && sourceOf(model, layout.prompt(parse(patch.source, design)), tokens);
  const given = patch && { ...patch, positions: new Set(patch.positions) };
  const writing = new Writing(model, prompt, tapOf({ zeroed: new Set(zeroed), patch: given }, source, design.config.width));
  while (!writing.over && writing.written.length < most) writing.go();
  return { writing, problem };
}

/** For the browser's console: the same model without the page around it. */
globalThis.curta = {
  design,
  model,
  prompt: (text) => layout.prompt(parse(text, design)),
  /** The tokens that are written after a problem. */
  write: (text, changes, most) => written(text, changes, most).writing.written.map(({ token }) => token),
  /** Logits for what follows each token of the text that is written, up to so many. */
  logits: (text, changes, most) => written(text, changes, most).writing.logits.map((all) => [...all]),
  ask(text, changes) {
    const { writing, problem } = written(text, changes), { wrote, wanted } = new Verdict(writing, problem, layout, design);
    return { answer: wrote, truth: wanted };
  },
  /** Every value of the forward pass over these tokens, by site and token. */
  sites(tokens) {
    const found = {};
    new Writing(model, tokens, recording(found));
    return found;
  },
  /** Where tokens stand, `{token, index, role, coordinates}`. */
  follow: (tokens) => new Writing(model, tokens).tokens,
  /** The answer in tokens that follow a problem, as people write it; null if there is none. */
  answer(text, tokens) {
    const problem = parse(text, design), { follower } = begun(problem);
    const answer = layout.answer(problem, tokens.map((token) => follower.step(token)));
    return answerText(answer, problem.operator, design.machine);
  },
};
