// The page: a problem comes in, an answer is written token by token. Tokens can be changed, parts
// taken away and values of another problem put in; then it is written anew.

import { at, counted, listen, make, numbered, offer, onButtons, pressable, reveal, toggle } from "../../report/elements.js";
import { ablatable, changeWords, command, counterparts, patchName, patchable, sitesOf, spokenOf, tapOf } from "./changes.js";
import {
  alternatives, answerRows, lookTable, meaningOf, partsTable, placeButtons, recordedButtons, symbolOf, tokenOf,
} from "./drawing.js";
import { softmax, tensorsOf } from "./layers.js";
import { answerOf, promptOf, rightAnswer, verdictOf } from "./layouts.js";
import { Mistake, TRUTHS, answerText, parse, problemText } from "./problems.js";
import { Sheet, coloured, sheetOf } from "./sheet.js";
import { Transformer } from "./transformer.js";
import { Follower, Rights, Writing } from "./writing.js";

const LIKELIEST = 8; // tokens that are shown unless all are asked for
const BRIEF = 12; // tokens that are written slowly as the page opens; more go steadily
const SLICE = 12; // milliseconds of writing between two drawings
const ENDLESS = 300; // tokens after which a text is written on beside all else

const weights = [...document.querySelectorAll("script.weights")];
const models = JSON.parse(at("designs").textContent).flatMap(({ run, first, design, names }) =>
  names.map((name, n) => ({ run, member: first + n, name, design })));
const linked = "linked" in at("form").dataset; // a standalone page: its address holds the problem
const calm = matchMedia("(prefers-reduced-motion: reduce)");

// `plain` is the text of the unchanged model, `patch` has the values of another problem, and `chosen` is
// the token under inspection, -1 for the newest; `looked` is its number in either case.
const now = {
  problem: null, typed: "", zeroed: new Set(), patch: null,
  writing: null, plain: null, chosen: -1, looked: -1, forced: new Set(),
};
const sheet = new Sheet();
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
  if (design === before) return;
  Object.assign(now, { zeroed: new Set(), patch: null });
  const { operations, config, certified, uncarried } = design;
  at("examples").replaceChildren(...Object.values(operations).map(({ example }) => pressable(example)));
  at("certified").textContent = uncarried
    ? `The certificate lists ${uncarried} windows, more than a page carries: what is right is known of the recorded problems alone.`
    : certified ? `A crossed-out token differs from the one that the run's certificate has after its window, one of ${certified.targets.size}.` : "";
  at("parts").replaceChildren(...partsTable(config));
  offer("site", patchable(config).map((site) => [site, `${spokenOf(site)} (${site})`]));
  offer("recurrence", numbered(config.num_recurrences).map((n) => [n, n]), config.num_recurrences - 1);
  offer("head", ["any head", ...model.headNames].map((name, n) => [n - 1, name]));
  const heads = model.headNames.length, recurrences = config.num_recurrences > 1;
  reveal({
    records: design.recorded.length, paper: design.layout.tokens, heads, looking: heads, recurrences, keys: config.causal,
  });
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

// Start a text from its prompt, with the changes `{zeroed, patch}`; throws a Mistake if it is too long.
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

// Another problem, every value of its prompt, and which of its tokens match those of our prompt.
function valuesOf(text, { prompt }) {
  const problem = parse(text, design), { tokens } = begun(problem);
  return { problem, sites: sitesOf(model, tokens), places: counterparts(prompt, tokens, design.layout) };
}

// A text that the model writes, at most so many tokens, with `{zeroed, patch}` changed.
function written(text, most, { zeroed = [], patch } = {}) {
  const problem = parse(text, design), plain = begun(problem);
  const values = patch && { ...patch, ...valuesOf(patch.source, plain), positions: new Set(patch.positions) };
  const writing = begun(problem, { zeroed: new Set(zeroed), patch: values });
  writing.goOn(most);
  return { writing, problem };
}

function asked(text, changes) {
  const { writing, problem } = written(text, Infinity, changes), { wrote, wanted } = verdictOf(writing, problem, design);
  return { answer: wrote, truth: wanted };
}

