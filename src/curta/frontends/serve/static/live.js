// A run in training: asks for what is new and draws it; at the end, what it has learned.

import { Chart } from "./chart.js";
import { figure, read } from "./curves.js";
import { at, counted, drawn, make, matched, percent, share } from "./elements.js";
import { Maps } from "./maps.js";
import { send } from "./send.js";

const EVERY = 500, LOST = 300, WATCHED = "evaluated ", VALIDATED = "validated ";
const charts = [
  new Chart(at("charts"), "Loss", ["loss", "validation_loss"], figure, true),
  new Chart(at("charts"), "Exact match on training problems", ["exact_match", "validation_exact_match"], percent, false),
];
const watched = new Map(); // column: its chart
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

// A run that is not begun yet: how many are trained before it, or why it could not be begun.
function wait({ job, ahead, error }) {
  const turn = ahead ? `Waiting: ${ahead} ${ahead > 1 ? "trainings end" : "training ends"} first.` : "Getting ready: the problems are drawn and the model is compiled.";
  at("status").textContent = job === "ended" ? "not begun" : job === "running" ? "starting" : job;
  at("said").textContent = told = job === "ended" ? `It could not be begun: ${error || "it was stopped"}.` : turn;
  at("stop").hidden = job === "ended";
}

// What there is to do: stop it, go on with it, or look at what it has learned.
function offer({ job, status, evaluated, at_end: end }) {
  at("stop").hidden = job === "ended" || status === "finished";
  at("resume").hidden = job !== "ended" || !["interrupted", "created", "failed"].includes(status);
  at("report").hidden = !curves.step;
  at("ended").hidden = !(end && evaluated);
  if (!end) return;
  at("certificate").textContent = end.verdict;
  at("ended").classList.toggle("exact", Boolean(end.exact));
  at("calculate").hidden = !end.calculates;
  if (end.calculates) at("calculate").href = "page-0.html";
}

// The moment that is looked at: the newest, unless an earlier one is chosen.
function moment() {
  const steps = [...new Set([...named.keys(), ...maps.steps])].sort((a, b) => a - b), slider = at("moment");
  const newest = slider.value === slider.max;
  slider.max = Math.max(0, steps.length - 1);
  if (newest) slider.value = slider.max;
  const step = steps[slider.value];
  at("step").textContent = step === undefined ? "" : counted(step);
  at("moments").hidden = steps.length < 2;
  return step;
}

function show(run) {
  const steps = run.ended ?? run.steps, done = `${steps ? Math.floor((100 * curves.step) / steps) : 0}%`;
  at("progress").value = curves.step;
  at("progress").max = steps;
  at("progress").setAttribute("aria-valuetext", done);
  at("status").textContent = run.status;
  at("now").textContent = line(run, steps, done);
  document.title = run.status === "training" ? `${done} ${name}` : name;
  say(run);
  watch();
  for (const chart of [...charts, ...watched.values()]) chart.show(curves, shown(curves.step, steps), at("log").checked);
  members(run);
  look(run);
  grids(run);
  validated();
  offer(run);
}

// The problems and the windows at the moment that is looked at.
function look(run) {
  const step = moment(), before = (steps) => [...steps].filter((one) => one <= step).at(-1);
  answers(run, named.get(before(named.keys())) ?? []);
  at("windows").hidden = !maps.steps.length;
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
  at("named").hidden = !named.size;
  const rows = each.flatMap(({ member, answers }) => Object.entries(answers).map(([problem, { answer, correct }]) => {
    const truth = truths[problem] ?? (correct ? answer : "");
    const digits = matched(answer ?? "no answer", truth, (digit, same) =>
      make("b", digit, { class: correct || (answer !== null && same) ? "right" : "wrong" }));
    return row([problem, digits, truth],
      { class: correct ? "correct" : "", title: `${correct ? "right" : "wrong"}, seed ${run.seeds[member]}` });
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
    const [of, asked] = parted(column.slice(WATCHED.length)), both = asked === "trained";
    if (watched.has(column) || asked === "held out") continue;
    const title = both ? `${of}: trained and held-out problems` : `${of} at ${asked} ${asked === "1" ? "digit" : "digits"}`, other = `${WATCHED}${of} held out`;
    const chart = new Chart(at("charts"), `Exact match, ${title}`, [column, both ? other : ""], percent, false);
    watched.set(column, chart);
  }
}

// The operator of a curve, which may have blanks, and what was asked: "trained", "held out", or a size.
function parted(name) {
  const what = ["trained", "held out"].find((one) => name.endsWith(` ${one}`)) ?? name.slice(name.lastIndexOf(" ") + 1);
  return [name.slice(0, -what.length - 1), what];
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

// Said aloud when something has happened.
function say(run) {
  const stopped = Object.keys(run.stopped).length;
  const said = {
    training: run.idle > Math.max(LOST, 5 * curves.stretch) ? `Nothing new for ${duration(run.idle)}: it may have been interrupted.` : "",
    created: run.job === "running" ? "Getting ready: the problems are drawn and the model is compiled." : "It is not trained yet.",
    evaluating: "Training is finished; it is being evaluated.",
    certifying: "Training is finished; its certificate is being made.",
    reporting: "Training is finished; its report is being written.",
    interrupted: run.job === "waiting" ? "Waiting for its turn." : "Interrupted. What was learned is saved.",
    failed: "It failed. What was learned until then is saved.",
    finished: run.evaluated ? "" : "Training is finished, and no evaluation was asked for.",
    stopped: "No member is left: the loss of each was no longer finite.",
  }[run.status] ?? run.status; // prettier-ignore
  const also = stopped && run.status !== "stopped" ? ` ${stopped} of ${run.seeds.length} members have stopped.` : "";
  if (said + also !== told) at("said").textContent = told = said + also;
}

function members(run) {
  const rows = [...curves.last.values()].map(({ member, step, loss, exact_match: exactMatch }) =>
    row([member, String(run.seeds[member]), counted(step), loss === null ? "—" : figure(loss), exactMatch === null ? "—" : share(exactMatch)]));
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
    send(action, { run: at("said").dataset.run }).catch((error) => (at("said").textContent = told = error.message));
  });
}
at("moment").addEventListener("input", () => last && look(last));
again();
