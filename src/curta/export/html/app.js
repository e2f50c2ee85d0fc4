// The page: a problem comes in, an answer is written token by token. Tokens can be changed, parts
// taken away and values of another problem put in; then it is written anew.

import { at, counted, listen, make, numbered, offer, onButtons, reveal, toggle } from "../../report/elements.js";
import { addressOf, addressed, changeWords, command, counterparts, patchable, sitesOf, spokenOf, tapOf } from "./changes.js";
import {
  alternatives, answerRows, lookTable, meaningOf, partsTable, placeButtons, recordedButtons, rolesOf,
  symbolOf, tokenOf,
} from "./drawing.js";
import { tensorsOf } from "./layers.js";
import { answerOf, promptOf } from "./layouts.js";
import { Follower } from "./machine.js";
import { Mistake, TRUTHS, answerText, parse, problemText } from "./problems.js";
import { Rights, rightAnswer, verdictOf } from "./rights.js";
import { Sheet, sheetOf } from "./sheet.js";
import { Transformer } from "./transformer.js";
import { Writing } from "./writing.js";

const LIKELIEST = 8; // tokens that are shown unless all are asked for
const BRIEF = 12; // tokens that are written slowly as the page opens; more go steadily
const SLICE = 12; // milliseconds of writing between two drawings
const ENDLESS = 300; // tokens after which a text is written on beside all else
const LARGEST = 1000; // digits that the tour asks for, if the page can

const weights = [...document.querySelectorAll("script.weights")];
const models = JSON.parse(at("designs").textContent).flatMap(({ run, first, design, names }) =>
  names.map((name, n) => ({ run, member: first + n, name, design })));
const linked = "linked" in at("form").dataset; // a standalone page: its address holds the problem
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// The state of the page: the problem, also as typed, the changes, and the text. `plain` is the text
// of the unchanged model, `source` the problem whose values are patched in, and `chosen` the token
// under inspection, -1 for the newest.
const now = {
  problem: null, typed: "", zeroed: new Set(), patch: null, source: null,
  writing: null, plain: null, drawn: 0, chosen: -1, forced: new Set(),
};
const sheet = new Sheet(at("board"), at("grid"), at("ruler"), at("labels"));
let entry, design, model; // what calculates, and what is known of it
let timer = 0; // of the next token

// Another model calculates; it is made ready when it is first taken.
function take(number) {
  const before = design;
  entry = models[number];
  design = entry.design;
  if (design.rights) design.certified ??= new Rights(design.rights, design.layout);
  entry.model ??= new Transformer(design, tensorsOf(weights[number].textContent));
  model = entry.model;
  at("recorded").replaceChildren(...recordedButtons(design, (text) => asked(text).answer));
  at("recorded").parentNode.hidden = !design.recorded.length;
  if (design === before) return;
  Object.assign(now, { zeroed: new Set(), patch: null, source: null });
  const { operations, config, certified, uncarried } = design;
  const examples = Object.values(operations).map(({ example }) => make("button", example, { type: "button" }));
  at("examples").replaceChildren(...examples);
  at("certified").textContent = uncarried
    ? `The certificate lists ${uncarried} windows, more than a page carries: what is right is known of the recorded problems alone.`
    : certified ? `A crossed-out token differs from the one that the run's certificate has after its window, one of ${certified.targets.size}.` : "";
  at("parts").replaceChildren(...partsTable(config));
  offer("site", patchable(config).map((site) => [site, `${spokenOf(site)} (${site})`]));
  offer("recurrence", numbered(config.num_recurrences).map((n) => [n, n]), config.num_recurrences - 1);
  const heads = numbered(config.num_attention_layers).flatMap((layer) =>
    numbered(config.heads).map((head) => `layer ${layer}, head ${head}`));
  offer("head", ["any head", ...heads].map((name, n) => [n - 1, name]));
  reveal({ recurrences: config.num_recurrences > 1, looking: heads.length, keys: config.causal });
  at("head").parentNode.hidden = !heads.length;
  at("squared").parentNode.hidden = !design.layout.tokens;
  arrange();
}