function calculate(event) {
  event?.preventDefault();
  stop();
  const typed = at("problem").value.trim(), problem = attempted(() => parse(typed, design), refuse);
  const plain = problem && attempted(() => begun(problem), refuse);
  if (!plain) return;
  Object.assign(now, { problem, plain, typed });
  refuse("");
  readOther();
}

function refuse(message) {
  at("work").hidden = Boolean(message);
  at("mistake").textContent = message;
  at("problem").setAttribute("aria-invalid", String(Boolean(message)));
  if (message) at("problem").focus();
}

function anew() {
  const { plain: { prompt }, problem, zeroed, patch } = now, { layout } = design;
  now.writing = begun(problem, now);
  now.forced.clear();
  if (layout.tokens) sheet.begin(prompt, layout, layout.formats[problem.operator]);
  remember();
  for (const button of document.querySelectorAll("[data-zeroes], [data-place]")) {
    const { zeroes, place } = button.dataset;
    button.ariaPressed = zeroed.has(zeroes) || Boolean(patch?.positions.has(Number(place)));
  }
  const words = changeWords(now, prompt.map(({ token }) => symbolOf(layout, token)));
  at("changes").textContent = words ? `Changed: ${words}.` : "No part of the model is changed.";
  at("changes").classList.toggle("note", Boolean(words));
  const put = patch && { ...patch, source: problemText(patch.problem, layout) };
  at("command").textContent = words && command(entry, { problem: problemText(problem, layout), zeroed, patch: put });
  reveal({ same: words, undo: words, where: patch, places: patch });
  restart(0);
}

function restart(from) {
  now.chosen = -1;
  while (at("text").children.length > from) at("text").lastChild.remove();
  if (sheet.placed) sheet.placed.length = Math.min(sheet.placed.length, from);
  at("inside").hidden = true;
  at("work").dataset.right = "";
  at("answers").replaceChildren();
  say("Writing.");
  go();
}

function go(delay = 0) {
  stop();
  timer = setTimeout(() => {
    const pace = Number(at("speed").value);
    timer = 0;
    proceed(pace ? 1 : Infinity, performance.now() + SLICE);
    if (!now.writing.over) go(pace);
  }, delay);
  controls();
}

function stop() {
  clearTimeout(timer);
  timer = 0;
}

// Writes some tokens, and at the end of the text says what came of it.
function proceed(most, until) {
  const { writing, plain, problem } = now, { layout } = design;
  writing.goOn(most, until);
  draw();
  if (!writing.over) return;
  let { right, words, wrote, wanted } = verdictOf(writing, problem, design);
  const wrong = writing.tokens.findIndex((_, number) => rightToken(writing, number) >= 0);
  if (wrong >= 0) {
    const [first, better] = [writing.tokens[wrong].token, rightToken(writing, wrong)].map((token) =>
      `${symbolOf(layout, token)} ${meaningOf(layout, token)}`);
    words += ` Token ${wrong - writing.given + 1} is the first that is wrong: ${first}; right is ${better}.`;
  }
  at("work").dataset.right = right ?? "";
  say(words);
  let answers = [["it wrote", wrote]];
  if (now.zeroed.size || now.patch?.positions.size || now.forced.size) {
    plain.goOn();
    answers = [["as trained", verdictOf(plain, problem, design).wrote], ["changed", wrote]];
  }
  at("answers").replaceChildren(...answerRows(wanted, answers));
  if (onPaper()) at("board").scrollLeft = at("board").scrollWidth; // the end on which numbers are lowest
}

function single() {
  stop();
  now.chosen = -1; // the new token is looked at
  proceed(1);
  if (!now.writing.over) say(`Wrote ${symbolOf(design.layout, now.writing.tokens.at(-1).token)}.`);
}

function complete() {
  stop();
  proceed(ENDLESS);
  if (!now.writing.over) go();
}

function controls() {
  at("pause").disabled = at("single").disabled = now.writing.over;
  at("pause").textContent = timer ? "Pause" : "Go on";
}

