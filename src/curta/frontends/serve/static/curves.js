// Curves of all members by step, thinned as they grow.

import { spread } from "./elements.js";

const MOST = 1200;
const ABOUT = ["step", "member", "seconds"];

export const figure = (value) => (value === 0 ? "0" : value < 1e-4 ? value.toExponential(0) : `${Number(value.toPrecision(3))}`);

// What is new of a run's records, and how far it is read: `{run, curves, cursor}`.
export async function read(place, cursor, curves) {
  const reply = await fetch(`${place}metrics.json?after=${cursor}`);
  if (!reply.ok) throw new Error(reply.statusText);
  const run = await reply.json(), grown = run.anew || !curves ? new Curves() : curves;
  for (const values of run.records ?? []) grown.add(Object.fromEntries(run.columns.map((column, i) => [column, values[i]])));
  return { run, curves: grown, cursor: run.cursor ?? cursor };
}

class Curves {
  members = new Map(); // member: { key: [[step, value], ...] }
  last = new Map(); // member: its last record
  times = []; // [step, seconds] at the end of each stretch

  add(record) {
    const own = this.members.get(record.member) ?? {};
    this.members.set(record.member, own);
    this.last.set(record.member, record);
    for (const key of Object.keys(record).filter((name) => !ABOUT.includes(name))) {
      const curve = (own[key] ??= []);
      if (record[key] !== null) curve.push([record.step, record[key]]);
      if (curve.length <= MOST) continue;
      // merge neighbours in pairs: the later step, the mean value; keep the newest point
      own[key] = curve.slice(0, -1).flatMap(([step, value], i) => (i % 2 ? [[step, (value + curve[i - 1][1]) / 2]] : []));
      own[key].push(curve.at(-1));
    }
    if (record.seconds !== this.times.at(-1)?.[1]) this.times.push([record.step, record.seconds]);
    else this.times.at(-1)[0] = record.step;
    if (this.times.length > MOST) this.times = this.times.filter((_, i) => i % 2 || i > MOST / 2);
  }

  // The step and the seconds at the end of a stretch, counted from the newest; zeros before the first.
  time(back) { return this.times.at(-1 - back) ?? [0, 0]; }

  get step() { return this.time(0)[0]; }

  get stretch() { return this.time(0)[1] - this.time(1)[1]; }

  // Steps a second over the last five stretches, or from the start where there are fewer.
  get rate() {
    const [step, seconds] = this.time(0), [before, then] = this.time(5);
    return seconds > then ? (step - before) / (seconds - then) : 0;
  }

  of(key) {
    return [...this.members.values()].map((own) => own[key] ?? []).filter((curve) => curve.length);
  }

  named(begin) {
    const names = [...this.members.values()].flatMap((own) => Object.keys(own));
    return [...new Set(names)].filter((name) => name.startsWith(begin));
  }

  spread(key) {
    const values = new Map();
    for (const [step, value] of this.of(key).flat()) values.set(step, [...(values.get(step) ?? []), value]);
    return [...values].sort(([a], [b]) => a - b).map(([step, all]) => [step, ...spread(all)]);
  }
}