// A program's text is drawn on squared paper, unless a line of tokens is wanted.
const onPaper = () => Boolean(design.layout.tokens) && at("squared").checked;
const arrange = () => at("board").classList.toggle("squared", onPaper());
const say = (words) => (at("status").textContent = words);

// Call a function and return its result; a Mistake goes to `refuse` instead.
function attempted(act, refuse) {
  try {
    return act();
  } catch (mistake) {
    if (!(mistake instanceof Mistake)) throw mistake;
    refuse(mistake.message);
  }
}

// Start a text from its prompt, with the changes `{zeroed, patch, source}`; throws a Mistake if it is too long.
function begun(problem, changes = { zeroed: new Set() }) {
  const tokens = promptOf(problem, design), { zeroed, patch } = changes;
  if (tokens.length >= design.tokens) {
    throw new Mistake(`That is more than the ${design.tokens} tokens that this page writes.`);
  }
  const memo = !model.windowed || patch?.positions.size ? null : zeroed.size ? new Map() : model.memo;
  const writing = new Writing(model, tokens, tapOf(changes, design.config.width), memo);
  if (writing.stopped) throw new Mistake(`That is too long: ${writing.stopped}.`);
  return writing;
}

// The source of a patch: another problem, every value of its prompt, and which of its tokens match ours.
function sourceOf(text, tokens) {
  const problem = parse(text, design);
  begun(problem); // refuses what is too long
  const prompt = promptOf(problem, design), others = new Follower(design.layout, prompt).tokens;
  return { problem, sites: sitesOf(model, prompt), places: counterparts(tokens, others, design.layout) };
}

// A text that the model writes, at most so many tokens, with `{zeroed, patch}` changed.
function written(text, most, { zeroed = [], patch } = {}) {
  const problem = parse(text, design), { tokens } = begun(problem), changes = { zeroed: new Set(zeroed) };
  if (patch) {
    changes.patch = { ...patch, positions: new Set(patch.positions) };
    changes.source = sourceOf(patch.source, tokens);
  }
  const writing = begun(problem, changes);
  while (!writing.over && writing.written.length < most) writing.go();
  return { writing, problem };
}

function asked(text, changes) {
  const { writing, problem } = written(text, Infinity, changes), { wrote, wanted } = verdictOf(writing, problem, design);
  return { answer: wrote, truth: wanted };
}

function calculate(event) {
  event?.preventDefault();
  stop();
  const typed = at("problem").value, problem = attempted(() => parse(typed, design), refuse);
  const plain = problem && attempted(() => begun(problem), refuse);
  if (!plain) return;
  Object.assign(now, { problem, plain, typed: typed.trim() });
  refuse("");
  readOther();
  anew();
}

// Show why there is nothing to calculate, and clear the previous problem.
function refuse(message) {
  at("work").hidden = Boolean(message);
  at("mistake").textContent = message;
  at("problem").setAttribute("aria-invalid", String(Boolean(message)));
  if (message) at("problem").focus();
}

function anew() {
  stop();
  now.writing = begun(now.problem, now);
  now.forced.clear();
  if (design.layout.tokens) sheet.begin(now.writing.tokens, design.layout, design.layout.formats[now.problem.operator]);
  remember();
  tell();
  restart(0);
}

function restart(from) {
  now.drawn = from;
  while (at("text").children.length > from) at("text").lastChild.remove();
  now.chosen = -1;
  at("inside").hidden = true;
  at("work").dataset.right = "";
  at("answers").replaceChildren();
  say("Writing.");
  go();
}

// Token by token, as quickly as the page is asked to.

function go(delay = 0) {
  stop();
  timer = setTimeout(tick, delay);
  controls();
}

function stop() {
  clearTimeout(timer);
  timer = 0;
}

function tick() {
  const delay = Number(at("speed").value);
  timer = 0;
  proceed(delay ? 0 : performance.now() + SLICE);
  if (!now.writing.over) go(delay);
}

// Writes one token, or until some moment; at the end of the text, finishes.
function proceed(until = 0) {
  const { writing } = now;
  do if (!writing.over) writing.go();
  while (!writing.over && performance.now() < until);
  draw();
  if (writing.over) finish();
}

function single() {
  stop();
  proceed();
  if (now.writing.over) return;
  choose(now.writing.length - 1);
  say(`Wrote ${symbolOf(design.layout, now.writing.tokens.at(-1).token)}.`);
}

