// A run in training: asks for what is new and draws it; at the end, what it has learned.

import { Chart } from "./chart.js";
import { figure, read } from "./curves.js";
import { at, bytesOf, counted, drawn, make, matched, percent, reveal, row, share } from "./elements.js";
import { send } from "./send.js";

const EVERY = 500, LOST = 300, WATCHED = "evaluated ", VALIDATED = "validated ";
const charts = new Map([ // by the column of their curve; each with the column of the validation beside it
  ["loss", [new Chart("Loss", figure, true), "validation_loss"]],
  ["exact_match", [new Chart("Exact match on training problems", percent, false), "validation_exact_match"]],
]);
const named = new Map(); // step: each member's answers to named problems then
const truths = {}; // named problem: what is right, where that is known
const bits = new Map(); // step: a bit for each window, set where it is right then
let windows = null; // by the role of what is written after them, as they are drawn
const filling = new Map(); // operator: rows of its grid when it was first seen, and that moment
let curves = null, cursor = "", told = "", name = document.title, last = null;

async function renew() {
  const fresh = await read("", cursor, curves), { run } = fresh;
  if (!run.seeds) return wait(run);
  ({ curves, cursor } = fresh);
  if (run.anew) named.clear(), bits.clear();
  for (const answers of run.named ?? []) named.set(answers.step, [...(named.get(answers.step) ?? []), answers]);
  for (const { step, bits: text } of run.windows ?? []) bits.set(step, bytesOf(text));
  Object.assign(truths, run.truths);
  return run.more ? renew() : show(run);
}

function say(words) {
  if (words !== told) at("said").textContent = told = words;
}

// A run that is not begun yet: how many are trained before it, or why it could not be begun.
function wait({ job, ahead, error }) {
  const turn = ahead ? `Waiting: ${ahead} ${ahead > 1 ? "trainings end" : "training ends"} first.` : PREPARING;
  at("status").textContent = { ended: "not begun", running: "starting" }[job] ?? job;
  say(job === "ended" ? `It could not be begun: ${error || "it was stopped"}.` : turn);
  at("stop").hidden = job === "ended";
}

function choices({ job, status, evaluated, at_end: end }) {
  reveal({
    stop: job !== "ended" && status !== "finished",
    resume: job === "ended" && ["interrupted", "created", "failed"].includes(status),
    report: curves.step && !(end && evaluated), // then the box below links to it
    ended: end && evaluated,
    calculate: end?.calculates,
  });
  if (!end) return;
  at("certificate").textContent = end.verdict;
  at("ended").classList.toggle("exact", Boolean(end.exact));
  if (end.calculates) at("calculate").href = "page-0.html";
}

function show(run) {
  const steps = run.ended ?? run.steps, { step, rate } = curves, training = run.status === "training";
  const done = `${steps ? Math.min(100, Math.floor((100 * step) / steps)) : 0}%`, repair = step - steps;
  const words = [repair > 0 ? `${counted(steps)} steps + ${counted(repair)} repair` : `step ${counted(step)} of ${counted(steps)} (${done})`];
  if (rate) words.push(`${Number(rate.toPrecision(3))} steps a second`);
  if (training && repair <= 0) words.push(rate ? `${duration((steps - step) / rate)} left` : "compiling");
  Object.assign(at("progress"), { value: step, max: steps, ariaValueText: done });
  at("status").textContent = run.status;
  at("now").textContent = words.join(", ");
  document.title = training ? `${done} ${name}` : name;
  say(status(run));
  watch();
  // the axis has all steps, or a part of them while the run is young
  const end = [0.1, 0.25, 0.5].map((part) => part * steps).find((part) => step <= part) ?? Math.max(step, steps, 1);
  for (const [key, [chart, held]] of charts) { // each member thin, their median thick, the validation dashed
    const members = curves.of(key), thin = members.length > 1 ? members.map((points) => ({ kind: "member", points })) : [];
    const median = { kind: "median", points: curves.spread(key), label: "" };
    const dashed = { kind: "validation", points: curves.spread(held), label: "held out" };
    chart.show([...thin, median, dashed], end, at("log").checked);
  }
  at("members").replaceChildren(...[...curves.last.values()].map(({ member, step, loss, exact_match: exact }) =>
    row(member, [run.seeds[member], counted(step), loss === null ? "—" : figure(loss), exact === null ? "—" : share(exact)])));
  look(run);
  grids(run);
  validated();
  choices(run);
}

