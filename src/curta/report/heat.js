// A map of exact match: what is in the cell under the pointer, or the one chosen by arrow keys.

const SVG = "http://www.w3.org/2000/svg";

function make(name, attributes, children = []) {
  const made = document.createElement(name);
  made.append(...[children].flat());
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function median(values) {
  const sorted = [...values].sort((a, b) => a - b), middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Percent to one decimal; only all is 100.0 and only none is 0.0. */
function percent(share) {
  if (share < 1 && share >= 0.9995) return ">99.9";
  if (share > 0 && share < 0.0005) return "<0.1";
  return (100 * share).toFixed(1);
}

function begin(map) {
  const { digits, count, edges, correct } = JSON.parse(map.querySelector("script").textContent);
  const drawn = map.querySelector("svg"), cells = drawn.querySelector(".cells"), last = digits.length - 1;
  const told = make("p", { class: "told", role: "status" });
  const cursor = document.createElementNS(SVG, "rect");
  const members = correct.map((_, member) => member);
  let at = [last, last], chosen = -1;

  const values = ([first, second]) => correct.map((member) => member[first][second] / count);
  const band = (share) => edges.findLastIndex((edge) => edge <= share);

  function paint() {
    cells.replaceChildren(...digits.flatMap((_, first) => digits.map((_, second) => {
      const rect = document.createElementNS(SVG, "rect"), mine = values([first, second]);
      const share = chosen < 0 ? median(mine) : mine[chosen];
      const place = { x: second, y: last - first, width: 1, height: 1, class: `band-${band(share)}` };
      for (const [key, value] of Object.entries(place)) rect.setAttribute(key, value);
      return rect;
    })), cursor);
  }

  function tell([first, second]) {
    const mine = values([first, second]), lowest = Math.min(...mine);
    const worst = members.filter((member) => mine[member] === lowest);
    const whose = worst.length === members.length ? "every member" : `member ${worst.join(", ")}`;
    const lengths = `${digits[first]} by ${digits[second]} digits`;
    told.textContent = members.length === 1
      ? `${lengths}: ${percent(lowest)}% of ${count} problems`
      : chosen < 0
        ? `${lengths}: median ${percent(median(mine))}%, lowest ${percent(lowest)}% (${whose})`
        : `${lengths}: member ${chosen} ${percent(mine[chosen])}%, median of all ${percent(median(mine))}%`;
    cursor.setAttribute("x", second);
    cursor.setAttribute("y", last - first);
    cursor.classList.add("on");
  }

  function pointed(event) {
    const { a, e, f } = cells.getScreenCTM();
    const second = Math.floor((event.clientX - e) / a), first = last - Math.floor((event.clientY - f) / a);
    if (first < 0 || first > last || second < 0 || second > last) return;
    tell((at = [first, second]));
  }

  function typed(event) {
    const moves = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    tell((at = at.map((place, axis) => Math.min(last, Math.max(0, place + move[axis])))));
  }

  cursor.setAttribute("class", "cursor");
  cursor.setAttribute("width", 1);
  cursor.setAttribute("height", 1);
  const field = make("div", { class: "field", tabindex: 0, role: "application",
    "aria-label": "Heat map of exact match: arrow keys go from cell to cell" });
  drawn.before(field);
  field.append(drawn);
  field.addEventListener("pointermove", pointed);
  field.addEventListener("pointerdown", pointed);
  field.addEventListener("keydown", typed);
  field.addEventListener("focus", () => field.matches(":focus-visible") && tell(at));
  told.textContent = "Point at a cell, or go there with the arrow keys, to read its value.";
  if (members.length > 1) {
    const options = members.map((member) => make("option", { value: member }, `member ${member}`));
    const select = make("select", {}, [make("option", { value: -1 }, "median of the members"), ...options]);
    select.addEventListener("change", () => {
      chosen = Number(select.value);
      paint();
      tell(at);
    });
    map.prepend(make("p", { class: "row controls" }, make("label", {}, ["Show ", select])));
  }
  map.append(told);
  cells.append(cursor);
}

document.querySelectorAll(".heat").forEach(begin);