// Writes what is left at once, or goes on writing a text that finds no end.
function complete() {
  for (let n = 0; n < ENDLESS && !now.writing.over; n++) now.writing.go();
  draw();
  if (!now.writing.over) return go();
  stop();
  finish();
}

function controls() {
  at("pause").disabled = at("single").disabled = now.writing.over;
  at("pause").textContent = timer ? "Pause" : "Go on";
}

function finish() {
  const verdict = verdictOf(now.writing, now.problem, design);
  at("work").dataset.right = verdict.right ?? "";
  say(verdict.words + firstWrong());
  at("answers").replaceChildren(...answerRows(verdict.wanted, answers(verdict)));
  if (onPaper()) sheet.showLowDigits();
  controls();
}

// Show the answer beside that of the unchanged model.
function answers({ wrote }) {
  if (!now.zeroed.size && !now.patch?.positions.size && !now.forced.size) return [["it wrote", wrote]];
  while (!now.plain.over) now.plain.go();
  return [["as trained", verdictOf(now.plain, now.problem, design).wrote], ["changed", wrote]];
}

// The token that the certificate has in place of a written one; -1 where they are the same.
function rightToken({ follower, tokens, given }, number) {
  const right = number < given ? undefined : design.certified?.at(follower, number);
  return right === undefined || right === tokens[number].token ? -1 : right;
}

// The first written token that the certificate has otherwise, in words.
function firstWrong() {
  const { writing } = now, number = writing.tokens.findIndex((_, place) => rightToken(writing, place) >= 0);
  if (number < 0) return "";
  const [wrote, right] = [writing.tokens[number].token, rightToken(writing, number)].map((token) =>
    `${symbolOf(design.layout, token)} ${meaningOf(design.layout, token)}`);
  return ` Token ${number - writing.given + 1} is the first that is wrong: ${wrote}; right is ${right}.`;
}

function draw() {
  const { writing, forced } = now, { length } = writing, items = [];
  for (; now.drawn < length; now.drawn++) {
    items.push(tokenOf(writing, now.drawn, forced.has(now.drawn), rightToken(writing, now.drawn)));
  }
  at("text").append(...items);
  if (design.layout.tokens) sheet.draw(writing.tokens, at("text").children);
  if (now.chosen < 0 && length > writing.given) {
    look(length - 1);
    if (onPaper()) sheet.follow(at("text").lastChild);
  }
  controls();
}

// The inspected token, and alternatives to it.

// The number of a token in the text; -1 if it stands nowhere there.
const numberOf = (token) => [...at("text").children].indexOf(token?.closest("li"));
const lookedInto = () => numberOf(at("text").querySelector("[aria-current=true]"));

function choose(number, focus = false) {
  const { given, length } = now.writing;
  now.chosen = Math.min(Math.max(number, given), length - 1);
  look(now.chosen);
  const item = at("text").children[now.chosen];
  if (focus) item.firstChild.focus({ preventScroll: onPaper() });
  if (focus && onPaper()) sheet.follow(item);
}

// Show the alternatives to a written token, and what attention looked at to write it.
function look(number) {
  const { writing } = now, items = at("text").children, place = writing.asked(number);
  for (const token of at("text").querySelectorAll(".asked, .seen, [aria-current=true]")) {
    token.classList.remove("asked", "seen");
    token.style.removeProperty("--look");
    if (token.matches("button")) Object.assign(token, { tabIndex: -1, ariaCurrent: "false" });
  }
  const heads = writing.heads(place, Number(at("recurrence").value)), chosen = heads[Number(at("head").value)];
  const most = (_, cell) => Math.max(...heads.map(({ shares }) => shares[cell]));
  const shares = chosen?.shares ?? heads[0]?.shares.map(most) ?? [];
  writing.seen(place).forEach((key, cell) => {
    if (!key || !shares.length) return;
    const token = items[key.index].firstChild;
    token.classList.add("seen");
    token.style.setProperty("--look", String(shares[cell]));
  });
  items[place].firstChild.classList.add("asked");
  Object.assign(items[number].firstChild, { tabIndex: 0, ariaCurrent: "true" });
  if (design.layout.tokens) sheet.mark(writing.tokens, place, model.windowed ? shares : []);
  at("roles").replaceChildren(...rolesOf(writing.tokens, design.layout));
  at("which").textContent = `Token ${number - writing.given + 1} of what it wrote`;
  const [head, rows] = lookTable(writing, place, heads);
  at("seen").replaceChildren(head);
  at("looks").replaceChildren(...rows);
  might(number);
  at("inside").hidden = false;
}

