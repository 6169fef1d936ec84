// Parts of a page that follow the floor: fetched anew after a fragment that they name has changed, while somebody is there.
// Whoever has gone away is not kept signed in by a page that goes on asking.

import { swap } from "./swap.js";

const BETWEEN_MS = 1_000;
const AWAY_MS = 10 * 60_000;

let thereAt = performance.now();
let askedAt = -BETWEEN_MS;
let isDue = false;
let timer = 0;

const parts = () => [...document.querySelectorAll("[data-refresh][id]")];

/** A fragment has changed. */
export function changed(name) {
  if (!parts().some((part) => part.dataset.refresh.split(" ").includes(name))) return;
  isDue = true;
  schedule();
}

function schedule() {
  const isThere = !document.hidden && performance.now() - thereAt < AWAY_MS;
  if (!isDue || timer || !isThere) return;
  timer = setTimeout(refresh, Math.max(0, askedAt + BETWEEN_MS - performance.now()));
}

async function refresh() {
  isDue = false;
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (response.ok && !response.redirected) place(await response.text());
  } catch {
    isDue = true; // the controller is not reached: the next change, or the next touch, asks again
  } finally {
    askedAt = performance.now();
    timer = 0;
  }
  if (isDue) setTimeout(schedule, BETWEEN_MS);
}

function place(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const part of parts()) {
    const now = fresh.getElementById(part.id);
    if (now && now.innerHTML !== part.innerHTML) swap(part, now.innerHTML);
  }
}

for (const kind of ["pointerdown", "pointermove", "keydown", "visibilitychange"]) {
  document.addEventListener(kind, () => {
    thereAt = performance.now();
    schedule();
  }, { passive: true });
}