// The token that the certificate has in place of a written one; -1 where they are the same.
function rightToken(writing, number) {
  const right = number < writing.given ? undefined : design.certified?.at(writing, number);
  return right === undefined || right === writing.tokens[number].token ? -1 : right;
}

function draw() {
  const { writing, forced } = now, { length } = writing.tokens;
  for (let number = at("text").children.length; number < length; number++) {
    at("text").append(tokenOf(writing, number, forced.has(number), rightToken(writing, number)));
  }
  if (design.layout.tokens) sheet.draw(writing.tokens, at("text").children);
  if (now.chosen < 0 && length > writing.given) {
    look(length - 1);
    if (onPaper()) sheet.follow(at("text").lastChild);
  }
  controls();
}

function choose(number, focus = false) {
  const { given, tokens } = now.writing;
  now.chosen = Math.min(Math.max(number, given), tokens.length - 1);
  look(now.chosen);
  const item = at("text").children[now.chosen];
  if (focus) item.firstChild.focus({ preventScroll: onPaper() });
  if (focus && onPaper()) sheet.follow(item);
}

// Show the alternatives to a written token, and what attention looked at to write it.
function look(number = now.looked) {
  const { writing } = now, { layout } = design, items = at("text").children, place = writing.asked(number);
  now.looked = number;
  for (const token of at("text").querySelectorAll(".asked, .seen, [aria-current=true]")) {
    token.classList.remove("asked", "seen");
    token.style.removeProperty("--look");
    if (token.matches("button")) Object.assign(token, { tabIndex: -1, ariaCurrent: "false" });
  }
  const heads = writing.heads(place, Number(at("recurrence").value)), seen = writing.seen(place);
  const most = (_, cell) => Math.max(...heads.map((shares) => shares[cell]));
  const shares = heads[Number(at("head").value)] ?? heads[0]?.map(most) ?? [];
  seen.forEach((key, cell) => {
    if (key && shares.length) make("li", [], { "--look": shares[cell] }, items[key.index].firstChild).classList.add("seen");
  });
  items[place].firstChild.classList.add("asked");
  Object.assign(items[number].firstChild, { tabIndex: 0, ariaCurrent: "true" });
  if (layout.tokens) sheet.mark(writing.tokens, place, model.windowed ? shares : []);
  const roles = [...new Set(writing.tokens.map(({ role }) => role))].sort((a, b) => a - b);
  at("roles").replaceChildren(...roles.map((role) => make("li", layout.roles[role].name, { class: coloured(role) })));
  at("which").textContent = `Token ${number - writing.given + 1} of what it wrote`;
  const [head, rows] = lookTable(writing, place, heads);
  at("seen").replaceChildren(head);
  at("looks").replaceChildren(...rows);
  const all = at("more").ariaExpanded === "true", { length } = layout.characters;
  at("shares").replaceChildren(...alternatives(writing, number, all ? length : LIKELIEST));
  at("more").textContent = all ? `The likeliest ${LIKELIEST}` : `All ${length} tokens`;
  reveal({ more: length > LIKELIEST, inside: true });
}

function change(number, token) {
  const before = now.writing.tokens.slice(now.writing.given, number);
  now.writing = begun(now.problem, now);
  for (const each of [...before, { token }]) now.writing.go(each.token);
  now.forced = new Set([...now.forced].filter((other) => other < number)).add(number);
  restart(number);
  draw();
  choose(number, true);
}

const roleOf = (token) => design.layout.tokens?.[token].role;

// The token with that symbol, or that digit, in the role of token `number`; else the likeliest.
function meant(character, number) {
  const { characters } = design.layout, logits = now.writing.before(number);
  const role = roleOf(now.writing.tokens[number].token);
  const score = (token) => 2e6 * (characters[token] === character) + 1e6 * (roleOf(token) === role) + logits[token];
  const able = [...characters.keys()].filter((token) => characters[token][0] === character);
  return able.sort((a, b) => score(b) - score(a))[0];
}

