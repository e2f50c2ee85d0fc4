// A map of exact match: what is in the cell under the pointer, or the one chosen by arrow keys.

function begin(map) {
  const { digits, count, edges, correct } = JSON.parse(map.querySelector("script").textContent);
  const cells = map.querySelector(".cells"), size = digits.length, members = [...correct.keys()];
  let chosen = -1;

  const values = (first, second) => correct.map((member) => member[first][second] / count);

  function paint(member) {
    chosen = member;
    cells.replaceChildren(...digits.flatMap((_, first) => digits.map((_, second) => {
      const shares = values(first, second), share = chosen < 0 ? spread(shares)[0] : shares[chosen];
      const name = `band-${edges.findLastIndex((edge) => edge <= share)}`;
      return drawn("rect", { x: second, y: size - 1 - first, width: 1, height: 1, class: name });
    })), cursor);
  }

  function tell(x, y) {
    const first = size - 1 - y, shares = values(first, x), [middle, lowest] = spread(shares);
    const worst = members.filter((member) => shares[member] === lowest);
    const whose = worst.length === members.length ? "every member" : `member ${worst.join(", ")}`;
    const all = `median ${percent(middle)}, lowest ${percent(lowest)} (${whose})`;
    const several = chosen < 0 ? all : `member ${chosen} ${percent(shares[chosen])}, median of all ${percent(middle)}`;
    return `${digits[first]} by ${digits[x]} digits: ${members.length > 1 ? several : `${percent(lowest)} of ${count} problems`}`;
  }

  const whom = [[-1, "median of the members"], ...members.map((member) => [member, `member ${member}`])];
  const cursor = explored(map, cells, {
    wide: size, high: size, label: "Heat map of exact match", start: [size - 1, 0], tell, what: "its value",
    choices: members.length > 1 ? [["Show", whom, paint]] : [],
  });
  cells.append(cursor);
}

document.querySelectorAll(".heat").forEach(begin);
