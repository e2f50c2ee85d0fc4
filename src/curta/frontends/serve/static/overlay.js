// The curves of several runs in one plot each: the median of each run's members, by step.

import { Chart } from "./chart.js";
import { Curves, figure, percent } from "./curves.js";
import { at } from "./send.js";

const EVERY = 3000;
const charts = [
  ["loss", new Chart(at("charts"), "Loss", [], figure, true)],
  ["exact_match", new Chart(at("charts"), "Exact match on training problems", [], percent, false)],
  ["validation_exact_match", new Chart(at("charts"), "Exact match in validations", [], percent, false)],
];
const runs = [...document.querySelectorAll("[data-place]")].map(({ dataset: { place, name } }) => ({ place, name, curves: new Curves(), cursor: "" }));

async function renew(run) {
  const { records, columns, cursor, more, anew } = await (await fetch(`${run.place}metrics.json?after=${run.cursor}`)).json();
  if (anew) run.curves = new Curves();
  for (const values of records) run.curves.add(Object.fromEntries(columns.map((column, i) => [column, values[i]])));
  run.cursor = cursor;
  if (more) await renew(run);
}

async function again() {
  await Promise.all(runs.map(renew)).catch(() => {}); // the server may be back in a moment
  const end = Math.max(1, ...runs.map(({ curves }) => curves.step));
  for (const [key, chart] of charts) {
    const lines = runs.map(({ name, curves }, n) => ({ kind: `line line-${n % 8}`, label: name, points: curves.spread(key) }));
    chart.svg.parentNode.hidden = !lines.some(({ points }) => points.length);
    chart.showLines(lines, end, at("log").checked);
  }
  setTimeout(again, EVERY);
}

again();
