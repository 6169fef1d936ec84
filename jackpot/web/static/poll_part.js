// Parts of a page that are asked for again now and then, while somebody can see them.

import { leave } from "./leave.js";

const REACHED = "a, summary, [tabindex]";

/** Ask for a part again; whatever was unfolded, focused or scrolled in it stays so. */
async function renew(part) {
  let response;
  try {
    // The header says that nobody asked: a page that is only left open does not keep its session alive.
    response = await fetch(part.dataset.fresh, { redirect: "manual", headers: { "X-Unattended": "1" } });
  } catch {
    part.classList.add("stale");
    return;
  }
  if (response.type === "opaqueredirect") {
    leave();
    return;
  }
  part.classList.toggle("stale", !response.ok);
  if (response.ok) place(part, await response.text());
}

function place(part, text) {
  const all = (what) => [...part.querySelectorAll(what)];
  const open = new Set(all("details[open]").map((one) => one.id));
  const scrolled = all(".scroll").map((one) => [one.scrollLeft, one.scrollTop]);
  const focused = all(REACHED).indexOf(document.activeElement);
  part.innerHTML = text;
  for (const one of all("details")) one.open = open.has(one.id);
  all(".scroll").forEach((one, n) => one.scrollTo(...(scrolled[n] ?? [0, 0])));
  all(REACHED)[focused]?.focus({ preventScroll: true });
}

for (const part of document.querySelectorAll("[data-fresh]")) {
  const every = Number(part.dataset.every) * 1_000;
  let asked = performance.now();
  const look = () => {
    if (document.visibilityState !== "visible" || performance.now() - asked < every) return;
    asked = performance.now();
    renew(part);
  };
  setInterval(look, 500);
  document.addEventListener("visibilitychange", look);
}
