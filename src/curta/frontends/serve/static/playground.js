// The form of a new run: what differs from the recipe is checked as it is typed, and trained.

import { at } from "./elements.js";
import { send } from "./send.js";

const PAUSE = 250; // milliseconds after the last key
const order = at("order"), fields = [...order.querySelectorAll("[name]")];
const recipe = order.dataset.recipe, asked = new URLSearchParams(location.search);
let timer = 0, newest = 0;

const original = (field) => field.defaultValue ?? [...field.options].find((option) => option.defaultSelected)?.value ?? "";
const changed = (field) => field.value !== original(field) || asked.has(field.name) || field.closest(".watched");

function content() {
  const settings = Object.fromEntries(fields.filter(changed).map((field) => [field.name, field.value.trim()]));
  return { recipe, settings, run: at("run").value.trim(), seeds: at("seeds").value.trim() };
}

function tell(errors) {
  for (const place of order.querySelectorAll(".wrong-field")) {
    const name = place.id.replace(/-wrong$/, ""), line = errors[name] ?? "", field = at(name);
    place.textContent = line;
    field?.setAttribute("aria-invalid", String(Boolean(line)));
    if (line) place.closest("details")?.setAttribute("open", "");
  }
  at("train").disabled = Object.keys(errors).length > 0;
  for (const field of fields) field.closest(".setting").classList.toggle("changed", field.value !== original(field));
}

async function check() {
  const number = ++newest, { errors, command } = await send("check", content());
  if (number !== newest) return; // a later one is on its way
  tell(errors);
  at("command").textContent = command;
}

const failed = (error) => tell({ "": error.message });

order.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(() => check().catch(failed), PAUSE);
});
// another encoding, or optimiser, has other fields
order.addEventListener("change", ({ target }) => {
  if (!/^(positions|optimizer)\.name$/.test(target.name)) return;
  const settings = Object.entries(content().settings).filter(([name]) => !at(name).closest(".watched"));
  location.search = new URLSearchParams([["recipe", recipe], ...settings]);
});
order.addEventListener("submit", async (event) => {
  event.preventDefault();
  at("train").disabled = true;
  try {
    const { page, errors } = await send("train", content());
    if (page) location.href = page;
    else tell(errors);
  } catch (error) {
    failed(error);
  }
});
check().catch(failed);
