// The curves of several runs in one plot each: the median of each run's members, by step.

import { Chart } from "./chart.js";
import { figure, read } from "./curves.js";
import { at, percent } from "./elements.js";

const EVERY = 3000;
const charts = [
  ["loss", new Chart("Loss", figure, true)],
  ["exact_match", new Chart("Exact match on training problems", percent, false)],
  ["validation_exact_match", new Chart("Exact match in validations", percent, false)],
];
const runs = [...document.querySelectorAll("[data-place]")].map(({ dataset: { place, name } }) => ({ place, name, curves: null, cursor: "" }));

async function renew(each) {
  const { run, ...fresh } = await read(each.place, each.cursor, each.curves);
  Object.assign(each, fresh);
  if (run.more) await renew(each);
}

async function again() {
  await Promise.all(runs.map(renew)).catch(() => {}); // the server may be back in a moment
  const begun = runs.filter(({ curves }) => curves), end = Math.max(1, ...begun.map(({ curves }) => curves.step));
  for (const [key, chart] of charts) {
    const lines = begun.map(({ name, curves }, n) => ({ kind: `line line-${n % 8}`, label: name, points: curves.spread(key), end: curves.step }));
    chart.svg.parentNode.hidden = !lines.some(({ points }) => points.length);
    chart.show(lines, end, at("log").checked);
  }
  setTimeout(again, EVERY);
}

again();