// The problems and the windows at the moment that is looked at: the newest, unless an earlier one is chosen.
function look(run) {
  const steps = [...new Set([...named.keys(), ...bits.keys()])].sort((a, b) => a - b), slider = at("moment");
  const newest = slider.value === slider.max;
  slider.max = Math.max(0, steps.length - 1);
  if (newest) slider.value = slider.max;
  const step = steps[slider.value], before = (all) => [...all].filter((one) => one <= step).at(-1);
  at("step").textContent = step === undefined ? "" : counted(step);
  reveal({ moments: steps.length > 1, windows: bits.size, named: named.size });
  answers(run, named.get(before(named.keys())) ?? []);
  drawWindows(bits.get(before(bits.keys())));
  last = run;
}

// A square for each window, lit once it is right; those never shown in training below.
async function drawWindows(right) {
  if (!right) return;
  if (!windows) {
    windows = []; // nothing is asked for twice
    const groups = await (await fetch("windows.json")).json();
    groups.sort((a, b) => b.numbers.length - a.numbers.length);
    windows = groups.map(({ role, numbers, words, held_out: held }) => {
      const squares = numbers.map((number, n) => [number, make("i", [], { "data-words": words[n] })]);
      const parts = [false, true].map((fresh) =>
        make("div", squares.map(([, square]) => square).filter((_, n) => held[n] === fresh), { class: fresh ? "new" : "" }));
      const map = make("div", parts, { role: "img", "--columns": Math.ceil(Math.sqrt(6 * numbers.length)) });
      return { role, squares, parts, map, caption: make("figcaption") };
    });
    at("maps").replaceChildren(...windows.map(({ map, caption }) => make("figure", [caption, map])));
  }
  for (const { role, squares, parts, map, caption } of windows) {
    for (const [number, square] of squares) square.classList.toggle("right", right[number >> 3] & (128 >> (number & 7)));
    const shares = ["right", "of those never shown"].map((name, n) => {
      const lit = parts[n].querySelectorAll(".right").length, all = parts[n].children.length;
      return all ? `, ${percent(lit / all)} ${name}` : "";
    });
    caption.textContent = `${role}: ${counted(squares.length)} windows${shares.join("")}`;
    map.setAttribute("aria-label", caption.textContent);
  }
}

// What a validation says besides curves: tokens, each operator, and the learning rate.
function validated() {
  const newest = (key) => curves.spread(key).at(-1)?.[1], tokens = newest("validation_token_accuracy");
  if (tokens === undefined) return;
  const each = curves.named(VALIDATED).map((key) => `${key.slice(VALIDATED.length)} ${percent(newest(key))}`);
  const parts = [`tokens ${percent(tokens)}`, ...each, `learning rate ${figure(newest("learning_rate") ?? 0)}`];
  at("validated").textContent = `Validation: ${parts.join(", ")}`;
}

// What every member answers to the named problems: a digit is right if it is the true one's at its place.
function answers(run, each) {
  const rowsOf = ({ member, answers }) => Object.entries(answers).map(([problem, { answer, correct }]) => {
    const truth = truths[problem] ?? (correct ? answer : "");
    const digits = matched(answer ?? "no answer", truth, (digit, same) =>
      make("b", digit, { class: correct || (answer !== null && same) ? "right" : "wrong" }));
    const title = `${correct ? "right" : "wrong"}, seed ${run.seeds[member]}`;
    return row(problem, [digits, truth], { class: correct ? "correct" : "", title });
  });
  at("answers").replaceChildren(...each.flatMap(rowsOf));
}

