// A map of exact match: what is in the cell under the pointer, or the one chosen by arrow keys.

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
  const svg = map.querySelector("svg"), cells = svg.querySelector(".cells"), last = digits.length - 1;
  const words = make("p", { class: "told", role: "status" }, "Point at a cell, or go there with the arrow keys, to read its value.");
  const members = correct.map((_, member) => member);
  let chosen = -1;

  const values = (first, second) => correct.map((member) => member[first][second] / count);
  const band = (share) => edges.findLastIndex((edge) => edge <= share);

  function paint() {
    cells.replaceChildren(...digits.flatMap((_, first) => digits.map((_, second) => {
      const shares = values(first, second), share = chosen < 0 ? median(shares) : shares[chosen];
      return drawn("rect", { x: second, y: last - first, width: 1, height: 1, class: `band-${band(share)}` });
    })), grid.cursor);
  }

  function tell(x, y) {
    const first = last - y, shares = values(first, x), lowest = Math.min(...shares);
    const worst = members.filter((member) => shares[member] === lowest);
    const whose = worst.length === members.length ? "every member" : `member ${worst.join(", ")}`;
    const lengths = `${digits[first]} by ${digits[x]} digits`;
    words.textContent = members.length === 1
      ? `${lengths}: ${percent(lowest)}% of ${count} problems`
      : chosen < 0
        ? `${lengths}: median ${percent(median(shares))}%, lowest ${percent(lowest)}% (${whose})`
        : `${lengths}: member ${chosen} ${percent(shares[chosen])}%, median of all ${percent(median(shares))}%`;
  }

  const size = digits.length, label = "Heat map of exact match";
  const grid = explored(svg, cells, { wide: size, high: size, label, start: [last, 0], tell });
  if (members.length > 1) {
    const options = [[-1, "median of the members"], ...members.map((member) => [member, `member ${member}`])];
    map.prepend(make("p", { class: "row controls" }, chooser("Show", options, (member) => {
      chosen = member;
      paint();
      grid.again();
    })));
  }
  map.append(words);
  cells.append(grid.cursor);
}

document.querySelectorAll(".heat").forEach(begin);
