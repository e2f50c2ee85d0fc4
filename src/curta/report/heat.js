// A map of exact match: what is in the cell under the pointer, or the one chosen by arrow keys.

function begin(map) {
  const { digits, count, edges, correct } = JSON.parse(map.querySelector("script").textContent);
  const svg = map.querySelector("svg"), cells = svg.querySelector(".cells"), last = digits.length - 1;
  const members = correct.map((_, member) => member);
  let chosen = -1;

  const values = (first, second) => correct.map((member) => member[first][second] / count);
  const band = (share) => edges.findLastIndex((edge) => edge <= share);

  function paint() {
    cells.replaceChildren(...digits.flatMap((_, first) => digits.map((_, second) => {
      const shares = values(first, second), share = chosen < 0 ? spread(shares)[0] : shares[chosen];
      return drawn("rect", { x: second, y: last - first, width: 1, height: 1, class: `band-${band(share)}` });
    })), grid.cursor);
  }

  function tell(x, y) {
    const first = last - y, shares = values(first, x), [middle, lowest] = spread(shares);
    const worst = members.filter((member) => shares[member] === lowest);
    const whose = worst.length === members.length ? "every member" : `member ${worst.join(", ")}`;
    const all = `median ${percent(middle)}, lowest ${percent(lowest)} (${whose})`;
    const several = chosen < 0 ? all : `member ${chosen} ${percent(shares[chosen])}, median of all ${percent(middle)}`;
    words.textContent = `${digits[first]} by ${digits[x]} digits: ${members.length > 1 ? several : `${percent(lowest)} of ${count} problems`}`;
  }

  const size = digits.length, label = "Heat map of exact match";
  const grid = explored(svg, cells, { wide: size, high: size, label, start: [last, 0], tell });
  if (members.length > 1) {
    const options = [[-1, "median of the members"], ...members.map((member) => [member, `member ${member}`])];
    map.prepend(make("p", chooser("Show", options, (member) => {
      chosen = member;
      paint();
      grid.again();
    }), { class: "row controls" }));
  }
  const words = telling(map, "its value");
  cells.append(grid.cursor);
}

document.querySelectorAll(".heat").forEach(begin);