const numberOf = (token) => [...at("text").children].indexOf(token.closest("li"));

function typed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const number = numberOf(event.target), { given, causal } = now.writing;
  const moves = { ArrowRight: number + 1, ArrowLeft: number - 1, Home: 0, End: Infinity };
  const symbol = causal && number >= given && event.key.length === 1 && event.key !== " ";
  const token = symbol ? meant(event.key, number) : undefined;
  if (event.key in moves) choose(moves[event.key], true);
  else if (token !== undefined) change(number, token);
  else return;
  event.preventDefault();
}

function press({ dataset: { zeroes, place } }) {
  toggle(zeroes ? now.zeroed : now.patch.positions, zeroes ?? Number(place));
  anew();
}

// Reads the other problem, if there is one: which tokens of this one have a counterpart in it.
function readOther(event) {
  event?.preventDefault();
  if (!now.plain) return;
  const source = at("other").value.trim(), unread = (message) => (at("unread").textContent = message);
  unread("");
  const values = source && attempted(() => valuesOf(source, now.plain), unread);
  const places = [...(now.patch?.positions ?? [])].filter((place) => values?.places?.has(place));
  now.patch = values ? { ...values, site: at("site").value, positions: new Set(places), source } : null;
  at("places").replaceChildren(...placeButtons(now.plain.prompt, values?.places ?? new Map(), design.layout));
  anew();
}

function asTrained() {
  now.zeroed.clear();
  now.patch?.positions.clear();
  anew();
}

// Keeps the state in the address, for links and reloads: `#problem=57%2B68&zero=layer.0.mlp.output`.
function remember() {
  const fields = new URLSearchParams({ problem: now.typed }), chosen = models.indexOf(entry);
  for (const name of now.zeroed) fields.append("zero", name);
  if (now.patch?.positions.size) fields.append("patch", patchName(now.patch));
  if (chosen) fields.append("model", chosen);
  history.replaceState(null, "", `#${fields}`);
}