function might(number) {
  const all = at("more").getAttribute("aria-expanded") === "true", { length } = design.layout.characters;
  at("shares").replaceChildren(...alternatives(now.writing, number, all ? length : LIKELIEST));
  at("more").textContent = all ? `The likeliest ${LIKELIEST}` : `All ${length} tokens`;
  at("more").hidden = length <= LIKELIEST;
}

function showMore() {
  at("more").setAttribute("aria-expanded", String(at("more").getAttribute("aria-expanded") !== "true"));
  might(lookedInto());
}

// Writes another token in place of one, and lets the model go on from there.
function change(number, token) {
  stop();
  const { given, written: before } = now.writing;
  now.writing = begun(now.problem, now);
  for (const one of before.slice(0, number - given)) now.writing.go(one.token);
  now.writing.go(token);
  now.forced = new Set([...now.forced].filter((other) => other < number)).add(number);
  restart(number);
  draw();
  choose(number, true);
}

// The role of a program's token; undefined in a published layout.
const roleOf = (token) => design.layout.tokens?.[token].role;

// The token with that symbol, or that digit, in the role of token `number`; else the likeliest.
function meant(character, number) {
  const { characters } = design.layout, logits = now.writing.before(number);
  const role = roleOf(now.writing.tokens[number].token);
  const score = (token) => 2e6 * (characters[token] === character) + 1e6 * (roleOf(token) === role) + logits[token];
  const able = [...characters.keys()].filter((token) => characters[token][0] === character);
  return able.reduce((best, token) => (best < 0 || score(token) > score(best) ? token : best), -1);
}

function typed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const number = numberOf(event.target), { given, causal } = now.writing;
  const moves = { ArrowRight: number + 1, ArrowLeft: number - 1, Home: 0, End: Infinity };
  const symbol = causal && number >= given && event.key.length === 1 && event.key !== " ";
  const token = symbol ? meant(event.key, number) : -1;
  if (event.key in moves) choose(moves[event.key], true);
  else if (token >= 0) change(number, token);
  else return;
  event.preventDefault();
}

// Parts taken away, and values of another problem.

// Takes a part away, or gives it back; the same for a place at which a value is put in.
function press({ dataset: { zeroes, place } }) {
  if (zeroes) toggle(now.zeroed, zeroes);
  else toggle(now.patch.positions, Number(place));
  anew();
}

// Reads the other problem, if there is one: which tokens of this one have a counterpart in it.
function readOther() {
  const text = at("other").value.trim(), tokens = now.plain.tokens.slice(0, now.plain.given);
  const unread = (message) => void (at("unread").textContent = message);
  unread("");
  now.source = (text && attempted(() => sourceOf(text, tokens), unread)) || null;
  const places = [...(now.patch?.positions ?? [])].filter((place) => now.source?.places.has(place));
  now.patch = now.source && { site: at("site").value, positions: new Set(places), source: text };
}

function putIn(event) {
  event.preventDefault();
  if (!now.plain) return;
  readOther();
  anew();
}

function asTrained() {
  now.zeroed.clear();
  now.patch?.positions.clear();
  anew();
}

function tell() {
  const { plain, zeroed, patch, source } = now, tokens = plain.tokens.slice(0, plain.given);
  const words = changeWords(now, tokens.map(({ token }) => symbolOf(design.layout, token))), changed = Boolean(words);
  for (const button of at("parts").querySelectorAll("button")) button.ariaPressed = zeroed.has(button.dataset.zeroes);
  const focused = document.activeElement?.dataset?.place;
  at("places").replaceChildren(...placeButtons(tokens, source?.places ?? new Map(), patch?.positions ?? new Set(), design.layout));
  if (focused) at("places").querySelector(`[data-place="${focused}"]`)?.focus();
  at("changes").textContent = changed ? `Changed: ${words}.` : "Nothing is changed: this is the model as it was trained.";
  at("changes").classList.toggle("note", changed);
  const [problem, other] = [now.problem, source?.problem].map((one) => one && problemText(one, design.layout));
  at("command").textContent = changed ? command(entry, { problem, zeroed, patch: patch && { ...patch, source: other } }) : "";
  reveal({ same: changed, undo: changed, where: source, places: source });
}

