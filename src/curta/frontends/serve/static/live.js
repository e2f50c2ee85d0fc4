// A run in training: asks for what is new, draws it, and goes on to the report at the end.

import { Chart } from "./chart.js";
import { Curves } from "./curves.js";

const EVERY = 1000, LOST = 300, WATCHED = "evaluated ";
const at = (id) => document.getElementById(id);
const share = (value) => (value < 1 && value >= 0.9995 ? ">99.9" : value > 0 && value < 0.0005 ? "<0.1" : (100 * value).toFixed(1));
const percent = (value) => `${share(value)}%`;
const figure = (value) => (value === 0 ? "0" : value < 1e-4 ? value.toExponential(0) : `${Number(value.toPrecision(3))}`);
const charts = [
  new Chart(at("charts"), "Loss", ["loss", "validation_loss"], figure, true),
  new Chart(at("charts"), "Exact match on training problems", ["exact_match", "validation_exact_match"], percent, false),
];
const watched = new Map(); // column: its chart
const named = new Map(); // member: its answers to named problems at the last checkpoint
const filling = new Map(); // operator: rows of its grid when it was first seen, and that moment
let curves = new Curves(), cursor = "", told = "", name = document.title;

async function renew() {
  const reply = await fetch(`metrics.json?after=${cursor}`);
  if (!reply.ok) throw new Error(reply.statusText);
  const run = await reply.json();
  if (run.anew) curves = new Curves(), named.clear();
  for (const values of run.records) {
    curves.add(Object.fromEntries(run.columns.map((column, i) => [column, values[i]])));
  }
  for (const answers of run.named ?? []) named.set(answers.member, answers);
  cursor = run.cursor;
  if (run.more) return renew();
  if (run.status === "finished" && run.evaluated) location.replace("report.html");
  show(run);
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
  answers(run);
  grids(run);
}

// A row of a table: the first cell names it; the cell of that number is a miss.
function row(texts, miss = -1) {
  const made = document.createElement("tr");
  for (const [i, text] of texts.entries()) {
    const cell = made.appendChild(document.createElement(i ? "td" : "th"));
    if (!i) cell.scope = "row";
    if (i === miss) cell.className = "miss";
    cell.textContent = text;
  }
  return made;
}

// What every member answered to the named problems at its last checkpoint.
function answers(run) {
  at("named").hidden = !named.size;
  const rows = [...named.values()].flatMap(({ step, member, answers }) =>
    Object.entries(answers).map(([problem, { answer, correct, perplexity }]) =>
      row([problem, answer ?? "invalid", correct ? "right" : "wrong", figure(perplexity), run.seeds[member], step.toLocaleString("en")],
        correct ? -1 : 2)));
  at("answers").replaceChildren(...rows);
}

// Every grid as far as it is evaluated, its first row below, and the time that is left of it.
function grids(run) {
  const now = performance.now() / 1000, space = "http://www.w3.org/2000/svg";
  const maps = (run.grids ?? []).map(({ operator, size, bands }) => {
    if (!filling.has(operator)) filling.set(operator, { rows: bands.length, moment: now });
    const { rows, moment } = filling.get(operator), pace = (now - moment) / (bands.length - rows);
    const box = document.createElement("figure"), svg = box.appendChild(document.createElementNS(space, "svg"));
    const left = bands.length > rows && bands.length < size ? `, about ${duration(pace * (size - bands.length))} left` : "";
    const text = `Exact match of ${operator} by the digits of both operands: ${bands.length} of ${size} rows${left}`;
    svg.setAttribute("viewBox", `0 0 ${size} ${size}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", text);
    for (const [row, cells] of bands.entries()) {
      for (const [column, band] of cells.entries()) {
        const cell = svg.appendChild(document.createElementNS(space, "rect"));
        const place = { class: `band-${band}`, x: column, y: size - 1 - row, width: 1, height: 1 };
        for (const [key, value] of Object.entries(place)) cell.setAttribute(key, value);
      }
    }
    box.appendChild(document.createElement("figcaption")).textContent = text;
    return box;
  });
  at("grids").replaceChildren(...maps);
  at("bands").hidden = !maps.length;
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
  const step = `step ${curves.step.toLocaleString("en")} of ${steps.toLocaleString("en")} (${done})`;
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
    created: "It is not trained yet.",
    evaluating: "Training is finished; it is being evaluated.",
    certifying: "Training is finished; its certificate is being made.",
    reporting: "Training is finished; its report is being written.",
    interrupted: `Interrupted. What was learned is saved. Go on with: curta train --resume ${at("said").dataset.run}`,
    failed: "It failed. What was learned until then is saved.",
    finished: "Training is finished, and no evaluation was asked for.",
    stopped: "No member is left: the loss of each was no longer finite.",
  }[run.status] ?? run.status; // prettier-ignore
  const also = stopped && run.status !== "stopped" ? ` ${stopped} of ${run.seeds.length} members have stopped.` : "";
  if (said + also !== told) at("said").textContent = told = said + also;
}

function members(run) {
  const rows = [...curves.last.values()].map(({ member, step, loss, exact_match: exactMatch }) =>
    row([member, run.seeds[member], step.toLocaleString("en"),
      loss === null ? "—" : figure(loss), exactMatch === null ? "—" : share(exactMatch)])); // prettier-ignore
  at("members").replaceChildren(...rows);
}

function duration(seconds) {
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

async function again() {
  if (!document.hidden || !cursor) await renew().catch((error) => (at("now").textContent = `No answer: ${error.message}`));
  setTimeout(again, EVERY);
}

again();
