// The list of runs, kept as it is: the page is asked for again, and what differs is replaced.

import { at, listen, reveal, toggle } from "./elements.js";

const EVERY = 2000, PAUSE = 150;
const chosen = new Set(); // addresses of the runs to be put beside each other
let pending = 0;

// The list as it is searched and sorted, which the address keeps.
function address() {
  const query = new URLSearchParams([["find", at("find").value.trim()], ["sort", at("sort").value]].filter(([, value]) => value));
  return query.size ? `/?${query}` : "/";
}

// Cell by cell where the tables are the same, so that focus and selection stay where they are.
async function renew() {
  const reply = await fetch(address());
  const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
  const mains = [document, fresh].map((page) => page.querySelector("main"));
  const [before, after] = mains.map((main) => [...main.querySelectorAll("th, td, h2, p")]);
  const same = before.length === after.length && before.every((cell, i) => cell.tagName === after[i].tagName);
  const pairs = same ? before.map((cell, i) => [cell, after[i]]) : [mains];
  for (const [was, is] of pairs.filter(([a, b]) => a.innerHTML !== b.innerHTML)) {
    const held = was.contains(document.activeElement) && document.activeElement.getAttribute("href");
    was.replaceChildren(...is.childNodes);
    if (held) [...was.querySelectorAll("a")].find((link) => link.getAttribute("href") === held)?.focus();
  }
  choices();
}

function choices() {
  const boxes = [...document.querySelectorAll(".choose input")], there = new Set(boxes.map(({ value }) => value));
  for (const run of chosen) if (!there.has(run) && !at("find").value) chosen.delete(run);
  for (const box of boxes) box.checked = chosen.has(box.value);
  const several = chosen.size > 1, query = new URLSearchParams([...chosen].map((run) => ["run", run]));
  at("count").textContent = several ? `${chosen.size} runs chosen:` : `${chosen.size} run chosen. Choose another to compare them.`;
  at("overlay").href = `/overlay.html?${query}`;
  at("report").href = `/together.html?${query}`;
  reveal({ together: chosen.size, overlay: several, report: several });
}

async function again() {
  if (!document.hidden) await renew().catch(() => {}); // the server may be back in a moment
  setTimeout(again, EVERY);
}

listen("input", { tools: () => {
  clearTimeout(pending);
  pending = setTimeout(() => {
    history.replaceState(null, "", address());
    renew().catch(() => {});
  }, PAUSE);
} });
listen("submit", { tools: (event) => event.preventDefault() });
document.querySelector("main").addEventListener("change", ({ target: { value } }) => {
  toggle(chosen, value);
  choices();
});
listen("click", { none: () => (chosen.clear(), choices()) });
setTimeout(again, EVERY);