// The address, from which a link or a reload shows the same, and how the page opens.

function remember() {
  const patch = now.patch?.positions.size ? now.patch : null, chosen = models.indexOf(entry);
  const which = chosen ? `&model=${chosen}` : "";
  history.replaceState(null, "", `#${addressOf({ problem: now.typed, zeroed: now.zeroed, patch })}${which}`);
}

function recall() {
  const fields = new URLSearchParams(location.hash.slice(1));
  if (!linked && !fields.has("problem")) return; // the address of another part of a report
  const chosen = fields.get("model") in models ? Number(fields.get("model")) : 0;
  if (models[chosen] !== entry) take((at("model").value = chosen));
  const { problem, zeroed, patch } = addressed(location.hash, design.config);
  Object.assign(now, { zeroed, patch });
  at("problem").value = problem;
  at("other").value = patch?.source ?? "";
  if (patch) at("site").value = patch.site;
  if (problem && !linked) at("form").scrollIntoView();
  if (problem) return calculate();
  stop();
  refuse("");
  at("work").hidden = true;
}

// The page as it opens: an example is written, slowly if it is short, unless motion is not wanted.
function open() {
  at("problem").value = design.opening;
  const begin = attempted(() => written(design.opening, BRIEF + 1).writing.written, () => (at("problem").value = ""));
  if (!begin) return;
  at("speed").value = calm.matches ? 0 : begin.length > BRIEF ? 80 : 600;
  calculate();
  at("problem").select();
}

function ask(text) {
  at("problem").value = text;
  at("form").requestSubmit();
}

// Buttons elsewhere in the page that let a model write a problem of theirs.
function watched(button) {
  const { run, member, problem } = button.dataset;
  const number = models.findIndex((one) => one.run === run && one.member === Number(member));
  button.hidden = number < 0;
  button.addEventListener("click", () => {
    take((at("model").value = number));
    ask(problem);
    at("form").scrollIntoView({ block: "start" });
    at("status").focus({ preventScroll: true });
  });
}

// The tour: each step acts, and says what is to be seen at an element.

const steps = () => [
  ["board", () => {
    ask(design.opening);
    complete();
    choose(now.writing.given);
    return model.windowed
      ? "Here it looks. The framed square is where the model stands, and the shaded ones are all that it sees: from them alone it writes the next token."
      : "Here it looks. The darker a token, the more the model looked at it as it wrote the chosen one.";
  }],
  ["board", () => {
    const { given, tokens } = now.writing;
    const digit = tokens.findIndex(({ token }, n) => n >= given && design.layout.characters[token] === "2");
    if (design.opening !== "57+68" || digit < 0) return "This is doubt. A token with an orange line below it was not sure; what else might stand there is listed below.";
    choose(digit);
    return "This is the carry. 7 + 8 is 15, so 1 goes to the tens: 5 + 6 + 1 is 12, and the model wrote this 2.";
  }],
  model.config.causal && ["board", () => {
    const { given, tokens } = now.writing, logits = now.writing.before(given), { token } = tokens[given];
    const others = [...logits.keys()].filter((one) => one !== token && roleOf(one) === roleOf(token));
    change(given, others.sort((a, b) => logits[b] - logits[a])[0]);
    complete();
    return "Change a digit. The first token is another one now, in a dotted frame, and the model went on from there. Type over any token to try it.";
  }],
  ["parts", () => {
    const buttons = [...at("parts").querySelectorAll("button")], heads = buttons.filter(({ dataset }) => dataset.zeroes.includes("head"));
    const parts = heads.length ? heads : buttons;
    parts.find((part, n) => { // the first without which the answer is wrong, else the last
      press(part);
      complete();
      return at("work").dataset.right !== "true" || n === parts.length - 1 || void press(part);
    });
    return `Remove a head. ${at("changes").textContent} ${at("status").textContent} Press it again and it is back.`;
  }],
  ["form", () => {
    const { digits, problem } = enlarged();
    asTrained();
    at("speed").value = 0;
    ask(problem);
    return `Ask ${counted(digits)} digits. The model is whole again, and writes what it never met in training.`;
  }],
].filter(Boolean);

