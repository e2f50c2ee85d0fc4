// One chart of some lines by training step, at each of which they can be read off.

import { at, counted, drawn, make, numbered } from "./elements.js";

const LEFT = 52, BOTTOM = 22, TOP = 8, RIGHT = 10;

export class Chart {
  constructor(title, shown, log) {
    Object.assign(this, { shown, log, at: null, points: [], lines: [] });
    // whoever cannot point at the line reads it with a slider, which lies out of sight
    const slider = make("input", [], { type: "range", min: 0, "aria-label": `${title} by training step` });
    Object.assign(this, { svg: drawn("svg", { "aria-hidden": true }), slider, line: make("p", "No step is recorded yet.") });
    at("charts").append(make("section", [make("h2", title), slider, this.svg, this.line], { class: "chart" }));
    slider.addEventListener("input", () => this.choose(Number(slider.value)));
    slider.addEventListener("keydown", ({ key }) => key === "Escape" && this.choose(null));
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.choose(null));
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  // Lines `{kind, points, label, end}`: those with a label are read off, the one that ends last sets the steps.
  show(lines, end, logSteps) {
    this.lines = lines.filter(({ points }) => points.length);
    this.points = this.lines.filter(({ label }) => label !== undefined).sort((a, b) => (b.end ?? 0) - (a.end ?? 0))[0]?.points ?? [];
    if (!this.points.length) return;
    const first = logSteps ? Math.min(this.points[0][0], end / 2) : 0;
    this.across = scale([first, end], logSteps);
    this.marks = [0, 0.25, 0.5, 0.75, 1];
    if (this.log) { // the powers of ten around all values, at least one apart
      const logs = this.lines.flatMap(({ points }) => points.map(([, value]) => Math.log10(value)));
      const ends = logs.filter(Number.isFinite).sort((a, b) => a - b);
      const low = Math.floor(ends[0] ?? -1), high = Math.max(Math.ceil(ends.at(-1) ?? 0), low + 1);
      const every = Math.ceil((high - low) / 5);
      this.marks = numbered(Math.floor((high - low) / every) + 1).map((n) => 10 ** (high - n * every));
      this.up = scale([10 ** low, 10 ** high], true);
    } else this.up = scale([0, 1], false);
    this.draw();
  }

  draw() {
    if (!this.points.length) return;
    Object.assign(this, { width: this.svg.clientWidth, height: this.svg.clientHeight });
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    const count = this.width < 500 ? 2 : 5;
    for (const value of this.marks) {
      const y = this.y(value);
      this.add("line", { class: "grid", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y });
      this.add("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, this.shown(value));
    }
    for (let i = 0; i <= count; i++) {
      const x = LEFT + ((this.width - LEFT - RIGHT) * i) / count;
      const anchor = i === count ? "end" : i ? "middle" : "start";
      this.add("text", { x, y: this.height - 4, "text-anchor": anchor }, counted(Math.round(this.step(x))));
    }
    for (const { kind, points } of this.lines) {
      const line = points.map(([step, value]) => `${this.x(step).toFixed(1)},${this.y(value).toFixed(1)}`);
      this.add("polyline", { class: kind, points: line.join(" ") });
    }
    this.read();
  }

  // The step that was chosen, or the newest, in words and for whoever cannot see the line.
  read() {
    const newest = this.points.length - 1, chosen = Math.min(this.at ?? newest, newest), [step] = this.points[chosen];
    const values = this.lines.filter(({ label }) => label !== undefined).map(({ label, points, end }) => {
      const [, middle, least, most] = points.findLast(([at]) => at <= step) ?? [];
      if (middle === undefined) return "";
      const ended = end < step ? `, its last at step ${counted(points.at(-1)[0])}` : "";
      return `${label} ${this.shown(middle)}${least < most ? `, ${this.shown(least)} to ${this.shown(most)}` : ""}${ended}`.trim();
    });
    this.line.textContent = `step ${counted(step)}: ${values.filter(Boolean).join("; ")}`;
    Object.assign(this.slider, { max: newest, value: chosen, ariaValueText: this.line.textContent });
    this.svg.querySelector(".cursor")?.remove();
    if (this.at === null) return;
    const x = this.x(step);
    this.add("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: this.height - BOTTOM });
  }

  point(event) {
    if (!this.points.length) return;
    const { left } = this.svg.getBoundingClientRect(), step = this.step(event.clientX - left);
    const later = this.points.findIndex(([at]) => at >= step);
    this.choose(later < 0 ? this.points.length - 1 : later);
  }

  choose(at) {
    this.at = at;
    if (this.points.length) this.read();
  }

  x(step) { return LEFT + this.across.part(step) * (this.width - LEFT - RIGHT); }

  step(x) { return this.across.value((x - LEFT) / (this.width - LEFT - RIGHT)); }

  y(value) { return TOP + (1 - this.up.part(value)) * (this.height - TOP - BOTTOM); }

  add(name, attributes, text = []) {
    this.svg.append(drawn(name, attributes, text));
  }
}

// An axis between two ends, and logarithmic if wanted: which part of it lies below a value, and back.
function scale([low, high], log) {
  const place = log ? (value) => Math.log(Math.max(value, low)) : Number, back = log ? Math.exp : Number;
  const from = place(low), length = place(high) - from;
  return { part: (value) => (place(value) - from) / length, value: (part) => back(from + part * length) };
}
