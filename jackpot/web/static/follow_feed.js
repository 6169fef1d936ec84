// Parts of a page that follow the floor: fetched anew after a fragment that they name has changed, while they are seen.

import { leave } from "./leave.js";
import { swap } from "./swap.js";

const BETWEEN_MS = 1_000;

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

/** Whoever looks has done something: what it changed is fetched at once. */
export function renew() {
  isDue = true;
  askedAt = -BETWEEN_MS;
  schedule();
}

function schedule() {
  if (!isDue || timer || document.hidden) return;
  timer = setTimeout(refresh, Math.max(0, askedAt + BETWEEN_MS - performance.now()));
}

/** The page as it would be now; null where the session has ended, and the controller says where to go. */
async function now() {
  // The header says that nobody asked: a page that is only left open does not keep its session alive.
  const response = await fetch(location.href, { headers: { Accept: "text/html", "X-Unattended": "1" } });
  if (response.redirected) leave();
  return response.ok && !response.redirected ? await response.text() : null;
}

/** The feed is not to be had: because the controller is away, or because nobody is signed in here any more. */
export async function leaveIfSignedOut() {
  try {
    await now();
  } catch {
    // The controller is not reached, and the page says so already.
  }
}

async function refresh() {
  isDue = false;
  try {
    const text = await now();
    if (text !== null) place(text);
  } catch {
    isDue = true; // the controller is not reached
  }
  askedAt = performance.now();
  timer = 0;
  schedule();
}

/** Each part as it is now; where one is gone, the page has become another one, and all of it is exchanged. */
function place(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const isSame = parts().every((part) => fresh.getElementById(part.id));
  for (const part of isSame ? parts() : [document.getElementById("main")]) {
    const found = fresh.getElementById(part.id);
    if (found.innerHTML !== part.innerHTML && !isBeingFilledIn(part)) swap(part, found.innerHTML);
  }
}

/** Nobody loses what they are writing. */
function isBeingFilledIn(part) {
  const isTouched = (field) =>
    field.options
      ? field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected))
      : field.value !== field.defaultValue || field.checked !== field.defaultChecked;
  return [...part.querySelectorAll("input, select, textarea")].some(isTouched);
}

document.addEventListener("visibilitychange", schedule);
