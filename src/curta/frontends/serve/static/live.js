// A run in training: asks for what is new and draws it; at the end, what it has learned.

import { Chart } from "./chart.js";
import { figure, read } from "./curves.js";
import { at, counted, drawn, make, matched, percent, reveal, share } from "./elements.js";
import { Maps } from "./maps.js";
import { send } from "./send.js";

const EVERY = 500, LOST = 300, WATCHED = "evaluated ", VALIDATED = "validated ";
const charts = new Map([ // by the column of their curve
  ["loss", new Chart(at("charts"), "Loss", ["loss", "validation_loss"], figure, true)],
  ["exact_match", new Chart(at("charts"), "Exact match on training problems",
    ["exact_match", "validation_exact_match"], percent, false)],
]);
const named = new Map(); // step: each member's answers to named problems then
const truths = {}; // named problem: what is right, where that is known
const maps = new Maps(at("maps"), at("window"));
const filling = new Map(); // operator: rows of its grid when it was first seen, and that moment
let curves = null, cursor = "", told = "", name = document.title, last = null;

async function renew() {
  const fresh = await read("", cursor, curves), { run } = fresh;
  if (!run.seeds) return wait(run);
  ({ curves, cursor } = fresh);
  if (run.anew) named.clear(), maps.forget();
  for (const answers of run.named ?? []) named.set(answers.step, [...(named.get(answers.step) ?? []), answers]);
  for (const { step, bits } of run.windows ?? []) maps.add(step, bits);
  Object.assign(truths, run.truths);
  return run.more ? renew() : show(run);
}

// What is said aloud, when something has happened.
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

// What there is to do: stop it, go on with it, or look at what it has learned.
function choices({ job, status, evaluated, at_end: end }) {
  reveal({
    stop: job !== "ended" && status !== "finished",
    resume: job === "ended" && ["interrupted", "created", "failed"].includes(status),
    report: curves.step,
    ended: end && evaluated,
    calculate: end?.calculates,
  });
  if (!end) return;
  at("certificate").textContent = end.verdict;
  at("ended").classList.toggle("exact", Boolean(end.exact));
  if (end.calculates) at("calculate").href = "page-0.html";
}

function show(run) {
  const steps = run.ended ?? run.steps, done = `${steps ? Math.floor((100 * curves.step) / steps) : 0}%`;
  Object.assign(at("progress"), { value: curves.step, max: steps, ariaValueText: done });
  at("status").textContent = run.status;
  at("now").textContent = line(run, steps, done);
  document.title = run.status === "training" ? `${done} ${name}` : name;
  say(status(run));
  watch();
  for (const chart of charts.values()) chart.show(curves, shown(curves.step, steps), at("log").checked);
  members(run);
  look(run);
  grids(run);
  validated();
  choices(run);
}

// The problems and the windows at the moment that is looked at: the newest, unless an earlier one is chosen.
function look(run) {
  const steps = [...new Set([...named.keys(), ...maps.steps])].sort((a, b) => a - b), slider = at("moment");
  const newest = slider.value === slider.max;
  slider.max = Math.max(0, steps.length - 1);
  if (newest) slider.value = slider.max;
  const step = steps[slider.value], before = (all) => [...all].filter((one) => one <= step).at(-1);
  at("step").textContent = step === undefined ? "" : counted(step);
  reveal({ moments: steps.length > 1, windows: maps.steps.length, named: named.size });
  answers(run, named.get(before(named.keys())) ?? []);
  if (maps.steps.length) maps.draw(before(maps.steps));
  last = run;
}

// What a validation says besides curves: tokens, each operator, and the learning rate.
function validated() {
  const newest = (key) => curves.spread(key).at(-1)?.[1], tokens = newest("validation_token_accuracy");
  if (tokens === undefined) return;
  const each = curves.named(VALIDATED).map((key) => `${key.slice(VALIDATED.length)} ${percent(newest(key))}`);
  const parts = [`tokens ${percent(tokens)}`, ...each, `learning rate ${figure(newest("learning_rate") ?? 0)}`];
  at("validated").textContent = `Validation: ${parts.join(", ")}`;
}

// A table row; its first cell is the name.
function row([first, ...others], attributes = {}) {
  return make("tr", [make("th", String(first), { scope: "row" }), ...others.map((content) => make("td", content))], attributes);
}

// What every member answers to the named problems: a digit is right if it is the true one's at its place.
function answers(run, each) {
  const rows = each.flatMap(({ member, answers }) => Object.entries(answers).map(([problem, { answer, correct }]) => {
    const truth = truths[problem] ?? (correct ? answer : "");
    const digits = matched(answer ?? "no answer", truth, (digit, same) =>
      make("b", digit, { class: correct || (answer !== null && same) ? "right" : "wrong" }));
    const title = `${correct ? "right" : "wrong"}, seed ${run.seeds[member]}`;
    return row([problem, digits, truth], { class: correct ? "correct" : "", title });
  }));
  at("answers").replaceChildren(...rows);
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
    const keys = [column, both ? `${WATCHED}${operator} held out` : ""];
    charts.set(column, new Chart(at("charts"), `Exact match, ${title}`, keys, percent, false));
  }
}

// How many steps the axis has: all of them, or a part while the run is young.
function shown(step, steps) {
  return [0.1, 0.25, 0.5].map((part) => part * steps).find((end) => step <= end) ?? Math.max(step, steps, 1);
}

function line(run, steps, done) {
  const step = `step ${counted(curves.step)} of ${counted(steps)} (${done})`;
  if (!curves.rate) return run.status === "training" ? `${step}, compiling` : step;
  const parts = [step, `${Number(curves.rate.toPrecision(3))} steps a second`];
  if (run.status === "training") parts.push(`${duration((steps - curves.step) / curves.rate)} left`);
  return parts.join(", ");
}

const PREPARING = "Getting ready: the problems are drawn and the model is compiled.";
const STATUS = {
  created: "It is not trained yet.",
  evaluating: "Training is finished; it is being evaluated.",
  certifying: "Training is finished; its certificate is being made.",
  reporting: "Training is finished; its report is being written.",
  interrupted: "Interrupted. What was learned is saved.",
  failed: "It failed. What was learned until then is saved.",
  stopped: "No member is left: the loss of each was no longer finite.",
};

function status({ status, job, idle, evaluated, seeds, stopped }) {
  const lost = idle > Math.max(LOST, 5 * curves.stretch), count = Object.keys(stopped).length;
  let words = STATUS[status] ?? status;
  if (status === "training") words = lost ? `Nothing new for ${duration(idle)}: it may have been interrupted.` : "";
  if (status === "created" && job === "running") words = PREPARING;
  if (status === "interrupted" && job === "waiting") words = "Waiting for its turn.";
  if (status === "finished") words = evaluated ? "" : "Training is finished, and no evaluation was asked for.";
  return count && status !== "stopped" ? `${words} ${count} of ${seeds.length} members have stopped.` : words;
}

function members(run) {
  const rows = [...curves.last.values()].map(({ member, step, loss, exact_match: exactMatch }) =>
    row([member, run.seeds[member], counted(step), loss === null ? "—" : figure(loss), exactMatch === null ? "—" : share(exactMatch)]));
  at("members").replaceChildren(...rows);
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
again();
