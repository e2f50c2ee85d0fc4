// One chart of some lines by training step, at each of which they can be read off.

import { counted, drawn, make } from "./elements.js";

const LEFT = 52, BOTTOM = 22, TOP = 8, RIGHT = 10;

export class Chart {
  // `keys` are the curve of all members, and that of the validation beside it.
  constructor(parent, title, keys, shown, log) {
    Object.assign(this, { title, keys, shown, log, at: null, points: [], lines: [] });
    Object.assign(this, { svg: drawn("svg"), line: make("p", "No step is recorded yet.") });
    parent.append(make("section", [make("h2", title), this.svg, this.line], { class: "chart" }));
    this.svg.addEventListener("keydown", (event) => this.press(event));
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", () => this.choose(null));
    new ResizeObserver(() => this.draw()).observe(this.svg);
  }

  // The curves of one run: each member thin, their median thick, the validation dashed.
  show(curves, end, logSteps = false) {
    const [median, validation] = this.keys.map((key) => curves.spread(key)), members = curves.of(this.keys[0]);
    const thin = members.length > 1 ? members.map((points) => ({ kind: "member", points })) : [];
    const dashed = { kind: "validation", points: validation, label: "held out" };
    this.showLines([...thin, { kind: "median", points: median, label: "" }, dashed], end, logSteps);
  }

  // Lines `{kind, points, label}`: those with a label are read off, the first of them sets the steps.
  showLines(lines, end, logSteps = false) {
    this.lines = lines.filter(({ points }) => points.length);
    this.points = this.lines.find(({ label }) => label !== undefined)?.points ?? [];
    if (!this.points.length) return;
    const first = logSteps ? Math.min(this.points[0][0], end / 2) : 0;
    this.across = scale([first, end], logSteps);
    this.up = this.log ? scale(decades(this.lines), true) : scale([0, 1], false);
    this.draw();
  }

  draw() {
    if (!this.points.length) return;
    this.width = this.svg.clientWidth;
    this.height = this.svg.clientHeight;
    this.svg.replaceChildren();
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.axes();
    for (const { kind, points } of this.lines) {
      const line = points.map(([step, value]) => `${this.x(step).toFixed(1)},${this.y(value).toFixed(1)}`);
      this.add("polyline", { class: kind, points: line.join(" ") });
    }
    this.read();
  }

  axes() {
    for (const value of this.log ? powers(this.up.ends) : [0, 0.25, 0.5, 0.75, 1]) {
      const y = this.y(value);
      this.add("line", { class: "grid", x1: LEFT, x2: this.width - RIGHT, y1: y, y2: y });
      this.add("text", { x: LEFT - 6, y: y + 4, "text-anchor": "end" }, this.shown(value));
    }
    const count = this.width < 500 ? 2 : 5;
    for (let i = 0; i <= count; i++) {
      const x = LEFT + ((this.width - LEFT - RIGHT) * i) / count;
      const anchor = i === count ? "end" : i ? "middle" : "start";
      this.add("text", { x, y: this.height - 4, "text-anchor": anchor }, counted(Math.round(this.step(x))));
    }
  }

  // The step that was chosen, or the newest, in words and for whoever cannot see the line.
  read() {
    const newest = this.points.length - 1;
    const [step] = this.points[Math.min(this.at ?? newest, newest)];
    const values = this.lines.filter(({ label }) => label !== undefined).map(({ label, points }) => {
      const [, middle, least, most] = points.findLast(([at]) => at <= step) ?? [];
      if (middle === undefined) return "";
      return `${label} ${this.shown(middle)}${least < most ? `, ${this.shown(least)} to ${this.shown(most)}` : ""}`.trim();
    });
    this.line.textContent = `step ${counted(step)}: ${values.filter(Boolean).join("; ")}`;
    make("svg", [], {
      role: "slider", tabindex: "0", "aria-label": `${this.title} by training step`,
      "aria-valuemin": this.points[0][0], "aria-valuemax": this.points[newest][0], "aria-valuenow": step,
      "aria-valuetext": this.line.textContent,
    }, this.svg);
    this.svg.querySelector(".cursor")?.remove();
    if (this.at === null) return;
    const x = this.x(step);
    this.add("line", { class: "cursor", x1: x, x2: x, y1: TOP, y2: this.height - BOTTOM });
  }

  press(event) {
    const newest = this.points.length - 1, now = this.at ?? newest, page = Math.ceil(newest / 10);
    const moved = {
      ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1,
      PageDown: now - page, PageUp: now + page, Home: 0, End: null, Escape: null,
    };
    if (!(event.key in moved) || newest < 0) return;
    event.preventDefault();
    const at = moved[event.key];
    this.choose(at === null ? null : Math.max(0, Math.min(newest, at)));
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
  const place = log ? (value) => Math.log(Math.max(value, low)) : Number;
  const from = place(low), length = place(high) - from;
  return {
    ends: [low, high],
    part: (value) => (place(value) - from) / length,
    value: (part) => (log ? Math.exp(from + part * length) : from + part * length),
  };
}

// The powers of ten around all values, at least one apart.
function decades(lines) {
  const values = lines.flatMap(({ points }) => points.map(([, value]) => value)).filter((value) => value > 0);
  if (!values.length) return [0.1, 1];
  const low = Math.floor(Math.log10(values.reduce((a, b) => Math.min(a, b))));
  const high = Math.ceil(Math.log10(values.reduce((a, b) => Math.max(a, b))));
  return [10 ** low, 10 ** Math.max(high, low + 1)];
}

function powers([low, high]) {
  const first = Math.round(Math.log10(low)), last = Math.round(Math.log10(high));
  const every = Math.ceil((last - first) / 5);
  return Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, n) => 10 ** (last - n * every));
}
