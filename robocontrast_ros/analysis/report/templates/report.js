"use strict";
// Pictures lie in <template>s, which a browser neither decodes nor lays out until they are asked for.
function open(trial, wanted = true) {
  const button = trial.querySelector(".open");
  const detail = trial.querySelector(".detail");
  if (wanted && !detail.dataset.filled) {
    const cell = detail.querySelector("td");
    cell.append(cell.querySelector("template").content.cloneNode(true));
    detail.dataset.filled = "yes";
  }
  detail.hidden = !wanted;
  button.setAttribute("aria-expanded", String(wanted));
  trial.classList.toggle("opened", wanted);
}

function show(table) {
  const chosen = [...table.querySelectorAll("[data-filter]")];
  const words = table.querySelector("[data-search]");
  const wanted = words ? words.value.trim().toLowerCase() : "";
  const trials = [...table.querySelectorAll("tbody.trial")];
  let shown = 0;
  for (const trial of trials) {
    const fits = chosen.every((c) => !c.value || trial.dataset[c.dataset.filter] === c.value);
    trial.hidden = !(fits && trial.dataset.words.toLowerCase().includes(wanted));
    shown += trial.hidden ? 0 : 1;
  }
  table.querySelector("output").textContent = `${shown} of ${trials.length} shown`;
}

function sort(header) {
  const table = header.closest("table");
  const column = [...header.parentElement.children].indexOf(header);
  const down = header.getAttribute("aria-sort") === "ascending";
  for (const other of header.parentElement.children) other.removeAttribute("aria-sort");
  header.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (body) => body.rows[0].cells[column].dataset.sort;
  const numbers = header.dataset.numbers !== undefined;
  const compare = (a, b) => {
    const [x, y] = [key(a), key(b)];
    // What is unknown comes last, whichever way.
    if (x === "" || y === "") return (x === "") - (y === "");
    return (down ? -1 : 1) * (numbers ? Number(x) - Number(y) : x.localeCompare(y));
  };
  table.append(...[...table.tBodies].sort(compare));
}

function goTo(hash) {
  const trial = hash && document.getElementById(hash.slice(1));
  if (trial && trial.matches("details.pair")) {
    trial.open = true;
    trial.scrollIntoView();
  }
  if (!trial || !trial.matches("tbody.trial")) return;
  if (trial.hidden) {
    const table = trial.closest("[data-trials]");
    for (const field of table.querySelectorAll("[data-filter], [data-search]")) field.value = "";
    show(table);
  }
  open(trial);
  trial.scrollIntoView();
}

for (const table of document.querySelectorAll("[data-trials]")) {
  table.addEventListener("click", (event) => {
    const opener = event.target.closest(".open");
    if (opener) open(opener.closest("tbody"), opener.getAttribute("aria-expanded") !== "true");
    const sorter = event.target.closest(".sort");
    if (sorter) sort(sorter.closest("th"));
    const all = event.target.closest("[data-all]");
    if (all) {
      for (const trial of table.querySelectorAll("tbody.trial:not([hidden])")) open(trial, all.dataset.all === "open");
    }
  });
  table.addEventListener("input", () => show(table));
  show(table);
}
// A pair shows what its two trials have, which is in the page once.
for (const pair of document.querySelectorAll("details.pair")) {
  pair.addEventListener("toggle", () => {
    if (!pair.open || pair.dataset.filled) return;
    pair.dataset.filled = "yes";
    pair.dataset.pair.split(" ").forEach((trial, number) => {
      const content = document.querySelector(`#trial-${trial} template`).content.cloneNode(true);
      pair.querySelectorAll(".half")[number].append(content);
    });
  });
}
// The link of what is shown already changes no hash.
document.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  const hash = link && (link.getAttribute("href") || link.getAttribute("xlink:href"));
  if (hash && /^#(trial|pair)-/.test(hash) && hash === location.hash) goTo(hash);
});
addEventListener("hashchange", () => goTo(location.hash));
addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details")) details.open = true;
});
goTo(location.hash);
