// The list of runs, kept as it is: the page is asked for again, and what differs is replaced.

const EVERY = 2000;

async function renew() {
  if (!document.hidden) {
    const reply = await fetch("/");
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html");
    replace(document.querySelector("main"), fresh.querySelector("main"));
  }
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

async function again() {
  await renew().catch(() => {}); // the server may be back in a moment
  setTimeout(again, EVERY);
}

setTimeout(again, EVERY);
