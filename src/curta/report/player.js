// Plays the ways of vectors through training: a mark moves along each, its trail behind it.

const SECONDS = 8; // that a whole training takes
const LEAPS = 10; // in how many steps it is gone through where motion is not wanted

const calm = matchMedia("(prefers-reduced-motion: reduce)");

function begin(player) {
  const { steps, losses } = JSON.parse(player.querySelector("script").textContent);
  // of each way its points, its trail, and the mark with the digit, which move
  const ways = [...player.querySelectorAll("g")].map((group) => {
    const line = group.querySelector("polyline"), name = make("text", [], { x: 20, y: -14 }, group.querySelector("text"));
    const trail = drawn("polyline", { class: "trail" });
    const mark = drawn("g", { class: "mark" }, [drawn("circle", { r: 11 }), name]);
    group.append(trail, mark);
    return { points: line.getAttribute("points").split(" ").map((pair) => pair.split(",").map(Number)), trail, mark };
  });
  const last = steps.length - 1;
  const figures = [...player.querySelectorAll("[data-plane]")];
  const planes = [...new Set(figures.map(({ dataset }) => dataset.plane))];
  const button = pressable("");
  const slider = make("input", [], { type: "range", min: 0, max: last, step: 1, "aria-label": "Moment of training" });
  const plane = make("select", options(planes.map((name) => [name, name])), { "aria-label": "Plane" });
  const told = make("output", [], { class: "told" }), controls = player.querySelector(".controls");
  let moment = last, frame = 0, then = 0;

  function show(at) {
    moment = Math.min(at, last);
    const shown = Math.round(moment), loss = losses[shown];
    const before = Math.floor(moment), after = Math.min(before + 1, last);
    for (const { points, trail, mark } of ways) {
      const [x, y] = points[before].map((from, axis) => from + (points[after][axis] - from) * (moment - before));
      mark.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
      trail.setAttribute("points", [...points.slice(0, before + 1), [x, y]].join(" "));
    }
    slider.value = shown;
    told.textContent = `step ${counted(steps[shown])}${loss === null ? "" : `, loss ${loss}`}`;
    slider.setAttribute("aria-valuetext", told.textContent);
    button.textContent = frame ? "Pause" : calm.matches ? "A tenth on" : "Play";
  }

  function stop(at = moment) {
    cancelAnimationFrame(frame);
    frame = 0;
    show(at);
  }

  function tick(now) {
    const at = moment + ((now - then) / 1000 / SECONDS) * last;
    then = now;
    frame = at < last ? requestAnimationFrame(tick) : 0;
    show(at);
  }

  function play() {
    const from = moment < last ? moment : 0;
    if (calm.matches) return show(moment < last ? moment + Math.max(1, last / LEAPS) : 0);
    frame = requestAnimationFrame((now) => tick((then = now)));
    show(from);
  }

  // one plane at a time: without a script all are shown, below each other
  const choose = () => figures.forEach((figure) => (figure.hidden = figure.dataset.plane !== plane.value));
  button.addEventListener("click", () => (frame ? stop() : play()));
  slider.addEventListener("input", () => stop(Number(slider.value)));
  calm.addEventListener("change", () => stop());
  plane.addEventListener("change", choose);
  choose();
  controls.append(button, slider, plane, told);
  controls.hidden = false;
  player.classList.add("alive");
  show(last);
}

document.querySelectorAll(".player").forEach(begin);
