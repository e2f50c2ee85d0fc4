// The list of runs, kept as it is: the page is asked for again, and what differs is replaced.

import { at } from "./elements.js";

const EVERY = 2000;
const chosen = new Set(); // addresses of the runs to be put beside each other

// The list as it is searched and sorted, which the address keeps.
function address() {
  const query = new URLSearchParams([["find", at("find").value.trim()], ["sort", at("sort").value]].filter(([, value]) => value));
  return query.size ? `/?${query}` : "/";
}

async function renew() {
  const reply = await fetch(address());
  const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
  replace(document.querySelector("main"), fresh.querySelector("main"));
  choices();
}

// Cell by cell where the tables are the same, so that focus and selection stay where they are.
function replace(old, fresh) {
  const [before, after] = [old, fresh].map((main) => [...main.querySelectorAll("th, td, h2, p")]);
  const same = before.length === after.length && before.every((cell, i) => cell.tagName === after[i].tagName);
  const pairs = same ? before.map((cell, i) => [cell, after[i]]) : [[old, fresh]];
  for (const [was, is] of pairs) if (was.innerHTML !== is.innerHTML) put(was, is);
}

function put(was, is) {
  const held = was.contains(document.activeElement) && document.activeElement.getAttribute("href");
  was.replaceChildren(...is.childNodes);
  if (held) [...was.querySelectorAll("a")].find((link) => link.getAttribute("href") === held)?.focus();
}

// Ticks what is chosen, and offers to overlay it.
function choices() {
  const boxes = [...document.querySelectorAll(".choose input")], there = new Set(boxes.map(({ value }) => value));
  for (const box of boxes) box.checked = chosen.has(box.value);
  for (const run of chosen) if (!there.has(run) && !at("find").value) chosen.delete(run);
  const query = new URLSearchParams([...chosen].map((run) => ["run", run]));
  at("together").hidden = !chosen.size;
  at("count").textContent = `${chosen.size} ${chosen.size > 1 ? "runs" : "run"} chosen${chosen.size > 1 ? ":" : ". Choose another to compare them."}`;
  for (const [id, page] of [["overlay", "overlay"], ["report", "together"]]) {
    at(id).hidden = chosen.size < 2;
    at(id).href = `/${page}.html?${query}`;
  }
}

let pending = 0;
function soon() {
  clearTimeout(pending);
  pending = setTimeout(() => {
    history.replaceState(null, "", address());
    renew().catch(() => {});
  }, 150);
}

async function again() {
  if (!document.hidden) await renew().catch(() => {}); // the server may be back in a moment
  setTimeout(again, EVERY);
}

at("tools").addEventListener("input", soon);
at("tools").addEventListener("submit", (event) => event.preventDefault());
document.querySelector("main").addEventListener("change", ({ target: { value, checked } }) => {
  chosen[checked ? "add" : "delete"](value);
  choices();
});
at("none").addEventListener("click", () => (chosen.clear(), choices()));
setTimeout(again, EVERY);