// The example with LARGEST digits in each of its numbers, or as many as the page can write.
function enlarged() {
  const widened = (digits) => design.opening.replace(/\d+/g, (text) => text.repeat(digits).slice(0, digits));
  const [short, long] = [2, 4].map((digits) => written(widened(digits), Infinity).writing.length);
  const able = (digits) => digits <= design.digits && long * (digits / 4) ** Math.log2(long / short) < design.tokens;
  const digits = [LARGEST, LARGEST / 2, 100, 30].find(able) ?? 4;
  return { digits, problem: widened(digits) };
}

function tour(stops) {
  let current = -1;

  function walk(number) {
    const here = stops[number], before = current;
    current = here ? number : -1;
    document.querySelector(".pointed")?.classList.remove("pointed");
    at("tour").hidden = !here;
    if (!here) return before < 0 || at("guide").focus();
    const [id, act] = here;
    at("words").textContent = act();
    at("count").textContent = `${number + 1} of ${stops.length}`;
    at("next").textContent = number + 1 < stops.length ? "Next" : "Done";
    at(id).classList.add("pointed");
    at(id).scrollIntoView({ block: "center" });
    at("next").focus({ preventScroll: true });
  }

  listen("click", { guide: () => walk(0), next: () => walk(current + 1), leave: () => walk(-1) });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && walk(-1));
}

const again = () => look(lookedInto());
const pause = () => (timer ? (stop(), controls()) : go());
const another = () => {
  take(Number(at("model").value));
  if (now.problem || at("mistake").textContent) at("form").requestSubmit();
};

listen("click", { pause, single, undo: asTrained, more: showMore });
listen("submit", { form: calculate, patch: putIn });
listen("change", { model: another, squared: arrange, site: putIn, head: again, recurrence: again });
listen("keydown", { text: typed });
onButtons("examples", (button) => ask(button.textContent));
onButtons("recorded", (button) => ask(button.value));
onButtons("text", (button) => choose(numberOf(button), true));
onButtons("shares", (button) => change(lookedInto(), Number(button.dataset.token)));
for (const id of ["parts", "places"]) onButtons(id, press);
offer("model", models.map(({ name }, number) => [number, name]));
at("chooser").hidden = models.length < 2;
take(0);
document.querySelectorAll("[data-problem]").forEach(watched);
addEventListener("hashchange", recall);
recall();
if (linked) {
  tour(steps());
  if (!location.hash) open();
}

// For the browser's console: the same model without the page around it.
globalThis.curta = {
  get design() { return design; },
  get model() { return model; },
  sheetOf: (tokens) => sheetOf(new Follower(design.layout, tokens).tokens, design.layout, new Set()),
  prompt: (text) => promptOf(parse(text, design), design),
  write: (text, most = Infinity, changes = {}) => written(text, most, changes).writing.written.map(({ token }) => token),
  logits: (text, most = Infinity, changes = {}) => written(text, most, changes).writing.logits.map((all) => [...all]),
  ask: asked,
  truth: (text) => rightAnswer(parse(text, design), design),
  // An answer as plain text, of an operator that the model need not have.
  truths: (operator, texts) => String(TRUTHS[operator](...texts.map(BigInt))),
  // The answer in tokens that follow a problem, as people write it; null if there is none.
  answer(text, tokens) {
    const problem = parse(text, design), given = promptOf(problem, design);
    const { tokens: all } = new Follower(design.layout, [...given, ...tokens]);
    return answerText(answerOf(problem, all.slice(given.length), design), problem.operator, design.layout);
  },
  // Where tokens stand: `{token, index, role, coordinates}`, on a machine the `cells` of its window too.
  follow: (tokens) => new Follower(design.layout, tokens).tokens,
  sites: (tokens) => sitesOf(model, tokens),
};