// Every grid as far as it is evaluated, its first row below, and the time that is left of it.
function grids(run) {
  const now = performance.now() / 1000;
  const figures = (run.grids ?? []).map(({ operator, size, bands }) => {
    if (!filling.has(operator)) filling.set(operator, { rows: bands.length, moment: now });
    const { rows, moment } = filling.get(operator), pace = (now - moment) / (bands.length - rows);
    const left = bands.length > rows && bands.length < size ? `, about ${duration(pace * (size - bands.length))} left` : "";
    const text = `Exact match of ${operator} by the digits of both operands: ${bands.length} of ${size} rows${left}`;
    const cells = bands.flatMap((cells, row) => cells.map((band, column) =>
      drawn("rect", { class: `band-${band}`, x: column, y: size - 1 - row, width: 1, height: 1 })));
    const svg = drawn("svg", { viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": text }, cells);
    return make("figure", [svg, make("figcaption", text)]);
  });
  at("grids").replaceChildren(...figures);
  at("bands").hidden = !figures.length;
}

// A chart for what is watched: problems of training beside held-out ones, and each size.
function watch() {
  for (const column of curves.named(WATCHED)) {
    const [, operator, kind] = column.slice(WATCHED.length).match(/^(.*?) (trained|held out|\S+)$/); // an operator may have blanks
    if (charts.has(column) || kind === "held out") continue;
    const both = kind === "trained", digits = kind === "1" ? "digit" : "digits";
    const title = both ? `${operator}: trained and held-out problems` : `${operator} at ${kind} ${digits}`;
    charts.set(column, [new Chart(`Exact match, ${title}`, percent, false), both ? `${WATCHED}${operator} held out` : ""]);
  }
}

const PREPARING = "Getting ready: the problems are drawn and the model is compiled.";
function status({ status, job, idle, evaluated, seeds, stopped }) {
  const lost = idle > Math.max(LOST, 5 * curves.stretch), count = Object.keys(stopped).length;
  const words = {
    created: job === "running" ? PREPARING : "It is not trained yet.",
    training: lost ? `Nothing new for ${duration(idle)}: it may have been interrupted.` : "",
    evaluating: "Training is finished; it is being evaluated.",
    certifying: "Training is finished; its certificate is being made.",
    reporting: "Training is finished; its report is being written.",
    interrupted: job === "waiting" ? "Waiting for its turn." : "Interrupted. What was learned is saved.",
    failed: "It failed. What was learned until then is saved.",
    stopped: "No member is left: the loss of each was no longer finite.",
    finished: evaluated ? "" : "Training is finished, and no evaluation was asked for.",
  }[status] ?? status;
  return count && status !== "stopped" ? `${words} ${count} of ${seeds.length} members have stopped.` : words;
}

function duration(seconds) {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

async function again() {
  if (!document.hidden || !cursor) await renew().catch((error) => (at("now").textContent = `No answer: ${error.message}`));
  setTimeout(again, last?.status === "finished" ? 10 * EVERY : EVERY);
}

for (const action of ["stop", "resume"]) {
  at(action).addEventListener("click", () => {
    at(action).hidden = true; // until the server says how it stands
    send(action, { run: at("said").dataset.run }).catch((error) => say(error.message));
  });
}
at("moment").addEventListener("input", () => last && look(last));
at("maps").addEventListener("pointerover", ({ target }) => {
  if (!target.dataset.words) return;
  const verdict = target.matches(".right") ? "right" : "wrong", fresh = target.matches(".new *");
  at("window").textContent = `${target.dataset.words} (${verdict}, ${fresh ? "never shown" : "shown"} in training)`;
});
again();