// Takes the state of the address; names that the model lacks are ignored.
function recall() {
  const fields = new URLSearchParams(location.hash.slice(1)), problem = fields.get("problem") ?? "";
  if (!linked && !fields.has("problem")) return; // the address of another part of a report
  const chosen = fields.get("model") in models ? Number(fields.get("model")) : 0;
  if (models[chosen] !== entry) take((at("model").value = chosen));
  const parts = ablatable(design.config).flat(), sites = patchable(design.config);
  const [, site, places, source] = fields.get("patch")?.match(/^([^:]+):((?:position=\d+,?)+)=(.*)$/) ?? [];
  now.zeroed = new Set(fields.getAll("zero").filter((name) => parts.includes(name)));
  now.patch = sites.includes(site) ? { site, positions: new Set(places.match(/\d+/g).map(Number)), source } : null;
  at("problem").value = problem;
  at("other").value = now.patch?.source ?? "";
  if (now.patch) at("site").value = site;
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

// The stops of the tour: each acts, and says what is to be seen at an element.
function stopsOfTour() {
  const { writing } = written(design.opening, Infinity), { given, tokens } = writing;
  const find = (test) => tokens.findIndex(({ token }, n) => n >= given && test(token, n));
  const carry = design.opening === "57+68" ? find((token) => design.layout.characters[token] === "2") : -1;
  const doubtful = find((token, n) => softmax(writing.before(n))[token] < 0.9), place = carry < 0 ? doubtful : carry;
  return [
    ["board", () => {
      ask(design.opening);
      complete();
      choose(now.writing.given);
      return model.windowed
        ? "Here it looks. The framed square is where the model stands, and the shaded ones are all that it sees: from them alone it writes the next token."
        : "Here it looks. The darker a token, the more the model looked at it as it wrote the chosen one.";
    }],
    place >= 0 && ["board", () => {
      choose(place);
      return carry < 0
        ? "This is doubt. A token with an orange line below it was not sure; what else might stand there is listed below."
        : "This is the carry. 7 + 8 is 15, so 1 goes to the tens: 5 + 6 + 1 is 12, and the model wrote this 2.";
    }],
    model.config.causal && ["board", () => {
      const { given, tokens } = now.writing, logits = now.writing.before(given), { token } = tokens[given];
      const others = [...logits.keys()].filter((other) => other !== token && roleOf(other) === roleOf(token));
      change(given, others.sort((a, b) => logits[b] - logits[a])[0]);
      complete();
      return "Change a digit. The first token has changed, in a dotted frame, and the model went on from there. Type over any token to try it.";
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
      // the example with a thousand digits in each of its numbers, or as many as the page can write
      const numbers = /(0[xbo]|\d+#)([\da-z]+)|(?<! mod )\b\d+/gi; // not those of words, nor a modulus
      const widened = (length) => design.opening.replace(numbers, (text, prefix = "", digits = text) => prefix + digits.repeat(length).slice(0, length));
      const few = Math.min(4, design.digits), [short, long] = [few / 2, few].map((length) => written(widened(Math.ceil(length)), Infinity).writing.tokens.length);
      const able = (length) => length <= design.digits && long * (length / few) ** Math.log2(long / short) < design.tokens, digits = [1000, 500, 100, 30].find(able) ?? few;
      asTrained();
      at("speed").value = 0;
      ask(widened(digits));
      return `Ask ${counted(digits)} digits. The model is whole again, and writes what it never met in training.`;
    }],
  ].filter(Boolean);
}

function tour() {
  let stops = [], current = -1;

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

  listen("click", { guide: () => ((stops = stopsOfTour()), walk(0)), next: () => walk(current + 1), leave: () => walk(-1) });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && walk(-1));
}

function another({ target }) {
  take(Number(target.value));
  if (now.problem || at("mistake").textContent) at("form").requestSubmit();
}

function more({ target }) {
  target.ariaExpanded = target.ariaExpanded !== "true";
  look();
}

listen("click", { pause: () => (timer ? (stop(), controls()) : go()), single, undo: asTrained, more });
listen("submit", { form: calculate, patch: readOther });
listen("change", { model: another, squared: arrange, site: readOther, head: () => look(), recurrence: () => look() });
listen("keydown", { text: typed });
onButtons("examples", (button) => ask(button.textContent));
onButtons("recorded", (button) => ask(button.value));
onButtons("text", (button) => choose(numberOf(button), true));
onButtons("shares", (button) => change(now.looked, Number(button.dataset.token)));
for (const id of ["parts", "places"]) onButtons(id, press);
offer("model", models.map(({ name }, number) => [number, name]));
at("chooser").hidden = models.length < 2;
take(0);
document.querySelectorAll("[data-problem]").forEach(watched);
addEventListener("hashchange", recall);
recall();
if (linked) tour();
if (linked && !location.hash) open();

// For the browser's console: the same model without the page around it.
globalThis.curta = {
  get design() { return design; },
  get model() { return model; },
  prompt: (text) => promptOf(parse(text, design), design),
  write: (text, most, changes) => written(text, most, changes).writing.written.map(({ token }) => token),
  logits: (text, most, changes) => written(text, most, changes).writing.logits.map((all) => [...all]),
  ask: asked,
  truth: (text) => rightAnswer(parse(text, design), design),
  truths: (operator, texts) => String(TRUTHS[operator](...texts.map(BigInt))),
  // The answer in tokens that follow a problem, as people write it; null if there is none.
  answer(text, tokens) {
    const problem = parse(text, design), given = promptOf(problem, design);
    const answer = answerOf(problem, curta.follow([...given, ...tokens]).slice(given.length), design);
    return answerText(answer, problem.operator, design.layout);
  },
  // Where tokens stand: `{token, index, role, coordinates}`, on a machine the `cells` of its window too.
  follow: (tokens) => new Follower(design.layout, tokens).tokens,
  sheetOf: (tokens) => sheetOf(curta.follow(tokens), design.layout, new Set()),
  sites: (tokens) => sitesOf(model, curta.follow(tokens)),
};
